"""Streams as hostile endpoints send them, through a wrapped client and the healer under it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import (
    FENCED,
    FORMAT,
    MESSAGES,
    REFUSED,
    SCHEMA,
    TEXT_FORMAT,
    VALUE,
    Upstream,
    chat,
    chat_chunks,
    response,
    response_events,
    sse,
)

STRICT = [VALUE[at : at + 4] for at in range(0, len(VALUE), 4)]
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def stream(client: OpenAI, **kwargs: Any) -> Any:
    create: Any = client.chat.completions.create
    given = {"response_format": FORMAT, **kwargs}
    return create(model="m", messages=MESSAGES, stream=True, **given)


def response_stream(client: OpenAI) -> Any:
    create: Any = client.responses.create
    return create(model="m", input="Where?", text={"format": TEXT_FORMAT}, stream=True)


def chunk(*deltas: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [
        {"index": index, "delta": delta, "finish_reason": finish}
        for index, delta in enumerate(deltas)
    ]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choices, **more}  # fmt: skip


def begun(**done: Any) -> list[dict[str, Any]]:
    """A responses stream of a first event and one terminal event."""
    first = {"type": "response.created", "response": response("", status="in_progress", output=[])}
    events = [first, {"type": "response.completed", "response": response("", **done)}]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@pytest.mark.parametrize(
    ("ask", "events"),
    [
        (stream, []),
        (stream, chat_chunks(["  ", "\n"])),
        (response_stream, begun(output=[])),
        (response_stream, begun()),
    ],
    ids=["no event", "blank text", "no output", "empty text"],
)
def test_a_retried_stream_that_says_nothing_is_not_remembered(
    client: OpenAI,
    upstream: Upstream,
    memo: Memo,
    ask: Callable[[OpenAI], Any],
    events: list[dict[str, Any]],
) -> None:
    upstream.answers((400, REFUSED), sse(events))
    list(ask(client))
    assert memo.entries() == []


def test_choices_that_share_their_chunks_are_healed_apart(
    client: OpenAI, upstream: Upstream
) -> None:
    other = '{"city":"Ulm","n":1}'
    pieces = [chunk({"content": "One: "}, {"content": "Two: "}),
              chunk({"content": VALUE}, {"content": other}, finish="stop")]  # fmt: skip
    upstream.answers((400, REFUSED), sse(pieces))
    texts: dict[int, str] = {}
    for part in stream(client):
        for choice in part.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
    assert texts == {0: VALUE, 1: other}


def test_what_came_beside_a_held_text_is_handed_on_once(client: OpenAI, upstream: Upstream) -> None:
    """Arguments said twice would be read as one broken JSON."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    beside = {"role": "assistant", "tool_calls": [CALL], "reasoning_content": "Hm."}
    parts = [chunk({"content": f"So: {VALUE}", **beside}, usage=usage), chunk({}, finish="stop")]
    upstream.answers((400, REFUSED), sse(parts))
    chunks = list(stream(client))
    deltas = [part.choices[0].delta for part in chunks]
    assert "".join(delta.content for delta in deltas if delta.content) == VALUE
    assert sum(bool(delta.tool_calls) for delta in deltas) == 1
    assert sum(getattr(delta, "reasoning_content", None) == "Hm." for delta in deltas) == 1
    assert sum(delta.role == "assistant" for delta in deltas) == 1
    assert sum(part.usage is not None for part in chunks) == 1


@pytest.mark.parametrize(
    ("schema", "pieces", "given"),
    [
        ({**SCHEMA, "type": ["object", "null"]}, STRICT, STRICT),
        ({"type": "object", "minimum": 0, "exclusiveMinimum": True}, ["pro", "se"], ["prose"]),
    ],
    ids=["a union of types", "a schema only we cannot read"],
)
def test_an_accepted_stream_survives_an_odd_schema(
    client: OpenAI, upstream: Upstream, schema: Any, pieces: list[str], given: list[str]
) -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    upstream.answers(sse(chat_chunks(pieces)))
    deltas = [part.choices[0].delta.content for part in stream(client, response_format=asked)]
    assert [delta for delta in deltas if delta] == given


def test_a_stream_that_turns_to_garbage_gives_what_it_held(
    client: OpenAI, upstream: Upstream
) -> None:
    """The SDK raises json's error there, not one of its own."""
    upstream.answers((400, REFUSED), sse([chunk({"content": "abc"})], done=False) + "data: {\n\n")
    seen: list[Any] = []
    with pytest.raises(ValueError, match="Expecting property name"):
        seen.extend(stream(client))
    assert [part.choices[0].delta.content for part in seen] == ["abc"]


@pytest.mark.parametrize("ending", ["response.completed", "response.incomplete"])
def test_a_text_that_is_never_said_to_be_done_is_given_before_the_end(
    client: OpenAI, upstream: Upstream, ending: str
) -> None:
    events = [
        event
        for event in response_events(["Sure: ", FENCED])
        if not event["type"].endswith(("text.done", "part.done", "item.done"))
    ]
    events[-1]["type"] = ending
    upstream.answers((400, REFUSED), sse(events, named=True, done=False))
    seen = list(response_stream(client))
    assert [event.type for event in seen[-2:]] == ["response.output_text.delta", ending]
    assert "".join(getattr(event, "delta", "") for event in seen) == VALUE
    assert seen[-1].response.output_text == VALUE


def test_a_stream_that_is_cut_is_not_closed_though_what_came_would_fit(
    client: OpenAI, upstream: Upstream
) -> None:
    pieces = ['Sure: {"numbers": [1', ", 2, 3"]
    upstream.answers((400, REFUSED), sse(chat_chunks(pieces, finish="length")))
    chunks = list(stream(client, response_format={"type": "json_object"}))
    text = "".join(part.choices[0].delta.content or "" for part in chunks)
    assert text == '{"numbers":[1,2'


@pytest.mark.parametrize(
    ("status", "given"), [("incomplete", '{"numbers":[1,2'), ("completed", '{"numbers":[1,2]}')]
)
def test_whether_a_text_was_cut_is_told_after_its_end(
    client: OpenAI, upstream: Upstream, status: str, given: str
) -> None:
    """A model that forgets the closing brackets is helped, one that was cut is not hidden."""
    events = response_events(['Sure: {"numbers": [1', ", 2, 3"])
    for event in events[-2:]:
        event["item" if "item" in event else "response"]["status"] = status
    events[-1]["type"] = f"response.{status}"
    upstream.answers((400, REFUSED), sse(events, named=True, done=False))
    create: Any = client.responses.create
    asked = {"format": {"type": "json_object"}}
    seen = list(create(model="m", input="Which?", text=asked, stream=True))
    assert "".join(event.delta for event in seen if event.type.endswith("text.delta")) == given
    kinds = [event.type.removeprefix("response.") for event in seen[-4:]]
    assert kinds == ["output_text.done", "content_part.done", "output_item.done", status]
    assert seen[-4].text == seen[-3].part.text == seen[-1].response.output_text == given


def test_an_end_that_waits_is_not_lost_with_the_stream(client: OpenAI, upstream: Upstream) -> None:
    events = response_events(['Sure: {"numbers": [1', ", 2, 3"])[:-2]
    upstream.answers((400, REFUSED), sse(events, named=True, done=False))
    create: Any = client.responses.create
    asked = {"format": {"type": "json_object"}}
    seen = list(create(model="m", input="Which?", text=asked, stream=True))
    assert [event.type for event in seen[-2:]] == [
        "response.output_text.done",
        "response.content_part.done",
    ]
    assert seen[-2].text == '{"numbers":[1,2'


def test_a_stream_that_is_cut_at_the_token_limit_ends_as_one(
    client: OpenAI, upstream: Upstream
) -> None:
    """The caller sees the part and why it ends, not an error of ours."""
    pieces = ['Sure: {"city":', '"Bo']
    upstream.answers((400, REFUSED), sse(chat_chunks(pieces, finish="length")))
    chunks = list(stream(client))
    text = "".join(part.choices[0].delta.content or "" for part in chunks)
    assert text == '{"city":"Bo'
    assert chunks[-1].choices[0].finish_reason == "length"


FAILED = response("", status="failed", error={"code": "x", "message": "text.format is not supported"},
                  output=[])  # fmt: skip
FLAT = {"type": "error", "code": "x", "message": "text.format is not supported", "param": None}
TOLD: dict[str, dict[str, Any]] = {
    "flat": FLAT,
    "failed": {"type": "response.failed", "response": FAILED},
}


@pytest.mark.parametrize("name", TOLD)
def test_a_stream_whose_first_event_tells_of_its_failure_is_judged(
    client: OpenAI, upstream: Upstream, name: str
) -> None:
    upstream.answers(sse([TOLD[name]], named=True), sse(response_events([FENCED]), named=True))
    seen = list(response_stream(client))
    assert "".join(getattr(event, "delta", "") for event in seen) == VALUE
    assert len(upstream.bodies) == 2


@pytest.mark.parametrize("name", TOLD)
def test_a_second_send_that_fails_before_its_answer_is_an_error(
    client: OpenAI, upstream: Upstream, memo: Memo, name: str
) -> None:
    """The SDK would hand its events on: nobody would hear of the refusal before them."""
    upstream.answers((400, REFUSED), sse([begun()[0], TOLD[name]], named=True))
    with pytest.raises(openai.APIError, match=r"text\.format is not supported") as caught:
        response_stream(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert memo.entries() == []


@dataclass
class Lingering(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that gives its events and stays open until it is closed."""

    events: str
    closed: bool = False

    def __iter__(self) -> Iterator[bytes]:
        yield self.events.encode()
        assert not self.closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.events.encode()

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class OneConnection:
    """What answers a format with `first`, and notes whether that was closed before it was asked again."""

    first: Lingering = field(default_factory=lambda: Lingering(sse([FLAT], named=True, done=False)))
    free: list[bool] = field(default_factory=list[bool])

    def __call__(self, _: httpx2.Request) -> httpx2.Response:
        self.free.append(self.first.closed)
        kind = {"content-type": "text/event-stream"}
        if len(self.free) == 1:
            return httpx2.Response(200, stream=self.first, headers=kind)
        return httpx2.Response(200, text=sse(response_events([FENCED]), named=True), headers=kind)


def test_a_stream_that_is_refused_lets_its_connection_go(memo: Memo) -> None:
    """The second send may need it: a pool has an end."""
    upstream = OneConnection()
    http = httpx2.Client(transport=httpx2.MockTransport(upstream))
    with OpenAI(base_url="http://x/v1", api_key="k", max_retries=0, http_client=http) as plain:
        list(response_stream(sg.wrap(plain, memo=memo)))
    assert upstream.free == [False, True]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_async_stream_lets_its_connection_go_too(memo: Memo, anyio_backend: str) -> None:
    """On asyncio only: trio warns of the generators that the SDK has nested."""
    upstream = OneConnection()
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(upstream))
    plain = AsyncOpenAI(base_url="http://x/v1", api_key="k", max_retries=0, http_client=http)
    async with sg.wrap(plain, memo=memo) as client:
        create: Any = client.responses.create
        asked = {"model": "m", "input": "Where?", "text": {"format": TEXT_FORMAT}, "stream": True}
        assert [event async for event in await create(**asked)]
    assert upstream.free == [False, True]


INSIDE = {"error": {**REFUSED["error"], "code": 400}}
DOWN = {"error": {"message": "it is down", "code": 503}}


def test_a_stream_that_comes_as_one_error_is_judged(client: OpenAI, upstream: Upstream) -> None:
    """The SDK looks for events in it and finds none: an empty stream, and nobody hears of the error."""
    upstream.answers(INSIDE, sse(chat_chunks([FENCED])))
    texts = [part.choices[0].delta.content or "" for part in stream(client)]
    assert "".join(texts) == VALUE
    upstream.answers(DOWN)
    with pytest.raises(openai.InternalServerError, match="it is down"):
        stream(client, response_format={"type": "json_object"})


@pytest.mark.parametrize("raw", [False, True])
def test_a_second_send_that_comes_as_one_error_is_one(
    client: OpenAI, upstream: Upstream, memo: Memo, *, raw: bool
) -> None:
    upstream.answers((400, REFUSED), DOWN)
    completions = client.chat.completions
    create: Any = completions.with_raw_response.create if raw else completions.create
    with pytest.raises(openai.InternalServerError, match="it is down") as caught:
        create(model="m", messages=MESSAGES, response_format=FORMAT, stream=True)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert memo.entries() == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("raw", [False, True])
async def test_the_same_on_the_event_loop(
    upstream: Upstream, memo: Memo, anyio_backend: str, *, raw: bool
) -> None:
    plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
    async with sg.wrap(plain, memo=memo) as client:
        completions = client.chat.completions
        create: Any = completions.with_raw_response.create if raw else completions.create
        upstream.answers((400, REFUSED), DOWN)
        with pytest.raises(openai.InternalServerError, match="it is down"):
            await create(model="m", messages=MESSAGES, response_format=FORMAT, stream=True)
    assert memo.entries() == []


def test_a_stream_that_comes_as_one_reply_is_left_to_the_sdk(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers(chat(VALUE))
    assert list(stream(client)) == []
    upstream.answers((400, REFUSED), chat(VALUE))
    create: Any = client.chat.completions.with_raw_response.create
    raw = create(model="m", messages=MESSAGES, response_format=FORMAT, stream=True)
    assert raw.http_response.json() == chat(VALUE)
