"""A chain is a provider, its links take any; read by mypy and pyright, run by pytest."""

from __future__ import annotations

from typing import assert_type

from structguard.guard import Guard
from structguard.layers.fallback import FallbackChain, Link
from structguard.layers.partition import LinkView
from structguard.providers import OpenAICompat
from structguard.service import Guarding, Provider
from structguard.subcalls import Completes
from structguard.testing import Script
from structguard.types import Completion, Request

REQUEST = Request(messages=[{"role": "user", "content": "hi"}])


async def test_a_chain_stands_where_a_provider_stands() -> None:
    guard: Guarding = Guard(memo="memory:")
    inner = FallbackChain([Link(Script(["a"]), model="m")], guard=guard)
    provider: Provider = inner
    asked: Completes = FallbackChain([Link(provider), Link(OpenAICompat("http://127.0.0.1:9/v1"))])
    assert_type(await asked.complete(REQUEST), Completion)
    assert_type(inner.state("p"), tuple[LinkView, ...])
