"""The directory of responses: private, never unpickled, and honest about its faults."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from structguard.gateway.clerk import Clerk
from structguard.gateway.store import StoreTrouble, open_store
from structguard.gateway.store_disk import DiskStore, ResponseCache, Text
from structguard.gateway.stored import key_of
from tests.gateway.test_store import DAY, MIB, Wall, turn


def disk(path: Path) -> DiskStore:
    store = open_store(f"disk:{path}", expiry=DAY, limit_bytes=MIB)
    assert isinstance(store, DiskStore)
    return store


async def test_nobody_else_may_read_the_directory_or_its_files(tmp_path: Path) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody-else-s").write_text("x")
    for path in (home, shared):
        store = disk(path)
        await store.put("a", "x", turn())
        for name in ("cache.db", "cache.db-wal"):
            assert stat.S_IMODE((path / name).stat().st_mode) == 0o600
        await store.aclose()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


async def test_an_older_directory_of_ours_is_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    store = disk(home)
    await store.put("a", "x", turn())
    await store.aclose()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


class _Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("/tmp/structguard-unpickled",)  # noqa: S108


async def test_a_planted_pickle_is_never_unpickled(tmp_path: Path) -> None:
    store = disk(tmp_path)
    await store.put("a", "x", turn())
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database:
        database.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(_Bomb()),))
        database.commit()
    assert await store.get("a", "x") is None
    assert not os.path.exists("/tmp/structguard-unpickled")  # noqa: ASYNC240, PTH110, S108
    await store.aclose()


async def test_only_json_text_lies_in_the_database(tmp_path: Path) -> None:
    store = disk(tmp_path)
    await store.put("secret-scope", "resp_1", turn())
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database:
        rows = database.execute("SELECT key, raw, mode, value, size FROM Cache").fetchall()
    ((key, raw, mode, value, size),) = rows
    assert (key, raw, mode, size) == (key_of("secret-scope", "resp_1"), 1, 1, len(value.encode()))
    assert value.startswith('{"v":1,')
    assert "secret-scope" not in value


async def test_a_deleted_directory_is_made_anew(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = disk(home)
    await store.put("a", "x", turn())
    shutil.rmtree(home)
    assert await store.get("a", "x") is None
    await store.put("a", "x", turn("new"))
    assert await store.get("a", "x") == turn("new")
    await store.aclose()


async def test_a_damaged_database_is_moved_aside_told_once_and_replaced(tmp_path: Path) -> None:
    store = disk(tmp_path)
    (tmp_path / "cache.db").write_bytes(b"this is no database" * 1000)
    with pytest.raises(StoreTrouble, match=r"damaged.*moved to .*corrupt-.*a new one is made"):
        await store.put("a", "x", turn())
    await store.put("a", "x", turn())
    assert await store.get("a", "x") == turn()
    assert any(name.startswith("corrupt-") for name in os.listdir(tmp_path))  # noqa: PTH208
    await store.aclose()


async def test_a_place_that_cannot_be_a_directory_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = disk(tmp_path / "file" / "below")
    with pytest.raises(StoreTrouble, match=r"the response store disk:.*file/below failed"):
        await store.get("a", "x")
    await store.aclose()


async def test_a_locked_database_is_a_clear_error_and_serves_again(tmp_path: Path) -> None:
    store = disk(tmp_path)
    await store.put("a", "x", turn())
    with closing(sqlite3.connect(tmp_path / "cache.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreTrouble, match="kept it locked for too long"):
            await store.put("a", "y", turn())
        assert await store.get("a", "x") == turn()
        other.rollback()
    await store.put("a", "y", turn())
    assert await store.get("a", "y") == turn()
    await store.aclose()


async def test_expired_turns_leave_the_disk_with_the_next_one(tmp_path: Path) -> None:
    wall = Wall()
    store = open_store(f"disk:{tmp_path}", expiry=60.0, limit_bytes=MIB, wall=wall)
    for number in range(5):
        await store.put("a", str(number), turn())
    wall.now += 61.0
    await store.put("a", "last", turn())
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "cache.db")) as database:
        # the library stamps rows with the real clock: what is left is at most the last one
        assert database.execute("SELECT COUNT(*) FROM Cache").fetchone()[0] <= 1


async def test_the_clerk_hands_errors_on_and_starts_again_after_its_end() -> None:
    clerk = Clerk("clerk")
    with pytest.raises(ZeroDivisionError):
        await clerk.run(lambda: 1 / 0)
    assert await clerk.run(lambda: 2) == 2
    await clerk.aclose()
    await clerk.aclose()
    assert await clerk.run(lambda: 3) == 3
    await clerk.aclose()


async def test_what_was_asked_is_done_before_a_cancelled_caller_goes_on() -> None:
    clerk, done = Clerk("clerk"), list[str]()

    def work() -> None:
        threading.Event().wait(0.1)
        done.append("work")

    with anyio.CancelScope() as scope:
        scope.cancel()
        await clerk.run(work)
    assert done == ["work"]
    await clerk.aclose()


def steps(cache: ResponseCache, many: int, *, limit: int, before: float | None) -> int:
    """SQLite's own steps (in tens) of one more text where there are many."""
    cache.keep([Text(f"k{at}", "x" * 100) for at in range(many)], limit=limit, before=None)
    counted = [0]
    connection: sqlite3.Connection = vars(type(cache).__mro__[-2])["_con"].fget(cache)

    def count() -> int:
        counted[0] += 1
        return 0

    connection.set_progress_handler(count, 10)
    cache.keep([Text("one more", "x" * 100)], limit=limit, before=before)
    connection.set_progress_handler(None, 0)
    return counted[0]


@pytest.mark.parametrize("full", [False, True])
def test_one_more_turn_costs_the_same_however_many_are_kept(full: bool, tmp_path: Path) -> None:  # noqa: FBT001
    few, many = (
        steps(cache, count, limit=count * 100 if full else MIB, before=1.0)
        for count in (20, 2_000)
        for cache in [ResponseCache(str(tmp_path / str(count)))]
    )
    assert many < 2 * few


def test_a_text_set_again_is_the_newest(tmp_path: Path) -> None:
    cache = ResponseCache(str(tmp_path))
    for key in ("a", "b", "a", "c"):
        cache.keep([Text(key, "x" * 100)], limit=200, before=None)
    assert [cache.kept(key, 0.0) is not None for key in "abc"] == [True, False, True]
    cache.close()


async def test_turns_that_wait_together_are_all_told_of_a_failure(tmp_path: Path) -> None:
    store = disk(tmp_path / "home")
    (tmp_path / "home").write_text("no directory")
    failed: list[str] = []

    async def put(name: str) -> None:
        with pytest.raises(StoreTrouble) as caught:
            await store.put("a", name, turn())
        failed.append(str(caught.value))

    async with anyio.create_task_group() as tasks:
        for at in range(8):
            tasks.start_soon(put, f"x{at}")
    assert len(failed) == 8
    await store.aclose()
