"""
A process that forks while another of its threads opens a memo: `opener PATH`.

The child opens one too, and must not wait for a lock that nobody in it will release.
"""

# ruff: noqa: T201  it talks to its test on stdout
from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from pathlib import Path

from structguard.memo import disk, open_memo

PATH = Path(sys.argv[1])


class Slow(disk.DiskStore):
    """A store that takes its time to be made."""

    def __init__(self, path: Path) -> None:
        making.set()
        made.wait(0.5)
        super().__init__(path)


making, made = threading.Event(), threading.Event()


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forks beside threads
    disk.DiskStore = Slow  # type: ignore[assignment, misc]
    thread = threading.Thread(target=lambda: open_memo(f"disk:{PATH}"))
    thread.start()
    making.wait()
    child = os.fork()
    if not child:
        signal.alarm(5)  # ends one that waits for ever
        made.set()
        open_memo(f"disk:{PATH}")
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    made.set()
    thread.join()


main()
