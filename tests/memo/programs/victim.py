"""
Children that write until they are killed: `victim PATH KILLS`.

Each child remembers entries in order, says so after each, clears every third and flushes counts;
the parent kills it (-9) after a random moment, prints what the child had said as a JSON line, and
waits for a line before it goes on.
"""

# ruff: noqa: T201  it talks to its test on stdout
from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from structguard.events import MemoTrouble
from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder
from tests.memo.support import NOON, entry


def write_for_ever(place: Path, start: int, pipe: int) -> None:
    recorder = EventRecorder()
    memo = Memo(DiskStore(place), observer=recorder, wall=lambda: NOON)
    number = start
    while not recorder.events:
        memo.remember(entry(number))
        os.write(pipe, b"+%d\n" % number)
        if number % 3 == 0:
            os.write(pipe, b"-%d\n" % number)
            memo.clear(entry(number))
        else:
            memo.note_saved(entry(number))
            memo.close()
        number += 1
    os.write(pipe, b"!%s\n" % recorder.of(MemoTrouble)[0].reason.encode())


def main() -> None:
    place, kills = Path(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(7)  # noqa: S311  which moment is hit does not matter, only that it varies
    for round_ in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)  # or a child whose parent is gone would never hear of it
            write_for_ever(place, 1000 * round_ + 1, writer)
            os._exit(1)
        os.close(writer)
        first = os.read(reader, 1)  # it has begun to write
        time.sleep(rng.uniform(0.0, 0.03))  # noqa: TID251  a real moment in a real process
        os.kill(child, signal.SIGKILL)
        said = first
        while piece := os.read(reader, 65536):
            said += piece
        os.close(reader)
        os.waitpid(child, 0)
        print(json.dumps(said.decode().split()), flush=True)
        sys.stdin.readline()  # the store is being looked at


main()
