"""
What a chain costs on the happy path: CPU microseconds a call over a bare provider.

`python -m benchmarks.chain`. Rounds are interleaved, the collector is off, medians of rounds.
"""

from __future__ import annotations

import gc
import importlib.util
import statistics
import time
from collections.abc import Awaitable, Callable

import anyio

from structguard.layers.fallback import FallbackChain, Link
from structguard.options import Policy
from structguard.service import EventStream, Provider, Status
from structguard.types import Api, Completion, Request

ROUNDS, CALLS = 41, 400
LIMIT = 40.0  # microseconds, issue 5
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Bare:
    """A provider that answers at once."""

    base_url = "http://bare.invalid/v1"

    def __init__(self, id: str) -> None:
        self.id = id
        self.reply = Completion(text='{"answer": "yes"}', model="m", enforced=True)

    def api_for(self, _model: str | None, /) -> Api:
        return "chat"

    async def complete(self, _request: Request, /) -> Completion:
        return self.reply

    def stream(self, _request: Request, /) -> EventStream:
        raise NotImplementedError

    async def status(self) -> Status:
        return Status(health="healthy", message="", latency=0.0)

    async def aclose(self) -> None:
        return None


def cases() -> dict[str, tuple[Callable[[Request], Awaitable[Completion]], Request]]:
    """What is measured: name → (call, request)."""
    messages = [{"role": "system", "content": "Answer."}, {"role": "user", "content": "Is it?"}]
    plain = Request(messages=messages, model="m", partition="p")
    shaped = Request(messages=messages, model="m", partition="p", response_format=SCHEMA)
    unnamed = Request(messages=messages, partition="p", response_format=SCHEMA)
    bare = Bare("bare")
    chain = FallbackChain([Link(bare, "m"), Link(Bare("b"), "n"), Link(Bare("c"), "o")])
    found: dict[str, tuple[Callable[[Request], Awaitable[Completion]], Request]] = {
        "bare provider": (bare.complete, plain),
        "chain + breaker": (chain.complete, plain),
        "chain + breaker, the link fills the model": (chain.complete, unnamed),
    }
    if importlib.util.find_spec("structguard.guard") is not None:
        from structguard.guard import Guard  # noqa: PLC0415  only where the guard is built

        guard = Guard(memo="memory:", policy=Policy())
        protected: Provider = guard.protect(bare, model="m")
        guarded = FallbackChain([Link(bare, "m"), Link(Bare("b"), "n")], guard=guard)
        found["degrade"] = (protected.complete, shaped)
        found["chain + breaker + degrade, no format"] = (guarded.complete, plain)
        found["chain + breaker + degrade"] = (guarded.complete, shaped)
        found["chain + breaker + degrade, the link fills the model"] = (guarded.complete, unnamed)
    return found


async def measure(call: Callable[[Request], Awaitable[Completion]], request: Request) -> float:
    """CPU microseconds a call, over CALLS calls."""
    began = time.process_time()
    for _ in range(CALLS):
        await call(request)
    return (time.process_time() - began) / CALLS * 1e6


async def main() -> None:
    """Measure, in interleaved rounds, and print."""
    measured = cases()
    rounds: dict[str, list[float]] = {name: [] for name in measured}
    gc.disable()
    for _ in range(ROUNDS):
        for name, (call, request) in measured.items():
            rounds[name].append(await measure(call, request))
        gc.collect()
    medians = {name: statistics.median(times) for name, times in rounds.items()}
    bare = medians["bare provider"]
    print(f"{'':54}{'µs a call':>10}{'over bare':>11}   (limit {LIMIT:g})")
    for name, median in medians.items():
        print(f"{name:54}{median:10.2f}{median - bare:11.2f}")


if __name__ == "__main__":
    anyio.run(main)
