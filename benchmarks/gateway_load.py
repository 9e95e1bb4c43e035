"""
The gateway under a mixed load, every reply matched to its request by a marker of its own.

`python -m benchmarks.gateway_load [SECONDS] [CONNECTIONS] [WORKERS]`. Prints a row a kind of request, the
sum, and what the gateway held: memory after its first 2,000 requests and at the end, upstream sockets.
Exit code 1: a reply was lost, doubled or not of the kind that was wanted, or the upstream asked twice.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import anyio

from tests.gateway.load.process import Process, echo, gateway
from tests.gateway.load.run import Load, Sums, quiet

WARM = 2000  # requests before memory is looked at
COLUMNS = ("answered", "failed", "left", "lost", "wrong")


async def measured(
    upstream: Process, served: Process, seconds: float, connections: int
) -> tuple[Sums, Mapping[str, object], list[float]]:
    """The sums, what the upstream saw, and megabytes before, half-way and after."""
    await Load(served.port, connections=connections).run(requests=WARM)
    memory = [served.memory("VmRSS"), served.memory("RssAnon")]
    load = Load(served.port, connections=connections)
    async with anyio.create_task_group() as group:
        group.start_soon(load.run)
        await anyio.sleep(seconds / 2)
        memory += [served.memory("VmRSS"), served.memory("RssAnon")]
        await anyio.sleep(seconds / 2)
        load.stopping = True
    seen = await quiet(upstream)
    return load.sums, seen, [*memory, served.memory("VmRSS"), served.memory("RssAnon")]


def show(sums: Sums, seen: Mapping[str, object], memory: list[float], held: int) -> None:
    """The table."""
    heads = ("sent", "answered", "cleanly failed", "client left", "lost", "doubled or wrong")
    print(f"{'':24}" + "".join(f"{head:>18}" for head in heads))
    for name, found in [*sums.kinds.items(), ("all", sums.of)]:
        cells = [sum(found.values()), *(found[key] for key in COLUMNS)]
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))
    rss, anon = (" → ".join(f"{one:.1f}" for one in memory[at::2]) for at in (0, 1))
    print(f"\nmemory (RSS), MB                  {rss}")
    print(f"  of it no mapped file, MB        {anon}")
    print(f"upstream sockets at the end  {held:8} kept, {seen['busy']} in use")
    print(f"requests the upstream saw    {seen['seen']:8}, {len(sums.lost)} markers lost here")
    for odd in (*sums.unexpected, *sums.odd, *_twice(seen)):
        print(f"UNEXPECTED: {odd}")


def _twice(seen: Mapping[str, object]) -> list[str]:
    return [f"asked twice upstream: {marker}" for marker in list[str](seen["twice"])]  # type: ignore[call-overload]


def main(seconds: float = 30.0, connections: int = 64, workers: int = 1) -> int:
    """Run it; the exit code."""
    with tempfile.TemporaryDirectory() as home, echo() as upstream:
        place = Path(home)
        stores = {"store": f"disk:{place / 'store'}", "memo": f"disk:{place / 'memo'}"}
        more = ["--workers", str(workers)] if workers > 1 else []
        with gateway(place, upstream.url, *more, **stores) as served:
            found = anyio.run(
                measured, upstream, served, seconds, connections,
                backend_options={"use_uvloop": True},
            )  # fmt: skip
            show(*found, served.sockets_to(upstream.port))
    sums, seen, _ = found
    return 1 if sums.unexpected or seen["twice"] or seen["busy"] else 0


if __name__ == "__main__":
    sys.exit(
        main(*(kind(text) for kind, text in zip((float, int, int), sys.argv[1:], strict=False)))
    )
