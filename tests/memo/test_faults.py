"""Whatever happens to the store, calls go on in memory and one trouble is told."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from structguard.events import MemoTrouble
from structguard.memo import Memo
from structguard.memo.damage import judge
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import DAY, KEY, NOON, ROOT, entry

SOME = 6  # entries in the store before it breaks


def delete(place: Path) -> None:
    shutil.rmtree(place)


def delete_files(place: Path) -> None:
    for file in place.iterdir():
        file.unlink()


def overwrite(place: Path) -> None:
    (place / "cache.db").write_bytes(b"this is no database " * 500)


def overwrite_all(place: Path) -> None:
    for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
        (place / name).write_bytes(b"rubbish")


def truncate(place: Path) -> None:
    os.truncate(place / "cache.db", 5000)


def spoil_a_page(place: Path) -> None:
    with (place / "cache.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(20_000))


def empty(place: Path) -> None:
    os.truncate(place / "cache.db", 0)


def drop_tables(place: Path) -> None:
    with closing(sqlite3.connect(place / "cache.db")) as connection:
        connection.execute("DROP TABLE Cache")
        connection.commit()


def spoil_a_text(place: Path) -> None:
    """As a flipped bit on the disk does: the file is in order, one text is no UTF-8."""
    with closing(sqlite3.connect(place / "cache.db")) as connection:
        connection.execute(
            "UPDATE Cache SET value = CAST(x'ff41' AS TEXT) WHERE rowid ="
            " (SELECT MAX(rowid) FROM Cache)"
        )
        connection.commit()


def in_the_way(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("a file")


BREAKAGES: list[tuple[Callable[[Path], None], tuple[str, bool]]] = [
    (delete, ("deleted while in use", False)),
    (delete_files, ("deleted while in use", False)),
    (in_the_way, ("", False)),
    (overwrite, ("damaged", True)),
    (overwrite_all, ("damaged", True)),
    (truncate, ("damaged", True)),
    (spoil_a_page, ("damaged", True)),
    (empty, ("damaged", True)),
    (drop_tables, ("damaged", True)),
    (spoil_a_text, ("damaged", True)),
]


@pytest.mark.parametrize(
    ("breakage", "told"), BREAKAGES, ids=[breakage.__name__ for breakage, _ in BREAKAGES]
)
def test_a_store_broken_while_running_is_told_once_and_calls_go_on(
    place: Path,
    recorder: EventRecorder,
    breakage: Callable[[Path], None],
    told: tuple[str, bool],
) -> None:
    clock = ManualClock(NOON)
    disk = Memo(DiskStore(place), observer=recorder, clock=clock, wall=ManualClock(NOON))
    reason, moved = told
    for number in range(SOME):
        disk.remember(entry(number))
    breakage(place)
    clock.now += 1.1
    assert disk.stale()
    disk.refresh()
    assert disk.look(KEY) == entry(), "what was known is still known"
    assert disk.remember(entry()) is False
    assert disk.remember(entry(99)) is True
    assert disk.lease(entry(), 10.0)
    assert not disk.lease(entry(), 10.0)
    disk.note_saved(entry())
    disk.clear(entry(99))
    assert disk.forget(model="m1") == 1
    assert len(disk.entries()) == SOME - 1
    clock.now += 100.0
    assert not disk.stale()
    disk.close()
    (trouble,) = recorder.of(MemoTrouble)
    assert reason in trouble.reason
    assert trouble.store == f"disk:{place}"
    assert not trouble.benign
    assert disk.name == "memory:"
    assert (trouble.moved_to is not None) is moved
    if trouble.moved_to is not None:
        assert Path(trouble.moved_to).exists()
        assert not (place / "cache.db").exists()


@pytest.mark.parametrize("breakage", [overwrite, overwrite_all, truncate, drop_tables])
def test_a_store_found_damaged_is_moved_aside_and_the_next_process_has_a_new_one(
    disk: Memo, place: Path, wall: ManualClock, breakage: Callable[[Path], None]
) -> None:
    for number in range(SOME):
        disk.remember(entry(number))
    breakage(place)
    recorder = EventRecorder()
    found = Memo(DiskStore(place), wall=wall, observer=recorder)
    found.refresh()
    if breakage is drop_tables:  # a database without our tables is given them
        assert recorder.events == []
    else:
        assert found.remember(entry()) is True
        assert [bool(trouble.moved_to) for trouble in recorder.of(MemoTrouble)] == [True]
        assert found.name == "memory:"
    again = Memo(DiskStore(place), wall=wall, observer=recorder)
    again.refresh()
    assert again.entries() == []
    assert again.remember(entry(1)) is True
    third = Memo(DiskStore(place), wall=wall)
    assert third.entries() == [entry(1)]


def test_settings_that_the_library_cannot_start_with_are_moved_aside(place: Path) -> None:
    DiskStore(place).read()
    with closing(sqlite3.connect(place / "cache.db")) as connection:
        connection.execute("INSERT INTO Settings VALUES ('disk_compress_level', 1)")
        connection.commit()
    recorder = EventRecorder()
    Memo(DiskStore(place), observer=recorder).refresh()
    (trouble,) = recorder.of(MemoTrouble)
    assert trouble.moved_to is not None


def test_a_damaged_store_that_somebody_has_replaced_stays_where_it_is(
    disk: Memo, other: Memo, place: Path, clock: ManualClock
) -> None:
    """Both processes see the damage; only the first may move it, the second must spare the new."""
    for number in range(SOME):
        disk.remember(entry(number))
    other.refresh()
    overwrite(place)
    clock.now += 1.1
    disk.refresh()
    fresh = Memo(DiskStore(place))
    fresh.remember(entry(7))
    other.refresh()
    assert other.entries() == [entry(7)], "it has joined the new store"
    assert len(list(place.glob("corrupt-*.db"))) == 1


def test_a_locked_store_is_told_once_and_written_when_it_is_free(
    disk: Memo, place: Path, recorder: EventRecorder, clock: ManualClock, wall: ManualClock
) -> None:
    disk.remember(entry(1))
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert disk.remember(entry()) is True
        assert disk.look(KEY) == entry()
        assert disk.remember(entry()) is False
        assert disk.lease(entry(), 10.0) is True
        assert disk.lease(entry(), 10.0) is False
        clock.now += 25.0
        assert not disk.stale(), "calls do not queue up behind the lock"
        connection.execute("ROLLBACK")
    clock.now += 10.0
    assert disk.stale()
    disk.refresh()
    assert disk.look(KEY) == entry()
    (trouble,) = recorder.of(MemoTrouble)
    assert "locked" in trouble.reason
    assert disk.name == f"disk:{place}"
    assert Memo(DiskStore(place), wall=wall).entries() == [entry(), entry(1)]


def test_a_store_that_is_locked_when_it_is_opened_holds_nobody_up(
    place: Path, recorder: EventRecorder, wall: ManualClock
) -> None:
    Memo(DiskStore(place), wall=wall).remember(entry())
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        memo = Memo(DiskStore(place), observer=recorder, wall=wall)
        memo.refresh()
        assert memo.look(KEY) is None
        assert not memo.stale()
    assert [trouble.reason for trouble in recorder.of(MemoTrouble)] == [
        "another process has kept it locked for too long"
    ]


@contextmanager
def mounted(path: Path, options: str) -> Iterator[None]:
    """A small file system of its own, where this test may mount one."""
    path.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    except FileNotFoundError:
        pytest.skip("no mount program here")
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)  # noqa: S603, S607


def remount(path: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(path)], check=True)  # noqa: S603, S607


def test_a_store_made_read_only_while_running_is_told_once(
    tmp_path: Path, recorder: EventRecorder, clock: ManualClock, wall: ManualClock
) -> None:
    home = tmp_path / "home"
    with mounted(home, "size=2m"):
        memo = Memo(DiskStore(home / "store"), observer=recorder, clock=clock, wall=wall)
        memo.remember(entry())
        remount(home, "ro")
        assert memo.remember(entry(1)) is True
        assert memo.entries() == [entry(), entry(1)]
        memo.close()
    (trouble,) = recorder.of(MemoTrouble)
    assert "cannot be written" in trouble.reason
    assert not trouble.benign


def test_a_read_only_home_is_no_fault(
    tmp_path: Path, recorder: EventRecorder, wall: ManualClock
) -> None:
    home = tmp_path / "home"
    with mounted(home, "size=2m"):
        Memo(DiskStore(home / "old"), wall=wall).remember(entry())
        remount(home, "ro")
        for place in (home / "a" / "new", home / "old"):
            memo = Memo(DiskStore(place), observer=recorder, wall=wall)
            memo.refresh()
            assert memo.remember(entry(1)) is True
    assert [trouble.benign for trouble in recorder.of(MemoTrouble)] == [True, True]


def test_a_disk_that_fills_up_is_told_once(
    tmp_path: Path, recorder: EventRecorder, wall: ManualClock
) -> None:
    home = tmp_path / "home"
    with mounted(home, "size=512k"):
        memo = Memo(DiskStore(home / "store"), observer=recorder, wall=wall)
        number = 0
        while not recorder.events:
            assert memo.remember(entry(number)) is True
            number += 1
        assert memo.remember(entry(number)) is True
        assert memo.look(replace(KEY, model=entry(number).model)) is not None
        assert number > 10
    (trouble,) = recorder.of(MemoTrouble)
    assert "full" in trouble.reason


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    """The same without mounting: the process may not write files beyond 64 KiB."""
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from structguard.memo import Memo; from structguard.memo.disk import DiskStore\n"
        "from structguard.events import MemoTrouble\n"
        "from tests.doubles import *; from tests.memo.support import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "recorder = EventRecorder(); memo = Memo(DiskStore(Path(sys.argv[1])), observer=recorder, wall=ManualClock(NOON))\n"
        "assert all([memo.remember(entry(number)) for number in range(200)])\n"
        "assert len(memo.entries()) == 200 and len(recorder.of(MemoTrouble)) == 1, recorder.of(MemoTrouble)\n"
        "memo.close()"
    )
    done = subprocess.run(  # noqa: S603  our own interpreter on our own text
        [sys.executable, "-c", program, str(tmp_path / "store")], cwd=ROOT, check=False
    )
    assert done.returncode == 0
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 65536


def test_a_path_under_a_file_cannot_be_a_store(tmp_path: Path, recorder: EventRecorder) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        memo = Memo(DiskStore(path), observer=recorder)
        memo.refresh()
        assert memo.remember(entry()) is True
        memo.close()
    assert len(recorder.of(MemoTrouble)) == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_trouble_is_told_to_every_observer_once(place: Path, recorder: EventRecorder) -> None:
    memo = Memo(DiskStore(place), observer=recorder)
    second = EventRecorder()
    memo.add_observer(second)
    memo.add_observer(second)
    memo.remember(entry())
    overwrite(place)
    memo.refresh()
    assert len(recorder.events) == len(second.events) == 1


def test_an_observer_that_raises_fails_no_call(
    place: Path, caplog: pytest.LogCaptureFixture, recorder: EventRecorder
) -> None:
    def raises(_: object) -> None:
        raise ValueError("its own fault")

    memo = Memo(DiskStore(place), observer=raises)
    memo.add_observer(recorder)
    memo.remember(entry())
    overwrite(place)
    memo.refresh()
    assert memo.remember(entry()) is False
    assert len(recorder.events) == 1, "the others hear of it all the same"
    assert "an observer failed on MemoTrouble" in caplog.text


def test_an_expired_entry_is_renewed_in_memory_when_the_store_is_gone(
    disk: Memo, place: Path, wall: ManualClock
) -> None:
    disk.remember(entry())
    wall.now += DAY
    delete(place)
    assert disk.lease(entry(), 10.0)
    assert disk.remember(entry(wall=wall.now)) is False
    known = disk.look(KEY)
    assert known is not None
    assert not disk.due(known)


def test_a_sound_store_is_not_moved_whatever_the_error(place: Path) -> None:
    """Only the file itself can convict it."""
    store = DiskStore(place)
    store.swap("key", None, "{}")
    inode = (place / "cache.db").stat().st_ino
    for error in (sqlite3.OperationalError("odd"), OSError(5, "odd"), RuntimeError("odd")):
        failure = judge(error, place, opened=True, inode=inode)
        assert (failure.reason, failure.moved_to) == (
            f"it cannot be used: {error}",
            None,
        )
        assert failure.lasting
    assert store.read() == {"key": "{}"}


def test_a_damaged_store_that_was_replaced_or_is_gone_is_not_moved(place: Path) -> None:
    store = DiskStore(place)
    store.swap("key", None, "{}")
    overwrite(place)
    error = sqlite3.DatabaseError("file is not a database")
    assert judge(error, place, opened=True, inode=1).moved_to is None
    delete_files(place)
    assert judge(error, place, opened=False, inode=1).moved_to is None


@pytest.mark.skipif(os.name != "posix", reason="users are switched the POSIX way")
def test_a_directory_that_this_user_may_not_enter_is_no_fault(tmp_path: Path) -> None:
    """As nobody, with the file modes that do not stop root."""
    home = tmp_path / "home"
    (home / "store").mkdir(parents=True)
    home.chmod(0o700)
    program = (
        "import os, sys; from pathlib import Path; import anyio.to_thread, diskcache\n"
        "from structguard.memo import Memo; from structguard.memo.disk import DiskStore\n"
        "from structguard.memo.textcache import TextCache\n"
        "from structguard.events import MemoTrouble\n"
        "from tests.doubles import *; from tests.memo.support import *\n"
        "os.setuid(65534)\n"
        "for path in ('store', 'new'):\n"
        "    recorder = EventRecorder(); memo = Memo(DiskStore(Path(sys.argv[1], path)), observer=recorder)\n"
        "    assert memo.remember(entry()) is True and memo.name == 'memory:'\n"
        "    assert [trouble.benign for trouble in recorder.of(MemoTrouble)] == [True], recorder.of(MemoTrouble)\n"
    )
    if os.getuid() != 0:
        program = program.replace("os.setuid(65534)", "")
        home.chmod(0o000)
    done = subprocess.run(  # noqa: S603  our own interpreter on our own text
        [sys.executable, "-c", program, str(home)], cwd=ROOT, check=False
    )
    home.chmod(0o700)
    assert done.returncode == 0
