"""`Policy(on_unusable="error")`: a whole reply that holds no JSON is an error that says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import FENCED, FORMAT, MESSAGES, REFUSED, Answer, Upstream, chat

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.fixture
def client(wrapped: Callable[..., OpenAI]) -> OpenAI:
    return wrapped(on_unusable="error")


def ask(client: Any, **more: Any) -> Any:
    return client.chat.completions.create(
        model="m", messages=MESSAGES, response_format=FORMAT, **more
    )


SILENT = [
    (chat(None), "it is empty$"),
    (chat(" \n"), "it is empty$"),
    (chat("Bonn, I think."), "it is 14 characters of something else$"),
    (chat("Bonn, I", finish="length"), "something else, cut at the token limit$"),
]


@pytest.mark.parametrize(("reply", "told"), SILENT)
def test_a_reply_without_json_raises(
    client: OpenAI, upstream: Upstream, reply: dict[str, object], told: str
) -> None:
    upstream.answers(reply)
    with pytest.raises(openai.APIResponseValidationError, match=told) as caught:
        ask(client)
    assert not sg.is_refusal(caught.value)
    assert len(upstream.bodies) == 1


def test_without_the_policy_it_is_handed_on_as_it_came(
    wrapped: Callable[..., OpenAI], upstream: Upstream
) -> None:
    upstream.answers(chat("Bonn, I think."))
    assert ask(wrapped()).choices[0].message.content == "Bonn, I think."


def test_parse_never_gives_none_for_an_object(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(None))
    asked: Any = {"model": "m", "messages": MESSAGES, "response_format": Answer}
    with pytest.raises(openai.APIResponseValidationError, match="it is empty"):
        client.chat.completions.parse(**asked)
    raw = client.chat.completions.with_raw_response.parse(**asked)
    with pytest.raises(openai.APIResponseValidationError, match="it is empty"):
        raw.parse()


def test_what_the_sdk_says_itself_is_what_is_raised(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat("half", finish="length"))
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer)


@pytest.mark.parametrize(
    "reply",
    [
        chat(FENCED),
        chat(None, refusal="I cannot help with that."),
        chat(None, finish="tool_calls", tool_calls=[CALL]),
    ],
    ids=["JSON", "a decline", "a call"],
)
def test_an_answer_passes(client: OpenAI, upstream: Upstream, reply: dict[str, object]) -> None:
    upstream.answers(reply)
    assert ask(client).choices


def test_a_call_without_a_format_may_say_anything(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(""))
    assert client.chat.completions.create(model="m", messages=MESSAGES).choices


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_async_client_raises_too(
    upstream: Upstream, memo: Memo, anyio_backend: str
) -> None:
    upstream.answers(chat(None))
    async with AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0) as plain:
        safe = sg.wrap(plain, memo=memo, policy=sg.Policy(on_unusable="error"))
        with pytest.raises(openai.APIResponseValidationError, match="it is empty"):
            await ask(safe)


def test_a_rescue_answered_in_prose_raises_from_the_refusal_and_is_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    """The format was refused and the endpoint works: that the answer is no JSON is another thing."""
    upstream.answers((400, REFUSED), chat("Bonn, I think."))
    with pytest.raises(openai.APIResponseValidationError) as caught:
        ask(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert len(memo.entries()) == 1


def test_prose_is_counted_before_it_raises(
    wrapped: Callable[..., OpenAI], upstream: Upstream
) -> None:
    client = wrapped(on_unusable="error", ignored_after=1)
    upstream.answers(chat("Bonn, I think."), chat(FENCED))
    with pytest.raises(openai.APIResponseValidationError):
        ask(client)
    ask(client)
    assert "JSON Schema" in upstream.bodies[1]["messages"][0]["content"]


@pytest.mark.parametrize(("reply", "told"), SILENT)
def test_a_transport_hands_on_a_502_that_says_so(
    upstream: Upstream, memo: Memo, reply: dict[str, object], told: str
) -> None:
    upstream.answers((400, REFUSED), reply, chat(FENCED))
    guard = sg.Guard(memo=memo, policy=sg.Policy(on_unusable="error"))
    asked = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    with httpx2.Client(transport=guard.transport()) as client, sg.watch() as calls:
        got = client.post(f"{upstream.base_url}/chat/completions", json=asked)
        after = client.post(f"{upstream.base_url}/chat/completions", json=asked)
    assert (got.status_code, got.reason_phrase) == (502, "Bad Gateway")
    assert re.search(told, got.json()["error"]["message"])
    assert after.status_code == 200
    assert calls[0].requests == 2


def test_a_transport_raises_the_sdks_own_error_for_it(upstream: Upstream, memo: Memo) -> None:
    upstream.answers(chat(None))
    guard = sg.Guard(memo=memo, policy=sg.Policy(on_unusable="error"))
    http = httpx2.Client(transport=guard.transport())
    with OpenAI(base_url=upstream.base_url, api_key="k", max_retries=0, http_client=http) as client:
        with pytest.raises(openai.InternalServerError, match="contains no JSON: it is empty"):
            ask(client)
        assert client.chat.completions.create(model="m", messages=MESSAGES).choices
