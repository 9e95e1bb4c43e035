"""
Responses in this process's memory.

Source: spec gateway "Requests".
"""

from __future__ import annotations

import time
from collections import OrderedDict

from structguard.gateway.stored import Stored, decode, encode, fits
from structguard.service import Clock


class MemoryStore:
    """This process's memory: for one worker, and for tests."""

    name = "memory:"

    def __init__(self, *, expiry: float, limit_bytes: int, wall: Clock = time.time) -> None:
        self._expiry = expiry
        self._limit = limit_bytes
        self._wall = wall
        self._kept: OrderedDict[tuple[str, str], tuple[float, bytes]] = (
            OrderedDict()
        )  # oldest first
        self._bytes = 0

    async def get(self, scope: str, id: str, /) -> Stored | None:  # noqa: A002
        """The turn, if it is there and has not expired."""
        self._expire()
        found = self._kept.get((scope, id))
        return None if found is None else decode(found[1])

    async def put(self, scope: str, id: str, stored: Stored, /) -> None:  # noqa: A002
        """Keep a turn; the oldest make room."""
        text = encode(stored)
        fits(len(text), self._limit, self.name)
        key = (scope, id)
        self._drop(key)
        self._kept[key] = (self._wall(), text)
        self._bytes += len(text)
        self._expire()
        while self._bytes > self._limit:
            self._drop(next(iter(self._kept)))

    async def delete(self, scope: str, id: str, /) -> bool:  # noqa: A002
        """Whether there was such a turn."""
        self._expire()
        return self._drop((scope, id))

    async def aclose(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._bytes = 0

    def _drop(self, key: tuple[str, str]) -> bool:
        found = self._kept.pop(key, None)
        self._bytes -= 0 if found is None else len(found[1])
        return found is not None

    def _expire(self) -> None:
        oldest = self._wall() - self._expiry
        while self._kept:
            key, (since, _) = next(iter(self._kept.items()))
            if since > oldest:
                break
            self._drop(key)
