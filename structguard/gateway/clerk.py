"""
One thread of its own for work that blocks and is bound to its thread, such as a SQLite connection.

What waits is done in one go and told to the event loop in one go: the busier, the cheaper.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

T = TypeVar("T")


class _Job(Protocol):
    """What the thread asks of a piece of work."""

    token: anyio.lowlevel.EventLoopToken
    done: anyio.Event

    def do(self) -> None: ...


class _Work:
    """One call and what came of it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.token = anyio.lowlevel.current_token()
        self.done = anyio.Event()
        self.error: BaseException | None = None

    def do(self) -> None:
        """Run it; its error is the caller's."""
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001  handed to the caller
            self.error = error


class Clerk:
    """Runs what it is given, one after the other, in its one thread. Starts when first asked."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T], /) -> T:
        """`work()`, off the event loop. Once asked it is done, even if the caller is cancelled."""
        results: list[T] = []
        job = _Work(lambda: results.append(work()))
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(job)
        with anyio.CancelScope(shield=True):
            await job.done.wait()
        if job.error is not None:
            raise job.error
        return results[0]

    async def aclose(self) -> None:
        """Let the thread end when what waits is done; asked again, another one starts."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(thread.join)

    def _serve(self) -> None:
        going = True
        while going:
            batch, going = self._next()
            for job in batch:
                job.do()
            _tell(batch)

    def _next(self) -> tuple[list[_Job], bool]:
        """What waits now, at least one; False with what comes before the end."""
        found = [self._jobs.get()]
        with suppress(Empty):
            while found[-1] is not None:
                found.append(self._jobs.get_nowait())
        return [job for job in found if job is not None], found[-1] is not None


def _tell(batch: Sequence[_Job]) -> None:
    """Wake the callers, each in its own event loop; one that has ended wants no answer."""
    waiting: defaultdict[anyio.lowlevel.EventLoopToken, list[anyio.Event]] = defaultdict(list)
    for job in batch:
        waiting[job.token].append(job.done)
    for token, events in waiting.items():
        with suppress(anyio.RunFinishedError):
            anyio.from_thread.run_sync(_set_all, events, token=token)


def _set_all(events: Sequence[anyio.Event]) -> None:
    for event in events:
        event.set()
