"""The short cut between OpenAI's wires says what the long way says, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from structguard.clients.bodies import format_of
from structguard.gateway.direct import direct
from structguard.gateway.translate import fitted, readable
from structguard.types import Api, Format
from structguard.wire.base import WireOptions
from structguard.wire.table import WIRES
from tests.gateway.support import CHAT_FORMAT, TEXT_FORMAT

Json = dict[str, Any]
PLAIN = WireOptions()
OPTIONS = st.sampled_from([
    PLAIN,
    PLAIN,
    PLAIN,
    WireOptions(developer_role=True),
    WireOptions(needs_json_word=True),
    WireOptions(reasoning=True),
    WireOptions(max_tokens=9),
    WireOptions(format_with_tools=False),
])  # fmt: skip

TEXTS = st.sampled_from(["", "Where?", 'say "x"', "ä\n", "json"])
ROLES = st.sampled_from(["user", "assistant", "system", "developer"])
ODD: st.SearchStrategy[object] = st.sampled_from(
    [None, True, False, 0, -1, 3, 2.5, "x", [], {}, ["a"], {"a": 1}, [{}]]
)
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
PARTS: list[Json] = [
    {"type": "input_text", "text": "a", "annotations": []},
    {"type": "refusal", "refusal": "no"},
    {"type": "refusal", "text": "no"},
    {"type": "text"},
    {},
]
ODD_MESSAGES = st.one_of(
    st.sampled_from([
        "x",
        {"role": "user"},
        {"role": "tool", "content": "x", "tool_call_id": "c"},
        {"role": "critic", "content": "x"},
        {"role": None, "content": "x"},
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "user", "content": "x", "name": None},
        {"role": "user", "content": None},
        {"role": "assistant", "content": "x", "id": "msg_1"},
        {"role": "assistant", "content": "x", "refusal": "no"},
        {"type": None, "role": "user", "content": "x"},
        {"type": "reasoning", "role": "user", "content": "x"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
    ]),
    st.builds(
        lambda role, parts: {"role": role, "content": parts},
        ROLES,
        st.lists(st.sampled_from(PARTS), max_size=2),
    ),
)  # fmt: skip
FORMATS: list[Json | None] = [None, {"type": "text"}, {"type": "json_object"}]


def messages(shape: st.SearchStrategy[Json]) -> st.SearchStrategy[list[Any]]:
    """Plain ones; at times one among them that is not."""
    plain = st.lists(shape, min_size=1, max_size=4)
    return st.one_of(
        plain, plain, st.builds(lambda said, odd: [*said, odd], plain, ODD_MESSAGES), st.just([])
    )


def with_one_odd(
    plain: st.SearchStrategy[Json], odd: dict[str, st.SearchStrategy[object]]
) -> st.SearchStrategy[Json]:
    """A plain body, or one with a single field that may be anything."""
    patches = st.one_of([st.fixed_dictionaries({key: value}) for key, value in odd.items()])
    return st.one_of(plain, st.builds(lambda body, patch: {**body, **patch}, plain, patches))


NUMBERS = {"temperature": st.sampled_from([0, 0.5, None]), "top_p": st.sampled_from([1, 0.1, None]),
           "stream": st.sampled_from([False, None])}  # fmt: skip
SHARED = dict.fromkeys(
    ["temperature", "top_p", "metadata", "user", "tools", "store", "seed", "n", "include", "stop"],
    ODD,
)
SAY = st.fixed_dictionaries({"role": ROLES, "content": TEXTS})
ITEM = st.fixed_dictionaries(
    {
        "role": ROLES,
        "content": st.one_of(
            TEXTS,
            st.builds(
                lambda kind, text: [{"type": kind, "text": text}],
                st.sampled_from(["input_text", "output_text", "text"]),
                TEXTS,
            ),
        ),
    },
    optional={"type": st.just("message")},
)
CHAT = with_one_odd(
    st.fixed_dictionaries(
        {"model": st.just("asked"), "messages": messages(SAY)},
        optional={
            **NUMBERS,
            "response_format": st.sampled_from([CHAT_FORMAT, None]),
            "max_tokens": st.sampled_from([5, None]),
        },
    ),
    {
        **SHARED,
        "response_format": st.sampled_from(FORMATS),
        "max_tokens": ODD,
        "max_completion_tokens": ODD,
        "reasoning_effort": st.sampled_from(["low", None]),
    },
)
RESPONSES = with_one_odd(
    st.fixed_dictionaries(
        {"model": st.just("asked"), "input": st.one_of(TEXTS, messages(ITEM))},
        optional={
            **NUMBERS,
            "text": st.sampled_from([{"format": TEXT_FORMAT}, {}, None]),
            "instructions": TEXTS,
            "max_output_tokens": st.sampled_from([5, None]),
            "store": st.booleans(),
        },
    ),
    {
        **SHARED,
        "text": st.one_of(
            st.just({"format": TEXT_FORMAT, "verbosity": "low"}),
            st.sampled_from(FORMATS).map(lambda format_: {"format": format_}),
        ),
        "instructions": ODD,
        "max_output_tokens": ODD,
        "tools": st.just([TOOL]),
        "reasoning": st.sampled_from([None, {}, {"effort": "low"}]),
    },
)


def short(body: Json, source: Api, target: Api, options: WireOptions) -> Json | None:
    format_: Format | None = format_of(body, source)
    return direct(body, source, target, model="m", format=format_, options=options)


def long(body: Json, source: Api, target: Api, options: WireOptions) -> Json:
    request = WIRES[source].decode_request(readable(body, source))
    made, warning = fitted(request, source, target, {"model": "m", "timeout": None})
    assert warning == ""
    format_ = format_of(body, source)
    return WIRES[target].encode_request(made, format=format_, options=options)


def same(body: Json, source: Api, target: Api, options: WireOptions) -> None:
    found = short(body, source, target, options)
    if found is not None:
        assert found == long(body, source, target, options)


@given(CHAT, OPTIONS)
def test_a_chat_body_crosses_as_the_long_way_has_it(body: Json, options: WireOptions) -> None:
    same(body, "chat", "responses", options)


@given(RESPONSES, OPTIONS)
def test_a_responses_body_crosses_as_the_long_way_has_it(body: Json, options: WireOptions) -> None:
    same(body, "responses", "chat", options)


SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where?"},
    {"role": "assistant", "content": "Bonn."},
    {"role": "user", "content": "And now?"},
]
ASKED: list[tuple[Api, Api, Json]] = [
    ("chat", "responses", {"messages": SAID}),
    ("chat", "responses", {"messages": SAID, "response_format": CHAT_FORMAT, "temperature": 0.2}),
    ("chat", "responses", {"messages": SAID[1:], "max_tokens": 5, "stream": False, "top_p": 1}),
    ("responses", "chat", {"input": "Where?"}),
    ("responses", "chat", {"input": SAID, "instructions": "In English.", "store": False}),
    (
        "responses",
        "chat",
        {
            "input": [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "a"}],
                }
            ],
            "text": {"format": TEXT_FORMAT},
            "max_output_tokens": 9,
        },
    ),
]


@pytest.mark.parametrize(("source", "target", "body"), ASKED, ids=str)
def test_what_is_plain_takes_the_short_cut(source: Api, target: Api, body: Json) -> None:
    whole = {"model": "asked", **body}
    assert short(whole, source, target, PLAIN) == long(whole, source, target, PLAIN)


NOT_PLAIN: list[tuple[Api, Api, Json]] = [
    ("chat", "responses", {"messages": SAID, "tools": [{"type": "function"}]}),
    ("chat", "responses", {"messages": [{"role": "user", "content": "x", "name": "ann"}]}),
    ("chat", "responses", {"messages": SAID, "max_tokens": True}),
    ("chat", "responses", {"messages": SAID, "response_format": {"type": "json_object"}}),
    ("chat", "responses", {"messages": []}),
    ("responses", "chat", {"input": [{"type": "reasoning", "summary": []}]}),
    ("responses", "chat", {"input": "x", "reasoning": {"effort": "low"}}),
    ("responses", "chat", {"input": "x", "text": {"verbosity": "low"}}),
    ("responses", "chat", {"input": "x", "temperature": "warm"}),
    ("responses", "messages", {"input": "x"}),
]


@pytest.mark.parametrize(("source", "target", "body"), NOT_PLAIN, ids=str)
def test_what_is_more_than_plain_goes_the_long_way(source: Api, target: Api, body: Json) -> None:
    assert short({"model": "asked", **body}, source, target, PLAIN) is None
