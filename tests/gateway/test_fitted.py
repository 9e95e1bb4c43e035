"""A body for an upstream of another wire: each field goes, is told of, or is refused; none is lost unseen."""

from __future__ import annotations

from typing import Any

import pytest

from structguard.gateway.faults import ApiError
from structguard.gateway.translate import fitted, readable
from structguard.types import Api, Request
from structguard.wire.table import WIRES
from tests.gateway.support import chat, response, running, settings
from tests.gateway.wires import speaking

Json = dict[str, Any]
VENDORS: tuple[Api, ...] = ("messages", "converse", "generate_content")
TOOL: Json = {"type": "function", "name": "f"}
NESTED: Json = {"type": "function", "function": {"name": "f"}}


def fit(source: Api, target: Api, **fields: object) -> tuple[Request, str]:
    """What `target` gets of a body with these fields, and the warning."""
    body = chat("m", **fields) if source == "chat" else response("m", **fields)
    return fitted(WIRES[source].decode_request(readable(body, source)), source, target)


def sent(source: Api, target: Api, **fields: object) -> Json:
    """The same as the upstream sees it."""
    request, _ = fit(source, target, **fields)
    return dict(WIRES[target].encode_request(request))


REFUSED: list[tuple[Api, Json]] = [
    ("chat", {"functions": [{"name": "f"}]}),
    ("chat", {"function_call": "auto"}),
    ("chat", {"logit_bias": {"5": 1}}),
    ("chat", {"modalities": ["text", "audio"]}),
    ("chat", {"audio": {"voice": "alloy"}}),
    ("chat", {"web_search_options": {}}),
    ("responses", {"conversation": "conv_1"}),
    ("responses", {"prompt": {"id": "pmpt_1"}}),
]


@pytest.mark.parametrize(("source", "fields"), REFUSED)
def test_what_changes_the_answer_is_refused_by_every_other_wire(source: Api, fields: Json) -> None:
    others: tuple[Api, ...] = ("responses" if source == "chat" else "chat", *VENDORS)
    for target in others:
        with pytest.raises(ApiError) as caught:
            fit(source, target, **fields)
        assert (caught.value.status, caught.value.param) == (400, next(iter(fields)))


TOLD: list[tuple[Api, tuple[Api, ...], Json, str]] = [
    ("chat", ("responses", *VENDORS), {"logprobs": True}, "logprobs left out"),
    ("chat", ("responses", *VENDORS), {"logprobs": True, "top_logprobs": 3}, "logprobs left out"),
    ("responses", ("chat", *VENDORS), {"top_logprobs": 3}, "logprobs left out"),
    ("responses", ("chat", *VENDORS), {"truncation": "auto"}, "truncation left out"),
    ("responses", ("chat", *VENDORS), {"max_tool_calls": 2}, "max_tool_calls left out"),
    ("responses", ("chat", *VENDORS), {"include": ["file_search_call.results"]},
     "include file_search_call.results left out"),
    ("chat", VENDORS, {"verbosity": "low"}, "verbosity left out"),
    ("responses", VENDORS, {"text": {"verbosity": "low"}}, "verbosity left out"),
    ("chat", VENDORS, {"service_tier": "flex"}, "service_tier left out"),
    ("chat", VENDORS, {"store": True}, "store left out"),
    ("chat", ("converse", "generate_content"), {"tools": [NESTED], "parallel_tool_calls": False},
     "parallel_tool_calls left out"),
    ("chat", ("responses", *VENDORS), {"tools": [NESTED, {"type": "custom", "custom": {"name": "c"}}]},
     "tool custom left out"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "targets", "fields", "words"), TOLD)
def test_what_has_no_place_is_told(
    source: Api, targets: tuple[Api, ...], fields: Json, words: str
) -> None:
    for target in targets:
        request, warning = fit(source, target, **fields)
        assert warning == words
        assert not {"logprobs", "top_logprobs", "truncation"} & request.extra_body.keys()
        assert not request.hosted_tools


QUIET: list[tuple[Api, Json]] = [
    ("chat", {"modalities": ["text"]}),
    ("chat", {"functions": [], "logit_bias": {}}),
    ("chat", {"logprobs": False, "top_logprobs": 0}),
    ("chat", {"store": False}),
    ("chat", {"service_tier": "auto", "verbosity": "medium"}),
    ("chat", {"parallel_tool_calls": True, "tools": [NESTED]}),
    ("chat", {"parallel_tool_calls": False}),
    ("responses", {"truncation": "disabled"}),
    ("responses", {"include": ["reasoning.encrypted_content"]}),
    ("responses", {"reasoning": {"effort": "low", "summary": "auto"}}),
    ("responses", {"reasoning": {"effort": "none"}}),
    ("responses", {"metadata": {"a": "b"}, "prompt_cache_retention": "24h"}),
]


@pytest.mark.parametrize(("source", "fields"), QUIET)
def test_what_happens_anyway_is_no_warning(source: Api, fields: Json) -> None:
    for target in VENDORS:
        request, warning = fit(source, target, **fields)
        assert warning == ""
        assert not request.extra_body


def test_an_effort_that_only_the_vendor_knows_stands_where_the_wire_has_it() -> None:
    assert sent("responses", "chat", reasoning={"effort": "none"})["reasoning_effort"] == "none"
    told = sent("chat", "responses", reasoning_effort="none")
    assert told["reasoning"] == {"effort": "none"}
    assert "reasoning_effort" not in told


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        (None, {"type": "auto"}),
        ("required", {"type": "any"}),
        (TOOL, {"type": "tool", "name": "f"}),
    ],
)
def test_one_call_at_a_time_is_asked_of_anthropic_in_its_words(choice: object, kind: Json) -> None:
    body = sent(
        "responses", "messages", tools=[TOOL], tool_choice=choice, parallel_tool_calls=False
    )
    assert body["tool_choice"] == {**kind, "disable_parallel_tool_use": True}
    without = sent(
        "responses", "messages", tools=[TOOL], tool_choice="none", parallel_tool_calls=False
    )
    assert without["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("target", ["chat", *VENDORS])
def test_with_the_last_tool_goes_what_was_said_of_tools(target: Api) -> None:
    """OpenAI refuses `tool_choice` and `parallel_tool_calls` where there are no tools."""
    web: Json = {"type": "web_search"}
    body = sent("responses", target, tools=[web], tool_choice="auto", parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"} & body.keys()
    kept = sent("responses", target, tools=[web, TOOL], tool_choice="required")
    assert {"tool_choice", "toolConfig"} & kept.keys()
    with pytest.raises(ApiError) as caught:
        fit("responses", target, tools=[web], tool_choice="required")
    assert caught.value.param == "tool_choice"


def test_a_chat_clients_other_tools_go_to_an_upstream_that_has_them() -> None:
    request, warning = fit("chat", "responses", tools=[{"type": "web_search"}], tool_choice="auto")
    assert (list(request.hosted_tools), warning) == ([{"type": "web_search"}], "")


def test_a_warning_reaches_the_client_whole_and_streamed() -> None:
    with (
        speaking("messages") as provider,
        running(settings("", environ={"K": "k"}, providers={"up": provider})) as gateway,
    ):
        for stream in (False, True):
            body = response("m", stream=stream, truncation="auto", text={"verbosity": "low"})
            told = gateway.post("/v1/responses", body).headers["x-structguard-warning"]
            assert told == "truncation left out; verbosity left out"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["a\r\nx-evil: 1", "\x00", "k" * 70_000])
def test_a_warning_is_one_line_whatever_the_client_calls_its_fields(
    name: str, *, stream: bool
) -> None:
    """The answer was paid for: it must not be lost to its own header."""
    with (
        speaking("messages") as provider,
        running(settings("", environ={"K": "k"}, providers={"up": provider})) as gateway,
    ):
        reply = gateway.post("/v1/responses", response("m", stream=stream, **{name: 1}))
    assert reply.status_code == 200
    assert "x-evil" not in reply.headers
    told = reply.headers["x-structguard-warning"]
    assert len(told) < 512
    assert told.endswith(("left out", "..."))
