"""A store on disk: what is written, who sees it, and that nothing in it can do harm."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import KEY, NOON, ROOT, entry


def rows(place: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        return connection.execute(query).fetchall()


def plant(place: Path, key: object, raw: int, mode: int, value: object) -> None:
    """Put a row into the database behind the memo's back."""
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, ?, 0, ?, ?)",
            (key, raw, mode, value),
        )


def settle(place: Path) -> None:
    """Make the store's files old enough for their stamps to be trusted."""
    for file in place.iterdir():
        os.utime(file, (NOON, NOON))


def test_opening_and_looking_touch_no_disk(disk: Memo, place: Path) -> None:
    assert disk.look(KEY) is None
    assert disk.stale()
    assert disk.stale()
    assert not place.exists()


def test_the_first_question_makes_a_private_directory(disk: Memo, place: Path) -> None:
    disk.refresh()
    assert place.stat().st_mode & 0o777 == 0o700
    assert not disk.stale()


def test_keys_are_text_and_values_are_json(disk: Memo, place: Path) -> None:
    disk.remember(entry())
    disk.lease(entry(), 10.0)
    found = rows(place, "SELECT key, raw, mode, filename, value FROM Cache")
    assert len(found) == 2
    for key, raw, mode, filename, value in found:
        assert (type(key), raw, mode, filename) == (str, 1, 1, None)
        assert isinstance(json.loads(str(value)), dict)
    settings = rows(place, "SELECT key, value FROM Settings")
    expected = [("eviction_policy", "none"), ("statistics", 0), ("cull_limit", 0)]
    assert set(expected) <= set(settings)
    assert rows(place, "PRAGMA journal_mode") == [("wal",)]


def test_another_memo_on_the_directory_knows_what_was_written(disk: Memo, other: Memo) -> None:
    disk.remember(entry())
    other.refresh()
    assert other.look(KEY) == entry()
    assert other.remember(entry()) is False


def test_whoever_has_not_looked_yet_is_still_not_first(disk: Memo, other: Memo) -> None:
    other.refresh()
    disk.remember(entry())
    assert other.remember(entry()) is False
    assert other.look(KEY) == entry()


def test_a_call_over_a_second_after_the_last_look_sees_others_writes(
    disk: Memo, other: Memo, place: Path, clock: ManualClock
) -> None:
    other.refresh()
    settle(place)
    other.refresh()
    disk.remember(entry())
    clock.now += 0.9
    assert not other.stale(), "not yet: the last look is less than a second old"
    clock.now += 0.2
    assert other.stale()
    assert other.stale(), "it stays stale until it is refreshed"
    other.refresh()
    assert other.look(KEY) == entry()


def test_others_clearing_is_seen_too(disk: Memo, other: Memo, clock: ManualClock) -> None:
    disk.remember(entry())
    other.refresh()
    disk.clear(entry())
    clock.now += 1.1
    assert other.stale()
    other.refresh()
    assert other.look(KEY) is None


def test_while_nobody_writes_nothing_is_read(disk: Memo, place: Path, clock: ManualClock) -> None:
    disk.remember(entry())
    settle(place)
    disk.refresh()
    for _ in range(5):
        clock.now += 1.1
        assert not disk.stale()


class Counting(DiskStore):
    looks = 0

    def stamp(self) -> object:
        self.looks += 1
        return super().stamp()


def test_the_stamp_is_looked_at_once_a_second_at_most(place: Path, clock: ManualClock) -> None:
    store = Counting(place)
    memo = Memo(store, clock=clock)
    memo.refresh()
    settle(place)
    memo.refresh()
    store.looks = 0
    for _ in range(100):
        clock.now += 0.1
        memo.stale()
    assert 9 <= store.looks <= 10


def test_a_file_written_a_moment_ago_is_looked_at_again(place: Path) -> None:
    """Two writes within one tick of the file system's clock leave the same stamp."""
    store = DiskStore(place)
    store.swap("key", None, "{}")
    fresh = store.stamp()
    time.sleep(0.15)  # noqa: TID251  files are stamped by the real clock
    settled = store.stamp()
    assert settled != fresh
    assert settled == store.stamp()


def test_without_a_store_there_is_no_stamp(tmp_path: Path) -> None:
    assert DiskStore(tmp_path / "none").stamp() is None


def test_the_log_of_somebody_who_has_it_open_is_what_is_looked_at(
    disk: Memo, other: Memo, place: Path, clock: ManualClock
) -> None:
    disk.remember(entry())
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute("SELECT * FROM Cache").fetchall()
        other.refresh()
        settle(place)
        other.refresh()
        disk.remember(entry(1))
        assert (place / "cache.db-wal").stat().st_size > 0
        clock.now += 1.1
        assert other.stale()
        other.refresh()
        assert other.look(replace(KEY, model="m1")) == entry(1)


def test_a_log_left_by_a_killed_writer_is_read(place: Path, other: Memo) -> None:
    program = (
        "import os, sys; from tests.memo.support import entry; from structguard.memo.textcache import *;"
        "c = TextCache(sys.argv[1]); c.put('v1:' + entry().id, entry().to_json()); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(place)], cwd=ROOT, check=False)  # noqa: S603
    assert (place / "cache.db-wal").stat().st_size > 0
    other.refresh()
    assert other.look(KEY) == entry()


class Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize("raw", [0, 1])
def test_a_planted_pickle_is_never_unpickled(
    disk: Memo, other: Memo, recorder: EventRecorder, place: Path, tmp_path: Path, raw: int
) -> None:
    mark = tmp_path / "exploded"
    bomb = pickle.dumps(Bomb(mark))
    pickle.loads(bomb)  # noqa: S301  it works
    mark.unlink()
    disk.remember(entry())
    (place / "ab").mkdir()
    (place / "ab" / "bomb.val").write_bytes(bomb)
    ours = f"v1:{entry(1).id}"
    plant(place, ours, raw, 4, bomb)
    plant(place, bomb, 0, 1, "value")
    plant(place, f"v1:{entry(2).id}", raw, 4, None)
    plant(place, f"lease-v1:{entry().id}", raw, 4, bomb)
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute("UPDATE Cache SET filename = 'ab/bomb.val' WHERE value IS NULL")
        connection.execute("UPDATE Settings SET value = ? WHERE key = 'disk_pickle_protocol'", (4,))
    other.refresh()
    assert other.look(KEY) == entry()
    assert other.entries() == [entry()]
    assert other.remember(entry(1)) is True
    assert other.lease(entry(), 10.0)
    assert other.forget() == 2
    assert not mark.exists()
    assert recorder.events == []


def test_entries_of_an_unknown_version_are_ignored_and_kept(
    disk: Memo, other: Memo, place: Path
) -> None:
    disk.remember(entry())
    foreign = entry(1).to_json().replace('"version":1', '"version":2')
    plant(place, f"v2:{entry(1).id}", 1, 1, foreign)
    plant(place, f"v1:{entry(2).id}", 1, 1, foreign)
    other.refresh()
    assert other.entries() == [entry()]
    assert other.forget() == 1
    assert len(rows(place, "SELECT key FROM Cache")) == 2


def test_a_spoilt_text_gives_way_to_an_entry(disk: Memo, other: Memo, place: Path) -> None:
    disk.refresh()
    plant(place, f"v1:{entry().id}", 1, 1, "{not json")
    assert other.remember(entry()) is True
    disk.refresh()
    assert disk.look(KEY) == entry()


def test_the_oldest_entries_make_room_on_disk(place: Path, wall: ManualClock) -> None:
    memo = Memo(DiskStore(place, limit=5), wall=wall, limit=5)
    stranger = Memo(DiskStore(place, limit=5), wall=wall, limit=5)
    for number in range(8):
        (memo, stranger)[number % 2].remember(entry(number, wall=NOON + number))
        assert len(rows(place, "SELECT key FROM Cache")) <= 5
    memo.refresh()
    kept = [one.confirmed for one in memo.entries()]
    assert sorted(kept) == [NOON + number for number in range(3, 8)]


def test_ten_thousand_pairs_fit_into_bounded_memory(place: Path, wall: ManualClock) -> None:
    Memo(DiskStore(place), wall=wall).refresh()
    made = [entry(number + 1, wall=NOON + number) for number in range(10_050)]
    with closing(sqlite3.connect(place / "cache.db")) as connection:
        connection.executemany(
            "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, 1, ?, 1, ?)",
            [(f"v1:{one.id}", number, one.to_json()) for number, one in enumerate(made)],
        )
        connection.commit()
    del made
    tracemalloc.start()
    memo = Memo(DiskStore(place), wall=wall)
    memo.refresh()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(memo._view) == 10_000
    assert grown < 40_000_000
    assert memo.look(replace(KEY, model="m51")) is not None
    assert memo.look(replace(KEY, model="m50")) is None
    assert rows(place, "SELECT COUNT(*) FROM Cache") == [(10_000,)]


def test_counts_are_written_once_a_minute_and_added_up(
    disk: Memo, other: Memo, place: Path, clock: ManualClock
) -> None:
    disk.remember(entry())
    other.refresh()
    settle(place)
    for memo in (disk, other):
        memo.refresh()
        memo.note_saved(entry())
        memo.note_saved(entry())
    clock.now += 59.0
    assert not disk.stale()
    clock.now += 1.1
    for memo in (disk, other):
        assert memo.stale()
        memo.refresh()
    assert other.entries() == [replace(entry(), saved=4)]
    disk.refresh()
    assert disk.entries() == [replace(entry(), saved=4)]


def test_counts_of_an_entry_that_another_has_dropped_are_dropped(disk: Memo, other: Memo) -> None:
    disk.remember(entry())
    disk.note_saved(entry())
    other.forget()
    disk.close()
    assert disk.entries() == []


def test_counts_are_added_to_whatever_another_has_written_since(
    disk: Memo, other: Memo, wall: ManualClock
) -> None:
    disk.remember(entry())
    disk.note_saved(entry())
    wall.now += 86_400.0
    other.remember(entry(wall=wall.now))
    disk.close()
    other.refresh()
    (known,) = other.entries()
    assert (known.saved, known.confirmed) == (1, wall.now)


def test_a_closed_memo_opens_its_store_again(disk: Memo, other: Memo) -> None:
    disk.close()
    disk.close()
    assert disk.remember(entry()) is True
    other.refresh()
    assert other.look(KEY) == entry()


@pytest.mark.parametrize(("names", "mode"), [(["cache.db"], 0o700), (["cache.db", "x"], 0o755)])
def test_an_open_directory_is_closed_to_others_if_it_is_ours_alone(
    place: Path, names: list[str], mode: int
) -> None:
    DiskStore(place).read()
    place.chmod(0o755)
    for name in names:
        (place / name).touch()
    DiskStore(place).read()
    assert place.stat().st_mode & 0o777 == mode


def test_diskcache_is_loaded_when_the_disk_is_first_asked() -> None:
    program = (
        "import sys, structguard.memo as m; memo = m.open_memo('disk:/nowhere/at/all');"
        "memo.look(m.Entry(verdict='refused', provider='p', model='m'));"
        "assert memo.stale(); assert 'diskcache' not in sys.modules; assert 'anyio' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)  # noqa: S603
    assert done.returncode == 0


def test_only_text_is_stored(place: Path) -> None:
    from structguard.memo.textcache import TextCache  # noqa: PLC0415

    cache = TextCache(str(place))
    with pytest.raises(TypeError, match="stores text, got bytes"):
        cache.set("key", b"bytes")
    cache.close()
