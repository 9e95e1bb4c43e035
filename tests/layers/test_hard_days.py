"""Guarded chains over real endpoints on a bad day: refused, left early, storming, half of them down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest
from pydantic import BaseModel

import structguard as sg
from structguard.errors import ProviderError
from structguard.events import (
    Event,
    LinkAway,
    ProviderFailed,
    RefusalObserved,
    RefusalRemembered,
    RefusalSkipped,
)
from structguard.memo import Memo, open_memo
from structguard.options import RetryOptions
from structguard.testing import RefusingEndpoint

VALUE = {"city": "Bonn"}
ONCE = RetryOptions(attempts=1)


class Answer(BaseModel):
    """The format asked for."""

    city: str


ASK = sg.Request(messages=[{"role": "user", "content": "Where?"}], response_format=Answer)


class World:
    """Two endpoints that refuse the format, a guarded chain over them, and what was told."""

    def __init__(self, first: RefusingEndpoint, second: RefusingEndpoint) -> None:
        self.first, self.second = first, second
        self.events: list[Event] = []
        self.memo = open_memo("memory:")
        self.guard = sg.Guard(memo=self.memo, observer=self.events.append)
        self.providers = [
            sg.OpenAICompat(place.base_url, id=name, retry=ONCE, observer=self.events.append)
            for name, place in (("first", first), ("second", second))
        ]
        links = [sg.Link(provider, model="m") for provider in self.providers]
        self.chain = sg.FallbackChain(links, guard=self.guard, observer=self.events.append)

    @property
    def told(self) -> list[type[Event]]:
        """What was told beside skips, which every later call tells."""
        return [type(event) for event in self.events if not isinstance(event, RefusalSkipped)]


@pytest.fixture
def endpoints() -> Iterator[tuple[RefusingEndpoint, RefusingEndpoint]]:
    with (
        RefusingEndpoint("refuse400", value=VALUE) as first,
        RefusingEndpoint("refuse404", value=VALUE) as second,
    ):
        yield first, second


@pytest.fixture
async def world(
    endpoints: tuple[RefusingEndpoint, RefusingEndpoint], anyio_backend: str
) -> AsyncIterator[World]:
    made = World(*endpoints)
    yield made
    for provider in made.providers:
        await provider.aclose()


@pytest.mark.parametrize("how", ["break", "raise", "cancel"])
async def test_a_rescued_stream_that_is_left_early_is_no_failure_of_its_link(
    world: World, how: str
) -> None:
    async def read() -> None:
        with anyio.CancelScope() as scope:
            async with world.chain.stream(ASK) as events:
                async for _ in events:
                    if how == "raise":
                        raise KeyError(how)
                    if how == "break":
                        break
                    scope.cancel()
                    await anyio.sleep_forever()

    if how == "raise":
        with pytest.raises(KeyError):
            await read()
    else:
        await read()
    for _ in range(3):
        await world.chain.complete(ASK)
    assert world.second.count() == 0
    assert world.told == [ProviderFailed, RefusalRemembered]


async def test_the_next_link_is_rescued_too_once_the_first_is_down(world: World) -> None:
    assert (await world.chain.complete(ASK)).requests == 2
    world.first.stop()
    over = await world.chain.complete(ASK)
    assert (over.provider, over.enforced, over.requests) == ("second", False, 2)
    assert (await world.chain.complete(ASK)).requests == 1
    assert len(world.memo.entries()) == 2
    assert world.told.count(LinkAway) == 1


async def test_fifty_first_calls_over_a_dead_primary_are_told_once(world: World) -> None:
    world.first.stop()
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(world.chain.complete, ASK)
    assert world.told.count(LinkAway) == world.told.count(RefusalRemembered) == 1
    assert world.second.count(status=200) == 50
    assert len(world.memo.entries()) == 1


async def test_a_pinned_link_is_rescued_and_its_failures_count_for_nobody(world: World) -> None:
    pinned = ASK.derive(provider="second")
    reply = await world.chain.complete(pinned)
    assert (reply.provider, reply.requests, world.first.count()) == ("second", 2, 0)
    world.second.stop()
    for _ in range(4):
        with pytest.raises(ProviderError):
            await world.chain.complete(pinned)
    assert (await world.chain.complete(ASK)).provider == "first"
    assert LinkAway not in world.told


@pytest.fixture
def shared() -> Memo:
    return open_memo("memory:")


async def test_policies_that_share_a_memo_keep_their_own_ways(world: World, shared: Memo) -> None:
    (provider, _) = world.providers
    asked = ASK.derive(model="m")
    told: list[Event] = []
    looking = sg.Guard(memo=shared, policy=sg.Policy(mode="observe"), observer=told.append)
    strict = sg.Guard(memo=shared, policy=sg.Policy(require_enforced=True))
    for safe in (looking.protect(provider), strict.protect(provider)):
        with pytest.raises(ProviderError):
            await safe.complete(asked)
    assert shared.entries() == []
    await sg.Guard(memo=shared).protect(provider).complete(asked)
    for safe in (looking.protect(provider), strict.protect(provider)):
        with pytest.raises(ProviderError):
            await safe.complete(asked)
    assert [event.would for event in told if isinstance(event, RefusalObserved)] == [
        "retry",
        "skip",
    ]
    assert len(shared.entries()) == 1
