"""
Whose turn it is to ask a memo's store from an event loop: one caller's at a time.

The store does one thing at a time anyway; a thousand callers who wait for it must not be a thousand
threads. Imported by async callers only. Source: spec guard §3 ("never blocks the event loop").
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import RunVar

_locks: RunVar[WeakKeyDictionary[object, anyio.Lock]] = RunVar("structguard_memo_turns")


def turn(memo: object) -> anyio.Lock:
    """What to hold while the running event loop waits for this memo's store."""
    locks = _locks.get(None)
    if locks is None:
        locks = WeakKeyDictionary[object, anyio.Lock]()
        _locks.set(locks)
    lock = locks.get(memo)
    if lock is None:
        lock = locks[memo] = anyio.Lock(fast_acquire=True)
    return lock
