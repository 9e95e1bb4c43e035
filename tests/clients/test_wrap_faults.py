"""A wrapped client under faults: odd errors, odd replies, odd callers. Nothing is lost, nothing paid twice."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai._models import FinalRequestOptions
from pydantic import BaseModel, ValidationError

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import (
    FENCED,
    FORMAT,
    MESSAGES,
    REFUSED,
    VALUE,
    Answer,
    Upstream,
    chat,
    chat_chunks,
    info_of,
    response,
    sse,
)

Wrapped = Callable[..., OpenAI]
Answers = list[tuple[int, Any]]


def ask(client: OpenAI, **kwargs: Any) -> Any:
    given = {"response_format": FORMAT, **kwargs}
    create: Any = client.chat.completions.create
    return create(model="m", messages=MESSAGES, **given)


def ask_parsed(client: OpenAI) -> Any:
    return client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer)


def test_a_rescued_answer_that_does_not_fit_the_callers_type_is_remembered_all_the_same(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    """The endpoint answered; that the SDK's own validation fails is no reason to pay again."""
    upstream.answers((400, REFUSED), chat("I do not know."))
    with sg.watch() as calls, pytest.raises(ValidationError) as caught:
        ask_parsed(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert [(call.enforced, call.requests) for call in calls] == [(False, 2)]
    assert len(memo.entries()) == 1
    with pytest.raises(ValidationError) as again:
        ask_parsed(client)
    assert again.value.__cause__ is None
    assert len(upstream.bodies) == 3


def test_a_cut_rescued_answer_is_the_sdks_own_error_and_not_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), chat('{"city":"Bo', finish="length"))
    with pytest.raises(openai.LengthFinishReasonError):
        ask_parsed(client)
    assert memo.entries() == []


def test_prose_that_parse_cannot_take_counts_as_an_ignored_format(
    wrapped: Wrapped, upstream: Upstream
) -> None:
    client = wrapped(ignored_after=2)
    upstream.answers(chat("Bonn, I think."))
    for _ in range(3):
        with pytest.raises(ValidationError):
            ask_parsed(client)
    told_schema = [body["messages"][0]["content"] != "Be brief." for body in upstream.bodies]
    assert told_schema == [False, False, True]


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000])
def test_whatever_a_failed_retry_raises_comes_from_the_refusal(memo: Memo, body: bytes) -> None:
    """Not only the SDK's own errors: its JSON reader raises json's, and a deep body Python's."""
    answers: Answers = [(400, json.dumps(REFUSED).encode()), (200, body)]
    with offline(answers) as plain:
        client = sg.wrap(plain, memo=memo)
        with pytest.raises((ValueError, RecursionError)) as caught:
            ask(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert memo.entries() == []


def offline(answers: Answers) -> OpenAI:
    def handle(_: httpx2.Request) -> httpx2.Response:
        status, body = answers.pop(0)
        return httpx2.Response(status, content=body, headers={"content-type": "application/json"})

    transport = httpx2.MockTransport(handle)
    return OpenAI(
        base_url="http://test/v1",
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
    )


def test_a_schema_only_we_cannot_read_costs_no_answer(client: OpenAI, upstream: Upstream) -> None:
    """The endpoint took it: prose under it is handed on as it came."""
    draft4 = {"type": "object", "properties": {"n": {"minimum": 0, "exclusiveMinimum": True}}}
    upstream.answers(chat("prose"))
    answer = ask(
        client,
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": draft4}},
    )
    assert answer.choices[0].message.content == "prose"
    assert info_of(answer).source is None


@pytest.mark.parametrize("kind", [str, httpx2.Response])
def test_a_reply_asked_for_as_it_is_is_not_looked_into(
    client: OpenAI, upstream: Upstream, kind: Any
) -> None:
    upstream.answers(chat(FENCED))
    body = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    reply = client.post("/chat/completions", cast_to=kind, body=body)
    text = reply if isinstance(reply, str) else reply.text
    assert json.loads(text) == chat(FENCED)


@pytest.mark.parametrize("path", ["/chat/completions", "chat/completions"])
@pytest.mark.parametrize("kind", [dict[str, object], object])
def test_a_reply_asked_for_as_plain_json_is_rescued_and_healed(
    client: OpenAI, upstream: Upstream, kind: Any, path: str
) -> None:
    upstream.answers((400, REFUSED), chat(FENCED))
    body = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    reply: Any = client.post(path, cast_to=kind, body=body)
    assert reply["choices"][0]["message"]["content"] == VALUE


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_modes_that_only_look_leave_every_reply_alone(
    wrapped: Wrapped, upstream: Upstream, mode: str
) -> None:
    client = wrapped(mode=mode)
    upstream.answers(chat(FENCED))
    assert ask(client).choices[0].message.content == FENCED
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, response_format=FORMAT
    )
    assert raw.parse().choices[0].message.content == FENCED
    pieces = [FENCED[:9], FENCED[9:]]
    upstream.answers(sse(chat_chunks(pieces)))
    chunks = ask(client, stream=True)
    assert [c.choices[0].delta.content or "" for c in chunks] == ["", *pieces, ""]


def test_another_apis_field_in_extra_body_is_no_format(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    answer = ask(client, extra_body={"text": {"verbosity": "low"}})
    assert info_of(answer).requests == 2
    assert upstream.bodies[1]["text"] == {"verbosity": "low"}


def test_unwrapping_gives_back_what_others_had_put_on_the_client(keep: ExitStack) -> None:
    plain = keep.enter_context(OpenAI(base_url="http://test/v1", api_key="k"))
    theirs = plain.request
    vars(plain)["request"] = theirs
    sg.wrap(plain, memo="memory:")
    assert vars(plain)["request"] is not theirs
    sg.unwrap(plain)
    assert vars(plain)["request"] is theirs
    assert "copy" not in vars(plain)


def test_no_repr_on_the_way_shows_the_prompt_or_a_header(
    client: OpenAI, upstream: Upstream
) -> None:
    """Error trackers print the local variables of every frame."""
    seen: list[str] = []

    def frames(error: BaseException) -> None:
        trace = error.__traceback__
        while trace is not None:
            if "structguard/" in trace.tb_frame.f_code.co_filename:
                found = trace.tb_frame.f_locals.values()
                seen.extend(repr(v) for v in found if not isinstance(v, FinalRequestOptions))
            trace = trace.tb_next

    upstream.answers((429, {"error": {"message": "slow down"}}))
    with pytest.raises(openai.RateLimitError) as caught:
        ask(client, extra_headers={"x-secret": "hush-hush"})
    frames(caught.value)
    assert any("BodyCall" in text for text in seen)
    assert not any("Where?" in text or "hush-hush" in text for text in seen)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_same_on_the_event_loop(upstream: Upstream, memo: Memo) -> None:
    plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
    async with sg.wrap(plain, memo=memo) as client:
        upstream.answers((400, REFUSED), chat("I do not know."))
        with pytest.raises(ValidationError) as caught:
            await client.chat.completions.parse(
                model="m", messages=MESSAGES, response_format=Answer
            )
        assert isinstance(caught.value.__cause__, openai.BadRequestError)
        assert len(memo.entries()) == 1
    plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
    async with sg.wrap(plain, memo=memo, policy=sg.Policy(mode="off")) as client:
        upstream.answers(chat(FENCED))
        answer = await client.chat.completions.create(
            model="m", messages=MESSAGES, response_format=FORMAT
        )
        assert answer.choices[0].message.content == FENCED


def test_a_failed_call_is_let_go_at_once(client: OpenAI, upstream: Upstream) -> None:
    """No cycle keeps its request, pictures and all, until the collector comes by."""
    upstream.answers((429, {"error": {"message": "slow down"}}))
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(openai.RateLimitError) as caught:
            ask(client)
        error = weakref.ref(caught.value)
        del caught
        assert error() is None
    finally:
        gc.enable()


def test_an_answer_in_parts_is_read_in_its_text_parts(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    """Some reasoning models answer with a list: thoughts, then text."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": '{"city":"Ulm","n":1}'}]}
    parts: Any = [thought, {"type": "text", "text": FENCED}]
    upstream.answers((400, REFUSED), chat(parts))
    answer = ask(client)
    assert answer.choices[0].message.content == [thought, {"type": "text", "text": VALUE}]
    assert len(memo.entries()) == 1


def test_mode_off_does_not_even_open_the_store(
    upstream: Upstream, keep: ExitStack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "cache.db"
    broken.write_bytes(b"no database")
    plain = keep.enter_context(OpenAI(base_url=upstream.base_url, api_key="k", max_retries=0))
    client = sg.wrap(plain, memo=f"disk:{tmp_path}", policy=sg.Policy(mode="off"))
    upstream.answers(chat(VALUE))
    ask(client)
    assert broken.read_bytes() == b"no database"
    assert not [record for record in caplog.records if record.name == "structguard"]


def test_an_error_inside_a_200_keeps_the_answers_headers(memo: Memo) -> None:
    """The request id is what a vendor's support asks for; Retry-After is what a caller waits."""

    def busy(_request: httpx2.Request) -> httpx2.Response:
        headers = {"x-request-id": "req_1", "retry-after": "7"}
        error = {"message": "slow down", "code": 429}
        return httpx2.Response(200, json={"error": error}, headers=headers)

    http = httpx2.Client(transport=httpx2.MockTransport(busy))
    client = sg.wrap(OpenAI(api_key="k", max_retries=0, http_client=http), memo=memo)
    with client, pytest.raises(openai.RateLimitError) as caught:
        ask(client)
    assert caught.value.request_id == "req_1"
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.json()["error"]["code"] == 429


class Numbers(BaseModel):
    numbers: list[int]


@pytest.mark.parametrize("refused", [True, False])
def test_what_the_token_limit_cuts_is_never_handed_on_as_a_whole(
    client: OpenAI, upstream: Upstream, *, refused: bool
) -> None:
    """Closed, the list would be one of two numbers, and no caller would know of the third."""
    text = '{"numbers": [1, 2, 3'
    first = [(400, REFUSED)] if refused else []
    upstream.answers(*first, chat(text, finish="length"))
    answer = client.chat.completions.create(
        model="m", messages=MESSAGES, response_format={"type": "json_object"}
    )
    assert answer.choices[0].message.content == text
    cut = response(text, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    upstream.answers(*first, cut)
    with pytest.raises(ValidationError):
        client.responses.parse(model="m", input="Which?", text_format=Numbers)
