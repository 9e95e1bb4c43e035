"""
What the memo asks of a store, and the store that is this process's memory.

A store holds short texts under short keys. It need not be thread-safe: the memo asks one thing at a
time. Whatever goes wrong comes out as StoreFailure. Source: spec guard §3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from structguard.types import as_mapping

MAX_LEASE = 120.0  # seconds
STEP_BACK = 5.0  # seconds a wall clock may be set back without a lease lapsing early


class StoreFailure(Exception):
    """
    A store could not do what it was asked.

    `lasting` false: the same may work in a moment (somebody else held the lock for too long).
    """

    def __init__(
        self,
        reason: str,
        *,
        lasting: bool = True,
        benign: bool = False,
        moved_to: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting
        self.benign = benign
        self.moved_to = moved_to


class Store(Protocol):
    """
    Texts under keys, shared by whoever opens the same place.

    `blocking` says whether asking may wait for a disk or a network, `stamp` does not count: it is
    cheap and gives a value that differs once others have written. `read` gives everything, or None
    when nothing has changed since it was last asked. `swap` puts `new` in
    the place of `old` (None: nothing) in one step over all processes and gives back what was there;
    the swap was made if that equals `old`. `lease` gives 0.0 to the one holder over all
    processes and to others the seconds that are left; it lapses by itself. `drop` gives the number
    of keys that were there.
    """

    @property
    def name(self) -> str: ...
    @property
    def blocking(self) -> bool: ...
    def stamp(self) -> object: ...
    def read(self) -> Mapping[str, str] | None: ...
    def swap(self, key: str, old: str | None, new: str) -> str | None: ...
    def drop(self, keys: Iterable[str]) -> int: ...
    def lease(self, key: str, seconds: float, now: float) -> float: ...
    def release(self, key: str) -> None: ...
    def close(self) -> None: ...


class MemoryStore:
    """A dict: for tests, for `memory:`, and for what is left when another store fails."""

    name = "memory:"
    blocking = False

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})
        self._leases: dict[str, str] = {}

    def stamp(self) -> object:
        """Always the same: nobody else writes here."""
        return None

    def read(self) -> Mapping[str, str]:
        """Everything, by key."""
        return dict(self._texts)

    def swap(self, key: str, old: str | None, new: str) -> str | None:
        """Put `new` where `old` stands."""
        return _swap(self._texts, key, old, new)

    def drop(self, keys: Iterable[str]) -> int:
        """Forget keys and their leases."""
        dropped = 0
        for key in keys:
            dropped += self._texts.pop(key, None) is not None
            self._leases.pop(key, None)
        return dropped

    def lease(self, key: str, seconds: float, now: float) -> float:
        """Take the key's lease, or the seconds somebody still holds it."""
        return take_lease(
            lambda old, new: _swap(self._leases, key, old, new), seconds=seconds, now=now
        )

    def release(self, key: str) -> None:
        """End the key's lease."""
        self._leases.pop(key, None)

    def close(self) -> None:
        """Nothing to close."""


def _swap(texts: dict[str, str], key: str, old: str | None, new: str) -> str | None:
    found = texts.get(key)
    if found == old:
        texts[key] = new
    return found


def take_lease(
    swap: Callable[[str | None, str], str | None], *, seconds: float, now: float
) -> float:
    """
    Take a lease that is kept as a text and changed by `swap(old, new)`; `now` in wall seconds.

    A lease from the future (the clock was set back) has lapsed, and none is longer than MAX_LEASE:
    whatever the clock does, somebody gets the lease again.
    """
    mine = json.dumps({"taken": now, "seconds": min(seconds, MAX_LEASE)})
    found = swap(None, mine)
    if found is None:
        return 0.0
    left = _seconds_left(found, now)
    if left > 0.0:
        return left
    return 0.0 if swap(found, mine) == found else min(seconds, MAX_LEASE)


def _seconds_left(text: str, now: float) -> float:
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return 0.0
    fields = as_mapping(loaded) or {}
    since, seconds = fields.get("taken"), fields.get("seconds")
    if not isinstance(since, int | float) or not isinstance(seconds, int | float):
        return 0.0
    if not since - STEP_BACK <= now:
        return 0.0
    return max(0.0, since + min(seconds, MAX_LEASE) - now)
