"""
Forking with memos in the process (a pre-loading server): no lock is inherited held, nothing stale.

Before a fork every memo is brought to rest, so that no thread is inside the store. The child gets
new locks and reads the store anew; the store keeps no connection open between two questions, so none
is inherited. Also closes what is still open at exit, so that counts are written.
"""

from __future__ import annotations

import atexit
import os
from typing import Protocol
from weakref import WeakSet


class Resting(Protocol):
    """What takes part; `rest` waits until no thread is inside and keeps them out."""

    def rest(self) -> None: ...
    def resume(self) -> None: ...
    def reborn(self) -> None: ...
    def close(self) -> None: ...


_live: WeakSet[Resting] = WeakSet()
_resting: list[Resting] = []


def watch(memo: Resting) -> None:
    """Let a memo take part for as long as it lives."""
    _live.add(memo)


def _before() -> None:
    _resting.extend(_live)
    for memo in _resting:
        memo.rest()


def _in_parent() -> None:
    while _resting:
        _resting.pop().resume()


def _in_child() -> None:
    while _resting:
        _resting.pop().reborn()


def _at_exit() -> None:
    for memo in tuple(_live):
        memo.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
atexit.register(_at_exit)
