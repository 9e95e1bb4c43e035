"""The async twins: off the loop, whole or absent under cancellation, on asyncio and trio."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import KEY, entry


class Watched(DiskStore):
    """A disk that says which thread asks it, and that can be held up."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()

    def read(self) -> Mapping[str, str]:
        self.threads.add(threading.get_ident())
        return super().read()

    def swap(self, key: str, old: str | None, new: str) -> str | None:
        self.threads.add(threading.get_ident())
        self.asked.set()
        assert self.gate.wait(10.0)
        return super().swap(key, old, new)


class Slow(DiskStore):
    """A disk that takes its time and counts what it is asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []

    def read(self) -> Mapping[str, str]:
        self._take("read")
        return super().read()

    def swap(self, key: str, old: str | None, new: str) -> str | None:
        self._take("write")
        return super().swap(key, old, new)

    def lease(self, key: str, seconds: float, now: float) -> float:
        self._take("lease")
        return super().lease(key, seconds, now)

    def _take(self, what: str) -> None:
        self.asked.append(what)
        threading.Event().wait(0.02)


async def test_every_twin_does_what_its_original_does(place: Path, wall: ManualClock) -> None:
    store = Watched(place)
    async with Memo(store, wall=wall) as memo:
        assert memo.stale()
        await memo.arefresh()
        assert await memo.aremember(entry()) is True
        assert await memo.aremember(entry()) is False
        assert await memo.alease(entry(), 10.0) is True
        assert await memo.alease(entry(), 10.0) is False
        assert await memo.aentries() == [entry()]
        await memo.aclear(entry())
        assert memo.look(KEY) is None
        await memo.aremember(entry())
        assert await memo.aforget("host/v1") == 1
    assert threading.get_ident() not in store.threads, "the disk was asked on the event loop"


async def test_a_memo_in_memory_needs_no_thread(memo: Memo) -> None:
    before = threading.active_count()
    async with memo:
        assert await memo.aremember(entry()) is True
        assert await memo.aforget() == 1
    assert threading.active_count() == before


async def test_the_loop_goes_on_while_the_disk_is_slow(place: Path, wall: ManualClock) -> None:
    store = Watched(place)
    store.gate.clear()
    memo = Memo(store, wall=wall)
    async with anyio.create_task_group() as group:
        group.start_soon(memo.aremember, entry())
        await anyio.to_thread.run_sync(store.asked.wait, 10.0)
        assert memo.look(KEY) == entry(), "in the view at once"
        store.gate.set()
    assert Memo(DiskStore(place), wall=wall).entries() == [entry()]


async def test_a_cancellation_during_the_write_leaves_the_entry_whole(
    place: Path, wall: ManualClock
) -> None:
    store = Watched(place)
    store.gate.clear()
    memo = Memo(store, wall=wall)
    async with anyio.create_task_group() as group:
        group.start_soon(memo.aremember, entry())
        await anyio.to_thread.run_sync(store.asked.wait, 10.0)
        group.cancel_scope.cancel()
        store.gate.set()
    assert memo.look(KEY) == entry()
    assert Memo(DiskStore(place), wall=wall).entries() == [entry()]


async def test_a_write_that_has_begun_outlives_a_cancelled_caller(
    place: Path, wall: ManualClock
) -> None:
    memo = Memo(DiskStore(place), wall=wall)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await memo.aremember(entry())
    assert memo.look(KEY) == entry()
    assert Memo(DiskStore(place), wall=wall).entries() == [entry()]


async def test_fifty_first_calls_make_one_entry_and_one_first_writer(
    place: Path, wall: ManualClock
) -> None:
    memo = Memo(DiskStore(place), wall=wall)
    first: list[bool] = []

    async def call() -> None:
        if memo.stale():
            await memo.arefresh()
        first.append(await memo.aremember(entry()))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(call)
    assert sorted(first) == [False] * 49 + [True]
    assert await memo.aentries() == [entry()]


async def test_many_callers_who_wait_for_the_store_are_not_many_threads(
    place: Path, wall: ManualClock
) -> None:
    """A thousand tasks that start at once would need a thousand threads, and fail without them."""
    store = Slow(place)
    memo = Memo(store, wall=wall)
    at_once: list[int] = []

    async def call(number: int) -> None:
        if memo.stale():
            await memo.arefresh()
        await memo.aremember(entry(number % 2))
        at_once.append(threading.active_count())

    before = threading.active_count()
    async with anyio.create_task_group() as group:
        for number in range(60):
            group.start_soon(call, number)
    assert max(at_once) <= before + 2
    assert sorted(store.asked) == ["read", "write", "write"], "one reads for all"


async def test_of_many_callers_one_asks_for_the_lease(place: Path, wall: ManualClock) -> None:
    store = Slow(place)
    memo = Memo(store, wall=wall)
    await memo.aremember(entry())
    given: list[bool] = []

    async def probe() -> None:
        given.append(await memo.alease(entry(), 10.0))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(probe)
    assert sorted(given) == [False] * 19 + [True]
    assert store.asked.count("lease") == 1


async def test_memo_work_does_not_queue_behind_the_application_s_threads(
    place: Path, wall: ManualClock
) -> None:
    memo = Memo(DiskStore(place), wall=wall)
    gate = threading.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = 1
    waited: list[bool] = []
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, lambda: waited.append(gate.wait(3.0)))
        await anyio.sleep(0.01)
        assert await memo.aremember(entry()) is True
        assert waited == []
        gate.set()


async def test_a_lease_known_to_be_held_needs_no_disk(place: Path, wall: ManualClock) -> None:
    recorder = EventRecorder()
    memo = Memo(DiskStore(place), wall=wall, observer=recorder)
    await memo.aremember(entry())
    assert await memo.alease(entry(), 10.0)
    (place / "cache.db").write_bytes(b"broken")
    assert not await memo.alease(entry(), 10.0)
    assert recorder.events == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_memo_may_serve_one_loop_after_another(
    place: Path, wall: ManualClock, backend: str
) -> None:
    memo = Memo(DiskStore(place), wall=wall)
    assert anyio.run(memo.aremember, entry(), backend=backend) is True
    assert anyio.run(memo.aremember, entry(), backend=backend) is False
