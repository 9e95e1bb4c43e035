"""The rows of the chain's table, one test or more each."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import anyio
import pytest

from structguard.errors import KINDS, ProviderError, rule_for
from structguard.events import (
    BreakerOpened,
    ChainExhausted,
    Event,
    LinkAway,
    LinkBack,
    LinkDropped,
)
from structguard.guard import Guard
from structguard.layers.fallback import FallbackChain, Link
from structguard.options import BreakerOptions
from structguard.providers import Anthropic, Google, OpenAI
from structguard.service import Provider
from structguard.types import Completion, Failure, Kind, Request
from tests.doubles import ManualClock
from tests.layers.script import ASK, Script, failing, named

DOWN = failing(Kind.UNAVAILABLE, "down")
GONE = failing(Kind.NOT_FOUND, "no such model")


class Harness:
    """A chain over scripts, its clock and its events."""

    def __init__(self, *scripts: Script, options: BreakerOptions | None = None) -> None:
        self.clock = ManualClock()
        self.events: list[Event] = []
        self.scripts = scripts
        for number, script in enumerate(scripts):
            if script.id == "scripted":
                script.id = "abcdefgh"[number]
        self.chain = FallbackChain(
            [Link(script, model=f"m-{script.id}") for script in scripts],
            options=options or BreakerOptions(),
            clock=self.clock,
            observer=self.events.append,
        )

    async def ask(self, partition: str = "") -> str:
        return (await self.chain.complete(ASK, partition=partition)).text

    async def fails(self, partition: str = "") -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.chain.complete(ASK, partition=partition)
        return caught.value

    @property
    def calls(self) -> list[int]:
        return [script.calls for script in self.scripts]


# Rows C1, C2 of the table: what a chain is made of


def test_the_defaults_are_those_of_the_spec() -> None:
    options = BreakerOptions()
    assert (options.threshold, options.cooldowns) == (3, (30.0, 60.0, 300.0))
    assert (options.probe_interval, options.window) == (300.0, 86400.0)


def test_an_empty_chain_is_a_configuration_error() -> None:
    with pytest.raises(ValueError, match="at least one Link"):
        FallbackChain([])


def test_doubles_and_links_that_were_not_built_are_dropped_with_a_notice() -> None:
    events: list[Event] = []
    one, other = Script(id="one"), Script(id="other")
    chain = FallbackChain(
        [
            Link(one, "m"),
            Link(one, "m"),
            Link(None, "m", name="unbuilt"),
            Link(Script(id="one"), "m"),
            Link(other),
        ],
        observer=events.append,
    )
    assert [view.link for view in chain.state()] == ["one", "other"]
    dropped = [event for event in events if isinstance(event, LinkDropped)]
    assert [event.link for event in dropped] == ["one", "unbuilt", "one"]
    assert "could not be built" in dropped[1].reason


def test_a_link_without_a_credential_is_dropped_but_never_the_first() -> None:
    class Keyless(Script):
        missing_credential = True

    events: list[Event] = []
    chain = FallbackChain(
        [Link(Keyless(id="head")), Link(Keyless(id="tail")), Link(Script(id="local"))],
        observer=events.append,
    )
    assert [view.link for view in chain.state()] == ["head", "local"]
    assert events == [LinkDropped(link="tail", reason="its provider has no credential")]


def test_a_first_link_without_a_provider_is_a_configuration_error() -> None:
    with pytest.raises(ValueError, match="never left out"):
        FallbackChain([Link(None), Link(Script())])


def test_two_models_of_one_provider_are_told_apart() -> None:
    one = Script(id="one")
    chain = FallbackChain([Link(one, "big"), Link(one, "small"), Link(Script(id="two"), "big")])
    assert [view.link for view in chain.state()] == ["one/big", "one/small", "two"]
    with pytest.raises(ValueError, match="two links are named 'x'"):
        FallbackChain([Link(one, "big", name="x"), Link(one, "small", name="x")])


# Rows C3 to C6 of the table: primary, override, probe, next link


async def test_the_primary_is_asked_with_the_model_of_its_link() -> None:
    harness = Harness(Script("first"), Script("second"))
    assert await harness.ask() == "first"
    assert harness.calls == [1, 0]
    assert harness.scripts[0].requests[0].model == "m-a"
    assert named(harness.events) == []


async def test_a_link_without_a_model_leaves_the_requests() -> None:
    script = Script()
    await FallbackChain([Link(script)]).complete(Request(messages=[], model="mine"))
    assert script.requests[0].model == "mine"


async def test_a_fallback_that_served_stays_until_cooldown_and_probe_interval_are_over() -> None:
    harness = Harness(Script(DOWN, "again"), Script("second"))
    assert await harness.ask() == "second"
    for seconds in (0.0, 29.0, 2.0, 268.0):
        harness.clock.advance(seconds)
        assert await harness.ask() == "second"
    assert harness.calls[0] == 1
    harness.clock.advance(1.0)
    assert await harness.ask() == "again"
    assert harness.calls[0] == 2
    assert await harness.ask() == "again"


async def test_even_a_single_failure_under_the_threshold_moves_to_the_fallback_that_serves() -> (
    None
):
    harness = Harness(Script(GONE), Script("second"))
    assert [await harness.ask(), await harness.ask()] == ["second", "second"]
    assert harness.calls == [1, 2]
    assert named(harness.events) == ["LinkAway"]


async def test_going_away_and_coming_back_is_told_once_each() -> None:
    harness = Harness(Script(DOWN, DOWN, "again"), Script("second"))
    await harness.ask()
    harness.clock.advance(300.0)
    assert await harness.ask() == "second"  # the probe failed
    harness.clock.advance(300.0)
    assert await harness.ask() == "again"
    assert named(harness.events) == [
        "BreakerOpened",
        "LinkAway",
        "BreakerHalfOpen",
        "BreakerOpened",
        "BreakerHalfOpen",
        "LinkBack",
    ]
    opened = [event.seconds for event in harness.events if isinstance(event, BreakerOpened)]
    assert opened == [30.0, 60.0]
    away = next(event for event in harness.events if isinstance(event, LinkAway))
    assert away == LinkAway(partition="", link="a", to="b", reason="unavailable: scripted: down")
    assert harness.events[-1] == LinkBack(partition="", link="a")


async def test_the_ladder_ends_at_its_cap() -> None:
    harness = Harness(Script(DOWN), options=BreakerOptions(cooldowns=(1.0, 2.0)))
    for _ in range(4):
        await harness.fails()
        harness.clock.advance(10.0)
    opened = [event.seconds for event in harness.events if isinstance(event, BreakerOpened)]
    assert opened == [1.0, 2.0, 2.0, 2.0]


async def test_a_cooling_link_is_skipped() -> None:
    harness = Harness(Script(GONE), Script(DOWN), Script(GONE, "third"))
    await harness.fails()
    assert await harness.ask() == "third"
    assert harness.calls == [2, 1, 2]


async def test_when_all_are_cooling_only_the_one_cooling_longest_is_asked() -> None:
    harness = Harness(Script(), Script())

    def fail(request: Request) -> Completion:
        harness.clock.advance(1.0)
        raise DOWN

    for script in harness.scripts:
        script.outcomes = [fail]
    seen: list[list[int]] = []
    for _ in range(4):
        await harness.fails()
        seen.append(harness.calls)
    assert seen == [[1, 1], [2, 1], [2, 2], [3, 2]]


async def test_a_cooling_link_is_not_asked_while_another_is_merely_failing() -> None:
    harness = Harness(Script(GONE), Script(DOWN))
    await harness.fails()
    await harness.fails()
    assert harness.calls == [2, 1]


async def test_an_override_that_fails_gives_way_to_the_links_after_it_then_to_those_before() -> (
    None
):
    harness = Harness(Script(DOWN, "first"), Script(DOWN, "second"), Script("third", DOWN))
    assert await harness.ask() == "third"
    harness.clock.advance(100.0)
    assert await harness.ask() == "second"
    assert harness.calls == [1, 2, 2]
    assert named(harness.events).count("LinkAway") == 1


# Rows C7, C8 of the table: what counts


@pytest.mark.parametrize("kind", [kind for kind in Kind if not KINDS[kind].advance])
async def test_a_kind_that_does_not_advance_is_raised_unchanged(kind: Kind) -> None:
    error = failing(kind)
    harness = Harness(Script(error), Script("second"))
    for _ in range(4):
        assert await harness.fails() is error
    assert harness.calls == [4, 0]
    assert error.attempts == ()
    assert harness.chain.state()[0].failures == 0
    assert named(harness.events) == []


@pytest.mark.parametrize("kind", [kind for kind in Kind if KINDS[kind].advance])
async def test_a_kind_that_advances_asks_the_next_link(kind: Kind) -> None:
    harness = Harness(Script(failing(kind)), Script("second"))
    assert await harness.ask() == "second"
    counts = KINDS[kind].breaker
    mode = {"immediate": "cooling", "threshold": "closed", "none": "closed"}[counts]
    view = harness.chain.state()[0]
    assert (view.mode, view.failures) == (mode, 0 if counts == "none" else 1)


@pytest.mark.parametrize(
    ("own", "modes"), [(True, ["closed", "closed", "cooling"]), (False, ["cooling"] * 3)]
)
async def test_an_own_time_out_counts_at_the_threshold_a_servers_at_once(
    own: bool,  # noqa: FBT001
    modes: list[str],
) -> None:
    harness = Harness(Script(failing(Kind.TIMEOUT, own_timeout=own)))
    seen: list[str] = []
    for _ in range(3):
        await harness.fails()
        seen.append(harness.chain.state()[0].mode)
    assert seen == modes


async def test_an_unhandled_refusal_advances_and_leaves_the_primary_the_primary() -> None:
    harness = Harness(Script(failing(Kind.FORMAT_REFUSED)), Script("second"))
    for _ in range(5):
        assert await harness.ask() == "second"
    assert harness.calls == [5, 5]
    assert named(harness.events) == []


async def test_a_programming_error_of_a_provider_neither_advances_nor_counts() -> None:
    harness = Harness(Script(TypeError("oops")), Script("second"))
    with pytest.raises(TypeError, match="oops"):
        await harness.ask()
    assert harness.chain.state()[0].failures == 0


# Rows C9, C10 of the table: forgiveness


async def test_success_clears_count_cooldown_and_ladder() -> None:
    harness = Harness(Script(GONE, GONE, "ok", GONE, GONE, "ok"))
    for _ in range(2):
        await harness.fails()
        await harness.fails()
        await harness.ask()
    assert named(harness.events) == ["ChainExhausted"] * 4
    again = Harness(Script(DOWN, "ok", DOWN))
    await again.fails()
    await again.ask()
    await again.fails()
    opened = [event.seconds for event in again.events if isinstance(event, BreakerOpened)]
    assert opened == [30.0, 30.0]


async def test_failures_older_than_the_window_are_forgotten() -> None:
    harness = Harness(Script(GONE), options=BreakerOptions(window=100.0))
    await harness.fails()
    await harness.fails()
    harness.clock.advance(101.0)
    await harness.fails()
    assert harness.chain.state()[0].failures == 1
    cooling = Harness(Script(DOWN), options=BreakerOptions(window=100.0))
    await cooling.fails()
    cooling.clock.advance(101.0)
    await cooling.fails()
    opened = [event.seconds for event in cooling.events if isinstance(event, BreakerOpened)]
    assert opened == [30.0, 30.0]


# Rows C11 of the table: partitions


async def test_partitions_know_nothing_of_one_another() -> None:
    harness = Harness(Script(DOWN, "first"), Script("second"))
    assert await harness.ask("rewriter:7") == "second"
    assert await harness.ask("vote:7") == "first"
    assert await harness.ask("rewriter:7") == "second"
    assert harness.chain.state("vote:7")[0].failures == 0
    assert harness.chain.state("rewriter:7")[0].mode == "cooling"


async def test_ten_thousand_partitions_stay_within_the_bound_and_the_oldest_go_first() -> None:
    harness = Harness(Script(DOWN), Script("second"), options=BreakerOptions(partitions=100))
    for number in range(10_000):
        await harness.ask(f"link-gen:{number}")
        await harness.ask("link-gen:0")
    assert harness.chain.partitions == 100
    assert harness.chain.state("link-gen:0")[0].mode == "cooling"  # in use, so it was kept
    assert harness.chain.state("link-gen:1")[0].mode == "closed"


async def test_the_requests_own_partition_is_used_and_passed_on() -> None:
    harness = Harness(Script("first"))
    await harness.chain.complete(Request(messages=[], partition="vote:1"))
    await harness.ask("vote:2")
    assert [request.partition for request in harness.scripts[0].requests] == ["vote:1", "vote:2"]


# Rows C13 of the table: half-open


def slow_then(world_gate: anyio.Event, text: str) -> Script:
    async def reply(request: Request) -> Completion:
        await world_gate.wait()
        return Completion(text=text)

    return Script(reply)


async def test_two_hundred_callers_make_exactly_one_probe() -> None:
    gate = anyio.Event()
    primary, second = Script(DOWN), Script("second")
    harness = Harness(primary, second)
    await harness.ask()
    harness.clock.advance(300.0)
    primary.outcomes = slow_then(gate, "back").outcomes
    answers: list[str] = []

    async def call() -> None:
        answers.append(await harness.ask())

    async with anyio.create_task_group() as tasks:
        for _ in range(200):
            tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert harness.calls == [2, 200]
        assert harness.chain.state()[0].probing
        gate.set()
    assert sorted(answers) == ["back"] + ["second"] * 199
    assert named(harness.events).count("LinkBack") == 1


async def test_a_half_open_fallback_is_probed_by_one_call_too() -> None:
    gate = anyio.Event()
    harness = Harness(Script(DOWN), Script(DOWN), Script("third"))
    await harness.ask()
    harness.clock.advance(31.0)
    harness.scripts[2].outcomes = [DOWN]
    harness.scripts[1].outcomes = slow_then(gate, "second").outcomes
    harness.scripts[0].outcomes = ["first"]
    answers: list[str] = []

    async def call() -> None:
        answers.append(await harness.ask())

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert harness.scripts[1].calls == 2
        gate.set()
    assert sorted(answers) == ["first"] * 4 + ["second"]


async def test_a_cancelled_probe_frees_the_slot_and_does_not_put_the_next_one_off() -> None:
    gate = anyio.Event()
    primary = Script(DOWN)
    harness = Harness(primary, Script("second"))
    await harness.ask()
    harness.clock.advance(300.0)
    primary.outcomes = slow_then(gate, "back").outcomes
    with anyio.move_on_after(0.01):
        await harness.ask()
    assert not harness.chain.state()[0].probing
    assert harness.chain.state()[0].failures == 1
    primary.outcomes = ["back"]
    assert await harness.ask() == "back"


async def test_a_probe_that_ends_in_a_kind_that_says_nothing_waits_for_the_next_interval() -> None:
    refused = failing(Kind.FORMAT_REFUSED)
    harness = Harness(Script(DOWN, refused, "back"), Script("second"))
    await harness.ask()
    harness.clock.advance(300.0)
    assert [await harness.ask(), await harness.ask()] == ["second", "second"]
    assert harness.calls[0] == 2
    harness.clock.advance(300.0)
    assert await harness.ask() == "back"


async def test_a_burst_of_failures_climbs_one_step_of_the_ladder() -> None:
    gate = anyio.Event()

    async def fail(request: Request) -> Completion:
        await gate.wait()
        raise DOWN

    harness = Harness(Script(fail), Script("second"))
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(harness.ask)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    opened = [event.seconds for event in harness.events if isinstance(event, BreakerOpened)]
    assert opened == [30.0]
    assert harness.chain.state()[0].failures == 1


async def test_a_success_that_was_under_way_when_the_link_was_armed_is_old_news() -> None:
    gate = anyio.Event()
    primary = slow_then(gate, "late")
    harness = Harness(primary, Script("second"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.ask)
        await anyio.wait_all_tasks_blocked()
        primary.outcomes = [DOWN]
        assert await harness.ask() == "second"
        gate.set()
    assert harness.chain.state()[0].mode == "cooling"
    assert await harness.ask() == "second"


# Rows C14 of the table: exhausted


async def test_an_exhausted_chain_raises_the_last_error_with_all_attempts() -> None:
    cause = RuntimeError("why")
    last = failing(Kind.UNAVAILABLE, "last")
    last.__cause__ = cause
    harness = Harness(Script(GONE), Script(last))
    error = await harness.fails()
    assert error is last
    assert error.attempts == (("a", GONE), ("b", last))
    assert error.__cause__ is cause
    assert harness.events[-1] == ChainExhausted(
        partition="",
        attempts=(
            ("a", "not_found: scripted: no such model"),
            ("b", "unavailable: scripted: last"),
        ),
    )
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert [name for name, _ in copied.attempts] == ["a", "b"]


@pytest.mark.parametrize("kind", [Kind.AUTHENTICATION, Kind.BILLING])
async def test_a_refused_key_or_account_of_the_primary_is_told_if_no_fallback_ever_served(
    kind: Kind,
) -> None:
    refused = failing(kind, "your key")
    harness = Harness(Script(refused), Script(DOWN))
    assert await harness.fails() is refused
    assert [name for name, _ in refused.attempts] == ["a", "b"]
    served = Harness(Script(refused), Script("second", DOWN))
    await served.ask()
    served.clock.advance(300.0)
    assert await served.fails() is DOWN


async def test_the_failures_before_an_error_that_does_not_advance_stay_reachable() -> None:
    invalid = failing(Kind.INVALID_REQUEST)
    harness = Harness(Script(DOWN), Script(invalid))
    assert await harness.fails() is invalid
    assert invalid.attempts == (("a", DOWN), ("b", invalid))
    assert "ChainExhausted" not in named(harness.events)


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("last", [False, True])
async def test_the_attempts_of_a_chain_within_a_chain_stay_reachable(
    *, last: bool, guarded: bool
) -> None:
    def link(name: str) -> Link:
        return Link(Script(failing(Kind.UNAVAILABLE, name), id=name))

    inner = Link(FallbackChain([link("a"), link("b")]), name="inner")
    links = [link("c"), inner] if last else [inner, link("c")]
    chain = FallbackChain(links, guard=Guard(memo="memory:") if guarded else None)
    with pytest.raises(ProviderError) as caught:
        await chain.complete(ASK)
    within = ["inner: a", "inner: b"]
    names = ["c", *within] if last else [*within, "c"]
    assert [name for name, _ in caught.value.attempts] == names
    assert [str(error) for _, error in caught.value.attempts] == [
        f"scripted: {name[-1]}" for name in names
    ]


async def test_a_foreign_exception_without_room_for_attempts_comes_out_all_the_same() -> None:
    class Closed(ConnectionError):
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    harness = Harness(Script(Closed("cut")))
    with pytest.raises(Closed):
        await harness.ask()


# Rows C15, C16, C19


async def test_a_callers_cancellation_passes_without_advance_or_count() -> None:
    gate = anyio.Event()
    harness = Harness(slow_then(gate, "never"), Script("second"))
    with anyio.move_on_after(0.01) as scope:
        await harness.ask()
    assert scope.cancelled_caught
    assert harness.calls == [1, 0]
    assert harness.chain.state()[0].failures == 0


@pytest.mark.parametrize("name", ["second", "two"])
async def test_a_pinned_link_is_asked_once_and_the_chain_is_not_entered(name: str) -> None:
    second = Script(DOWN, id="two")
    chain = FallbackChain([Link(Script(id="one")), Link(second, "m", name="second")])
    pinned = Request(messages=[], provider=name, partition="p")
    for _ in range(4):
        with pytest.raises(ProviderError):
            await chain.complete(pinned)
    assert second.calls == 4
    assert second.requests[0].provider is None
    assert second.requests[0].model == "m"
    assert chain.partitions == 0


async def test_a_pin_by_provider_takes_the_link_of_the_model_asked_for() -> None:
    one = Script(id="one")
    chain = FallbackChain([Link(one, "big"), Link(one, "small")])
    for model, sent in (("small", "small"), (None, "big"), ("other", "big")):
        await chain.complete(Request(messages=[], provider="one", model=model))
        assert one.requests[-1].model == sent


async def test_a_pin_that_names_no_link_is_an_error_that_lists_them() -> None:
    chain = FallbackChain([Link(Script(id="one"))])
    with pytest.raises(ValueError, match="'two' is not a link of this chain; it has 'one'"):
        await chain.complete(Request(messages=[], provider="two"))


# the chain as a provider, and what people see


async def test_a_chain_can_be_a_link_of_a_chain() -> None:
    inner = Harness(Script(DOWN), Script(DOWN))
    last = Script("last", id="last")
    outer = FallbackChain([Link(inner.chain), Link(last)], observer=inner.events.append)
    assert (await outer.complete(ASK)).text == "last"
    assert outer.id == "a → b → last"
    assert outer.base_url == "http://scripted.invalid"
    assert outer.api_for(None) == "chat"


async def test_state_and_description_tell_people_what_is_going_on() -> None:
    harness = Harness(Script(failing(Kind.RATE_LIMITED, "slow down")), Script("second"))
    await harness.ask("s")
    harness.clock.advance(10.0)
    assert harness.chain.describe("s").splitlines() == [
        "1. a (m-a): cooling for 20 s, 1 failure in a row: rate_limited: scripted: slow down",
        "2. b (m-b): closed, serving",
    ]
    assert harness.chain.describe().splitlines()[0] == "1. a (m-a): closed, serving"
    assert harness.chain.partitions == 1


async def test_looking_keeps_no_partition_alive() -> None:
    harness = Harness(Script("ok"), options=BreakerOptions(partitions=1))
    harness.chain.state("a")
    assert harness.chain.partitions == 0


@pytest.mark.parametrize(
    ("scripts", "health"),
    [
        ((Script("ok"), Script(DOWN)), "healthy"),
        ((Script(DOWN), Script("ok")), "degraded"),
        ((Script(DOWN), Script(DOWN)), "unhealthy"),
    ],
)
async def test_status_is_the_primarys_or_degraded(scripts: Iterable[Script], health: str) -> None:
    assert (await Harness(*scripts).chain.status()).health == health


async def test_closing_a_chain_closes_every_provider_once() -> None:
    one, two = Script(id="one"), Script(id="two")
    async with FallbackChain([Link(one, "a"), Link(one, "b"), Link(two)]) as chain:
        await chain.complete(ASK)
    assert (one.closed, two.closed) == (1, 1)


class Guardian:
    """A guard that keeps book of what it protects."""

    def __init__(self) -> None:
        self.protected: list[tuple[str, str | None]] = []

    def protect(self, provider: Provider, /, *, model: str | None = None) -> Provider:
        self.protected.append((provider.id, model))
        return provider


async def test_each_link_is_guarded_once() -> None:
    class Protected(Script):
        protected = True

    guard = Guardian()
    chain = FallbackChain(
        [Link(Script(id="bare"), "m"), Link(Protected(id="guarded"), "n")], guard=guard
    )
    assert guard.protected == [("bare", "m")]
    assert not chain.protected
    assert FallbackChain([Link(Protected())]).protected


def test_an_own_time_out_is_not_retried_and_counts_at_the_threshold() -> None:
    rule = rule_for(Kind.TIMEOUT, Failure(own_timeout=True))
    assert (rule.retry, rule.advance, rule.breaker) == (False, True, "threshold")


async def test_an_observer_that_raises_fails_no_call() -> None:
    def breaks(event: Event, /) -> None:
        raise RuntimeError(type(event).__name__)

    chain = FallbackChain(
        [Link(Script(DOWN, id="a"), "m"), Link(Script("served", id="b"), "m"), Link(None, "m")],
        observer=breaks,
    )
    assert (await chain.complete(ASK)).text == "served"


def test_our_own_providers_without_a_key_are_left_out() -> None:
    events: list[Event] = []
    keyless = [Link(OpenAI(), "m"), Link(Anthropic(), "m"), Link(Google(), "m")]
    keyed = [Link(OpenAI("k"), "m"), Link(Anthropic(headers={"x-api-key": "k"}), "m")]
    chain = FallbackChain([Link(Script(id="head")), *keyless, *keyed], observer=events.append)
    assert [view.link for view in chain.state()] == [
        "head",
        "api.openai.com/v1",
        "api.anthropic.com",
    ]
    assert [type(event) for event in events] == [LinkDropped] * 3


class Foreign(Exception):
    """As many an SDK's: it can be written, and not be made again."""

    status_code = 503

    def __init__(self, message: str, *, response: object) -> None:
        super().__init__(message)
        self.response = response


async def test_an_exhausted_chain_s_error_pickles_whatever_its_links_raised() -> None:
    first = Foreign("token=abcdefghijkl", response=None)
    chain = FallbackChain([Link(Script(first, id="a")), Link(Script(DOWN, id="b"))])
    with pytest.raises(ProviderError) as caught:
        await chain.complete(ASK)
    assert caught.value.attempts[0] == ("a", first)
    copied = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  our own bytes
    assert [link for link, _ in copied.attempts] == ["a", "b"]
    assert str(copied.attempts[0][1]) == "Foreign: token=***"
    assert copied.attempts[1][1] is copied
