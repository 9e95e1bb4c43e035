"""What a request body carried, per wire API."""

from __future__ import annotations

import pytest

from structguard.refusal import RequestFacts, names_format, request_facts
from structguard.types import Api

SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
OBJECT = {"type": "json_object"}

CASES: list[tuple[Api, dict[str, object], RequestFacts]] = [
    ("chat", {}, RequestFacts(sent=None)),
    ("chat", {"response_format": SCHEMA}, RequestFacts(sent="json_schema")),
    ("chat", {"response_format": OBJECT}, RequestFacts(sent="json_object")),
    ("chat", {"response_format": {"type": "text"}}, RequestFacts(sent=None)),
    ("chat", {"response_format": None}, RequestFacts(sent=None)),
    ("chat", {"response_format": {"type": 7}}, RequestFacts(sent=None)),
    ("chat", {"response_format": OBJECT, "tools": []}, RequestFacts(sent="json_object")),
    ("chat", {"tools": [{"type": "function"}]}, RequestFacts(sent=None, tools=True)),
    ("chat", {"functions": [{"name": "f"}]}, RequestFacts(sent=None, tools=True)),
    ("chat", {"stream": True}, RequestFacts(sent=None, stream=True)),
    ("chat", {"stream": False}, RequestFacts(sent=None)),
    ("chat", {"reasoning_effort": "high"}, RequestFacts(sent=None, reasoning=True)),
    ("chat", {"reasoning_effort": "none"}, RequestFacts(sent=None)),
    ("chat", {"reasoning": {"effort": "low"}}, RequestFacts(sent=None, reasoning=True)),
    ("chat", {"reasoning": {"enabled": False}}, RequestFacts(sent=None)),
    ("chat", {"reasoning": {}}, RequestFacts(sent=None)),
    ("chat", {"enable_thinking": True}, RequestFacts(sent=None, reasoning=True)),
    ("chat", {"thinking": {"type": "disabled"}}, RequestFacts(sent=None)),
    (
        "chat",
        {"chat_template_kwargs": {"enable_thinking": True}},
        RequestFacts(sent=None, reasoning=True),
    ),
    ("chat", {"chat_template_kwargs": {"enable_thinking": False}}, RequestFacts(sent=None)),
    ("chat", {"reasoning": ["of no known shape"]}, RequestFacts(sent=None, reasoning=True)),
    (
        "responses",
        {"text": {"format": {"type": "json_schema"}}, "reasoning": {"effort": "high"}},
        RequestFacts(sent="json_schema", reasoning=True, api="responses"),
    ),
    (
        "responses",
        {"text": {"format": {"type": "text"}, "verbosity": "low"}},
        RequestFacts(sent=None, api="responses"),
    ),
    (
        "messages",
        {
            "output_config": {"format": {"type": "json_schema", "schema": {}}, "effort": "high"},
            "thinking": {"type": "adaptive"},
            "tools": [{"name": "t"}],
            "stream": True,
        },
        RequestFacts(sent="json_schema", tools=True, stream=True, reasoning=True, api="messages"),
    ),
    (
        "messages",
        {"output_format": {"type": "json_schema", "schema": {}}},
        RequestFacts(sent="json_schema", api="messages"),
    ),
    ("messages", {"output_config": {"effort": "high"}}, RequestFacts(sent=None, api="messages")),
    (
        "converse",
        {
            "outputConfig": {"textFormat": {"type": "json_schema"}},
            "toolConfig": {"tools": [{"toolSpec": {}}]},
            "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        },
        RequestFacts(sent="json_schema", tools=True, reasoning=True, api="converse"),
    ),
    (
        "generate_content",
        {"generationConfig": {"responseMimeType": "application/json"}},
        RequestFacts(sent="json_object", api="generate_content"),
    ),
    (
        "generate_content",
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object"},
                "thinkingConfig": {"thinkingBudget": 100},
            },
            "tools": [{"functionDeclarations": []}],
        },
        RequestFacts(sent="json_schema", tools=True, reasoning=True, api="generate_content"),
    ),
    (
        "generate_content",
        {"generation_config": {"response_mime_type": "application/json", "response_schema": {}}},
        RequestFacts(sent="json_schema", api="generate_content"),
    ),
    (
        "generate_content",
        {"generationConfig": {"responseMimeType": "text/plain"}},
        RequestFacts(sent=None, api="generate_content"),
    ),
]


@pytest.mark.parametrize(("api", "body", "facts"), CASES)
def test_a_request_body_is_read(api: Api, body: dict[str, object], facts: RequestFacts) -> None:
    assert request_facts(body, api) == facts


def test_facts_give_the_flags_of_the_memo() -> None:
    facts = RequestFacts(sent="json_schema", tools=True, reasoning=True)
    assert facts.flags == {"tools", "reasoning"}
    assert RequestFacts(sent=None).flags == frozenset()


@pytest.mark.parametrize("body", [body for _, body, facts in CASES if facts.sent is not None])
def test_every_format_that_can_be_read_is_found_whatever_it_says(body: dict[str, object]) -> None:
    assert names_format(body)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, False),
        ({"response_format": None}, True),
        ({"generation_config": {"responseSchema": {}}}, True),
        ({"nvext": {"guided_json": {}}}, True),
        ({"nvext": {"max_thinking_tokens": 9}, "text": "plain"}, False),
        ({"output_config": {"effort": "high"}}, False),
    ],
    ids=str,
)
def test_a_format_is_found_by_its_field(body: dict[str, object], *, found: bool) -> None:
    assert names_format(body) is found
