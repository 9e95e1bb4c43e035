"""Redis stopped and restarted under a load, with memo and store in it: answers go on, failures are told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from tests.gateway.load.mix import CHAT, RESPONSES, Kind
from tests.gateway.load.process import echo, gateway
from tests.gateway.load.run import Load, quiet
from tests.gateway.load.size import anyio_backend, patient, size
from tests.gateway.redis_server import RedisServer

__all__ = ["anyio_backend"]

KINDS: Sequence[Kind] = (
    Kind(name="turns", path=RESPONSES, goes_on=True),
    Kind(name="turns, stream", path=RESPONSES, model="chat:x/echo", goes_on=True, stream=True),
    Kind(name="refused", path=CHAT, model="up:x/refuse", format=True),
    Kind(name="refused stream", path=RESPONSES, model="up:x/refuse", format=True, stream=True),
    Kind(name="stream", path=CHAT, stream=True),
)


@patient
async def test_redis_stopped_and_restarted_loses_no_reply_and_hangs_none(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    url = redis_server.url
    with echo() as upstream, gateway(tmp_path, upstream.url, memo=url, store=url) as served:
        load = Load(served.port, kinds=KINDS, connections=24, seconds=15.0)
        async with anyio.create_task_group() as group:
            group.start_soon(load.run)
            for _ in range(size(2, 20)):
                await anyio.sleep(0.6)
                await anyio.to_thread.run_sync(redis_server.stop)
                await anyio.sleep(0.4)
                await anyio.to_thread.run_sync(redis_server.start)
            redis_server.freeze(frozen=True)  # it takes connections and says nothing
            await anyio.sleep(size(2.5, 6.0))
            redis_server.freeze(frozen=False)
            await anyio.sleep(0.5)
            load.stopping = True
        calm = await Load(served.port, kinds=KINDS, connections=8).run(requests=60)
        seen, log = await quiet(upstream), served.written()
    assert set(load.sums.of) <= {"answered", "failed"}, (load.sums.of, load.sums.odd)
    for name in ("refused", "refused stream", "stream"):  # these need no store
        assert set(load.sums.kinds[name]) == {"answered"}, load.sums.kinds
    assert not calm.unexpected, calm.odd
    assert (seen["busy"], seen["twice"]) == (0, [])
    assert "Traceback" not in log, log[log.index("Traceback") - 300 : log.index("Traceback") + 5000]
