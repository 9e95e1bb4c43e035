"""What belongs to one event loop: connections and locks cannot move to another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from anyio.lowlevel import current_token

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One value an event loop, made when it is first asked for and forgotten with its loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._held: WeakKeyDictionary[object, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The running loop's value."""
        loop = current_token().native_token
        entry = self._held.get(loop)
        if entry is None:
            entry = self._held[loop] = self._make()
        return entry

    def pop(self) -> T | None:
        """The running loop's value, no longer held; None if there was none."""
        return self._held.pop(current_token().native_token, None)
