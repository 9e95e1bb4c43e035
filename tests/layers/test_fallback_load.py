"""A thousand concurrent calls under a seeded plan: none lost, none answered twice, state as modelled."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio
import pytest

from structguard.errors import KINDS, ProviderError
from structguard.layers.fallback import FallbackChain, Link
from structguard.options import BreakerOptions
from structguard.types import Completion, Kind, Request
from tests.doubles import ManualClock
from tests.layers.model import Call, Model
from tests.layers.script import Script, failing

OPTIONS = BreakerOptions(cooldowns=(3.0, 6.0, 12.0), probe_interval=10.0)
CALLS, PARTITIONS = 1000, ("chat", "rewriter:1", "link-gen:1", "vote:1", "vote:2")
Play: TypeAlias = Kind | Literal["serve", "cancel"]
PLAYS: dict[Play, int] = {
    "serve": 60,
    "cancel": 6,
    Kind.FORMAT_REFUSED: 8,
    Kind.RATE_LIMITED: 8,
    Kind.STREAM_TRUNCATED: 8,
    Kind.NOT_FOUND: 5,
    Kind.INVALID_REQUEST: 5,
}


@dataclass
class Book:
    """What happened in which order, as the endpoints saw it."""

    events: list[tuple[float, str, int, int, Play | None]] = field(
        default_factory=list[tuple[float, str, int, int, "Play | None"]]
    )
    answered: Counter[str] = field(default_factory=Counter[str])


def endpoint(
    link: int, seed: int, book: Book, clock: ManualClock, scopes: dict[str, anyio.CancelScope]
) -> Script:
    """One link's endpoint: takes a while, then does what the plan says; keeps the book."""
    plan = random.Random(seed)  # noqa: S311  a plan, not a secret

    async def play(request: Request) -> Completion:
        name, number = str(request.user), len(book.events)
        book.events.append((clock(), request.partition, link, number, None))
        does: Play = plan.choices(list(PLAYS), list(PLAYS.values()))[0]
        try:
            for _ in range(plan.randrange(4)):
                await anyio.lowlevel.checkpoint()
            if does == "cancel":
                scopes[name].cancel()
                await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            does = "cancel"
            raise
        finally:
            clock.advance(plan.choice((0.0, 0.0, 0.01, 0.05)))
            book.events.append((clock(), request.partition, link, number, does))
        if does == "serve":
            book.answered[name] += 1
            return Completion(text=name)
        assert isinstance(does, Kind)
        raise failing(does)

    return Script(play, id="abc"[link])


def replay(book: Book) -> dict[str, Model]:
    """The same story, told to the reference model."""
    models = {partition: Model(3, OPTIONS) for partition in PARTITIONS}
    under_way: dict[int, Call] = {}
    for now, partition, link, number, does in book.events:
        model = models[partition]
        if does is None:
            under_way[number] = model.starts(link, now)
            continue
        call = under_way.pop(number)
        if does == "serve":
            model.served(call)
        elif does == "cancel":
            model.ends(call, None)
        elif KINDS[does].breaker == "none":
            model.ends(call, now)
        else:
            model.failed(call, now, at_once=KINDS[does].breaker == "immediate")
    assert not under_way
    return models


@pytest.mark.parametrize("seed", range(3))
async def test_none_of_a_thousand_calls_is_lost_or_answered_twice(seed: int) -> None:
    book, clock = Book(), ManualClock()
    scopes: dict[str, anyio.CancelScope] = {}
    scripts = [endpoint(link, 100 * seed + link, book, clock, scopes) for link in range(3)]
    chain = FallbackChain(
        [Link(script) for script in scripts],
        options=OPTIONS,
        clock=clock,
        observer=lambda event: None,
    )
    outcomes: dict[str, str] = {}

    async def call(number: int) -> None:
        name = str(number)
        request = Request(messages=[], user=name, partition=PARTITIONS[number % len(PARTITIONS)])
        with anyio.CancelScope() as scopes[name]:
            try:
                assert (await chain.complete(request)).text == name
                outcomes[name] = "served"
            except ProviderError as error:
                outcomes[name] = error.kind.value
        if scopes[name].cancelled_caught:
            outcomes[name] = "cancelled"

    async with anyio.create_task_group() as tasks:
        for number in range(CALLS):
            tasks.start_soon(call, number)

    assert len(outcomes) == CALLS
    assert set(outcomes.values()) >= {"served", "cancelled", "invalid_request"}
    assert {name for name, how in outcomes.items() if how == "served"} == set(book.answered)
    assert set(book.answered.values()) == {1}
    for partition, model in replay(book).items():
        for index, view in enumerate(chain.state(partition)):
            log = model.logs[index]
            assert (view.mode, view.failures) == (log.mode(clock()), len(log.failures))
            assert view.serving == (index == model.override)
            assert not view.probing


async def test_the_plan_reaches_every_play_and_every_state() -> None:
    """The load above is worth something: links cool, are probed, and the chain moves."""
    book, clock = Book(), ManualClock()
    scopes: dict[str, anyio.CancelScope] = {}
    told: Counter[str] = Counter()
    count: Callable[[object], None] = lambda event: told.update([type(event).__name__])  # noqa: E731
    chain = FallbackChain(
        [Link(endpoint(link, link, book, clock, scopes)) for link in range(3)],
        options=OPTIONS,
        clock=clock,
        observer=count,
    )
    for number in range(400):
        name = str(number)
        with anyio.CancelScope() as scopes[name]:
            try:
                await chain.complete(Request(messages=[], user=name, partition="chat"))
            except ProviderError:
                clock.advance(1.0)
        clock.advance(0.5)
    assert {does for *_, does in book.events} == {None, *PLAYS}
    assert {"LinkAway", "LinkBack", "BreakerOpened", "BreakerHalfOpen", "ChainExhausted"} <= set(
        told
    )
