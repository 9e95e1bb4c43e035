"""SIGTERM under load: what is under way is answered, what comes later is not begun, the process ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.gateway.load.mix import CHAT, RESPONSES, Kind
from tests.gateway.load.process import echo, gateway
from tests.gateway.load.run import Load, quiet
from tests.gateway.load.size import anyio_backend, patient, size

__all__ = ["anyio_backend"]

KINDS: Sequence[Kind] = (
    Kind(name="chat", path=CHAT, format=True),
    Kind(name="slow chat", path=CHAT, model="up:x/slower", stream=True),
    Kind(name="slow responses", path=RESPONSES, model="up:x/slower", stream=True),
    Kind(name="translated", path=RESPONSES, model="chat:x/slow", stream=True),
    Kind(name="refused", path=RESPONSES, model="up:x/refuse", format=True),
)


@patient
@pytest.mark.parametrize("workers", size([2], [1, 2]))
async def test_a_stop_under_load_answers_whatever_had_begun(tmp_path: Path, workers: int) -> None:
    for _ in range(size(1, 10)):
        with (
            echo() as upstream,
            gateway(tmp_path, upstream.url, "--workers", str(workers)) as served,
        ):
            load = Load(served.port, kinds=KINDS, connections=24, seconds=15.0)
            async with anyio.create_task_group() as group:
                group.start_soon(load.run)
                await anyio.sleep(1.0)
                code = await anyio.to_thread.run_sync(served.stop)
                load.stopping = True
            seen, log = await quiet(upstream), served.written()
        assert code == 0, log
        assert log.count("legacy endpoint") == 1  # told once, however many workers there are
        sums = load.sums
        assert sums.of["answered"] > 24
        # a client may send on a kept connection that is closed just then: it was never begun
        assert set(sums.of) <= {"answered", "lost"}, (sums.of, sums.odd)
        begun = [one for one in sums.lost if f"{one} " in str(seen["last"])]
        assert not begun, sums.odd
        assert seen["busy"] == 0
        assert "Traceback" not in log
