"""The rules of remembering, the same whatever the store: each runs in memory and on a real disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from structguard.memo import Entry, Memo
from structguard.memo.disk import DiskStore
from structguard.types import Scope
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import DAY, KEY, NOON, entry, refusal


@pytest.fixture(params=["memory", "disk"])
def memo(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    wall: ManualClock,
    clock: ManualClock,
    recorder: EventRecorder,
) -> Iterator[Memo]:
    store = DiskStore(tmp_path / "store") if request.param == "disk" else None
    with Memo(store, wall=wall, clock=clock, observer=recorder, jitter=lambda: 0.5) as memo:
        yield memo
    assert recorder.events == []


def test_the_first_writer_alone_is_told_so(memo: Memo) -> None:
    assert memo.remember(entry()) is True
    assert memo.remember(entry()) is False
    assert memo.remember(entry(1)) is True
    assert memo.look(KEY) == entry()
    assert memo.entries() == [entry(), entry(1)]


def test_the_first_entry_stands_until_it_expires(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry())
    wall.now += 10
    assert memo.remember(entry(wall=wall.now, what=refusal(evidence="other words"))) is False
    assert memo.look(KEY) == entry()


def test_an_expired_entry_is_given_and_is_due(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry())
    wall.now += DAY - 1
    known = memo.look(KEY)
    assert known is not None
    assert not memo.due(known)
    wall.now += 1
    assert memo.look(KEY) == known
    assert memo.due(known)


def test_renewing_an_expired_entry_is_no_first_writing(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry())
    wall.now += DAY
    assert memo.remember(entry(wall=wall.now)) is False
    (known,) = memo.entries()
    assert (known.first_seen, known.confirmed) == (NOON, NOON + DAY)
    assert not memo.due(known)


def test_an_entry_that_never_expires_is_never_due(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry(expiry=None))
    wall.now += 1000 * DAY
    known = memo.look(KEY)
    assert known is not None
    assert not memo.due(known)


def test_an_entry_from_a_future_that_the_clock_took_back_is_due(
    memo: Memo, wall: ManualClock
) -> None:
    wall.now += 1000 * DAY
    memo.remember(entry(wall=wall.now))
    wall.now = NOON
    known = memo.look(KEY)
    assert known is not None
    assert memo.due(known)


def test_a_clock_set_back_a_little_leaves_an_entry_in_force(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry())
    wall.now -= 60.0
    known = memo.look(KEY)
    assert known is not None
    assert not memo.due(known)


def test_a_cleared_entry_is_gone_and_may_be_first_again(memo: Memo) -> None:
    memo.remember(entry())
    memo.remember(entry(1))
    memo.clear(entry())
    assert memo.look(KEY) is None
    assert memo.entries() == [entry(1)]
    assert memo.remember(entry()) is True


def test_forgetting_goes_by_provider_and_model(memo: Memo) -> None:
    elsewhere = entry(key=replace(KEY, provider="other"))
    for made in (entry(), entry(1), elsewhere):
        memo.remember(made)
    assert memo.forget("host/v1", "m1") == 1
    assert memo.forget("nobody") == 0
    assert memo.forget(model="m") == 2
    assert memo.entries() == []
    memo.remember(entry())
    memo.remember(elsewhere)
    assert memo.forget(provider="other") == 1
    assert memo.forget() == 1
    assert memo.forget() == 0
    assert memo.look(KEY) is None


def test_what_was_added_by_its_base_url_is_forgotten_by_it(memo: Memo) -> None:
    url = "https://user:pass@Host:443/v1/?key=k"
    memo.add(url, "m")
    assert [made.provider for made in memo.entries()] == ["host/v1"]
    assert memo.forget("https://other/v1") == 0
    assert memo.forget(url, "m") == 1
    memo.remember(entry(key=replace(KEY, provider="https://an.id/of-somebody's")))
    assert memo.forget("https://an.id/of-somebody's") == 1


def test_one_caller_holds_the_lease_until_it_lapses(
    memo: Memo, wall: ManualClock, clock: ManualClock
) -> None:
    memo.remember(entry())
    assert memo.lease(entry(), 30.0) is True
    assert memo.lease(entry(), 30.0) is False
    for each in (wall, clock):
        each.now += 29.0
    assert memo.lease(entry(), 30.0) is False
    for each in (wall, clock):
        each.now += 1.0
    assert memo.lease(entry(), 30.0) is True
    assert memo.lease(entry(1), 30.0) is True, "another entry has its own lease"


def test_no_lease_is_longer_than_two_minutes(
    memo: Memo, wall: ManualClock, clock: ManualClock
) -> None:
    memo.remember(entry())
    assert memo.lease(entry(), 1e9)
    for each in (wall, clock):
        each.now += 120.0
    assert memo.lease(entry(), 1e9)


def test_a_lease_ends_when_its_entry_is_renewed(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry(expiry=1.0))
    wall.now += 1.0
    assert memo.lease(entry(), 120.0)
    assert memo.remember(entry(wall=wall.now, expiry=1.0)) is False
    wall.now += 1.0
    assert memo.lease(entry(), 120.0)


def test_a_lease_ends_when_its_entry_is_cleared(memo: Memo) -> None:
    memo.remember(entry())
    assert memo.lease(entry(), 120.0)
    memo.clear(entry())
    memo.remember(entry())
    assert memo.lease(entry(), 120.0)


def test_spared_requests_are_counted(memo: Memo) -> None:
    memo.remember(entry())
    for _ in range(3):
        memo.note_saved(entry())
    assert memo.entries() == [replace(entry(), saved=3)]
    memo.close()
    assert memo.entries() == [replace(entry(), saved=3)]


def test_counts_of_what_is_forgotten_are_forgotten(memo: Memo) -> None:
    memo.remember(entry())
    memo.note_saved(entry())
    memo.forget()
    memo.remember(entry())
    assert memo.entries() == [entry()]
    memo.forget()
    memo.note_saved(entry())
    memo.close()
    assert memo.entries() == []


def test_what_is_known_beforehand_is_added_for_ever(memo: Memo, wall: ManualClock) -> None:
    assert memo.add("https://host/v1/", "m") is True
    wall.now += 1000 * DAY
    known = memo.look(replace(KEY, schema="9" * 64))
    assert known is not None
    assert (known.provider, known.base_url, known.rule) == ("host/v1", "host/v1", "added")
    assert not memo.due(known)


def test_adding_replaces_what_was_there(memo: Memo) -> None:
    memo.remember(entry())
    assert memo.add("host/v1", "m", base_url="https://host/v1", evidence="I know") is False
    (known,) = memo.entries()
    assert (known.evidence, known.expires) == ("I know", None)


def test_each_scope_can_be_added(memo: Memo) -> None:
    memo.add("p", "m", scope=Scope.COMBINATION, flag="tools", expiry=60.0)
    memo.add("p", "m", scope=Scope.SCHEMA, schema="5" * 64, format="json_schema")
    memo.add("p", "m", verdict="use_api", api="responses")
    memo.add("p", "m", verdict="ignored", format="json_object", strict=True, routing="ff")
    assert [(made.verdict, made.scope, made.format) for made in memo.entries()] == [
        ("ignored", Scope.CAPABILITY, "json_object"),
        ("refused", Scope.SCHEMA, "json_schema"),
        ("refused", Scope.COMBINATION, "json_schema"),
        ("use_api", Scope.CAPABILITY, None),
    ]


def test_a_scope_without_what_it_needs_is_a_mistake(memo: Memo) -> None:
    with pytest.raises(ValueError, match="needs a flag"):
        memo.add("p", "m", scope=Scope.COMBINATION)
    with pytest.raises(ValueError, match="a flag needs"):
        memo.add("p", "m", flag="tools")
    with pytest.raises(ValueError, match="needs a schema digest"):
        memo.add("p", "m", scope=Scope.SCHEMA)
    with pytest.raises(ValueError, match="base URL is not valid"):
        memo.add("p", "m", base_url="https://")


def test_drafts_carry_the_memo_s_clock_and_jitter(memo: Memo) -> None:
    assert memo.draft(KEY, refusal(), status=400) == entry()
    assert memo.draft(KEY, refusal(), status=400, expiry=None).expires is None
    assert memo.draft_ignored(KEY, "prose").expires == NOON + 3600.0


def test_many_threads_make_one_entry_and_one_first_writer(memo: Memo) -> None:
    start = threading.Barrier(20)

    def write(_: int) -> bool:
        start.wait()
        memo.stale()
        memo.refresh()
        return memo.remember(entry())

    with ThreadPoolExecutor(20) as pool:
        assert sorted(pool.map(write, range(20))) == [False] * 19 + [True]
    assert memo.entries() == [entry()]


def test_threads_share_one_lease(memo: Memo) -> None:
    memo.remember(entry())
    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(lambda _: memo.lease(entry(), 60.0), range(10))) == 1


def test_look_ups_run_beside_writers(memo: Memo) -> None:
    """Readers take no lock; whatever a writer is doing, they find the whole entry or none."""
    stop = threading.Event()
    wrong: list[Entry | None] = []

    def read() -> None:
        while not stop.is_set():
            found = memo.look(KEY)
            if found not in (None, entry()):
                wrong.append(found)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(3):
        memo.remember(entry())
        memo.clear(entry())
    stop.set()
    reader.join()
    assert wrong == []


def test_a_pair_remembers_32_schemas(memo: Memo) -> None:
    made = [
        entry(
            key=replace(KEY, schema=f"{number:064x}"),
            wall=NOON + number,
            what=refusal(Scope.SCHEMA),
        )
        for number in range(34)
    ]
    assert all(memo.remember(one) for one in made)
    assert sorted(one.confirmed for one in memo.entries()) == [NOON + n for n in range(2, 34)]


def test_a_memo_is_a_context_manager_and_says_what_it_is(memo: Memo) -> None:
    with memo as same:
        assert same is memo
    assert repr(memo).startswith("<Memo ")
