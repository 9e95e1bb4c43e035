"""A server that loads first and forks then: no lock is inherited held, each child reads anew."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from structguard.memo import Memo, forks
from structguard.memo.disk import DiskStore
from tests.memo.support import KEY, entry, running, told


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_children_of_a_busy_parent_share_the_store_and_nothing_else(place: Path) -> None:
    with running("forker", place) as forker:
        written = [("m", 1), ("m1", 0), ("m2", 0), ("m3", 0), ("m4", 0)]
        assert told(forker) == f"[0, 0, 0, 0] {written} []"


def test_around_a_fork_a_memo_lets_nobody_in_and_a_child_s_is_free(disk: Memo) -> None:
    disk.remember(entry())
    disk.note_saved(entry())
    disk.before_fork()
    disk.after_fork_in_parent()
    assert not disk.stale()
    disk.before_fork()
    disk.after_fork_in_child()
    assert disk.stale()
    assert disk.look(KEY) == entry()
    disk.refresh()
    assert disk.entries() == [entry()], "the count is the parent's to write"


def test_what_is_open_at_exit_is_closed(disk: Memo, other: Memo) -> None:
    disk.remember(entry())
    disk.note_saved(entry())
    forks._at_exit()
    other.refresh()
    assert [one.saved for one in other.entries()] == [1]


def test_the_hooks_bring_every_memo_to_rest_and_back(disk: Memo) -> None:
    forks._before()
    forks._in_parent()
    assert disk.remember(entry()) is True
    forks._before()
    forks._in_child()
    assert disk.stale()
    thread = threading.Thread(target=disk.refresh, daemon=True)  # any thread may come first
    thread.start()
    thread.join(5.0)
    assert not thread.is_alive()
    assert not disk.stale()
    assert disk.look(KEY) == entry()


def test_two_threads_may_fork_at_once(place: Path) -> None:
    """One that took over what the other had brought to rest would keep the store for ever."""
    memo = Memo(DiskStore(place))
    forked, ended = threading.Semaphore(0), threading.Event()

    def fork() -> None:
        forks._before()
        forks._in_parent()
        forked.release()
        ended.wait(30.0)  # another thread would take its identity over, and with it its locks

    memo.before_fork()
    for _ in range(2):
        threading.Thread(target=fork, daemon=True).start()
    threading.Event().wait(0.1)  # both wait for the store now
    memo.after_fork_in_parent()
    assert forked.acquire(timeout=5.0)
    assert forked.acquire(timeout=5.0)
    asking = threading.Thread(target=memo.refresh, daemon=True)
    asking.start()
    asking.join(5.0)
    waits = asking.is_alive()
    ended.set()
    memo.after_fork_in_child()  # whatever came of it, the end of the process must not wait
    assert not waits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_can_open_a_memo_whatever_another_thread_opens(place: Path) -> None:
    with running("opener", place) as opener:
        assert told(opener) == "0"
