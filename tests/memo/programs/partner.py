"""
A process with a memo of its own that does what it is told: `partner URL`.

remember N | look N | forget | lease N SECONDS | quit; one line in, one line out.
"""

# ruff: noqa: T201  it talks to its test on stdout
from __future__ import annotations

import sys
from dataclasses import replace

from structguard.events import MemoTrouble
from structguard.memo import open_memo
from tests.doubles import EventRecorder
from tests.memo.support import KEY, NOON, entry


def main() -> None:
    recorder = EventRecorder()
    memo = open_memo(sys.argv[1], observer=recorder, wall=lambda: NOON)
    print("ready", flush=True)
    for line in sys.stdin:
        what, *words = line.split()
        numbers = [int(word) for word in words]
        if what == "remember":
            answer: object = memo.remember(entry(numbers[0]))
        elif what == "lease":
            answer = memo.lease(entry(numbers[0]), float(numbers[1]))
        elif what == "forget":
            answer = memo.forget()
        elif what == "look":
            if memo.stale():
                memo.refresh()
            answer = memo.look(replace(KEY, model=entry(numbers[0]).model)) is not None
        else:
            break
        print(answer, flush=True)
    memo.close()
    print([trouble.reason for trouble in recorder.of(MemoTrouble)], flush=True)


main()
