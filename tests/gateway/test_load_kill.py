"""The upstream killed in the middle of streams, again and again: every client hears of it, none waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from tests.gateway.load.mix import CHAT, RESPONSES, Kind
from tests.gateway.load.process import gateway, start_echo
from tests.gateway.load.run import Load, quiet
from tests.gateway.load.size import anyio_backend, patient, size

__all__ = ["anyio_backend"]

STREAMS: Sequence[Kind] = (
    Kind(name="chat", path=CHAT, model="up:x/slow", stream=True),
    Kind(name="responses", path=RESPONSES, model="up:x/slow", stream=True),
    Kind(name="responses over chat", path=RESPONSES, model="chat:x/slow", stream=True),
    Kind(name="refused", path=RESPONSES, model="up:x/refuse", format=True, stream=True),
    Kind(name="whole", path=CHAT, model="up:x/echo", format=True),
    Kind(name="hangs", path=CHAT, model="up:x/hang", stream=True, wants="failed"),
)


@patient
async def test_an_upstream_killed_mid_stream_is_told_to_every_client(tmp_path: Path) -> None:
    times, upstream = size(3, 100), start_echo()
    try:
        with gateway(tmp_path, upstream.url) as served:
            load = Load(served.port, kinds=STREAMS, connections=24, seconds=20.0)
            async with anyio.create_task_group() as group:
                group.start_soon(load.run)
                for _ in range(times):
                    await anyio.sleep(0.3)  # streams are under way
                    upstream.kill()
                    upstream.log.close()
                    await anyio.sleep(0.05)
                    upstream = await anyio.to_thread.run_sync(start_echo, upstream.port)
                load.stopping = True
                upstream.kill()  # what hangs there ends
                upstream.log.close()
            upstream = start_echo(upstream.port)
            sums = load.sums
            calm = await Load(served.port, kinds=STREAMS[:5], connections=8).run(requests=40)
            seen = await quiet(upstream)
            held, log = served.sockets_to(upstream.port), served.written()
    finally:
        upstream.kill()
        upstream.log.close()
    assert set(sums.of) == {"answered", "failed"}, (sums.of, sums.odd)
    assert sums.kinds["hangs"] == {"failed": sums.kinds["hangs"]["failed"]}
    assert sums.of["failed"] > times
    assert not calm.unexpected, calm.odd
    assert (seen["busy"], seen["twice"]) == (0, [])
    assert held <= 24
    assert "Traceback" not in log
