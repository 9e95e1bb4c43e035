"""Streams of a wrapped openai client: rescued before the first event, healed, never re-sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
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
    TEXT_FORMAT,
    VALUE,
    Answer,
    Upstream,
    chat_chunks,
    info_of,
    response_events,
    sse,
)

PIECES = [FENCED[at : at + 7] for at in range(0, len(FENCED), 7)]
STRICT = [VALUE[at : at + 4] for at in range(0, len(VALUE), 4)]


def stream(client: OpenAI, **kwargs: Any) -> Any:
    return client.chat.completions.create(
        model="m",
        messages=MESSAGES,
        stream=True,
        **{"response_format": FORMAT, **kwargs},
    )


def text_of(chunks: Any) -> list[str]:
    return [
        choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content
    ]


def test_a_refused_stream_is_opened_again_and_gives_growing_bare_json(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    chunks = list(stream(client))
    assert "".join(text_of(chunks)) == VALUE
    assert len(text_of(chunks)) > 1
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len(memo.entries()) == 1
    assert len(upstream.bodies) == 2


def test_an_accepted_stream_of_json_passes_untouched(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(sse(chat_chunks(STRICT)))
    assert text_of(stream(client)) == STRICT


@pytest.mark.parametrize("refused", [True, False])
def test_a_byte_order_mark_is_not_handed_on(
    client: OpenAI, upstream: Upstream, *, refused: bool
) -> None:
    """`json.loads` and the SDK's own `parse` refuse it."""
    stream_of = sse(chat_chunks(["\ufeff", *STRICT]))
    upstream.answers(*([(400, REFUSED)] if refused else []), stream_of)
    assert "".join(text_of(stream(client))) == VALUE


def test_an_accepted_stream_of_prose_is_held_and_healed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(sse(chat_chunks(PIECES)))
    assert "".join(text_of(stream(client))) == VALUE


def test_a_stream_without_a_format_is_untouched(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(sse(chat_chunks(PIECES)))
    chunks = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    assert text_of(chunks) == PIECES


def test_the_stream_helper_parses_the_healed_text(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    with client.chat.completions.stream(
        model="m",
        messages=MESSAGES,
        response_format=Answer,
    ) as events:
        deltas = [event.delta for event in events if event.type == "content.delta" and event.delta]
        final = events.get_final_completion()
    assert "".join(deltas) == VALUE
    assert final.choices[0].message.parsed == Answer(city="Bonn", n=3)


def test_the_responses_stream_helper_parses_the_healed_text(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    refused = {"error": {"message": "Unknown parameter", "param": "text.format"}}
    upstream.answers((400, refused), sse(response_events(PIECES), named=True, done=False))
    with client.responses.stream(model="m", input="Where?", text_format=Answer) as events:
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        final = events.get_final_response()
    assert "".join(deltas) == VALUE
    assert final.output_parsed == Answer(city="Bonn", n=3)
    assert len(memo.entries()) == 1


def test_every_event_of_a_responses_stream_says_the_healed_text(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers(sse(response_events(PIECES), named=True, done=False))
    events = list(
        client.responses.create(
            model="m",
            input="W?",
            stream=True,
            text={"format": TEXT_FORMAT},
        )
    )
    said: dict[str, Any] = {event.type: event for event in events}
    assert said["response.output_text.done"].text == VALUE
    assert said["response.content_part.done"].part.text == VALUE
    assert said["response.output_item.done"].item.content[0].text == VALUE
    assert said["response.completed"].response.output_text == VALUE


def test_an_error_as_the_first_event_is_judged(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    inside = {"error": {**REFUSED["error"], "code": 400}}
    upstream.answers(sse([inside]), sse(chat_chunks(PIECES)))
    assert "".join(text_of(stream(client))) == VALUE
    assert len(memo.entries()) == 1


def test_after_the_first_event_nothing_is_ever_sent_again(
    client: OpenAI, upstream: Upstream
) -> None:
    broken = [*chat_chunks(STRICT[:2], finish=None), {"error": {**REFUSED["error"], "code": 400}}]
    upstream.answers(sse(broken))
    with pytest.raises(openai.APIError):
        list(stream(client))
    assert len(upstream.bodies) == 1


def test_a_stream_that_breaks_gives_what_it_held_before_the_error(
    client: OpenAI, upstream: Upstream
) -> None:
    broken = [*chat_chunks(PIECES[:3], finish=None), {"error": {"message": "lost"}}]
    upstream.answers((400, REFUSED), sse(broken))
    seen: list[Any] = []
    with pytest.raises(openai.APIError, match="lost"):
        seen.extend(stream(client))
    assert text_of(seen) == ["".join(PIECES[:3])]


def test_a_stream_that_ends_early_gives_what_it_held(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES[:3], finish=None), done=False))
    assert text_of(stream(client)) == ["".join(PIECES[:3])]


def test_a_stream_that_says_no_finish_still_closes_the_value_the_model_closed(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(STRICT, finish=None)))
    assert "".join(text_of(stream(client))) == VALUE


def test_a_stream_that_ends_in_the_middle_of_a_shown_value_closes_nothing(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(STRICT[:3], finish=None)))
    text = "".join(text_of(stream(client)))
    assert text
    assert VALUE.startswith(text)


def test_a_retried_stream_without_an_answer_is_not_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks([])))
    assert text_of(stream(client)) == []
    assert memo.entries() == []


def test_raw_streams_are_guarded_and_healed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    raw = client.chat.completions.with_raw_response.create(
        model="m",
        messages=MESSAGES,
        response_format=FORMAT,
        stream=True,
    )
    assert "".join(text_of(raw.parse())) == VALUE


def test_what_stands_beside_a_held_text_is_handed_on(client: OpenAI, upstream: Upstream) -> None:
    chunks = chat_chunks(PIECES)
    beside = {"annotations": [{"type": "url_citation"}], "reasoning_details": [{"type": "x"}]}
    chunks[2]["choices"][0]["delta"].update(beside)
    upstream.answers((400, REFUSED), sse(chunks))
    seen = list(stream(client))
    assert "".join(text_of(seen)) == VALUE
    deltas = [chunk.choices[0].delta.model_dump(exclude_unset=True) for chunk in seen]
    assert [d for d in deltas if d.get("annotations")] == [{"content": None, **beside}]


def raw_stream(client: Any) -> Any:
    return client.chat.completions.with_raw_response.create(
        model="m", messages=MESSAGES, response_format=FORMAT, stream=True
    )


def test_a_rescued_raw_stream_is_remembered(client: OpenAI, upstream: Upstream, memo: Memo) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    raw_stream(client)
    assert len(memo.entries()) == 1
    assert "".join(text_of(raw_stream(client).parse())) == VALUE
    assert len(upstream.bodies) == 3


def test_a_rescued_raw_stream_is_handed_on_byte_for_byte(
    client: OpenAI, upstream: Upstream
) -> None:
    body = sse(chat_chunks(PIECES))
    upstream.answers((400, REFUSED), body)
    raw = raw_stream(client)
    assert b"".join(raw.http_response.iter_raw()).decode() == body
    assert raw.http_response.is_closed


def test_a_rescued_raw_stream_without_an_answer_is_not_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks([])))
    assert text_of(raw_stream(client).parse()) == []
    assert memo.entries() == []


def test_an_error_at_the_start_of_a_rescued_raw_stream_is_the_retrys(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), sse([{"error": {"message": "busy", "code": 503}}]))
    with pytest.raises(openai.InternalServerError, match="busy") as caught:
        raw_stream(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert memo.entries() == []


@pytest.mark.parametrize(
    ("lost", "error"),
    [
        (httpx2.ReadTimeout("too late"), openai.APITimeoutError),
        (httpx2.ReadError("hung up"), openai.APIConnectionError),
    ],
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_rescued_raw_stream_that_breaks_at_its_start_raises_as_the_sdk_does(
    memo: Memo, lost: Exception, error: type[Exception]
) -> None:
    class Lost(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b": ping\n\n"
            raise lost

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b": ping\n\n"
            raise lost

    def answer(request: httpx2.Request) -> httpx2.Response:
        if b"response_format" in request.content:
            return httpx2.Response(400, json=REFUSED)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Lost())

    over = httpx2.MockTransport(answer)
    plain = OpenAI(api_key="k", max_retries=0, http_client=httpx2.Client(transport=over))
    with sg.wrap(plain, memo=memo) as client, pytest.raises(error):
        raw_stream(client)
    later = AsyncOpenAI(api_key="k", max_retries=0, http_client=httpx2.AsyncClient(transport=over))
    async with sg.wrap(later, memo=memo) as aclient:
        with pytest.raises(error):
            await raw_stream(aclient)
    assert memo.entries() == []


def test_leaving_a_rescued_raw_stream_closes_its_response(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    with client.chat.completions.with_streaming_response.create(
        model="m", messages=MESSAGES, response_format=FORMAT, stream=True
    ) as raw:
        assert not raw.http_response.is_closed
    assert raw.http_response.is_closed


def test_info_of_a_stream_tells_at_the_end_how_it_was_read(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    with sg.watch() as calls:
        chunks = stream(client)
        assert info_of(chunks).source is None
        list(chunks)
    assert info_of(chunks).source == "fenced"
    assert [(call.enforced, call.requests, call.source) for call in calls] == [(False, 2, "fenced")]


def test_two_choices_are_healed_apart(client: OpenAI, upstream: Upstream) -> None:
    one, two = chat_chunks(PIECES), chat_chunks(["Well: {'city': 'Ulm', 'n': 1}"])
    for chunk in two:
        chunk["choices"][0]["index"] = 1
    upstream.answers(sse([*one, *two]))
    texts = {0: "", 1: ""}
    for chunk in stream(client):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == {0: VALUE, 1: '{"city":"Ulm","n":1}'}


def test_closing_a_stream_early_closes_the_response(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(sse(chat_chunks(STRICT)))
    chunks = stream(client)
    next(chunks)
    chunks.close()
    assert chunks.response.is_closed


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
class TestAsync:
    def client(self, upstream: Upstream, memo: Memo) -> AsyncOpenAI:
        plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
        return sg.wrap(plain, memo=memo)

    async def test_a_refused_stream_is_rescued(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
        async with self.client(upstream, memo) as client:
            chunks = await client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True, response_format=FORMAT
            )
            assert "".join(text_of([chunk async for chunk in chunks])) == VALUE
        assert len(memo.entries()) == 1

    async def test_the_stream_helper(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
        async with (
            self.client(upstream, memo) as client,
            client.chat.completions.stream(
                model="m",
                messages=MESSAGES,
                response_format=Answer,
            ) as events,
        ):
            final = await events.get_final_completion()
        assert final.choices[0].message.parsed == Answer(city="Bonn", n=3)

    async def test_the_responses_helper(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), sse(response_events(PIECES), named=True, done=False))
        async with (
            self.client(upstream, memo) as client,
            client.responses.stream(model="m", input="W?", text_format=Answer) as events,
        ):
            final = await events.get_final_response()
        assert final.output_parsed == Answer(city="Bonn", n=3)

    async def test_a_broken_stream_gives_what_it_held(self, upstream: Upstream, memo: Memo) -> None:
        broken = [*chat_chunks(PIECES[:3], finish=None), {"error": {"message": "lost"}}]
        upstream.answers((400, REFUSED), sse(broken))
        seen: list[Any] = []

        async def drain(chunks: Any) -> None:
            async for chunk in chunks:
                seen.append(chunk)  # noqa: PERF401  what came before the error must be kept

        async with self.client(upstream, memo) as client:
            chunks = await client.chat.completions.create(
                model="m", messages=MESSAGES, stream=True, response_format=FORMAT
            )
            with pytest.raises(openai.APIError, match="lost"):
                await drain(chunks)
        assert text_of(seen) == ["".join(PIECES[:3])]

    async def test_raw_streams(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
        async with self.client(upstream, memo) as client:
            raw = await client.chat.completions.with_raw_response.create(
                model="m", messages=MESSAGES, stream=True, response_format=FORMAT
            )
            assert "".join(text_of([chunk async for chunk in raw.parse()])) == VALUE
            assert len(memo.entries()) == 1

    async def test_an_error_at_the_start_of_a_raw_stream(
        self, upstream: Upstream, memo: Memo
    ) -> None:
        upstream.answers((400, REFUSED), sse([{"error": {"message": "busy", "code": 503}}]))
        async with self.client(upstream, memo) as client:
            with pytest.raises(openai.InternalServerError, match="busy"):
                await raw_stream(client)
        assert memo.entries() == []


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_raw_stream_that_is_left_early_leaves_nothing_open(
    upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), sse(chat_chunks(PIECES)))
    plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
    async with sg.wrap(plain, memo=memo) as client:
        create = client.chat.completions.with_streaming_response.create
        async with create(model="m", messages=MESSAGES, response_format=FORMAT, stream=True) as raw:
            pass
        assert raw.http_response.is_closed
    assert len(memo.entries()) == 1
