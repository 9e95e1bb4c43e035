"""Streams through a chain: opened like a call, never restarted, always closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest

from structguard.errors import ProviderError
from structguard.events import Event
from structguard.layers.fallback import FallbackChain, Link
from structguard.types import Completion, Finished, Kind, Request, StreamEvent, TextDelta
from tests.doubles import ManualClock
from tests.layers.script import ASK, Script, failing, named, spoken

DOWN = failing(Kind.UNAVAILABLE, "down")
CUT = failing(Kind.STREAM_TRUNCATED, "cut")


def chain_of(*scripts: Script, events: list[Event] | None = None) -> FallbackChain:
    """A chain of scripts a, b, c on a clock that stands still."""
    for name, script in zip("abc", scripts, strict=False):
        script.id = name
    seen: list[Event] = [] if events is None else events
    links = [Link(script, f"m-{script.id}") for script in scripts]
    return FallbackChain(links, clock=ManualClock(), observer=seen.append)


async def read(chain: FallbackChain, request: Request = ASK) -> str:
    """What the deltas of one whole stream say."""
    text = ""
    async with chain.stream(request) as events:
        async for event in events:
            match event:
                case TextDelta(piece):
                    text += piece
                case _:
                    pass
    return text


async def test_a_stream_that_cannot_be_opened_advances() -> None:
    first, second = Script(streams=[[DOWN]]), Script(streams=[spoken("second")])
    chain = chain_of(first, second)
    assert await read(chain) == "second"
    assert (first.streams_open, second.streams_open) == (0, 0)
    assert chain.state()[1].serving
    assert second.requests[0].model == "m-b"


async def test_every_event_arrives_once_and_in_order() -> None:
    played: list[StreamEvent | BaseException] = [
        TextDelta("a"),
        TextDelta("b"),
        Finished(Completion(text="ab")),
    ]
    chain = chain_of(Script(streams=[played]))
    async with chain.stream(ASK, partition="p") as events:
        assert [event async for event in events] == played


async def test_a_stream_that_ends_before_its_first_event_advances_and_counts() -> None:
    told: list[Event] = []
    chain = chain_of(Script(streams=[[]]), Script(streams=[spoken("second")]), events=told)
    assert await read(chain) == "second"
    assert chain.state()[0].failures == 1
    assert "before its first event" in chain.state()[0].reason
    assert [type(event).__name__ for event in told] == ["ProviderFailed", "LinkAway"]


async def test_a_live_stream_is_never_restarted() -> None:
    first, second = Script(streams=[[TextDelta("half"), CUT]]), Script(streams=[spoken("b")])
    chain = chain_of(first, second)
    with pytest.raises(ProviderError) as caught:
        await read(chain)
    assert caught.value is CUT
    assert (first.calls, second.calls) == (1, 0)
    assert chain.state()[0].failures == 1


async def test_a_link_whose_streams_always_break_is_left_alone_in_the_end() -> None:
    first = Script(streams=[[TextDelta("half"), CUT]])
    chain = chain_of(first, Script(streams=[spoken("second")]))
    for _ in range(3):
        with pytest.raises(ProviderError):
            await read(chain)
    assert chain.state()[0].mode == "cooling"
    assert await read(chain) == "second"


async def test_a_whole_stream_forgives_the_cut_ones() -> None:
    cut: list[StreamEvent | BaseException] = [TextDelta("half"), CUT]
    chain = chain_of(Script(streams=[cut, cut, spoken("ok"), cut, cut]))
    for _ in range(2):
        with pytest.raises(ProviderError):
            await read(chain)
    assert await read(chain) == "ok"
    assert chain.state()[0].failures == 0
    for _ in range(2):
        with pytest.raises(ProviderError):
            await read(chain)
    assert chain.state()[0].mode == "closed"


async def test_an_abandoned_stream_is_closed_and_counts_as_served() -> None:
    first = Script(streams=[[CUT], [TextDelta("a"), TextDelta("b")]])
    chain = chain_of(first)
    with pytest.raises(ProviderError):
        await read(chain)
    async with chain.stream(ASK) as events:
        async for _ in events:
            break
        assert first.streams_open == 1
    assert first.streams_open == 0
    assert chain.state()[0].failures == 0


async def test_what_the_consumer_raises_is_no_failure_of_the_link() -> None:
    first = Script(streams=[spoken("a")])
    chain = chain_of(first)
    with pytest.raises(ConnectionError, match="mine"):
        async with chain.stream(ASK):
            raise ConnectionError("mine")
    assert first.streams_open == 0
    assert chain.state()[0].failures == 0


async def test_a_stream_that_fails_for_good_raises_with_all_attempts() -> None:
    told: list[Event] = []
    chain = chain_of(Script(streams=[[CUT]]), Script(streams=[[DOWN]]), events=told)
    with pytest.raises(ProviderError) as caught:
        await read(chain)
    assert caught.value.attempts == (("a", CUT), ("b", DOWN))
    assert named(told)[-1] == "ChainExhausted"


async def test_a_kind_that_does_not_advance_is_raised_unchanged() -> None:
    invalid = failing(Kind.INVALID_REQUEST)
    second = Script(streams=[spoken("b")])
    chain = chain_of(Script(streams=[[invalid]]), second)
    with pytest.raises(ProviderError) as caught:
        await read(chain)
    assert caught.value is invalid
    assert second.calls == 0


async def test_a_pinned_stream_does_not_enter_the_chain() -> None:
    second = Script(streams=[spoken("b")])
    chain = chain_of(Script(streams=[spoken("a")]), second)
    assert await read(chain, Request(messages=[], provider="b")) == "b"
    assert chain.partitions == 0
    assert second.streams_open == 0


async def test_cancelling_while_a_stream_opens_neither_advances_nor_counts() -> None:
    class Waiting(Script):
        @asynccontextmanager
        async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            await anyio.sleep_forever()
            async with super()._stream(request) as events:
                yield events

    first, second = Waiting(), Script(streams=[spoken("b")])
    chain = chain_of(first, second)
    with anyio.move_on_after(0.01) as scope:
        await read(chain)
    assert scope.cancelled_caught
    assert chain.state()[0].failures == 0
    assert second.calls == 0


async def test_cancelling_a_live_stream_closes_it_without_a_count() -> None:
    async def stalled() -> AsyncGenerator[StreamEvent]:
        yield TextDelta("a")
        await anyio.sleep_forever()

    class Stalling(Script):
        @asynccontextmanager
        async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            self.streams_open += 1
            try:
                async with aclosing(stalled()) as events:
                    yield events
            finally:
                self.streams_open -= 1

    first = Stalling()
    chain = chain_of(first)
    with anyio.move_on_after(0.01) as scope:
        await read(chain)
    assert scope.cancelled_caught
    assert first.streams_open == 0
    assert chain.state()[0].failures == 0


async def test_the_first_event_of_a_probe_brings_the_primary_back() -> None:
    clock = ManualClock()
    told: list[Event] = []
    first = Script(streams=[[DOWN], spoken("back")], id="a")
    second = Script(streams=[spoken("second")], id="b")
    chain = FallbackChain([Link(first), Link(second)], clock=clock, observer=told.append)
    await read(chain)
    clock.advance(300.0)
    async with chain.stream(ASK) as events:
        assert named(told)[-1] == "LinkBack"
        assert not chain.state()[0].probing
        assert [type(event).__name__ async for event in events] == ["TextDelta", "Finished"]


async def test_a_slow_stream_of_a_fallback_moves_no_chain_away_again() -> None:
    """It began while the primary was away; by its first event the primary is back."""
    clock, gate = ManualClock(), anyio.Event()
    told: list[Event] = []

    class Slow(Script):
        @asynccontextmanager
        async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            if self.calls:
                await gate.wait()
            async with super()._stream(request) as events:
                yield events

    first = Script(streams=[[DOWN], spoken("back")], id="a")
    second = Slow(streams=[spoken("second")], id="b")
    chain = FallbackChain([Link(first), Link(second)], clock=clock, observer=told.append)
    await read(chain)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, chain)
        await anyio.wait_all_tasks_blocked()
        clock.advance(300.0)
        async with chain.stream(ASK) as events:
            gate.set()
            await anyio.wait_all_tasks_blocked()
            assert chain.state()[0].serving
            assert len([event async for event in events]) == 2
    assert [name for name in named(told) if name.startswith("Link")] == ["LinkAway", "LinkBack"]
    assert second.calls == 2
