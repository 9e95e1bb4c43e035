"""A protected provider: same interface, a refused format is rescued below everything else."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from werkzeug import Request as WebRequest, Response

import structguard as sg
from structguard.errors import ProviderError, Unavailable
from structguard.events import Event, RefusalRemembered, ignore
from structguard.memo import Memo, open_memo
from structguard.options import Policy
from structguard.service import Provider
from structguard.testing import Script
from structguard.types import (
    Completion,
    DeclineDelta,
    Failure,
    Finished,
    Kind,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
)
from structguard.wire.base import WireOptions
from tests.providers.support import run

REFUSAL = Failure(
    status=400, body='{"error":{"message":"json_schema is not supported by this model"}}'
)
BUSY = Failure(status=503, body='{"error":{"message":"busy"}}')
MESSAGES = [{"role": "system", "content": "Reply briefly."}, {"role": "user", "content": "hi"}]
CALL = ToolCall(id="c", name="look", arguments="{}")
PROSE = "```json\n{'city': 'Bonn'}\n```"


class Answer(BaseModel):
    city: str


@pytest.fixture
def memo() -> Memo:
    return open_memo("memory:")


def protected(script: Provider, memo: Memo, **policy: Any) -> Any:
    return sg.Guard(memo=memo, policy=Policy(**policy)).protect(script, model="m")


def request(**fields: Any) -> sg.Request:
    return replace(sg.Request(messages=MESSAGES, response_format=Answer), **fields)


async def test_a_refusal_is_rescued_on_the_same_provider(memo: Memo) -> None:
    script = Script([REFUSAL, PROSE, PROSE])
    safe = protected(script, memo)
    completion = await safe.complete(request())
    assert (completion.text, completion.enforced, completion.requests) == (PROSE, False, 2)
    assert completion.refusal is not None
    assert completion.refusal.scope == "capability"
    again = await safe.complete(request())
    assert (again.enforced, again.requests) == (False, 1)
    assert [asked.response_format for asked in script.requests] == [Answer, None, None]


async def test_the_second_request_is_the_first_minus_the_format(memo: Memo) -> None:
    script = Script([REFUSAL, PROSE])
    await protected(script, memo).complete(request(temperature=0.5, max_tokens=9))
    first, second = script.requests
    assert second.messages == first.messages
    assert (second.temperature, second.max_tokens, second.model) == (0.5, 9, "m")


async def test_prompt_always_says_the_schema_once_more(memo: Memo) -> None:
    script = Script([REFUSAL, PROSE])
    await protected(script, memo, prompt="always").complete(request())
    assert '"city"' in script.requests[1].conversation[0].text


async def test_an_endpoint_known_to_ignore_the_format_is_told_nothing_more(memo: Memo) -> None:
    """That the schema goes into the prompt too is for the faces that change prompts."""
    memo.add("script", "m", verdict="ignored")
    script = Script(["{}"])
    asked = request()
    await protected(script, memo, ignored_after=1).complete(asked)
    assert script.requests[0].messages == asked.messages


async def test_a_refused_schema_comes_with_advice(memo: Memo) -> None:
    told: list[Event] = []
    body = '{"error":{"message":"Invalid schema for response_format: additionalProperties is required"}}'
    script = Script([Failure(status=400, body=body), PROSE])
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    safe = sg.Guard(memo=memo, observer=told.append).protect(script, model="m")
    await safe.complete(request(response_format=schema))
    (remembered,) = told
    assert isinstance(remembered, RefusalRemembered)
    assert remembered.refusal.scope == "schema"
    assert "additionalProperties" in remembered.advice


async def test_an_accepted_format_is_marked_enforced(memo: Memo) -> None:
    completion = await protected(Script(["{}"]), memo).complete(request())
    assert (completion.enforced, completion.requests) == (True, 1)


async def test_no_format_is_neither(memo: Memo) -> None:
    script = Script(["hi"])
    completion = await protected(script, memo).complete(request(response_format=None))
    assert completion.enforced is None


async def test_a_failed_retry_has_the_refusal_as_its_cause(memo: Memo) -> None:
    with pytest.raises(Unavailable) as caught:
        await protected(Script([REFUSAL, BUSY]), memo).complete(request())
    cause = caught.value.__cause__
    assert isinstance(cause, ProviderError)
    assert (cause.kind, caught.value.requests) == (Kind.FORMAT_REFUSED, 2)
    assert memo.entries() == []


async def test_the_refusal_itself_is_of_kind_format_refused(memo: Memo) -> None:
    script = Script([REFUSAL])
    with pytest.raises(ProviderError) as caught:
        await protected(script, memo, require_enforced=True).complete(request())
    assert caught.value.kind is Kind.FORMAT_REFUSED
    assert sg.is_refusal(caught.value)


async def test_a_retry_with_the_same_words_pauses_the_second_send(memo: Memo) -> None:
    script = Script([REFUSAL, REFUSAL, REFUSAL])
    safe = protected(script, memo)
    for _ in range(2):
        with pytest.raises(ProviderError):
            await safe.complete(request())
    assert len(script.requests) == 3


async def test_both_sends_share_one_budget_of_time_and_attempts(memo: Memo) -> None:
    now = [0.0]

    def refuse(_request: sg.Request) -> Failure:
        now[0] += 4.0
        return REFUSAL

    script = Script([refuse, PROSE])
    safe = sg.Guard(memo=memo, clock=lambda: now[0]).protect(script, model="m")
    await safe.complete(request(timeout=10.0, attempts=3))
    assert [(r.timeout, r.attempts) for r in script.requests] == [(10.0, 3), (6.0, 2)]


async def test_without_time_for_a_second_send_the_refusal_is_raised(memo: Memo) -> None:
    now = [0.0]

    def refuse(_request: sg.Request) -> Failure:
        now[0] += 0.9
        return REFUSAL

    script = Script([refuse])
    safe = sg.Guard(memo=memo, clock=lambda: now[0]).protect(script)
    with pytest.raises(ProviderError) as caught:
        await safe.complete(request(timeout=1.0))
    assert caught.value.kind is Kind.FORMAT_REFUSED
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "extra",
    [
        {"response_format": {"a": 1}},
        {"response_format": None},
        {"text": {"format": {"type": "text"}}},
        {"output_config": {"format": {}}},
        {"output_format": {}},
        {"outputConfig": {"textFormat": {}}},
        {"additionalModelRequestFields": {"output_config": {"format": {}}}},
        {"generationConfig": {"responseSchema": {}}},
        {"generation_config": {"response_mime_type": "text/x.enum"}},
        {"guided_json": {}},
        {"structured_outputs": {"json": {}}},
        {"nvext": {"guided_json": {}}},
        {"grammar": "root ::= any"},
    ],
    ids=str,
)
async def test_a_format_in_extra_body_is_the_operators_own(
    memo: Memo, extra: dict[str, object]
) -> None:
    script = Script([REFUSAL])
    with pytest.raises(ProviderError):
        await protected(script, memo).complete(request(extra_body=extra))
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "extra",
    [
        {"text": {"verbosity": "low"}},
        {"output_config": {"effort": "low"}},
        {"generationConfig": {"topK": 3}},
        {"provider": {"order": ["a"]}, "nvext": 1},
    ],
    ids=str,
)
async def test_what_stands_beside_a_format_is_no_format(
    memo: Memo, extra: dict[str, object]
) -> None:
    completion = await protected(Script([REFUSAL, PROSE]), memo).complete(request(extra_body=extra))
    assert completion.enforced is False


TOOL: dict[str, object] = {"name": "look", "parameters": {"type": "object"}}
APART = WireOptions(format_with_tools=False)


@pytest.mark.parametrize("policy", [{}, {"unnamed": True}, {"also_statuses": {500}}], ids=str)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_format_left_out_for_tools_cannot_be_refused(
    memo: Memo, httpserver: HTTPServer, policy: dict[str, Any], *, stream: bool
) -> None:
    """The one send carried none: what reads like a refusal is about something else."""
    httpserver.expect_request("/v1/chat/completions").respond_with_data(REFUSAL.body, status=400)
    asked = request(tools=[TOOL], tools_first=True)
    provider = sg.OpenAICompat(httpserver.url_for("/v1"), options=APART, observer=ignore)
    async with protected(provider, memo, **policy) as safe:
        with pytest.raises(ProviderError) as caught:
            await run(safe, asked, streaming=stream)
    assert (caught.value.kind, len(httpserver.log)) == (Kind.INVALID_REQUEST, 1)
    assert memo.entries() == []


async def test_a_format_left_out_for_tools_is_told_as_not_enforced(
    memo: Memo, httpserver: HTTPServer
) -> None:
    message = {"role": "assistant", "content": PROSE}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    )
    asked = request(tools=[TOOL], tools_first=True)
    provider = sg.OpenAICompat(httpserver.url_for("/v1"), options=APART)
    async with protected(provider, memo) as safe:
        with sg.watch() as calls:
            completion = await safe.complete(asked)
            async with safe.stream(asked) as events:
                last = (await collect(events))[-1]
    assert isinstance(last, Finished)
    assert completion.enforced is last.completion.enforced is False
    assert [told.enforced for told in calls] == [False, False]


async def test_a_format_left_out_for_tools_asks_the_memo_nothing(
    memo: Memo, httpserver: HTTPServer
) -> None:
    """Its 200 would say nothing about the format, nor does the entry about it."""
    message = {"role": "assistant", "content": PROSE}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    )
    url = httpserver.url_for("/v1")
    memo.add(url, "m", expiry=-1.0)  # past its time: the next caller would try the format again
    async with protected(sg.OpenAICompat(url, options=APART), memo) as safe:
        completion = await safe.complete(request(tools=[TOOL], tools_first=True))
    assert completion.refusal is None
    assert len(memo.entries()) == 1


async def test_a_refusal_of_format_and_reasoning_holds_for_a_model_that_always_reasons(
    memo: Memo, httpserver: HTTPServer
) -> None:
    """That it reasons stands in the provider's options, not in the request."""

    def answer(asked: WebRequest) -> Response:
        if "response_format" not in asked.get_json():
            message = {"role": "assistant", "content": PROSE}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return Response(json.dumps({"choices": [choice]}), content_type="application/json")
        told = "response_format cannot be used together with reasoning"
        return Response(json.dumps({"error": {"message": told}}), status=400)

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    provider = sg.OpenAICompat(
        httpserver.url_for("/v1"), options=WireOptions(reasoning=True), observer=ignore
    )
    async with protected(provider, memo) as safe:
        first, second = [await safe.complete(request()) for _ in range(2)]
    assert first.refusal is not None
    assert (first.refusal.scope, first.refusal.flag) == ("combination", "reasoning")
    assert (first.requests, second.requests, len(memo.entries())) == (2, 1, 1)


async def test_a_broken_schema_is_a_value_error_and_nothing_is_sent(memo: Memo) -> None:
    script = Script([])
    with pytest.raises(ValueError, match="type"):
        await protected(script, memo).complete(request(response_format={"type": "objekt"}))
    assert script.requests == []


async def test_a_foreign_exception_is_judged_too(memo: Memo) -> None:
    class Foreign(Exception):
        status_code = 400
        text = REFUSAL.body
        response: Any = None

    error = Foreign()
    error.response = error
    completion = await protected(Script([error, PROSE]), memo).complete(request())
    assert completion.enforced is False


async def test_unnamed_refusals_only_by_policy(memo: Memo) -> None:
    empty = Failure(status=400, body="")
    with pytest.raises(ProviderError):
        await protected(Script([empty]), memo).complete(request())
    completion = await protected(Script([empty, PROSE]), memo, unnamed=True).complete(request())
    assert completion.refusal is not None
    assert completion.refusal.scope == "unnamed"


async def test_protecting_twice_and_the_rest_of_the_interface(memo: Memo) -> None:
    script = Script([])
    guard = sg.Guard(memo=memo)
    safe = guard.protect(script, model="m")
    assert guard.protect(safe) is safe
    assert (safe.id, safe.base_url, safe.api_for("m")) == ("script", "", "chat")
    assert (await safe.status()).health == "healthy"
    assert safe.outcomes == []  # type: ignore[attr-defined]
    assert "Protected" in repr(safe)
    async with safe:  # type: ignore[attr-defined]
        pass
    assert script.closed == 1


async def test_watch_sees_every_call(memo: Memo) -> None:
    safe = protected(Script([REFUSAL, PROSE, PROSE]), memo)
    with sg.watch() as calls:
        completion = await safe.complete(request())
        async with safe.stream(request()) as events:
            [event async for event in events]
    assert [(c.enforced, c.requests) for c in calls] == [(False, 2), (False, 1)]
    assert sg.info(completion) == calls[0]


async def collect(events: AsyncIterator[StreamEvent]) -> list[StreamEvent]:
    return [event async for event in events]


async def test_a_refused_stream_is_opened_again_and_marked(memo: Memo) -> None:
    script = Script(
        [REFUSAL, [ReasoningDelta("hm"), TextDelta("a"), Finished(Completion(text="a"))]]
    )
    async with protected(script, memo).stream(request()) as events:
        seen = await collect(events)
    assert seen[:2] == [ReasoningDelta("hm"), TextDelta("a")]
    assert isinstance(seen[2], Finished)
    assert (seen[2].completion.enforced, seen[2].completion.requests) == (False, 2)
    assert len(memo.entries()) == 1


async def test_a_stream_is_never_sent_again_after_its_first_event(memo: Memo) -> None:
    script = Script([[TextDelta("a"), REFUSAL]])
    with pytest.raises(ProviderError):
        async with protected(script, memo).stream(request()) as events:
            await collect(events)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("events", "remembered"),
    [
        ([TextDelta(" "), Finished(Completion(text=" "))], False),
        ([Finished(Completion(text="", finish="length"))], False),
        ([DeclineDelta("no"), Finished(Completion(text="no", finish="declined"))], True),
        ([Finished(Completion(text="whole"))], True),
        ([ToolCalled(CALL), Finished(Completion(tool_calls=(CALL,)))], True),
    ],
)
async def test_a_retried_stream_is_remembered_once_it_answers(
    memo: Memo, events: list[StreamEvent], *, remembered: bool
) -> None:
    async with protected(Script([REFUSAL, events]), memo).stream(request()) as opened:
        assert await collect(opened) != []
    assert bool(memo.entries()) is remembered


async def test_a_retried_stream_that_fails_to_open_raises_from_the_refusal(memo: Memo) -> None:
    with pytest.raises(Unavailable) as caught:
        async with protected(Script([REFUSAL, BUSY]), memo).stream(request()):
            pass
    assert isinstance(caught.value.__cause__, ProviderError)


async def test_cancelling_during_the_retry_leaves_no_entry(memo: Memo) -> None:
    async def hang(_request: sg.Request) -> str:
        await anyio.sleep_forever()
        return ""

    script = Script([REFUSAL, hang])
    with anyio.move_on_after(0.05) as scope:
        await protected(script, memo).complete(request())
    assert scope.cancelled_caught
    assert memo.entries() == []


async def test_fifty_first_calls_make_one_entry(memo: Memo) -> None:
    def answer(asked: sg.Request) -> Failure | str:
        return REFUSAL if asked.response_format else PROSE

    script = Script([answer] * 100)
    safe = protected(script, memo)
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(safe.complete, request())
    assert len(memo.entries()) == 1


def test_what_is_no_provider_is_a_type_error_that_says_what_to_do(memo: Memo) -> None:
    with pytest.raises(TypeError, match=r"object is not a provider: it has no id, .*guarded"):
        sg.Guard(memo=memo).protect(object())  # type: ignore[arg-type]


async def test_an_error_within_a_rescued_stream_counts_both_sends(memo: Memo) -> None:
    script = Script([REFUSAL, [TextDelta("a"), BUSY]])
    with pytest.raises(ProviderError) as caught:
        async with protected(script, memo).stream(request()) as events:
            await collect(events)
    assert caught.value.requests == 2


async def test_a_protected_provider_can_be_copied(memo: Memo) -> None:
    safe = protected(Script([PROSE]), memo)
    completion = await copy.copy(safe).complete(request(response_format=None))
    assert completion.text == PROSE
