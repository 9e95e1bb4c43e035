"""What a sub-call keeps per session: the running call, and how often it failed in a row."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from structguard.events import Observer, SubcallFailing
from structguard.http.loops import PerLoop
from structguard.subcalls.outcome import Status

STREAK = 3  # failures in a row that are worth one warning
SESSIONS = 1024  # failing sessions that are remembered; the least recently failing go first


@dataclass(slots=True)
class RunningCall:
    """`aborted` once a newer call took its place."""

    scope: anyio.CancelScope
    aborted: bool = False


class RunningCalls:
    """
    At most one call a session: a newer one aborts the older. Each event loop has its own, as one
    thread's call cannot be cancelled from another.
    """

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: PerLoop[dict[str, RunningCall]] = PerLoop(dict)

    @contextmanager
    def start(self, session: str | None, timeout: float | None) -> Generator[RunningCall]:
        """
        A call that ends in time. Without a session nothing is aborted. Cancellation of this call, and
        only of this one, ends here.
        """
        deadline = float("inf") if timeout is None else anyio.current_time() + timeout
        call = RunningCall(anyio.CancelScope(deadline=deadline))
        if session is None:
            with call.scope:
                yield call
            return
        calls = self._calls.get()
        older = calls.get(session)
        if older is not None:
            older.aborted = True
            older.scope.cancel()
        calls[session] = call
        try:
            with call.scope:
                yield call
        finally:
            if calls.get(session) is call:
                del calls[session]


class Streaks:
    """Timeouts and failures in a row per session; one warning at the third."""

    __slots__ = ("_counts", "_name", "_observer")

    def __init__(self, name: str, observer: Observer) -> None:
        self._name = name
        self._observer = observer
        self._counts: OrderedDict[str, int] = OrderedDict()

    def note(self, session: str, status: Status, reason: str) -> None:
        """Take an outcome into account: ok, none and skipped reset, aborted is neutral."""
        if status == "aborted":
            return
        count = self._counts.pop(session, 0)
        if status not in {"timeout", "failed"}:
            return
        self._counts[session] = count + 1
        if len(self._counts) > SESSIONS:
            self._counts.popitem(last=False)
        if count + 1 == STREAK:
            self._observer(
                SubcallFailing(name=self._name, session=session, times=STREAK, reason=reason)
            )
