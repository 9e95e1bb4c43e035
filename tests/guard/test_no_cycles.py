"""
What a guarded call leaves behind: nothing that only the cycle collector can free.

A cycle a call keeps the whole request and reply in memory until the collector comes by, and makes
it come by more often: on a large heap that costs more than all else the guard does.
"""

# pyright: basic

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI

import structguard as sg
from structguard.testing import RefusingEndpoint

ASKED: Any = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {
            "name": "a",
            "schema": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
        },
    },
}
TIMES = 3


def left_behind(call: Callable[[], object]) -> list[str]:
    """The modules of the cyclic garbage a call leaves, ours and the requests it holds."""
    for _ in range(TIMES):  # the first meets the refusal, caches fill
        call()
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for _ in range(TIMES):
            call()
        gc.collect()
        kinds = (type(found) for found in gc.garbage)
        return sorted(
            f"{kind.__module__}.{kind.__name__}"
            for kind in kinds
            if kind.__module__.partition(".")[0] in ("structguard", "openai", "httpx2")
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if enabled:
            gc.enable()


@contextmanager
def clients(face: str, endpoint: RefusingEndpoint) -> Generator[OpenAI]:
    with sg.Guard(memo="memory:") as guard:
        if face == "wrap":
            with OpenAI(api_key="k", base_url=endpoint.base_url) as client:
                yield guard.wrap(client)
        else:
            http = httpx2.Client(transport=guard.transport(httpx2.HTTPTransport()))
            with OpenAI(api_key="k", base_url=endpoint.base_url, http_client=http) as client:
                yield client


@pytest.fixture(params=["400", "accept"])
def endpoint(request: pytest.FixtureRequest) -> Generator[RefusingEndpoint]:
    made = RefusingEndpoint() if request.param == "400" else RefusingEndpoint("accept")
    with made as started:
        yield started


@pytest.mark.parametrize("face", ["wrap", "transport"])
class TestClients:
    def test_a_whole_reply_is_freed_at_once(self, face: str, endpoint: RefusingEndpoint) -> None:
        with clients(face, endpoint) as client:
            assert left_behind(lambda: client.chat.completions.create(**ASKED)) == []

    def test_a_stream_read_to_its_end_is_freed_at_once(
        self, face: str, endpoint: RefusingEndpoint
    ) -> None:
        with clients(face, endpoint) as client:
            call = client.chat.completions.create
            assert left_behind(lambda: list(call(**ASKED, stream=True))) == []

    def test_a_raw_response_is_freed_at_once(self, face: str, endpoint: RefusingEndpoint) -> None:
        with clients(face, endpoint) as client:
            call = client.chat.completions.with_raw_response.create
            assert left_behind(lambda: call(**ASKED).parse()) == []


def test_a_reply_on_the_event_loop_is_freed_at_once(endpoint: RefusingEndpoint) -> None:
    async def calls() -> list[str]:
        client = sg.wrap(AsyncOpenAI(api_key="k", base_url=endpoint.base_url), memo="memory:")

        async def call() -> None:
            await client.chat.completions.create(**ASKED)

        for _ in range(TIMES):
            await call()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(TIMES):
                await call()
            gc.collect()
            kinds = {type(found) for found in gc.garbage}
            return sorted(k.__name__ for k in kinds if k.__module__.startswith("structguard"))
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
            await client.close()

    assert anyio.run(calls) == []
