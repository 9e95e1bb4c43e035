"""
Every face as a coroutine or a function that is given a marker and hands back the one it got.

Clients, providers and chain are made once and shared by all calls, as in a server.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import httpx2
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import structguard
from structguard import FallbackChain, Guard, Link, OpenAICompat, Request
from structguard.options import BreakerOptions, RetryOptions

MODELS = (*(f"refuse-{n}" for n in range(8)), *(f"ignore-{n}" for n in range(4)), "enforce")
QUICK = RetryOptions(backoff=0.02)
_next = itertools.count()


class Echo(BaseModel):
    """What is asked for."""

    marker: str
    n: int


FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "Echo",
        "strict": True,
        "schema": {**Echo.model_json_schema(), "additionalProperties": False},
    },
}
Async = Callable[[str], Awaitable[str]]
Sync = Callable[[str], str]


def messages(marker: str) -> Any:
    """The prompt that carries the marker."""
    return [{"role": "user", "content": f"Echo {marker} as JSON."}]


def model() -> str:
    """The next model in turn."""
    return MODELS[next(_next) % len(MODELS)]


def sync_faces(url: str, guard: Guard, stack: ExitStack) -> Mapping[str, Sync]:
    """wrap, guarded and transport, for threads."""

    def client(**more: Any) -> Any:
        return stack.enter_context(OpenAI(base_url=url, api_key="key", **more))

    wrapped, plain = guard.wrap(client()), client()
    through = client(http_client=httpx2.Client(transport=guard.transport()))

    @guard.guarded("soak")
    def ask(marker: str, *, model: str, response_format: Any = None) -> str:
        given = {} if response_format is None else {"response_format": response_format}
        reply = plain.chat.completions.create(model=model, messages=messages(marker), **given)
        return str(reply.choices[0].message.content)

    def parse(client: Any) -> Sync:
        def call(marker: str) -> str:
            reply = client.chat.completions.parse(
                model=model(), messages=messages(marker), response_format=Echo
            )
            return str(reply.choices[0].message.parsed.marker)

        return call

    def guarded(marker: str) -> str:
        text = ask(marker, model=model(), response_format=FORMAT)
        return structguard.parse(text, Echo).value.marker

    return {"wrap": parse(wrapped), "guarded": guarded, "transport": parse(through)}


async def async_faces(
    url: str, gateway: str, guard: Guard, stack: AsyncExitStack
) -> Mapping[str, Async]:
    """wrap, streamed wrap, provider, protect, sub-call, chain and gateway, for the event loop."""
    wrapped: Any = guard.wrap(
        await stack.enter_async_context(AsyncOpenAI(base_url=url, api_key="key"))
    )
    outside: Any = await stack.enter_async_context(AsyncOpenAI(base_url=gateway, api_key="key"))
    provider = await stack.enter_async_context(OpenAICompat(url, retry=QUICK, id="main"))
    spare = await stack.enter_async_context(OpenAICompat(url, retry=QUICK, id="spare"))
    safe = guard.protect(provider)
    links = [Link(provider, model="refuse-chain"), Link(spare, model="enforce")]
    breaker = BreakerOptions(cooldowns=(0.5, 1.0), probe_interval=1.0)
    chain = FallbackChain(links, guard=guard, options=breaker, observer=lambda _event: None)

    @structguard.subcall(schema=Echo, name="soak", abort=False, observer=lambda _event: None)
    def describe(marker: str) -> Request:
        return request(marker, model())

    return {
        "wrap, async": parsing(wrapped, model),
        "wrap, streamed": streaming(wrapped),
        "provider": completing(provider, lambda: "enforce"),
        "protect": completing(safe, model),
        "sub-call": subcalling(safe, describe),
        "chain": completing(chain, lambda: None),
        "gateway": parsing(outside, model),
    }


def request(marker: str, model: str | None) -> Request:
    """A request for a provider."""
    return Request(model=model, messages=messages(marker), response_format=FORMAT, timeout=20.0)


def parsing(client: Any, named: Callable[[], str]) -> Async:
    """`parse` of an async client."""

    async def call(marker: str) -> str:
        reply = await client.chat.completions.parse(
            model=named(), messages=messages(marker), response_format=Echo
        )
        return str(reply.choices[0].message.parsed.marker)

    return call


def streaming(client: Any) -> Async:
    """A stream's deltas, put together."""

    async def call(marker: str) -> str:
        chunks = await client.chat.completions.create(
            model=model(), messages=messages(marker), response_format=FORMAT, stream=True
        )
        async with chunks:
            text = "".join(
                [choice.delta.content or "" async for one in chunks for choice in one.choices]
            )
        return Echo.model_validate_json(text).marker

    return call


def completing(provider: Any, named: Callable[[], str | None]) -> Async:
    """`complete` of a provider, a protected one or a chain."""

    async def call(marker: str) -> str:
        reply = await provider.complete(request(marker, named()))
        return structguard.parse(reply.text, Echo).value.marker

    return call


def subcalling(safe: Any, describe: Any) -> Async:
    """A sub-call."""

    async def call(marker: str) -> str:
        outcome = await describe(safe, marker)
        echo: Echo = outcome.require()
        return echo.marker

    return call
