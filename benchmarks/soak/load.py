"""
Drive every face for a while: threads for the sync ones, tasks for the others, one marker a call.

A call ends right (its own marker came back), told (an error that its fault explains) or lost (anything
else: another marker, an error out of nothing, no end). Source of the faults: `upstream`.
"""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from benchmarks.soak.faces import Async, Sync, async_faces, sync_faces
from benchmarks.soak.upstream import fault_of
from structguard import Guard

_LATE = 30.0  # seconds after the end in which a call must have come back


@dataclass(slots=True)
class Tally:
    """What came of the calls; `lost` says how. `recent` are latencies since the last sample."""

    right: Counter[str] = field(default_factory=Counter[str])
    told: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])
    recent: deque[float] = field(default_factory=deque[float])
    begun: int = 0
    forgotten: list[float] = field(default_factory=list[float])  # when the memo's files went
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def number(self) -> int:
        """The next call's number; `next` of a counter is one step for threads too."""
        self.begun += 1
        return next(self._numbers)

    def returned(self, face: str, marker: str, came: str, seconds: float) -> None:
        """A call that gave something."""
        self.recent.append(seconds)
        if came == marker:
            self.right[face] += 1
        else:
            self.lost.append(f"{face}: asked for {marker}, {came!r} came")

    def failed(self, face: str, number: int, error: Exception) -> None:
        """A call that raised: only a stream that was cut after it had begun may."""
        if face == "wrap, streamed" and fault_of(number) == "cut":
            self.told[face] += 1
        else:
            self.lost.append(f"{face}: call {number}: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much of it: seconds, workers a face, and the pause after each call in seconds."""

    seconds: float
    workers: int = 3
    pause: float = 0.02
    forget: float = 15.0  # seconds between two removals of the memo's files


def run(load: Load, url: str, gateway: str, memo: Path, tally: Tally, guard: Guard) -> None:
    """Put all faces under load; the memo's files are removed from time to time."""
    with ExitStack() as stack:
        faces = sync_faces(url, guard, stack)
        until = time.monotonic() + load.seconds
        threads = [
            threading.Thread(target=_in_thread, args=(name, call, load, until, tally, at))
            for name, call in faces.items()
            for at in range(load.workers)
        ]
        threads.append(threading.Thread(target=_forget, args=(memo, load, until, tally)))
        for thread in threads:
            thread.start()
        anyio.run(_on_loop, load, url, gateway, guard, until, tally)
        for thread in threads:
            thread.join(max(0.0, until + _LATE - time.monotonic()))
            if thread.is_alive():
                tally.lost.append(f"{thread.name} did not come back")


async def _on_loop(
    load: Load, url: str, gateway: str, guard: Guard, until: float, tally: Tally
) -> None:
    async with AsyncExitStack() as stack:
        faces = await async_faces(url, gateway, guard, stack)
        with anyio.move_on_after(load.seconds + _LATE) as scope:
            async with anyio.create_task_group() as group:
                for name, call in faces.items():
                    for at in range(load.workers):
                        group.start_soon(_in_task, name, call, load, until, tally, at)
        if scope.cancelled_caught:
            tally.lost.append("a task did not come back")


def _in_thread(name: str, call: Sync, load: Load, until: float, tally: Tally, at: int) -> None:
    while True:  # at least once, however late it began
        number = tally.number()
        marker, begun = f"mk-{number}-{at}", time.perf_counter()
        try:
            came = call(marker)
        except Exception as error:  # noqa: BLE001  judged by the tally
            tally.failed(name, number, error)
        else:
            tally.returned(name, marker, came, time.perf_counter() - begun)
        if time.monotonic() >= until:
            return
        time.sleep(load.pause)  # noqa: TID251  a thread of the load, not of the library


async def _in_task(name: str, call: Async, load: Load, until: float, tally: Tally, at: int) -> None:
    while True:  # at least once, however late it began
        number = tally.number()
        marker, begun = f"mk-{number}-{at}", time.perf_counter()
        try:
            came = await call(marker)
        except Exception as error:  # noqa: BLE001  judged by the tally
            tally.failed(name, number, error)
        else:
            tally.returned(name, marker, came, time.perf_counter() - begun)
        if time.monotonic() >= until:
            return
        await anyio.sleep(load.pause)


def _forget(memo: Path, load: Load, until: float, tally: Tally) -> None:
    """Remove the memo's files under the feet of whoever uses them, again and again."""
    while (left := until - time.monotonic()) > load.forget:
        time.sleep(min(load.forget, left))  # noqa: TID251  as above
        shutil.rmtree(memo, ignore_errors=True)
        tally.forgotten.append(time.monotonic())


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile of sorted values, 0 for none."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
