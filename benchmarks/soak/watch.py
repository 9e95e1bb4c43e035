"""Memory, file handles and latency, sampled while the load runs."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.soak.load import Tally, quantile


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: seconds since the start; by process megabytes and handles; calls and latencies."""

    at: float
    memory: Mapping[str, float]
    handles: Mapping[str, int]
    calls: int  # since the last look
    median: float  # ms
    slowest: float  # ms, the 99th of 100


@dataclass(slots=True)
class Watch:
    """Samples of processes by name."""

    processes: Mapping[str, int]
    begun: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list[Sample])

    def ends(self, name: str) -> tuple[float, float]:
        """Megabytes after warming up (the second sixth of the time) and at the end (the last)."""
        found = [sample.memory[name] for sample in self.samples]
        sixth = max(1, len(found) // 6)
        return statistics.median(found[sixth : 2 * sixth]), statistics.median(found[-sixth:])

    def growth(self, name: str) -> float:
        """Memory at the end over memory after warming up, as a share."""
        early, late = self.ends(name)
        return late / early - 1

    def look(self, tally: Tally) -> None:
        """Take one sample."""
        recent = sorted(tally.recent.popleft() for _ in range(len(tally.recent)))
        self.samples.append(
            Sample(
                time.monotonic() - self.begun,
                {name: memory_of(pid) for name, pid in self.processes.items()},
                {name: handles_of(pid) for name, pid in self.processes.items()},
                len(recent),
                quantile(recent, 0.5) * 1000,
                quantile(recent, 0.99) * 1000,
            )
        )


@contextmanager
def watching(processes: Mapping[str, int], tally: Tally, every: float) -> Iterator[Watch]:
    """A thread that looks every so many seconds, as long as the context."""
    watch, stopped = Watch(processes), threading.Event()

    def sample() -> None:
        while not stopped.wait(every):
            watch.look(tally)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield watch
    finally:
        stopped.set()
        thread.join()


def memory_of(pid: int) -> float:
    """Resident megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def handles_of(pid: int) -> int:
    """Open files and sockets."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208  only counted


def cpu_of(pid: int) -> float:
    """Seconds on the CPU so far, all threads."""
    tasks: Sequence[Path] = list(Path(f"/proc/{pid}/task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
