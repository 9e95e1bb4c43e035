"""What a process keeps to itself: pauses, first rescues, prose in a row."""

from __future__ import annotations

from dataclasses import replace

from structguard.memo import Memo
from structguard.memo.local import Bounded, Local
from structguard.types import MemoKey
from tests.doubles import ManualClock
from tests.memo.support import KEY, NOON, entry
from tests.memo.test_view import Unasked


def test_a_pause_holds_five_minutes_for_this_very_key(memo: Memo, clock: ManualClock) -> None:
    memo.pause(KEY)
    assert memo.paused(KEY)
    assert not memo.paused(replace(KEY, schema="7" * 64))
    clock.now += 299.0
    assert memo.paused(KEY)
    clock.now += 1.0
    assert not memo.paused(KEY)
    clock.now -= 200.0
    assert not memo.paused(KEY), "a pause that is over stays over"


def test_without_pauses_no_key_is_computed(memo: Memo) -> None:
    assert not memo.paused(Unasked(("p", "m")))


def test_a_pause_ignores_the_wall_clock(memo: Memo, wall: ManualClock) -> None:
    memo.pause(KEY)
    wall.now += 10_000.0
    assert memo.paused(KEY)


def test_a_pause_is_no_entry(memo: Memo) -> None:
    memo.pause(KEY)
    assert memo.look(KEY) is None
    assert memo.entries() == []


def test_only_the_first_rescue_of_a_key_is_the_first(memo: Memo) -> None:
    assert [memo.rescued_before(KEY) for _ in range(3)] == [False, True, True]
    assert not memo.rescued_before(replace(KEY, model="other"))


def test_prose_is_counted_in_a_row_per_endpoint_and_format(memo: Memo) -> None:
    assert memo.count_prose(KEY) == 1
    assert memo.count_prose(replace(KEY, schema="7" * 64, flags=frozenset(), strict=True)) == 2
    assert memo.count_prose(replace(KEY, format="json_object")) == 1
    memo.reset_prose(replace(KEY, schema="8" * 64))
    assert memo.count_prose(KEY) == 1
    memo.reset_prose(replace(KEY, model="never seen"))


def test_forgetting_a_model_forgets_what_was_only_here(memo: Memo) -> None:
    stays = replace(KEY, model="other")
    for key in (KEY, stays):
        memo.pause(key)
        memo.rescued_before(key)
        memo.count_prose(key)
    memo.remember(entry())
    assert memo.forget(model="m") == 1
    assert not memo.paused(KEY)
    assert not memo.rescued_before(KEY)
    assert memo.count_prose(KEY) == 1
    assert memo.paused(stays)
    assert memo.rescued_before(stays)
    assert memo.count_prose(stays) == 2


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    kept: Bounded[int] = Bounded(2)
    keys = [MemoKey(provider="p", model=str(number)) for number in range(3)]
    kept.set(keys[0], 0)
    kept.set(keys[1], 1)
    kept.set(keys[0], 2)
    kept.set(keys[2], 3)
    assert [kept.get(key) for key in keys] == [2, None, 3]
    local = Local(ManualClock(NOON), limit=2)
    for key in keys:
        local.pause(key)
    assert [local.paused(key) for key in keys] == [False, True, True]
