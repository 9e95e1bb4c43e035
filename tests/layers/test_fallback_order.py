"""Fallback, breaker, degrade, provider, in this order: a handled refusal is a success outside."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from werkzeug import Request as WebRequest, Response

from structguard.errors import KindRule, ProviderError
from structguard.events import Event
from structguard.guard import Guard
from structguard.layers.breaker import Breaker
from structguard.layers.fallback import FallbackChain, Link
from structguard.options import BreakerOptions
from structguard.providers import OpenAICompat
from structguard.service import Provider, stack
from structguard.testing import RefusingEndpoint, Script
from structguard.types import Completion, Failure, Kind, Request
from tests.doubles import ManualClock
from tests.layers.script import named


class Answer(BaseModel):
    """The format asked for."""

    answer: str


ASK = Request(messages=[{"role": "user", "content": "hi"}], response_format=Answer)
PLAIN = Request(messages=[{"role": "user", "content": "hi"}])
REFUSED = Failure(
    status=404,
    body='{"error": {"message": "No endpoints found that can handle the requested parameters.",'
    ' "code": 404}}',
)
DOWN = Failure(status=503, message="down")


def everything_counts(_error: BaseException) -> KindRule:
    """Every failure arms the breaker at once: with 4xx not counting, a wrong order goes unnoticed."""
    return KindRule(retry=False, advance=True, breaker="immediate", http=500, type="test")


def guard_of(events: list[Event]) -> Guard:
    """A guard that remembers in memory."""
    return Guard(memo="memory:", observer=events.append)


def chain_of(*scripts: Provider, guard: Guard | None, events: list[Event]) -> FallbackChain:
    """A chain in which every kind of error counts."""
    return FallbackChain(
        [Link(script, f"m-{script.id}") for script in scripts],
        guard=guard,
        clock=ManualClock(),
        observer=events.append,
        judge=everything_counts,
    )


async def test_a_handled_refusal_is_a_success_to_the_breaker_though_every_kind_counts() -> None:
    events: list[Event] = []
    first, second = Script([REFUSED, '{"answer": "a"}'], id="a"), Script(id="b")
    chain = chain_of(first, second, guard=guard_of(events), events=events)
    reply = await chain.complete(ASK)
    assert (reply.text, reply.enforced, reply.requests) == ('{"answer": "a"}', False, 2)
    assert chain.state()[0].failures == 0
    assert chain.state()[0].mode == "closed"
    assert second.requests == []
    assert named(events) == ["RefusalRemembered"]


async def test_in_a_stream_too() -> None:
    events: list[Event] = []
    first, second = Script([REFUSED, '{"answer": "a"}'], id="a"), Script(id="b")
    chain = chain_of(first, second, guard=guard_of(events), events=events)
    async with chain.stream(ASK) as stream:
        kinds = [type(event).__name__ async for event in stream]
    assert kinds == ["TextDelta", "Finished"]
    assert (chain.state()[0].failures, second.requests) == (0, [])


async def test_the_wrong_order_would_be_noticed() -> None:
    """The same call with breaker and degrade swapped: the breaker is told of the refusal."""
    events: list[Event] = []
    script = Script([REFUSED, '{"answer": "a"}'], id="a")
    breaker = Breaker(
        ("a",),
        options=BreakerOptions(),
        clock=ManualClock(),
        observer=events.append,
        judge=everything_counts,
    )

    class Told(Script):
        """The breaker inside, next to the provider."""

        async def complete(self, request: Request, /) -> Completion:
            return await stack((breaker.layer(0),), script.complete)(request)

    swapped = guard_of(events).protect(Told(id="a"), model="m")
    await swapped.complete(ASK)
    assert "BreakerOpened" in named(events)


async def test_each_link_has_its_own_memo_entry() -> None:
    events: list[Event] = []
    guard = guard_of(events)
    first = Script([REFUSED, DOWN, DOWN], id="a")
    second = Script([REFUSED, '{"answer": "b"}'], id="b")
    chain = FallbackChain(
        [Link(first, "m"), Link(second, "m")],
        guard=guard,
        clock=ManualClock(),
        observer=events.append,
    )
    assert (await chain.complete(ASK)).text == '{"answer": "b"}'
    assert [(entry.provider, entry.model) for entry in guard.memo.entries()] == [("b", "m")]


async def test_a_retry_that_fails_has_its_own_kind_and_counts() -> None:
    events: list[Event] = []
    first, second = Script([REFUSED, DOWN], id="a"), Script(['{"answer": "b"}'], id="b")
    chain = FallbackChain(
        [Link(first), Link(second)],
        guard=guard_of(events),
        clock=ManualClock(),
        observer=events.append,
    )
    assert (await chain.complete(ASK)).text == '{"answer": "b"}'
    view = chain.state()[0]
    assert (view.mode, view.reason) == ("cooling", "unavailable: a: down")


# the control test: the same 404, with and without a format


@pytest.mark.parametrize("calls", [1, 5])
async def test_with_a_format_and_a_good_retry_the_same_404_never_advances(calls: int) -> None:
    events: list[Event] = []
    first = Script([REFUSED, *['{"answer": "a"}'] * calls], id="a")
    second = Script(id="b")
    chain = FallbackChain(
        [Link(first), Link(second)],
        guard=guard_of(events),
        clock=ManualClock(),
        observer=events.append,
    )
    for _ in range(calls):
        await chain.complete(ASK)
    assert len(first.requests) == calls + 1
    assert second.requests == []
    assert chain.state()[0].failures == 0
    assert named(events)[0] == "RefusalRemembered"
    assert not {"LinkAway", "BreakerOpened"} & set(named(events))


async def test_without_a_format_the_same_404_advances_exactly_once() -> None:
    events: list[Event] = []
    first, second = Script([REFUSED], id="a"), Script(["b"] * 5, id="b")
    chain = FallbackChain(
        [Link(first), Link(second)],
        guard=guard_of(events),
        clock=ManualClock(),
        observer=events.append,
    )
    for _ in range(5):
        assert (await chain.complete(PLAIN)).text == "b"
    assert (len(first.requests), len(second.requests)) == (1, 5)
    assert named(events) == ["LinkAway"]
    assert chain.state()[0].reason.startswith("not_found")


@pytest.mark.parametrize("with_format", [True, False])
async def test_the_control_test_holds_over_real_http(
    with_format: bool,  # noqa: FBT001
    httpserver: HTTPServer,
) -> None:
    """One endpoint that answers 404, to the format or to everything, and one that serves."""

    def primary(request: WebRequest) -> Response:
        if with_format and "response_format" not in request.get_json():
            said = {"role": "assistant", "content": '{"answer": "primary"}'}
            choice = {"index": 0, "message": said, "finish_reason": "stop"}
            return Response(json.dumps({"choices": [choice]}), content_type="application/json")
        return Response(REFUSED.body, status=404, content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(primary)
    events: list[Event] = []
    with RefusingEndpoint("enforce") as fallback:
        one = OpenAICompat(httpserver.url_for("/v1"), id="one")
        two = OpenAICompat(fallback.base_url, id="two")
        chain = FallbackChain(
            [Link(one, "m"), Link(two, "m")], guard=guard_of(events), observer=events.append
        )
        try:
            for _ in range(3):
                await chain.complete(ASK if with_format else PLAIN)
        finally:
            await chain.aclose()
    assert (len(httpserver.log), fallback.count()) == ((4, 0) if with_format else (1, 3))
    assert ("LinkAway" in named(events)) != with_format


async def test_an_unhandled_refusal_advances_and_is_told() -> None:
    first, second = Script([REFUSED], id="a"), Script(['{"answer": "b"}'], id="b")
    chain = FallbackChain([Link(first), Link(second)], clock=ManualClock())
    assert (await chain.complete(ASK)).text == '{"answer": "b"}'
    assert chain.state()[0].failures == 0
    alone = FallbackChain([Link(Script([REFUSED], id="a"))], clock=ManualClock())
    with pytest.raises(ProviderError) as caught:
        await alone.complete(ASK)
    assert caught.value.kind is Kind.FORMAT_REFUSED
