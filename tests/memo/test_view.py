"""Look-ups find what speaks of a call, touch nothing they need not, and memory stays bounded."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from structguard.memo import Entry
from structguard.memo.view import View
from structguard.types import Api, Flag, FormatKind, MemoKey, Place, Scope
from tests.memo.support import KEY, NOON, entry, refusal


class Unasked:
    """A call whose key must not be computed."""

    def __init__(self, pair: tuple[str, str]) -> None:
        self.pair = pair

    @property
    def place(self) -> Place:
        raise AssertionError("the place was computed")

    @property
    def key(self) -> MemoKey:
        raise AssertionError("the key was computed")


class Placed(Unasked):
    """A call whose place is cheap and whose key must not be computed."""

    place = KEY.place


def filled(*entries: Entry) -> View:
    view = View(limit=1000, schemas=32)
    for made in entries:
        assert view.put(made) == []
    return view


def test_an_entry_for_the_whole_endpoint_is_found_without_the_key() -> None:
    view = filled(entry())
    assert view.find(Placed(KEY.pair), "refused") is not None


def test_a_pair_without_entries_ends_the_look_up_before_place_and_key() -> None:
    view = filled(entry())
    assert view.find(Unasked(("host/v1", "other")), "refused") is None
    with pytest.raises(AssertionError, match="computed"):
        view.find(Unasked(KEY.pair), "refused")


def test_a_look_up_finds_exactly_what_matches() -> None:
    apis: tuple[Api, ...] = ("chat", "responses")
    kinds: tuple[FormatKind, ...] = ("json_schema", "json_object")
    carried: tuple[frozenset[Flag], ...] = (frozenset(), frozenset({"tools"}))
    keys = [
        replace(KEY, api=api, format=kind, schema=digest, flags=flags)
        for api, kind, digest, flags in itertools.product(apis, kinds, ("a", "b"), carried)
    ]
    entries = [
        entry(key=KEY, what=refusal(Scope.SCHEMA)),
        entry(key=keys[0], what=refusal(Scope.SCHEMA)),
        entry(key=keys[1], what=refusal(Scope.COMBINATION, flag="tools")),
        entry(key=keys[-1]),
    ]
    view = filled(*entries)
    for key in [KEY, *keys]:
        expected: list[Entry | None] = [made for made in entries if made.matches(key)]
        assert view.find(key, "refused") in (expected or [None])


def test_the_widest_entry_is_found_first() -> None:
    wide, narrow = entry(), entry(what=refusal(Scope.SCHEMA))
    assert filled(narrow, wide).find(KEY, "refused") == wide


def test_verdicts_are_looked_up_apart() -> None:
    refused, ignored = entry(), Entry.ignored(KEY, wall=NOON)
    used = Entry.use_api("host/v1", "m", "host/v1", "responses", "", wall=NOON)
    view = filled(refused, ignored, used)
    assert view.find(KEY, "refused") == refused
    assert view.find(KEY, "ignored") == ignored
    assert view.find(replace(KEY, api="messages", format="json_object"), "use_api") == used
    assert view.find(replace(KEY, base_url="other"), "use_api") is None


def test_entries_that_differ_in_strict_stand_side_by_side() -> None:
    words = refusal(evidence="strict")
    loose, strict = (entry(key=replace(KEY, strict=s), what=words) for s in (False, True))
    view = filled(loose, strict)
    assert view.find(replace(KEY, strict=True), "refused") == strict
    assert view.find(KEY, "refused") == loose
    view.drop(loose.slot)
    assert view.find(replace(KEY, strict=True), "refused") == strict
    assert view.find(KEY, "refused") is None


def test_what_was_dropped_leaves_nothing_behind() -> None:
    made = [entry(), entry(1), entry(what=refusal(Scope.SCHEMA))]
    view = filled(*made)
    for one in made:
        assert view.drop(one.slot) == one
        assert view.drop(one.slot) is None
    assert (len(view), view._pairs) == (0, {})
    assert view.find(Unasked(KEY.pair), "refused") is None


def test_the_oldest_entry_makes_room() -> None:
    view = View(limit=3, schemas=32)
    made = [entry(number) for number in range(5)]
    assert [view.put(one) for one in made[:3]] == [[], [], []]
    assert view.put(made[0]) == []  # renewed: now the newest
    assert view.put(made[3]) == [made[1]]
    assert view.put(made[4]) == [made[2]]
    assert list(view) == [made[0], made[3], made[4]]
    assert view.find(replace(KEY, model="m1"), "refused") is None


def test_a_pair_knows_32_schemas_and_the_oldest_makes_room() -> None:
    view = View(limit=1000, schemas=32)
    keys = [replace(KEY, schema=f"{number:064x}") for number in range(33)]
    made = [
        entry(key=key, wall=NOON + number, what=refusal(Scope.SCHEMA))
        for number, key in enumerate(keys)
    ]
    wide = entry(key=replace(KEY, api="responses"), wall=NOON - 1)
    view.put(wide)
    gone = [old for one in made for old in view.put(one)]
    assert gone == made[:1]
    assert view.find(keys[0], "refused") is None
    assert view.find(keys[32], "refused") == made[32]
    assert wide in list(view)


def test_a_view_is_replaced_at_once() -> None:
    view = filled(entry(), entry(1))
    assert view.fill([entry(2)]) == []
    assert list(view) == [entry(2)]
    assert view.find(KEY, "refused") is None


def test_what_does_not_fit_when_a_view_is_replaced_is_handed_back() -> None:
    view = View(limit=2, schemas=32)
    made = [entry(number, wall=NOON + number) for number in range(4)]
    assert view.fill(reversed(made)) == made[:2]


def test_flags_are_asked_one_by_one() -> None:
    key = replace(KEY, flags=frozenset[Flag]({"tools", "stream", "reasoning"}))
    made = entry(key=key, what=refusal(Scope.COMBINATION, flag="reasoning"))
    assert filled(made).find(key, "refused") == made
