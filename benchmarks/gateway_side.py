"""
What the gateway's side rooms cost a request: the response store, authentication, metrics, the page.

Usage: python -m benchmarks.gateway_side [ROUNDS]. Medians over the rounds, interleaved; CPU of this
process and wall time a call, the ratio is to the store in memory. The store in Redis is measured
where redis-server is installed; its own CPU is not counted.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import anyio

from structguard.gateway.auth import Auth, Token
from structguard.gateway.metrics import Metrics
from structguard.gateway.page import Snapshot, render
from structguard.gateway.store import ResponseStore, Stored, open_store

Found: TypeAlias = defaultdict[tuple[str, str, int], list[tuple[float, float]]]

CALLS, AT_ONCE = 192, 64
TURN = Stored(
    input=[{"type": "message", "role": "user", "content": "What is the capital of France? " * 20}],
    output=[{"type": "message", "role": "assistant", "content": [{"text": "Paris. " * 60}]}],
    response={"id": "resp_1", "object": "response", "output": ["Paris. " * 60], "usage": {}},
    created=1.0,
)


@contextmanager
def redis_url() -> Iterator[str | None]:
    """A server of our own, if there is a program."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603
        [program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""],
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait()


async def timed(work: Callable[[int], Awaitable[object]], at_once: int) -> tuple[float, float]:
    """Microseconds a call: wall and CPU."""
    numbers = iter(range(CALLS))

    async def caller() -> None:
        for number in numbers:
            await work(number)

    wall, cpu = time.perf_counter(), time.process_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(caller)
    return (
        (time.perf_counter() - wall) / CALLS * 1e6,
        (time.process_time() - cpu) / CALLS * 1e6,
    )


def small_rows() -> dict[str, Callable[[], object]]:
    """What is done without waiting."""
    auth = Auth([Token.of_secret(str(n), f"token-{n}") for n in range(5)])
    metrics = Metrics()
    snapshot = Snapshot(version="1", started=0.0, now=1.0, numbers=metrics.summary())

    def count() -> None:
        metrics.started("/v1/responses")
        metrics.finished(
            endpoint="/v1/responses", status=200, seconds=0.02, enforced=True, source="strict"
        )
        metrics.upstream(provider="cloud", status=200, seconds=0.01)

    return {
        "auth, 5 tokens": lambda: auth.check("Bearer token-3", "192.0.2.1"),
        "metrics of one request": count,
        "render the metrics": metrics.render,
        "render the page": lambda: render(snapshot),
    }


async def measured(rounds: int, urls: list[str]) -> Found:
    """Wall and CPU of each store, call and number of callers, a pair a round."""
    stores = {
        url.partition(":")[0]: open_store(url, expiry=3600.0, limit_bytes=2**30) for url in urls
    }
    found: Found = defaultdict(list)
    for _ in range(rounds):
        for at_once in (1, AT_ONCE):
            for name, store in stores.items():
                found[name, "put", at_once].append(await timed(partial(put, store), at_once))
                found[name, "get", at_once].append(await timed(partial(get, store), at_once))
    for store in stores.values():
        await store.aclose()
    return found


async def put(store: ResponseStore, number: int) -> None:
    await store.put("scope", str(number), TURN)


async def get(store: ResponseStore, number: int) -> None:
    assert await store.get("scope", str(number)) is not None


def report(found: Found) -> None:
    print(f"{'store':8} {'call':5} {'at once':>7} {'wall µs':>9} {'CPU µs':>9} {'ratio':>7}")
    for (name, what, at_once), rows in found.items():
        wall, cpu = (statistics.median(values) for values in zip(*rows, strict=True))
        base = statistics.median(cpu for _, cpu in found["memory", what, at_once])
        print(f"{name:8} {what:5} {at_once:7} {wall:9.1f} {cpu:9.1f} {cpu / base:7.1f}")
    print()


def report_small(rounds: int) -> None:
    for name, work in small_rows().items():
        times = 50 if "render" in name else 2000
        spent: list[float] = []
        for _ in range(rounds):
            start = time.process_time()
            for _ in range(times):
                work()
            spent.append((time.process_time() - start) / times * 1e6)
        print(f"{name:24} {statistics.median(spent):9.1f} µs CPU")


if __name__ == "__main__":
    given = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as home, redis_url() as url:
        report(anyio.run(measured, given, ["memory:", f"disk:{home}", *([url] if url else [])]))
    report_small(given)
