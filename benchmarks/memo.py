"""
What the memo costs: look-ups, the look for others' writes, writing, reading, and contention.

Usage: python -m benchmarks.memo [ROUNDS]. Medians over the rounds, interleaved; the ratio is to a
plain dict look-up in the same run.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from structguard.memo import Entry, Memo
from structguard.memo.disk import DiskStore
from structguard.types import MemoKey, Refusal, Scope

KEY = MemoKey(
    provider="openrouter.ai/api/v1",
    model="vendor/model",
    base_url="openrouter.ai/api/v1",
    schema="5" * 64,
    flags=frozenset({"tools"}),
)
REFUSAL = Refusal(Scope.CAPABILITY, "rule", "response_format", "response_format is not supported")
PROCESSES = (1, 2, 4)
CONTENDED = 60  # entries each contender writes


@dataclass(frozen=True)
class Row:
    """A thing to time: how often in a round, and what to do before each time."""

    name: str
    times: int
    work: Callable[[int], object]
    before: Callable[[int], object] | None = None


def made(number: int, scope: Scope = Scope.CAPABILITY) -> Entry:
    key = replace(KEY, model=f"vendor/model-{number}")
    return Entry.of(key, replace(REFUSAL, scope=scope), status=400, wall=time.time())


def timed(row: Row) -> float:
    """Microseconds a time."""
    if row.before is None:
        start = time.perf_counter_ns()
        for number in range(row.times):
            row.work(number)
        return (time.perf_counter_ns() - start) / row.times / 1e3
    spent = 0
    for number in range(row.times):
        row.before(number)
        start = time.perf_counter_ns()
        row.work(number)
        spent += time.perf_counter_ns() - start
    return spent / row.times / 1e3


def rows(root: Path) -> list[Row]:
    """Everything that is timed in one process."""
    memory = Memo()
    for number in range(100):
        memory.remember(made(number))
    narrow = replace(KEY, model="vendor/model-narrow")
    for number in range(32):
        memory.remember(
            Entry.of(
                replace(narrow, schema=f"{number:064x}"),
                replace(REFUSAL, scope=Scope.SCHEMA),
                status=400,
                wall=time.time(),
            )
        )
    known, unknown = replace(KEY, model="vendor/model-7"), replace(KEY, model="vendor/other")
    last = replace(narrow, schema=f"{31:064x}")
    entry = memory.look(known)
    assert entry is not None
    plain = {known.pair: entry}

    hands = [0.0]
    disk = Memo(DiskStore(root / "one"), clock=lambda: hands[0])
    disk.remember(made(0))
    for file in (root / "one").iterdir():
        os.utime(file, (1.0, 1.0))  # written long ago: stamps of fresh files are not trusted
    disk.refresh()
    full = Memo(DiskStore(root / "full"))
    for number in range(300):
        full.remember(made(number))
    stranger = DiskStore(root / "full")

    def step(_: int) -> None:
        hands[0] += 1.5

    def touch(number: int) -> None:
        stranger.swap(f"{number:032x}", None, "x")
        stranger.drop([f"{number:032x}"])

    fresh = iter(range(1_000_000))
    return [
        Row("dict.get (for the ratio)", 200_000, lambda _: plain.get(known.pair)),
        Row("look, no entry for the pair", 200_000, lambda _: memory.look(unknown)),
        Row("look, hit (capability)", 100_000, lambda _: memory.look(known)),
        Row("look, hit (one of 32 schemas)", 100_000, lambda _: memory.look(last)),
        Row("due", 100_000, lambda _: memory.due(entry)),
        Row("note_saved", 50_000, lambda _: memory.note_saved(entry)),
        Row("paused (nothing is)", 100_000, lambda _: memory.paused(known)),
        Row("stale, memory", 100_000, lambda _: memory.stale()),
        Row("stale, disk, last look < 1 s ago", 100_000, lambda _: disk.stale()),
        Row("stale, disk, one look at the stamp", 2_000, lambda _: disk.stale(), step),
        Row("remember, memory, new", 2_000, lambda _: memory.remember(made(1000 + next(fresh)))),
        Row("remember, disk, new", 20, lambda _: disk.remember(made(1000 + next(fresh)))),
        Row("remember, disk, known", 5_000, lambda _: disk.remember(made(0))),
        Row("lease, disk", 20, lambda n: full.lease(made(n), 0.0)),
        Row("refresh, nothing new", 500, lambda _: disk.refresh()),
        Row("refresh, 300 entries", 10, lambda _: full.refresh(), touch),
        Row("open and first read, 300 entries", 10, lambda _: first_read(root / "full")),
    ]


def first_read(path: Path) -> None:
    Memo(DiskStore(path)).refresh()


def contender(path: Path, number: int, pipe: Connection) -> None:
    memo = Memo(DiskStore(path))
    memo.refresh()
    pipe.send("ready")
    pipe.recv()
    times: list[float] = []
    for other in range(CONTENDED):
        entry = made(number * 1000 + other)
        start = time.perf_counter()
        memo.remember(entry)
        times.append(time.perf_counter() - start)
    pipe.send((times, memo.name))


def contention(root: Path, processes: int, round_: int) -> tuple[float, float, float, int]:
    """Writes a second over all, median and slowest write in ms, writes that are missing."""
    context = multiprocessing.get_context("spawn")
    path = root / f"contended-{processes}-{round_}"
    pipes = [context.Pipe() for _ in range(processes)]
    workers = [
        context.Process(target=contender, args=(path, number, theirs))
        for number, (_, theirs) in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    for ours, _ in pipes:
        ours.recv()
    start = time.perf_counter()
    for ours, _ in pipes:
        ours.send("go")
    said = [ours.recv() for ours, _ in pipes]
    took = time.perf_counter() - start
    for worker in workers:
        worker.join()
    times = sorted(value for values, _ in said for value in values)
    missing = processes * CONTENDED - len(Memo(DiskStore(path)).entries())
    return len(times) / took, statistics.median(times) * 1e3, times[-1] * 1e3, missing


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="structguard-bench-") as directory:
        root = Path(directory)
        table = rows(root)
        seen: dict[str, list[float]] = {row.name: [] for row in table}
        for _ in range(rounds):
            for row in table:
                seen[row.name].append(timed(row))
        base = statistics.median(seen[table[0].name])
        print(f"{'':38s} {'median µs':>12s} {'least µs':>12s} {'ratio':>10s}")
        for name, values in seen.items():
            median = statistics.median(values)
            print(f"{name:38s} {median:12.2f} {min(values):12.2f} {median / base:10.1f}")
        print(f"\n{'contending writers':38s} {'writes/s':>10s} {'p50 ms':>8s} {'max ms':>8s} lost")
        for processes in PROCESSES:
            found = [partial(contention, root, processes)(r) for r in range(min(rounds, 3))]
            rate, p50, worst, lost = (
                statistics.median(column) for column in zip(*found, strict=True)
            )
            name = (
                f"{processes} process{'' if processes == 1 else 'es'}, {CONTENDED} new entries each"
            )
            print(f"{name:38s} {rate:10.0f} {p50:8.2f} {worst:8.1f} {lost:4.0f}")


if __name__ == "__main__":
    main()
