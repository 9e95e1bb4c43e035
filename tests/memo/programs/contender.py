"""
A process that contends with others: `contender URL COUNT`.

At the line "go" it remembers entries 0 to COUNT, takes each one's lease and says which it was first
for, which leases it got, and what troubled it.
"""

# ruff: noqa: T201  it talks to its test on stdout
from __future__ import annotations

import json
import sys

from structguard.events import MemoTrouble
from structguard.memo import open_memo
from tests.doubles import EventRecorder
from tests.memo.support import NOON, entry


def main() -> None:
    recorder = EventRecorder()
    memo = open_memo(sys.argv[1], observer=recorder, wall=lambda: NOON)
    count = int(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    first = [number for number in range(count) if memo.remember(entry(number))]
    leases = [number for number in range(count) if memo.lease(entry(number), 100.0)]
    memo.close()
    troubles = [trouble.reason for trouble in recorder.of(MemoTrouble)]
    print(json.dumps({"first": first, "leases": leases, "troubles": troubles}), flush=True)


main()
