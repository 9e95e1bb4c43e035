"""
A process that forks with its memo in use: `forker PATH`.

A thread of the parent is inside the store all the time, so that a lock is held when it forks. Each
child sees what there was, writes one entry, and must find nothing of the parent's counts.
"""

# ruff: noqa: T201  it talks to its test on stdout
from __future__ import annotations

import os
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import KEY, NOON, entry

CHILDREN = 4


def in_child(memo: Memo, number: int) -> int:
    assert memo.stale(), "a child reads the store anew"
    memo.refresh()
    assert memo.look(KEY) == entry()
    assert memo.remember(entry(number)) is True
    memo.pause(KEY)
    memo.close()
    return 0


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forks beside threads
    recorder = EventRecorder()
    memo = Memo(DiskStore(Path(sys.argv[1])), observer=recorder, wall=ManualClock(NOON))
    memo.remember(entry())
    memo.note_saved(entry())
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.wait(0.001):
            memo.remember(entry(50))
            memo.pause(replace(KEY, model="busy"))
            memo.clear(entry(50))

    thread = threading.Thread(target=keep_busy)
    thread.start()
    codes: list[int] = []
    for number in range(1, CHILDREN + 1):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = in_child(memo, number)
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    thread.join()
    memo.clear(entry(50))
    memo.refresh()
    memo.close()
    print(codes, [(one.model, one.saved) for one in memo.entries()], recorder.events, flush=True)


main()
