"""Half-closed sockets, cut bodies and cut streams have the right kinds; nothing is left open."""

from __future__ import annotations

import json

import anyio
import pytest

from structguard.errors import ProviderError
from structguard.events import ProviderFailed
from structguard.http import TransportName
from structguard.options import RetryOptions
from structguard.providers import OpenAICompat
from structguard.types import Finished, Kind, StreamEvent, TextDelta
from tests.doubles import EventRecorder
from tests.http.raw import Play, RawServer, chunked, raw_server, reply
from tests.providers.payloads import ANSWER, CHAT, chat_stream, responses_stream
from tests.providers.support import ask, collect, fault_of, text_of

BODY = json.dumps(CHAT).encode()
STREAM = chat_stream()
MATRIX = [
    pytest.param("httpx2", "asyncio", id="httpx2-asyncio"),
    pytest.param("httpx2", "trio", id="httpx2-trio"),
    pytest.param("aiohttp", "asyncio", id="aiohttp"),
]
pytestmark = pytest.mark.parametrize(("transport", "anyio_backend"), MATRIX)
CHOSEN: list[TransportName] = ["httpx2"]


@pytest.fixture(autouse=True)
def transport_of_this_test(transport: TransportName, anyio_backend: str) -> None:
    assert anyio_backend
    CHOSEN[0] = transport


def provider(
    server: RawServer, *, seen: EventRecorder | None = None, attempts: int = 3
) -> OpenAICompat:
    return OpenAICompat(
        f"{server.url}/v1",
        observer=seen or EventRecorder(),
        retry=RetryOptions(attempts=attempts, backoff=0.0),
        transport=CHOSEN[0],
    )


async def is_closed(server: RawServer) -> bool:
    return await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)


async def cancelled(opened: OpenAICompat, server: RawServer) -> None:
    """Read a stream, and be cancelled once the server has the request and has answered."""
    async with anyio.create_task_group() as group:
        group.start_soon(collect, opened, ask())
        await anyio.to_thread.run_sync(server.arrived.wait, 5)
        await anyio.sleep(0.1)
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(Play([]), id="closed"),
        pytest.param(Play([], reset=True), id="reset"),
        pytest.param(Play([b"HTTP/1.1 200 OK\r\n"]), id="half-a-head"),
        pytest.param(Play([reply(BODY[:20], length=len(BODY))]), id="half-a-body"),
        pytest.param(Play([b"not http at all\r\n\r\n"]), id="no-http"),
    ],
)
async def test_a_broken_exchange_is_unavailable_and_sent_again(play: Play) -> None:
    with raw_server(play, Play([reply(BODY)])) as server:
        async with provider(server) as opened:
            answer = await opened.complete(ask())
        assert (answer.text, answer.requests) == (ANSWER, 2)
    seen = EventRecorder()
    with raw_server(play) as server:
        async with provider(server, seen=seen, attempts=2) as opened:
            with pytest.raises(ProviderError) as caught:
                await opened.complete(ask())
        assert (caught.value.kind, caught.value.requests) == (Kind.UNAVAILABLE, 2)
        assert len(seen.of(ProviderFailed)) == 1


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(Play([chunked(end=False)]), id="cut-before-anything"),
        pytest.param(Play([chunked(close=True)]), id="empty"),
        pytest.param(Play([chunked(b": ping\n\n", close=True)]), id="comments-only"),
        pytest.param(Play([chunked(b"data: {", end=False)], reset=True), id="half-an-event"),
    ],
)
async def test_a_stream_cut_before_its_first_event_is_opened_again(play: Play) -> None:
    with raw_server(play, Play([chunked(*STREAM)])) as server:
        async with provider(server) as opened:
            events = await collect(opened, ask())
        last = events[-1]
        assert isinstance(last, Finished)
        assert last.completion.requests == 2
    with raw_server(play) as server:
        async with provider(server, attempts=1) as opened:
            with pytest.raises(ProviderError) as caught:
                await collect(opened, ask())
        assert caught.value.kind in {Kind.STREAM_TRUNCATED, Kind.BAD_RESPONSE}


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("end", [False, True])
async def test_a_stream_cut_after_its_first_event_is_truncated_and_never_sent_again(
    *, reset: bool, end: bool
) -> None:
    seen = EventRecorder()
    play = Play([chunked(STREAM[0], end=end), 0.05], reset=reset)
    with raw_server(play) as server:
        async with provider(server, seen=seen) as opened:
            got: list[StreamEvent] = []
            with pytest.raises(ProviderError) as caught:
                await _gather(opened, got)
        assert len(server.requests) == 1
    error = caught.value
    assert got == [TextDelta("{")]
    assert (error.kind, error.failure.yielded) == (Kind.STREAM_TRUNCATED, True)
    assert (error.retryable, error.requests, error.operation) == (False, 1, "stream")
    assert len(seen.of(ProviderFailed)) == 1


async def _gather(opened: OpenAICompat, got: list[StreamEvent]) -> None:
    async with opened.stream(ask()) as events:
        async for event in events:
            got.append(event)  # noqa: PERF401  what came before the fault counts


WHOLE = b"".join(STREAM)
DONE = WHOLE.index(b"data: [DONE]")


@pytest.mark.parametrize("cut", [*range(1, DONE, 41), DONE - 1])
async def test_a_stream_cut_before_its_finish_was_read_is_truncated(cut: int) -> None:
    with raw_server(Play([chunked(WHOLE[:cut], end=False)])) as server:
        async with provider(server, attempts=1) as opened:
            error = await fault_of(opened, ask())
    if error is None:  # the finish chunk was whole, its blank line was not
        assert cut == DONE - 1
    else:
        assert error.kind is Kind.STREAM_TRUNCATED


@pytest.mark.parametrize("cut", [DONE, len(WHOLE)])
async def test_a_stream_cut_after_its_finish_is_whole(cut: int) -> None:
    with raw_server(Play([chunked(WHOLE[:cut], end=False)])) as server:
        async with provider(server, attempts=1) as opened:
            assert text_of(await collect(opened, ask())) == ANSWER


async def test_an_error_in_the_middle_of_a_stream_ends_it() -> None:
    fault = b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    with raw_server(Play([chunked(STREAM[0], fault)], hold=True)) as server:
        async with provider(server) as opened:
            with pytest.raises(ProviderError) as caught:
                await collect(opened, ask())
        assert await is_closed(server)
    assert (caught.value.kind, caught.value.retryable) == (Kind.UNAVAILABLE, False)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_reading_stops_at_the_terminal_event_though_the_socket_stays_open(api: str) -> None:
    parts = STREAM if api == "chat" else responses_stream()
    with raw_server(Play([chunked(*parts, end=False)], hold=True)) as server:
        async with OpenAICompat(f"{server.url}/v1", api=api, transport=CHOSEN[0]) as opened:  # type: ignore[arg-type]
            with anyio.fail_after(3):
                assert text_of(await collect(opened, ask())) == ANSWER
        assert await is_closed(server)


async def test_a_stream_read_to_its_end_gives_its_connection_back() -> None:
    play = Play([chunked(*STREAM)], again=True)
    with raw_server(play, Play([], read_request=False)) as server:
        async with provider(server) as opened:
            for _ in range(3):
                assert text_of(await collect(opened, ask())) == ANSWER
        assert len(server.requests) == 3


async def test_leaving_a_stream_early_closes_its_connection() -> None:
    with raw_server(Play([chunked(*STREAM[:2], end=False)], hold=True)) as server:
        async with provider(server) as opened:
            async with opened.stream(ask()) as events:
                async for _ in events:
                    break
            assert await is_closed(server)


async def test_a_consumer_that_fails_closes_the_connection_and_keeps_its_error() -> None:
    with raw_server(Play([chunked(*STREAM[:2], end=False)], hold=True)) as server:
        async with provider(server) as opened:
            with pytest.raises(ZeroDivisionError):
                async with opened.stream(ask()):
                    raise ZeroDivisionError
            assert await is_closed(server)


async def test_a_cancelled_consumer_closes_the_connection() -> None:
    with raw_server(Play([chunked(STREAM[0], end=False)], hold=True)) as server:
        async with provider(server) as opened:
            await cancelled(opened, server)
            assert await is_closed(server)


async def test_cancelling_before_the_first_event_closes_the_connection() -> None:
    with raw_server(Play([chunked(end=False)], hold=True)) as server:
        async with provider(server) as opened:
            await cancelled(opened, server)
            assert await is_closed(server)


async def test_a_stream_that_broke_is_over_and_told_once() -> None:
    seen = EventRecorder()
    with raw_server(Play([chunked(STREAM[0], end=False)], hold=True)) as server:
        async with provider(server, seen=seen) as opened, opened.stream(ask(timeout=0.3)) as events:
            assert await anext(events) == TextDelta("{")
            with pytest.raises(ProviderError):
                await anext(events)
            assert [event async for event in events] == []
    assert len(seen.of(ProviderFailed)) == 1


async def test_our_deadline_ends_a_silent_stream() -> None:
    with raw_server(Play([chunked(STREAM[0], end=False)], hold=True)) as server:
        async with provider(server) as opened:
            with pytest.raises(ProviderError) as caught:
                await collect(opened, ask(timeout=0.3))
        assert await is_closed(server)
    error = caught.value
    assert (error.kind, error.failure.own_timeout) == (Kind.TIMEOUT, True)
    assert error.failure.yielded


async def test_a_refused_stream_gives_its_connection_up() -> None:
    with raw_server(Play([reply(b"{}", status="400 Bad Request", length=50)], hold=True)) as server:
        async with provider(server, attempts=1) as opened:
            with pytest.raises(ProviderError):
                await collect(opened, ask(timeout=0.3))
            assert await is_closed(server)
