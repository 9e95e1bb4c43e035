"""Real processes on one directory: nothing is lost, one is first, one holds the lease."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from structguard.memo import Entry, Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import NOON, ask, entry, running, told


def test_a_new_process_knows_what_an_earlier_one_learned(disk: Memo, place: Path) -> None:
    disk.remember(entry())
    with running("partner", f"disk:{place}") as partner:
        assert told(partner) == "ready"
        assert ask(partner, "look", 0) == "True"
        assert ask(partner, "remember", 0) == "False"
        assert ask(partner, "quit") == "[]"


def test_two_running_processes_see_each_other_s_writes_after_a_second(
    place: Path, wall: ManualClock
) -> None:
    url = f"disk:{place}"
    with running("partner", url) as one, running("partner", url) as two:
        assert told(one) == told(two) == "ready"
        assert (ask(one, "look", 0), ask(two, "look", 0)) == ("False", "False")
        assert ask(one, "remember", 0) == "True"
        time.sleep(1.05)  # noqa: TID251  real processes have real clocks
        assert ask(two, "look", 0) == "True"
        assert ask(two, "lease", 0, 60) == "True"
        assert ask(one, "lease", 0, 60) == "False"
        assert ask(two, "forget") == "1"
        time.sleep(1.05)  # noqa: TID251
        assert ask(one, "look", 0) == "False"


def test_the_lease_of_a_dead_holder_lapses(disk: Memo, place: Path, wall: ManualClock) -> None:
    disk.remember(entry())
    with running("partner", f"disk:{place}") as holder:
        told(holder)
        assert ask(holder, "lease", 0, 30) == "True"
        holder.kill()
        holder.wait()
    assert not disk.lease(entry(), 30.0)
    wall.now += 30.0
    assert disk.lease(entry(), 30.0)


def test_a_clock_set_back_does_not_make_a_lease_eternal(
    disk: Memo, other: Memo, wall: ManualClock
) -> None:
    disk.remember(entry())
    assert other.lease(entry(), 30.0)
    wall.now -= 3600.0
    assert disk.lease(entry(), 30.0)


def test_a_clock_set_back_a_trifle_leaves_the_lease_with_its_holder(
    disk: Memo, other: Memo, wall: ManualClock
) -> None:
    disk.remember(entry())
    assert other.lease(entry(), 30.0)
    wall.now -= 0.1
    assert not disk.lease(entry(), 30.0)


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_that_contend_lose_nothing_and_one_is_first(
    place: Path, processes: int, wall: ManualClock
) -> None:
    count = 25
    contenders = [running("contender", f"disk:{place}", count) for _ in range(processes)]
    started = [contender.__enter__() for contender in contenders]
    try:
        assert [told(one) for one in started] == ["ready"] * processes
        for one in started:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        said = [json.loads(told(one)) for one in started]
    finally:
        for contender in contenders:
            contender.__exit__(None, None, None)
    assert [one["troubles"] for one in said] == [[]] * processes
    for what in ("first", "leases"):
        assert sorted(number for one in said for number in one[what]) == list(range(count))
    memo = Memo(DiskStore(place), wall=wall)
    assert {made.model for made in memo.entries()} == {entry(n).model for n in range(count)}


def test_fifty_kills_while_writing_leave_a_readable_store_and_no_wrong_entry(
    tmp_path: Path, place: Path, wall: ManualClock
) -> None:
    """After each kill a fresh reader sees all that was acknowledged, and nothing else."""
    possible: dict[str, Entry] = {}
    must: set[str] = set()
    with running("victim", place, 50) as victim:
        for round_ in range(50):
            words = json.loads(told(victim) if round_ == 0 else ask(victim, "go on"))
            assert not [word for word in words if word.startswith("!")], words
            began = {int(word[1:]) for word in words if word.startswith("+")}
            ending = {int(word[1:]) for word in words if word.startswith("-")}
            last = max(began)
            must |= {entry(number).id for number in began - ending}
            must -= {entry(number).id for number in ending}
            for number in (*began, last + 1):
                possible[entry(number).id] = entry(number)
            for number in ending - {last}:
                possible.pop(entry(number).id)
            copy = tmp_path / "copy"
            shutil.copytree(place, copy)
            recorder = EventRecorder()
            found = {one.id: one for one in Memo(DiskStore(copy), observer=recorder).entries()}
            shutil.rmtree(copy)
            assert recorder.events == []
            assert must <= found.keys() <= possible.keys()
            for id_, one in found.items():
                expected = possible[id_]
                assert (one.model, one.evidence) == (expected.model, expected.evidence)
                assert one.first_seen == NOON
                assert one.saved in (0, 1)


@pytest.mark.parametrize(
    "spoilt",
    ["{not json", "[]", "{}", '{"taken": "now", "seconds": 5}', "[" * 100_000, '{"taken": 1e400}'],
)
def test_a_spoilt_lease_has_lapsed(disk: Memo, place: Path, spoilt: str) -> None:
    disk.remember(entry())
    assert disk.lease(entry(), 30.0)
    with closing(sqlite3.connect(place / "cache.db", isolation_level=None)) as connection:
        connection.execute("UPDATE Cache SET value = ? WHERE key LIKE 'lease%'", (spoilt,))
    stranger = Memo(DiskStore(place), wall=ManualClock(NOON))
    assert stranger.lease(entry(), 30.0)
    assert not Memo(DiskStore(place), wall=ManualClock(NOON)).lease(entry(), 30.0)
