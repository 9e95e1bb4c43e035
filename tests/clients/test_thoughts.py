"""Answers in `reasoning_content`: taken where they are the whole JSON asked for, left alone else."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import (
    FORMAT,
    MESSAGES,
    REFUSED,
    VALUE,
    Answer,
    Json,
    Upstream,
    chat,
    info_of,
)

THOUGHT = json.loads(VALUE)
TEXT = json.dumps(THOUGHT)


def ask(client: Any, **more: Any) -> Any:
    return client.chat.completions.create(
        model="m", messages=MESSAGES, response_format=FORMAT, **more
    )


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_an_answer_in_the_thoughts_becomes_the_content(
    client: OpenAI, upstream: Upstream, field: str, content: str | None
) -> None:
    upstream.answers(chat(content, **{field: TEXT}))
    answer = ask(client)
    assert json.loads(answer.choices[0].message.content) == THOUGHT
    assert info_of(answer).source == "reasoning"


def test_parse_and_raw_find_it_too(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(None, reasoning_content=TEXT))
    parsed = client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer)
    assert parsed.choices[0].message.parsed == Answer(**THOUGHT)
    raw = client.chat.completions.with_raw_response.parse(
        model="m", messages=MESSAGES, response_format=Answer
    )
    assert raw.parse().choices[0].message.parsed == Answer(**THOUGHT)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_async_client_finds_it_too(
    upstream: Upstream, memo: Memo, anyio_backend: str
) -> None:
    upstream.answers(chat(None, reasoning_content=TEXT))
    async with AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0) as plain:
        answer = await ask(sg.wrap(plain, memo=memo))
    assert json.loads(answer.choices[0].message.content) == THOUGHT


def test_a_rescue_answered_in_the_thoughts_is_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), chat(None, reasoning_content=TEXT))
    assert info_of(ask(client)).enforced is False
    assert len(memo.entries()) == 1


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Bonn.", "reasoning_content": TEXT},
        {"content": None, "reasoning_content": f"I would say {TEXT}"},
        {"content": None, "reasoning_content": '{"city": 3}'},
        {"content": None, "refusal": "No.", "reasoning_content": TEXT},
        {
            "content": None,
            "reasoning_content": TEXT,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
    ],
    ids=["text", "a mere part", "a misfit", "a decline", "a call"],
)
def test_other_thoughts_stay_thoughts(client: OpenAI, upstream: Upstream, message: Json) -> None:
    content = message.pop("content")
    upstream.answers(chat(content, **message))
    answer = ask(client)
    assert answer.choices[0].message.content == content
    assert info_of(answer).source is None


def test_a_transport_rewrites_the_reply(upstream: Upstream, memo: Memo) -> None:
    upstream.answers(chat(None, reasoning_content=TEXT))
    guard = sg.Guard(memo=memo, policy=sg.Policy(ignored_after=1))
    asked = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    with httpx2.Client(transport=guard.transport()) as client, sg.watch() as calls:
        reply = client.post(f"{upstream.base_url}/chat/completions", json=asked)
    assert json.loads(reply.json()["choices"][0]["message"]["content"]) == THOUGHT
    assert reply.headers["content-length"] == str(len(reply.content))
    assert [call.source for call in calls] == ["reasoning"]
    assert memo.entries() == []  # it is no prose
