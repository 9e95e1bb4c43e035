"""
Forking with memos in the process (a pre-loading server): no lock is inherited held, nothing stale.

Before a fork every memo is brought to rest, so that no thread is inside the store. The child gets
new locks and reads the store anew; the store keeps no connection open between two questions, so none
is inherited. Also closes what is still open at exit, so that counts are written.
"""

from __future__ import annotations

import atexit
import os
from threading import RLock
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """What takes part; `before_fork` waits until no thread is inside and keeps them out."""

    def before_fork(self) -> None: ...
    def after_fork_in_parent(self) -> None: ...
    def after_fork_in_child(self) -> None: ...
    def close(self) -> None: ...


_live: WeakSet[ForkAware] = WeakSet()
_paused: list[ForkAware] = []
_forking = RLock()  # held around a fork: two threads may ask for one at once


def register(memo: ForkAware) -> None:
    """Let a memo take part for as long as it lives."""
    _live.add(memo)


def _before() -> None:
    _forking.acquire()
    for memo in tuple(_live):
        memo.before_fork()
        _paused.append(memo)


def _in_parent() -> None:
    while _paused:
        _paused.pop().after_fork_in_parent()
    _forking.release()


def _in_child() -> None:
    while _paused:
        _paused.pop().after_fork_in_child()
    _forking.release()


def _at_exit() -> None:
    for memo in tuple(_live):
        memo.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
atexit.register(_at_exit)
