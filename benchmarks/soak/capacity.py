"""What one request costs: CPU of the gateway and of `wrap`, and memory while it waits."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from openai import OpenAI

from benchmarks.soak.faces import FORMAT, Echo, messages
from benchmarks.soak.running import servers
from benchmarks.soak.watch import cpu_of, handles_of, memory_of
from structguard import Guard

MARKER = "mk-7-0"  # one that meets no fault
WAITING = 400  # requests at once
CONNECTIONS = 16
ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Figures of this machine."""

    gateway: Mapping[str, float]  # microseconds of CPU a request, by what is asked
    kilobytes: float  # of the gateway's memory for each request that waits
    handles: float  # of its files
    wrap: Mapping[str, float]  # microseconds of CPU a call of the SDK, by how


def measured(place: Path, seconds: float = 6.0) -> Capacity:
    """Measure all of it."""
    with servers(place) as (url, gateway, pid):
        costs = {
            name: _gateway_cost(gateway, pid, _body(model, wants=wants), seconds)
            for name, model, wants in (
                ("no format", "enforce", False),
                ("a format, enforced", "enforce", True),
                ("a remembered refusal, answered in a fence", "refuse", True),
            )
        }
        kilobytes, handles = _waiting(url, gateway, pid)
        return Capacity(
            gateway=costs, kilobytes=kilobytes, handles=handles, wrap=_wrap_cost(f"{url}/v1")
        )


def _body(model: str, *, wants: bool) -> bytes:
    asked: dict[str, Any] = {"model": model, "messages": messages(MARKER)}
    return json.dumps({**asked, **({"response_format": FORMAT} if wants else {})}).encode()


def _gateway_cost(gateway: str, pid: int, body: bytes, seconds: float) -> float:
    """The least of a few rounds: what else the machine does only adds."""
    anyio.run(_hammer, gateway, body, 0.5)  # warm, and the refusal is learned
    found: list[float] = []
    for _ in range(ROUNDS):
        before = cpu_of(pid)
        served = anyio.run(_hammer, gateway, body, seconds / ROUNDS)
        found.append((cpu_of(pid) - before) / served * 1e6)
    return min(found)


async def _hammer(gateway: str, body: bytes, seconds: float) -> int:
    """Requests on a few kept connections; how many were served."""
    until, served = time.monotonic() + seconds, 0

    async def one() -> None:
        nonlocal served
        async with await _connected(gateway) as stream:
            reader = BufferedByteReceiveStream(stream)
            while time.monotonic() < until:
                await stream.send(_request(body))
                await _read(reader)
                served += 1

    async with anyio.create_task_group() as group:
        for _ in range(CONNECTIONS):
            group.start_soon(one)
    return served


def _waiting(url: str, gateway: str, pid: int) -> tuple[float, float]:
    """Memory in KB and handles for each of many requests that wait for the upstream."""
    body = _body("enforce", wants=True)
    memory, handles = memory_of(pid), handles_of(pid)
    _set_wait(url, 6.0)
    found: list[tuple[float, int]] = []
    anyio.run(_wait, gateway, body, lambda: found.append((memory_of(pid), handles_of(pid))))
    _set_wait(url, 0.0)
    return (found[0][0] - memory) * 1024 / WAITING, (found[0][1] - handles) / WAITING


async def _wait(gateway: str, body: bytes, look: Any) -> None:
    async def one() -> None:
        async with await _connected(gateway) as stream:
            await stream.send(_request(body))
            await _read(BufferedByteReceiveStream(stream))

    async with anyio.create_task_group() as group:
        for _ in range(WAITING):
            group.start_soon(one)
        await anyio.sleep(4.0)
        look()


def _set_wait(url: str, seconds: float) -> None:
    with urllib.request.urlopen(f"{url}/wait/{seconds}", timeout=10):  # noqa: S310  our loopback
        pass


def _wrap_cost(url: str) -> Mapping[str, float]:
    """CPU of this process for a call of the SDK, plain and wrapped, in turns."""
    with ExitStack() as stack:
        guard = stack.enter_context(Guard(memo="memory:", observer=lambda _event: None))
        plain: Any = stack.enter_context(OpenAI(base_url=url, api_key="k"))
        wrapped: Any = guard.wrap(stack.enter_context(OpenAI(base_url=url, api_key="k")))
        cases = {
            "plain, enforced": (plain, "enforce"),
            "wrapped, enforced": (wrapped, "enforce"),
            "wrapped, a remembered refusal, answered in a fence": (wrapped, "refuse"),
        }
        found: dict[str, list[float]] = {name: [] for name in cases}
        for turn in range(ROUNDS + 1):
            for name, (client, model) in cases.items():
                cost = _calls(client, model)
                if turn:  # the first one warms up
                    found[name].append(cost)
        return {name: min(costs) for name, costs in found.items()}


def _calls(client: Any, model: str, count: int = 40) -> float:
    before = time.process_time()
    for _ in range(count):
        client.chat.completions.parse(model=model, messages=messages(MARKER), response_format=Echo)
    return (time.process_time() - before) / count * 1e6


async def _connected(url: str) -> anyio.abc.SocketStream:
    address = urlsplit(url)
    assert address.hostname
    assert address.port
    return await anyio.connect_tcp(address.hostname, address.port)


def _request(body: bytes) -> bytes:
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )


async def _read(reader: BufferedByteReceiveStream) -> None:
    head = await reader.receive_until(b"\r\n\r\n", 65_536)
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the gateway said {head[:40]!r}")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    await reader.receive_exactly(int(length[1]) if length else 0)
