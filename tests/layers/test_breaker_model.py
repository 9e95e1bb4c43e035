"""The partition's state machine against the reference model, call by call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from structguard.layers.partition import Partition, Ticket
from structguard.options import BreakerOptions
from tests.layers.model import Call, Model

OPTIONS = BreakerOptions(
    threshold=2, cooldowns=(10.0, 20.0, 40.0), probe_interval=50.0, window=200.0
)


@dataclass
class Under:
    """A call under way: the machine's route and ticket, and what the model knows of it."""

    ticket: Ticket
    call: Call
    route: Iterator[int]
    tried: set[int]
    last_resort: bool


class BreakerMachine(RuleBasedStateMachine):
    """Calls start, overlap, and end in any way and order, while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.model = Model(3, OPTIONS)
        self.partition = Partition("p", ("a", "b", "c"), OPTIONS)
        self.calls: list[Under] = []
        self.live: list[Under] = []  # streams that opened

    @rule(seconds=st.sampled_from([1.0, 9.0, 10.0, 30.0, 50.0, 199.0, 201.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def a_call_starts(self) -> None:
        assert self._asks(self.partition.route(lambda: self.now), set())

    def _asks(self, route: Iterator[int], tried: set[int]) -> bool:
        last_resort = all(self.model.closed_to(link, self.now) for link in range(3))
        expected = self.model.next(self.now, tried)
        link = next(route, None)
        assert link == expected
        if link is None:
            return False
        ticket, events = self.partition.admit(link, self.now)
        call = self.model.starts(link, self.now)
        assert ticket.probe == call.probe
        assert [type(event).__name__ for event in events] == ["BreakerHalfOpen"] * call.probe
        self.calls.append(Under(ticket, call, route, tried | {link}, last_resort))
        return True

    @precondition(lambda self: self.calls)
    @rule(pick=st.integers(0, 9))
    def a_call_is_served(self, pick: int) -> None:
        under = self.calls.pop(pick % len(self.calls))
        was = self.model.override
        self.model.served(under.call)
        moved = {"LinkBack"} if was > 0 == self.model.override else set[str]()
        moved |= {"LinkAway"} if was == 0 < self.model.override else set[str]()
        assert {type(event).__name__ for event in self.partition.succeed(under.ticket)} == moved

    @precondition(lambda self: self.calls)
    @rule(pick=st.integers(0, 9))
    def a_stream_opens(self, pick: int) -> None:
        under = self.calls.pop(pick % len(self.calls))
        self.model.served(under.call, whole=False)
        self.partition.succeed(under.ticket, whole=False)
        self.live.append(replace(under, ticket=replace(under.ticket, probe=False)))

    @precondition(lambda self: self.live)
    @rule(pick=st.integers(0, 9), breaks=st.booleans())
    def a_stream_ends(self, pick: int, breaks: bool) -> None:  # noqa: FBT001
        under = self.live.pop(pick % len(self.live))
        if breaks:
            self.model.failed(under.call, self.now, at_once=False)
            self.partition.fail(under.ticket, self.now, "threshold", "cut")
        else:
            self.model.finished(under.call)
            self.partition.finish(under.ticket)

    @precondition(lambda self: self.calls)
    @rule(pick=st.integers(0, 9), at_once=st.booleans())
    def a_call_fails(self, pick: int, at_once: bool) -> None:  # noqa: FBT001
        under = self.calls.pop(pick % len(self.calls))
        armed = self.model.logs[under.call.link].ever_armed
        self.model.failed(under.call, self.now, at_once=at_once)
        events = self.partition.fail(
            under.ticket, self.now, "immediate" if at_once else "threshold", "why"
        )
        assert len(events) == self.model.logs[under.call.link].ever_armed - armed

    @precondition(lambda self: self.calls)
    @rule(pick=st.integers(0, 9), answered=st.booleans())
    def a_call_says_nothing(self, pick: int, answered: bool) -> None:  # noqa: FBT001
        under = self.calls.pop(pick % len(self.calls))
        at = self.now if answered else None
        self.model.ends(under.call, at)
        self.partition.release(under.ticket, asked_at=at)

    @precondition(lambda self: self.calls)
    @rule(pick=st.integers(0, 9), counts=st.sampled_from(["immediate", "threshold", "none"]))
    def a_call_fails_and_asks_the_next_link(
        self, pick: int, counts: Literal["immediate", "threshold", "none"]
    ) -> None:
        under = self.calls.pop(pick % len(self.calls))
        if counts == "none":
            self.model.ends(under.call, self.now)
            self.partition.release(under.ticket, asked_at=self.now)
        else:
            self.model.failed(under.call, self.now, at_once=counts == "immediate")
            self.partition.fail(under.ticket, self.now, counts, "why")
        if under.last_resort:
            assert next(under.route, None) is None
        else:
            self._asks(under.route, under.tried)

    @invariant()
    def both_see_the_same(self) -> None:
        for index, view in enumerate(self.partition.view(self.now)):
            log = self.model.logs[index]
            assert view.mode == log.mode(self.now)
            assert view.failures == len(log.failures)
            assert view.serving == (index == self.model.override)
            assert view.probing == (index in self.model.probes)
            assert view.cools_for == max(0.0, log.cooldown()[1] - self.now)


TestBreaker = BreakerMachine.TestCase
TestBreaker.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
