"""What an entry keeps of a refusal, which calls it speaks of, and its JSON text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from structguard.memo import Entry
from structguard.options import LONGEST_EXPIRY
from structguard.types import Api, Flag, FormatKind, MemoKey, Refusal, Scope
from tests.memo.support import DAY, KEY, NOON, entry, refusal

EQUAL_FIELDS: list[tuple[str, object]] = [
    ("provider", "other"),
    ("model", "other"),
    ("base_url", "other/v1"),
    ("api", "responses"),
    ("format", "json_object"),
    ("routing", "ff00"),
]
LOOSE_FIELDS: list[tuple[str, object]] = [
    ("flags", frozenset({"stream"})),
    ("flags", frozenset[str]()),
    ("schema", "7" * 64),
    ("strict", True),
]


def changed(key: MemoKey, field: str, value: object) -> MemoKey:
    return replace(key, **{field: value})  # type: ignore[arg-type]


def test_the_longest_expiry_a_policy_takes_comes_back_from_a_store() -> None:
    made = Entry.of(
        KEY, refusal(), status=400, wall=NOON, expiry=LONGEST_EXPIRY, jitter=lambda: 0.999
    )
    assert Entry.from_json(made.to_json()) == made


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(("field", "value"), EQUAL_FIELDS)
def test_whatever_the_scope_these_must_be_equal(scope: Scope, field: str, value: object) -> None:
    made = entry(what=refusal(scope, flag="tools" if scope is Scope.COMBINATION else None))
    assert made.matches(KEY)
    assert not made.matches(changed(KEY, field, value))


@pytest.mark.parametrize("scope", [Scope.CAPABILITY, Scope.UNNAMED])
@pytest.mark.parametrize(("field", "value"), LOOSE_FIELDS)
def test_a_capability_is_lacked_by_every_call(scope: Scope, field: str, value: object) -> None:
    assert entry(what=refusal(scope)).matches(changed(KEY, field, value))


def test_a_rejected_schema_says_nothing_about_another_schema() -> None:
    made = entry(what=refusal(Scope.SCHEMA))
    assert made.schema == KEY.schema
    assert made.matches(replace(KEY, flags=frozenset[Flag]()))
    assert not made.matches(replace(KEY, schema="7" * 64))


def test_a_combination_concerns_calls_that_carry_its_one_flag() -> None:
    carries = replace(KEY, flags=frozenset[Flag]({"tools", "stream"}))
    made = entry(key=carries, what=refusal(Scope.COMBINATION, flag="tools"))
    assert (made.flag, made.schema) == ("tools", "")
    assert made.matches(replace(KEY, flags=frozenset[Flag]({"tools"}), schema="7" * 64))
    assert not made.matches(replace(KEY, flags=frozenset[Flag]({"stream"})))


def test_a_combination_that_names_no_flag_takes_one_that_the_call_carried() -> None:
    carries = replace(KEY, flags=frozenset[Flag]({"stream", "reasoning"}))
    assert entry(key=carries, what=refusal(Scope.COMBINATION)).flag == "stream"
    bare = replace(KEY, flags=frozenset[Flag]())
    assert not entry(key=bare, what=refusal(Scope.COMBINATION)).matches(bare)


@pytest.mark.parametrize(
    ("evidence", "kept"),
    [
        ("'strict' is not supported with json_schema", True),
        ("Strict mode is unavailable", True),
        ("response_format is restricted", None),
        ("response_format is not supported", None),
    ],
)
def test_strict_is_a_qualifier_only_where_the_evidence_names_it(
    evidence: str,
    kept: bool | None,  # noqa: FBT001  a column of the table
) -> None:
    made = entry(key=replace(KEY, strict=True), what=refusal(evidence=evidence))
    assert made.strict is kept
    assert made.matches(replace(KEY, strict=True))
    assert made.matches(replace(KEY, strict=None)) is (kept is None)


def test_strict_left_out_is_strict_false() -> None:
    made = entry(what=refusal(evidence="strict must be true"))
    assert made.strict is False
    assert made.matches(replace(KEY, strict=False))
    assert not made.matches(replace(KEY, strict=True))


@pytest.mark.parametrize(
    ("scope", "expiry", "jitter", "seconds"),
    [
        (Scope.CAPABILITY, DAY, 0.5, DAY),
        (Scope.CAPABILITY, DAY, 0.0, DAY * 0.9),
        (Scope.CAPABILITY, DAY, 1.0, DAY * 1.1),
        (Scope.CAPABILITY, None, 0.5, None),
        (Scope.UNNAMED, DAY, 0.5, 300.0),
        (Scope.UNNAMED, None, 0.5, 300.0),
        (Scope.UNNAMED, 60.0, 0.5, 60.0),
    ],
)
def test_an_entry_lives_as_long_as_the_policy_says_give_or_take_a_tenth(
    scope: Scope, expiry: float | None, jitter: float, seconds: float | None
) -> None:
    made = Entry.of(
        KEY, refusal(scope), status=400, wall=NOON, expiry=expiry, jitter=lambda: jitter
    )
    assert (made.first_seen, made.confirmed) == (NOON, NOON)
    if seconds is None:
        assert made.expires is None
    else:
        assert made.expires == pytest.approx(NOON + seconds)


def test_without_a_jitter_of_ours_two_entries_do_not_fall_due_at_once() -> None:
    made = {Entry.of(KEY, refusal(), status=400, wall=NOON).expires for _ in range(8)}
    assert len(made) > 1


def test_an_ignored_format_is_kept_for_an_hour() -> None:
    made = Entry.ignored(KEY, wall=NOON, jitter=lambda: 0.5)
    assert (made.verdict, made.expires) == ("ignored", NOON + 3600.0)
    assert made.matches(replace(KEY, schema="7" * 64))
    assert Entry.ignored(KEY, wall=NOON, expiry=None).expires is None


def test_an_api_is_used_whatever_is_asked_for() -> None:
    made = Entry.use_api("host/v1", "m", "host/v1", "responses", "only in v1/responses", wall=NOON)
    assert made.format is None
    assert made.matches(replace(KEY, api="chat", format="json_object", routing="ff"))
    assert not made.matches(replace(KEY, base_url="other"))


def test_an_entry_gives_back_the_refusal_it_was_made_from() -> None:
    given_refusal = refusal(Scope.COMBINATION, flag="tools")
    assert entry(what=given_refusal).refusal == given_refusal


def test_evidence_is_short_and_holds_no_secret() -> None:
    made = entry(what=refusal(evidence="Bearer sk-abcdefghijklmnopqrstuvwx refused " + "x" * 500))
    assert "sk-abc" not in made.to_json()
    assert len(made.evidence) == 200


def test_what_two_entries_apply_to_decides_whether_they_are_one() -> None:
    first = entry(what=refusal(Scope.SCHEMA))
    assert first.slot == entry(what=refusal(Scope.SCHEMA, "other words"), wall=NOON + 5).slot
    assert first.id != entry(what=refusal(Scope.CAPABILITY)).id
    ignored = Entry.ignored(KEY, wall=NOON)
    assert ignored.id != entry().id
    one, two = (Entry.use_api("p", "m", "u", api, "", wall=NOON) for api in ("chat", "responses"))
    assert one.id == two.id


def test_a_renewed_entry_keeps_its_history() -> None:
    old = replace(entry(wall=NOON), saved=7)
    new = old.renewed(entry(wall=NOON + DAY))
    assert (new.first_seen, new.confirmed, new.saved) == (NOON, NOON + DAY, 7)


ENTRIES = st.builds(
    Entry,
    verdict=st.sampled_from(["refused", "ignored", "use_api"]),
    provider=st.text(),
    model=st.text(),
    base_url=st.text(),
    api=st.sampled_from(get_args(Api)),
    format=st.none() | st.sampled_from(get_args(FormatKind)),
    routing=st.text(max_size=16),
    scope=st.sampled_from(Scope),
    flag=st.none() | st.sampled_from(get_args(Flag)),
    schema=st.text(max_size=64),
    strict=st.none() | st.booleans(),
    rule=st.text(),
    feature=st.text(),
    evidence=st.text(max_size=200),
    status=st.none() | st.integers(100, 599),
    first_seen=st.floats(0, 1e11),
    confirmed=st.floats(0, 1e11),
    saved=st.integers(0, 10**9),
    expires=st.none() | st.floats(0, 1e11),
)


@given(ENTRIES)
def test_an_entry_comes_back_from_its_text(made: Entry) -> None:
    assert Entry.from_json(made.to_json()) == made


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_other_text_is_no_entry(text: str) -> None:
    assert Entry.from_json(text) is None


WRONG: list[tuple[str, object]] = [
    ("version", 2), ("version", None), ("verdict", "denied"), ("verdict", None), ("provider", 1),
    ("api", "images"), ("format", "xml"), ("scope", "all"), ("flag", "vision"), ("strict", 1),
    ("evidence", "x" * 201), ("status", "400"), ("status", True), ("first_seen", None),
    ("confirmed", True), ("saved", 1.5), ("expires", "never"), ("expires", 1e300),
    ("expires", float("nan")), ("expires", float("inf")), ("scope", ["capability"]),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_text_with_one_wrong_field_is_no_entry(field: str, value: object) -> None:
    fields = json.loads(entry().to_json())
    assert Entry.from_json(json.dumps({**fields, field: value})) is None


def test_a_text_with_a_field_too_many_or_too_few_is_no_entry() -> None:
    fields = json.loads(entry().to_json())
    assert Entry.from_json(json.dumps({**fields, "extra": 1})) is None
    del fields["rule"]
    assert Entry.from_json(json.dumps(fields)) is None


def test_a_text_nested_beyond_reason_is_no_entry() -> None:
    assert Entry.from_json("[" * 200_000) is None


def test_the_refusal_of_an_entry_has_the_types_a_refusal_has() -> None:
    back = Entry.from_json(entry().to_json())
    assert back is not None
    assert back.refusal == Refusal(
        Scope.CAPABILITY, "a-rule", "response_format", "response_format is not supported"
    )
    assert isinstance(back.scope, Scope)
