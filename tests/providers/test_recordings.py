"""The recorded streams, over real sockets and in pieces, give what their wire reads from them."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from structguard.http import TransportName
from structguard.providers import Anthropic, AwsKeys, Bedrock, Google, OpenAI, OpenAICompat
from structguard.service import Provider
from structguard.types import Finished, StreamEvent
from structguard.wire import chat, generate_content, messages, responses
from structguard.wire.base import NO_HEADERS, Wire
from structguard.wire.converse.stream import open_stream as open_converse
from tests.doubles import EventRecorder
from tests.http.raw import Play, chunked, raw_server
from tests.providers.frames import event
from tests.providers.support import ask, collect

RECORDINGS = Path(__file__).parents[1] / "wire" / "recordings"
WIRES: dict[str, Wire] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "generate": generate_content,
}
MATRIX = [
    pytest.param("httpx2", "asyncio", id="httpx2-asyncio"),
    pytest.param("httpx2", "trio", id="httpx2-trio"),
    pytest.param("aiohttp", "asyncio", id="aiohttp"),
]
FILES = sorted(path.name for path in RECORDINGS.glob("*"))


def opened(name: str, url: str, transport: TransportName) -> Provider:
    match name.partition("_")[0]:
        case "chat":
            return OpenAICompat(f"{url}/v1", transport=transport)
        case "responses":
            return OpenAI("k", base_url=f"{url}/v1", transport=transport, observer=EventRecorder())
        case "messages":
            return Anthropic("k", base_url=url, transport=transport)
        case "generate":
            return Google("k", base_url=url, transport=transport)
        case _:
            keys = AwsKeys(access_key="a", secret_key="".join("abc"))
            return Bedrock("us-east-1", base_url=url, keys=keys, transport=transport)


def body_and_events(name: str) -> tuple[bytes, list[StreamEvent]]:
    """What goes over the wire, and what its decoder makes of it in one piece."""
    raw = (RECORDINGS / name).read_bytes()
    if name.endswith(".jsonl"):
        decoder = open_converse()
        events: list[StreamEvent] = []
        frames = b""
        for line in raw.splitlines():
            for key, payload in json.loads(line).items():
                frames += event(key, payload)
                events += decoder.feed_event({key: payload})
        return frames, [*events, *decoder.close()]
    sse = WIRES[name.partition("_")[0]].open_stream(NO_HEADERS)
    return raw, [*sse.feed(raw), *sse.close()]


def unsigned(events: list[StreamEvent]) -> list[StreamEvent]:
    """Without what a provider adds to the whole reply."""
    *deltas, last = events
    assert isinstance(last, Finished)
    assert last.completion.requests == 1
    return [*deltas, Finished(replace(last.completion, provider=None, metadata={}))]


@pytest.mark.parametrize(("transport", "anyio_backend"), MATRIX)
@pytest.mark.parametrize("size", [3, 97, 1 << 20])
@pytest.mark.parametrize("name", FILES)
async def test_a_recording_is_read_over_a_socket(
    name: str, size: int, transport: TransportName, anyio_backend: str
) -> None:
    assert anyio_backend
    if name.startswith("converse") and find_spec("botocore") is None:
        pytest.skip("botocore is not installed (extra bedrock)")
    body, expected = body_and_events(name)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    with raw_server(Play([chunked(*pieces)])) as server:
        provider = opened(name, server.url, transport)
        got = await collect(provider, ask())
        await provider.aclose()
    assert unsigned(got) == unsigned(expected)
