"""
CPU a call through OpenAICompat, beside the openai SDK, on one loopback upstream.

    python -m benchmarks.providers [ROUNDS]

All candidates run in turns, in a shuffled order, inside each round; ratios are taken inside a round
against the SDK and their median is shown. CPU is this process's own (time.process_time); wall time
on a shared machine says little. The upstream counts the requests: a hidden retry would show.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import openai

from benchmarks.upstream import Upstream, serve
from structguard.errors import ProviderError
from structguard.providers import OpenAICompat
from structguard.types import Request, TextDelta

Call = Callable[[], Awaitable[str]]
WHOLE, STREAM = 60, 8  # calls a batch


@dataclass
class Candidate:
    """One way to make the call; `base` is what its CPU is divided by, `bar` what that may be."""

    name: str
    call: Call
    batch: int
    base: str
    bar: float | None = None
    cpu: list[float] = field(default_factory=list)  # µs a call, one a round


async def main(rounds: int) -> bool:
    """Print the table; False when a bar is missed."""
    with serve() as upstream:
        sdk = openai.AsyncOpenAI(base_url=f"{upstream.url}/v1", api_key="sk-bench", max_retries=0)
        slow = OpenAICompat(f"{upstream.url}/v1", api_key="sk-bench")
        fast = OpenAICompat(f"{upstream.url}/v1", api_key="sk-bench", transport="aiohttp")
        async with sdk, slow, fast:
            candidates = _candidates(upstream.request("req_chat"), sdk, slow, fast)
            await _warm_up(candidates)
            for _ in range(rounds):
                await _round(candidates)
            met = _report(candidates)
            met &= await _count(upstream, candidates)
            return met & await _count_refused(upstream, [slow, fast])


def _whole_sdk(sdk: openai.AsyncOpenAI, body: Mapping[str, object]) -> Call:
    async def call() -> str:
        reply = await sdk.chat.completions.create(**body)  # type: ignore[call-overload]
        return str(reply.choices[0].message.content)

    return call


def _stream_sdk(sdk: openai.AsyncOpenAI, body: Mapping[str, object]) -> Call:
    async def call() -> str:
        chunks = await sdk.chat.completions.create(**body, stream=True)  # type: ignore[call-overload]
        texts = [chunk.choices[0].delta.content async for chunk in chunks if chunk.choices]
        return "".join(text for text in texts if text)

    return call


def _whole(provider: OpenAICompat, body: Mapping[str, object]) -> Call:
    async def call() -> str:
        return (await provider.complete(Request(**body))).text  # type: ignore[arg-type]

    return call


def _stream(provider: OpenAICompat, body: Mapping[str, object]) -> Call:
    async def call() -> str:
        async with provider.stream(Request(**body)) as events:  # type: ignore[arg-type]
            return "".join([e.text async for e in events if isinstance(e, TextDelta)])

    return call


def _candidates(
    body: Mapping[str, object], sdk: openai.AsyncOpenAI, slow: OpenAICompat, fast: OpenAICompat
) -> list[Candidate]:
    create, streamed = "AsyncOpenAI create", "AsyncOpenAI stream"
    return [
        Candidate(create, _whole_sdk(sdk, body), WHOLE, create),
        Candidate("OpenAICompat httpx2", _whole(slow, body), WHOLE, create, 0.5),
        Candidate("OpenAICompat aiohttp", _whole(fast, body), WHOLE, create, 0.2),
        Candidate(streamed, _stream_sdk(sdk, body), STREAM, streamed),
        Candidate("OpenAICompat httpx2 stream", _stream(slow, body), STREAM, streamed, 0.2),
        Candidate("OpenAICompat aiohttp stream", _stream(fast, body), STREAM, streamed, 0.08),
    ]


async def _warm_up(candidates: list[Candidate]) -> None:
    answers = {candidate.name: await candidate.call() for candidate in candidates}
    assert len(set(answers.values())) == 1, answers
    assert json.loads(answers["AsyncOpenAI create"])
    for candidate in candidates:
        for _ in range(3):
            await candidate.call()


async def _round(candidates: list[Candidate]) -> None:
    for candidate in random.sample(candidates, len(candidates)):
        gc.collect()
        started = time.process_time()
        for _ in range(candidate.batch):
            await candidate.call()
        candidate.cpu.append((time.process_time() - started) / candidate.batch * 1e6)


def _report(candidates: list[Candidate]) -> bool:
    by_name = {candidate.name: candidate for candidate in candidates}
    met = True
    print(f"{'candidate':30s} {'CPU µs/call':>12s} {'ratio':>7s} {'bar':>6s}")
    for one in candidates:
        base = by_name[one.base].cpu
        ratio = statistics.median(mine / its for mine, its in zip(one.cpu, base, strict=True))
        bar = "" if one.bar is None else f"≤ {one.bar:g}"
        met &= one.bar is None or ratio <= one.bar
        print(f"{one.name:30s} {statistics.median(one.cpu):12.0f} {ratio:7.3f} {bar:>6s}")
    return met


async def _count(upstream: Upstream, candidates: list[Candidate]) -> bool:
    """One call of each is one request of each."""
    upstream.reset()
    for candidate in candidates:
        await candidate.call()
    requests = upstream.stats()["requests"]
    print(f"{len(candidates)} calls made {requests} requests (a hidden retry would make more)")
    return requests == len(candidates)


async def _count_refused(upstream: Upstream, providers: list[OpenAICompat]) -> bool:
    """A refused call is one request as well."""
    upstream.reset()
    body = upstream.request("req_chat_refuse400")
    for provider in providers:
        with suppress(ProviderError):
            await provider.complete(Request(**body))  # type: ignore[arg-type]
    requests = upstream.stats()["requests"]
    print(f"{len(providers)} refused calls made {requests} requests")
    return requests == len(providers)


if __name__ == "__main__":
    ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if not anyio.run(main, ROUNDS):
        sys.exit("a bar is missed")
