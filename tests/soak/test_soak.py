"""Five seconds of the soak (`make soak` is two minutes): nothing lost, nothing doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak.load import Load
from benchmarks.soak.picture import picture
from benchmarks.soak.running import soak

FACES = {
    "wrap", "wrap, async", "wrap, streamed", "guarded", "transport", "provider", "protect",
    "sub-call", "chain", "gateway",
}  # fmt: skip


@pytest.mark.timeout(180)
def test_under_faults_every_call_gets_its_own_answer_once(tmp_path: Path) -> None:
    soaked = soak(Load(seconds=5.0, workers=2, forget=1.5), tmp_path, every=0.25)
    assert soaked.tally.lost == []
    assert soaked.report["doubled"] == []
    assert set(soaked.tally.right) == FACES
    assert soaked.tally.begun == soaked.tally.right.total() + soaked.tally.told.total()
    assert {"503", "429", "cut", "reset", "slow"} <= set(soaked.report["faults"])
    assert soaked.report["refused"] > 0
    assert soaked.tally.forgotten != []
    assert picture(soaked.watch.samples, [1.0]).endswith("</svg>\n")
