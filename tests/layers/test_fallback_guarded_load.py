"""
A thousand concurrent guarded calls, whole and streamed, some refused, some cut, some cancelled.

A recording partition notes what the layers report, in order; the reference model is told the same.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Literal

import anyio
from pydantic import BaseModel

from structguard.errors import ProviderError
from structguard.events import Event
from structguard.guard import Guard
from structguard.layers.fallback import FallbackChain, Link
from structguard.layers.partition import Partition, Ticket
from structguard.options import BreakerOptions
from structguard.testing import Script
from structguard.testing.script import Played
from structguard.types import Completion, Failure, Finished, Request, TextDelta
from tests.doubles import ManualClock
from tests.layers.model import Call, Model
from tests.layers.script import named

OPTIONS = BreakerOptions(cooldowns=(3.0, 6.0, 12.0), probe_interval=10.0)
CALLS, PARTITIONS = 1000, ("chat", "rewriter:1", "vote:1")
REFUSED = Failure(status=404, message="No endpoints found for the requested parameters.")
SLOW_DOWN = Failure(status=429, message="slow down")
PLAYS = {"serve": 60, "429": 8, "cut": 10, "cancel": 6, "404": 5, "400": 5}


class Answer(BaseModel):
    """The format asked for."""

    answer: str


class Recording(Partition):
    """Tells the reference model whatever it is told, in the same order."""

    def __init__(self, key: str, names: tuple[str, ...], options: BreakerOptions) -> None:
        super().__init__(key, names, options)
        self.model = Model(len(names), options)
        self.calls: dict[int, Call] = {}
        self.kept: list[Ticket] = []  # their ids must stay taken
        self.admitted = 0
        self.settled = 0

    def admit(self, link: int, now: float) -> tuple[Ticket, tuple[Event, ...]]:
        ticket, events = super().admit(link, now)
        self.calls[id(ticket)] = self.model.starts(link, now)
        self.kept.append(ticket)
        self.admitted += 1
        return ticket, events

    def _call(self, ticket: Ticket) -> Call:
        """A live stream's ticket is a copy of its first one: found by link and epoch."""
        found = self.calls.get(id(ticket))
        return found or Call(ticket.link, ticket.epoch, probe=False, moves_before=ticket.turn)

    def succeed(self, ticket: Ticket, *, whole: bool = True) -> tuple[Event, ...]:
        self.settled += 1
        self.model.served(self._call(ticket), whole=whole)
        return super().succeed(ticket, whole=whole)

    def finish(self, ticket: Ticket) -> None:
        self.model.finished(self._call(ticket))
        super().finish(ticket)

    def fail(
        self, ticket: Ticket, now: float, counts: Literal["threshold", "immediate"], reason: str
    ) -> tuple[Event, ...]:
        self.settled += id(ticket) in self.calls
        self.model.failed(self._call(ticket), now, at_once=counts == "immediate")
        return super().fail(ticket, now, counts, reason)

    def release(self, ticket: Ticket, *, asked_at: float | None = None) -> None:
        self.settled += id(ticket) in self.calls
        self.model.ends(self._call(ticket), asked_at)
        super().release(ticket, asked_at=asked_at)


class Endpoint(Script):
    """Refuses every format; what it does to the rest is a seeded plan."""

    def __init__(
        self, name: str, seed: int, clock: ManualClock, scopes: dict[str, anyio.CancelScope]
    ) -> None:
        self.plan = random.Random(seed)  # noqa: S311  a plan, not a secret
        self.clock = clock
        self.scopes = scopes
        self.answered: Counter[str] = Counter()
        self.refused = 0
        super().__init__([self.play] * 5 * CALLS, id=name)

    async def play(self, request: Request) -> Played:
        for _ in range(self.plan.randrange(3)):
            await anyio.lowlevel.checkpoint()
        if request.response_format is not None:
            self.refused += 1
            return REFUSED
        does = self.plan.choices(list(PLAYS), list(PLAYS.values()))[0]
        self.clock.advance(self.plan.choice((0.0, 0.01, 0.05)))
        name = str(request.user)
        match does:
            case "cancel":
                self.scopes[name].cancel()
                await anyio.lowlevel.checkpoint()
            case "cut":
                return [TextDelta(name), Failure(truncated=True, message="cut")]
            case "429":
                return SLOW_DOWN
            case "404" | "400":
                return Failure(status=int(does), message="no")
            case _:
                pass
        self.answered[name] += 1
        return Completion(text=name)


async def asked(chain: FallbackChain, request: Request, *, stream: bool) -> str:
    """One whole answer, over a stream if told."""
    if not stream:
        return (await chain.complete(request)).text
    said = ""
    async with chain.stream(request) as events:
        async for event in events:
            match event:
                case Finished(completion=completion):
                    said = completion.text
                case _:
                    pass
    return said


async def test_none_of_a_thousand_guarded_calls_is_lost_or_answered_twice() -> None:
    clock, events = ManualClock(), list[Event]()
    scopes: dict[str, anyio.CancelScope] = {}
    ends = [Endpoint(name, i, clock, scopes) for i, name in enumerate("abc")]
    chain = FallbackChain(
        [Link(end, "m") for end in ends],
        guard=Guard(memo="memory:", observer=events.append, clock=clock),
        options=OPTIONS,
        clock=clock,
        observer=events.append,
    )
    recorded = {key: Recording(key, ("a", "b", "c"), OPTIONS) for key in PARTITIONS}
    chain._breaker._partitions.update(recorded)
    outcomes: dict[str, str] = {}

    async def call(number: int) -> None:
        name = str(number)
        request = Request(
            messages=[],
            user=name,
            partition=PARTITIONS[number % len(PARTITIONS)],
            response_format=Answer if number % 2 else None,
        )
        with anyio.CancelScope() as scopes[name]:
            try:
                assert await asked(chain, request, stream=number % 5 == 0) == name
                outcomes[name] = "served"
            except ProviderError as error:
                outcomes[name] = error.kind.value
        if scopes[name].cancelled_caught:
            outcomes[name] = "cancelled"

    async with anyio.create_task_group() as tasks:
        for number in range(CALLS):
            tasks.start_soon(call, number)

    answered = sum((end.answered for end in ends), Counter[str]())
    assert len(outcomes) == CALLS
    assert {name for name, how in outcomes.items() if how == "served"} == set(answered)
    assert set(answered.values()) == {1}
    assert set(outcomes.values()) >= {"served", "cancelled", "invalid_request"}
    assert "format_refused" not in outcomes.values()
    assert named(events).count("RefusalRemembered") <= 3
    assert sum(end.refused for end in ends) > 0
    for key, partition in recorded.items():
        assert partition.admitted == partition.settled > 0
        for index, view in enumerate(chain.state(key)):
            log = partition.model.logs[index]
            assert (view.mode, view.failures) == (log.mode(clock()), len(log.failures))
            assert view.serving == (index == partition.model.override)
            assert view.probing == (index in partition.model.probes)
            assert not view.probing
