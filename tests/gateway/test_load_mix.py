"""64 clients at once, every kind of request, every reply matched to its own: nothing lost, nothing doubled."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.load.mix import MIX
from tests.gateway.load.process import echo, gateway
from tests.gateway.load.run import Load, quiet
from tests.gateway.load.size import anyio_backend, full_only, patient, size

__all__ = ["anyio_backend"]

FLAT = size(6.0, 8.0)  # megabytes by which memory may move


@patient
async def test_a_mixed_load_loses_and_doubles_nothing_and_memory_stays_flat(
    tmp_path: Path,
) -> None:
    store, memo = f"disk:{tmp_path}/store", f"disk:{tmp_path}/memo"
    with echo() as upstream, gateway(tmp_path, upstream.url, store=store, memo=memo) as served:
        await Load(served.port).run(requests=size(500, 4000))  # what is made once
        before = served.memory("RssAnon")
        sums = await Load(served.port).run(requests=size(700, 30_000))
        after, seen = served.memory("RssAnon"), await quiet(upstream)
        held = served.sockets_to(upstream.port)
        log = served.written()
    assert not sums.unexpected, (sums.unexpected, sums.odd)
    assert (seen["twice"], seen["busy"]) == ([], 0)
    assert held <= 64
    assert after - before < FLAT
    assert "Traceback" not in log
    assert set(sums.kinds) == {kind.name for kind in MIX}


@full_only
@patient
async def test_two_workers_share_what_they_know_under_a_mixed_load(tmp_path: Path) -> None:
    store, memo = f"disk:{tmp_path}/store", f"disk:{tmp_path}/memo"
    with (
        echo() as upstream,
        gateway(tmp_path, upstream.url, "--workers", "2", store=store, memo=memo) as served,
    ):
        sums = await Load(served.port).run(requests=10_000)
        seen, log = await quiet(upstream), served.written()
    assert not sums.unexpected, (sums.unexpected, sums.odd)
    assert (seen["twice"], seen["busy"]) == ([], 0)
    assert "Traceback" not in log
