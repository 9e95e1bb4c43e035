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


class Harness:
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
async def harness(
    endpoints: tuple[RefusingEndpoint, RefusingEndpoint], anyio_backend: str
) -> AsyncIterator[Harness]:
    made = Harness(*endpoints)
    yield made
    for provider in made.providers:
        await provider.aclose()


@pytest.mark.parametrize("how", ["break", "raise", "cancel"])
async def test_a_rescued_stream_that_is_left_early_is_no_failure_of_its_link(
    harness: Harness, how: str
) -> None:
    async def read() -> None:
        with anyio.CancelScope() as scope:
            async with harness.chain.stream(ASK) as events:
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
        await harness.chain.complete(ASK)
    assert harness.second.count() == 0
    assert harness.told == [ProviderFailed, RefusalRemembered]


async def test_the_next_link_is_rescued_too_once_the_first_is_down(harness: Harness) -> None:
    assert (await harness.chain.complete(ASK)).requests == 2
    harness.first.stop()
    over = await harness.chain.complete(ASK)
    assert (over.provider, over.enforced, over.requests) == ("second", False, 2)
    assert (await harness.chain.complete(ASK)).requests == 1
    assert len(harness.memo.entries()) == 2
    assert harness.told.count(LinkAway) == 1


async def test_fifty_first_calls_over_a_dead_primary_are_told_once(harness: Harness) -> None:
    harness.first.stop()
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(harness.chain.complete, ASK)
    assert harness.told.count(LinkAway) == harness.told.count(RefusalRemembered) == 1
    assert harness.second.count(status=200) == 50
    assert len(harness.memo.entries()) == 1


async def test_a_pinned_link_is_rescued_and_its_failures_count_for_nobody(harness: Harness) -> None:
    pinned = ASK.derive(provider="second")
    reply = await harness.chain.complete(pinned)
    assert (reply.provider, reply.requests, harness.first.count()) == ("second", 2, 0)
    harness.second.stop()
    for _ in range(4):
        with pytest.raises(ProviderError):
            await harness.chain.complete(pinned)
    assert (await harness.chain.complete(ASK)).provider == "first"
    assert LinkAway not in harness.told


@pytest.fixture
def shared() -> Memo:
    return open_memo("memory:")


async def test_policies_that_share_a_memo_keep_their_own_ways(
    harness: Harness, shared: Memo
) -> None:
    (provider, _) = harness.providers
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
