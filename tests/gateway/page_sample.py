"""A gateway that has been busy for a while, as its status page sees it."""

from __future__ import annotations

from dataclasses import replace

from structguard.gateway.metrics import BOUNDS
from structguard.gateway.numbers import Histogram, Numbers, Traffic
from structguard.gateway.page import ChainRow, ProviderRow, Snapshot
from structguard.layers.partition import LinkView
from structguard.memo.entry import Entry
from structguard.types import Scope

NOW = 1_800_000_000.0


def _entry(provider: str, model: str, evidence: str, hours: float, saved: int) -> Entry:
    return Entry(
        verdict="refused",
        provider=provider,
        model=model,
        base_url=f"{provider}/v1",
        format="json_schema",
        evidence=evidence,
        rule="feature",
        status=400,
        first_seen=NOW - 90_000,
        confirmed=NOW - hours * 3600,
        saved=saved,
        expires=NOW + (24 - hours) * 3600,
    )


ENTRIES = (
    _entry(
        "openrouter.ai/api",
        "deepseek/deepseek-chat",
        "This model does not support the response_format type 'json_schema'",
        2.2,
        1843,
    ),
    replace(
        _entry(
            "api.groq.com/openai",
            "llama-3.3-70b-versatile",
            "json mode cannot be combined with tool/function calling",
            0.4,
            27,
        ),
        scope=Scope.COMBINATION,
        flag="tools",
    ),
    replace(
        _entry(
            "api.openai.com",
            "gpt-4o-mini",
            "Invalid schema for response_format 'answer': In context=('properties', 'tags'),"
            " 'uniqueItems' is not permitted.",
            23.9,
            4,
        ),
        scope=Scope.SCHEMA,
        schema="9f2c4e77a1b05d3388",
    ),
    replace(_entry("localhost:8081", "qwen3-4b-q4", "", 0.7, 0), verdict="ignored", expires=NOW - 5),
    replace(
        _entry("api.openai.com", "gpt-5-codex", "This model is only supported in v1/responses", 5.0, 0),
        verdict="use_api",
        api="responses",
        format=None,
    ),
)  # fmt: skip


def _link(link: str, **more: object) -> LinkView:
    values: dict[str, object] = {
        "link": link,
        "mode": "closed",
        "failures": 0,
        "cools_for": 0.0,
        "serving": False,
        "probing": False,
        "reason": "",
    }
    return LinkView(**values | more)  # type: ignore[arg-type]


CHAINS = (
    ChainRow(
        alias="fast",
        links=(
            _link("groq:llama-3.3-70b-versatile", mode="cooling", failures=3, cools_for=42.0,
                  reason="groq: Rate limit reached for requests per minute"),
            _link("openrouter:deepseek/deepseek-chat", serving=True),
            _link("local:qwen3-4b-q4"),
        ),
    ),
    ChainRow(
        alias="careful",
        links=(
            _link("openai:gpt-4o", mode="half-open", failures=1, probing=True,
                  reason="openai: The server had an error while processing your request"),
            _link("anthropic:claude-sonnet", serving=True),
        ),
    ),
    ChainRow(alias="embeddings", links=(_link("openai:text-embedding-3-small", serving=True),)),
)  # fmt: skip

NUMBERS = Numbers(
    requests=128_409,
    failed=37,
    in_flight=12,
    refusals=9,
    saved=1874,
    recovered=2,
    provider_errors=61,
    enforced_ratio=0.934,
    latency=Histogram(
        bounds=BOUNDS,
        counts=(0, 0, 12, 240, 1900, 6200, 14800, 31000, 39000, 21000, 9800, 3600, 720, 130, 6, 1, 0),
    ),
    first_byte=Histogram(
        bounds=BOUNDS, counts=(0, 0, 3, 90, 800, 5200, 21000, 18000, 4200, 300, 40, 2, 0, 0, 0, 0, 0)
    ),
    upstream=Histogram(
        bounds=BOUNDS,
        counts=(0, 1, 30, 400, 2200, 6900, 15200, 30500, 38200, 20800, 9600, 3500, 700, 120, 5, 1, 0),
    ),
    traffic=Traffic(
        step=10.0,
        requests=tuple(210 + (i * 37) % 90 + (120 if 34 <= i <= 41 else 0) for i in range(60)),
        failed=tuple(18 if 36 <= i <= 39 else (i % 17 == 0) * 2 for i in range(60)),
    ),
)  # fmt: skip

BUSY = Snapshot(
    version="0.1.0",
    started=NOW - 3 * 86400 - 4000,
    now=NOW,
    numbers=NUMBERS,
    providers=(
        ProviderRow(id="openai", base_url="https://api.openai.com/v1", api="responses"),
        ProviderRow(id="openrouter", base_url="https://openrouter.ai/api/v1", api="chat"),
        ProviderRow(id="groq", base_url="https://api.groq.com/openai/v1", api="chat"),
        ProviderRow(id="anthropic", base_url="https://api.anthropic.com", api="messages"),
        ProviderRow(id="local", base_url="http://localhost:8081/v1", api="chat"),
    ),
    chains=CHAINS,
    entries=ENTRIES,
    memo="redis://cache.internal:6379/0",
    store="redis://cache.internal:6379/1",
    worker="worker 2 of 4",
    csrf="token",
)

NONE = Histogram(bounds=BOUNDS, counts=(0,) * (len(BOUNDS) + 1))
FRESH = Snapshot(
    version="0.1.0",
    started=NOW - 4,
    now=NOW,
    numbers=Numbers(
        requests=0, failed=0, in_flight=0, refusals=0, saved=0, recovered=0, provider_errors=0,
        enforced_ratio=None, latency=NONE, first_byte=NONE, upstream=NONE,
        traffic=Traffic(step=10.0, requests=(0,) * 60, failed=(0,) * 60),
    ),
)  # fmt: skip
