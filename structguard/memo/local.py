"""
What only this process knows and may forget: pauses, first rescues and prose counts.

Never stored, never listed, bounded. Source: spec guard §1.2 and §2.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

from structguard.memo.keys import Call
from structguard.service import Clock
from structguard.types import Flag, MemoKey

PAUSE = 300.0  # seconds without a second send after a retry met the same refusal
LIMIT = 10_000  # keys of each kind; the oldest go first

V = TypeVar("V")

_NO_FLAGS: frozenset[Flag] = frozenset()


class Bounded(Generic[V]):
    """The most recently set keys, at most `limit`."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._values: dict[MemoKey, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: MemoKey) -> V | None:
        """The key's value."""
        return self._values.get(key)

    def set(self, key: MemoKey, value: V) -> None:
        """Set it, and make it the newest."""
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > self._limit:
            del self._values[next(iter(self._values))]

    def drop(self, key: MemoKey) -> None:
        """Forget one key."""
        self._values.pop(key, None)

    def forget(self, provider: str | None, model: str | None) -> None:
        """Forget the keys of a provider, a model, or both."""
        for key in tuple(self._values):
            if provider in (None, key.provider) and model in (None, key.model):
                del self._values[key]


class Local:
    """Thread-safe; `clock` is monotonic seconds."""

    def __init__(self, clock: Clock, limit: int = LIMIT) -> None:
        self._clock = clock
        self._pauses: Bounded[float] = Bounded(limit)
        self._rescued: Bounded[bool] = Bounded(limit)
        self._prose: Bounded[int] = Bounded(limit)
        self.renew_lock()

    def renew_lock(self) -> None:
        """A new lock, held by nobody: after a fork another thread of the parent may hold the old."""
        self._lock = Lock()

    def pause(self, key: MemoKey) -> None:
        """No second send for this very key for 5 minutes."""
        with self._lock:
            self._pauses.set(key, self._clock() + PAUSE)

    def paused(self, call: Call) -> bool:
        """Whether a pause holds for this very call."""
        if not self._pauses:
            return False  # nearly always: the key was never computed
        key = call.key
        with self._lock:
            until = self._pauses.get(key)
            if until is None:
                return False
            if self._clock() < until:
                return True
            self._pauses.drop(key)
            return False

    def rescued_before(self, key: MemoKey) -> bool:
        """False the first time a key is rescued, True from then on."""
        with self._lock:
            before = self._rescued.get(key) is not None
            self._rescued.set(key, True)
            return before

    def count_prose(self, key: MemoKey) -> int:
        """Prose answers in a row, this one included, of the endpoint under this format."""
        endpoint = _endpoint(key)
        with self._lock:
            times = (self._prose.get(endpoint) or 0) + 1
            self._prose.set(endpoint, times)
            return times

    def reset_prose(self, key: MemoKey) -> None:
        """The row is broken."""
        if self._prose:
            with self._lock:
                self._prose.drop(_endpoint(key))

    def forget(self, provider: str | None, model: str | None) -> None:
        """Forget everything about a provider, a model, or both."""
        with self._lock:
            for memory in (self._pauses, self._rescued, self._prose):
                memory.forget(provider, model)


def _endpoint(key: MemoKey) -> MemoKey:
    """The key without what differs from call to call: prose is the endpoint's habit."""
    return replace(key, flags=_NO_FLAGS, schema="", strict=None)
