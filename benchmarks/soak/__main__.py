"""
Two minutes of all faces under faults, then what one request costs; writes docs/scaling.md.

`python -m benchmarks.soak [SECONDS]`. Ends with 1 when a call was lost or doubled, or when memory grew
by more than 5 % after warming up.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path

from benchmarks.soak.capacity import measured
from benchmarks.soak.load import Load
from benchmarks.soak.page import page
from benchmarks.soak.picture import picture
from benchmarks.soak.running import soak

DOCS = Path(__file__).resolve().parents[2] / "docs"
GROWTH = 0.05


def main(seconds: float = 120.0) -> int:
    """Run, print, write."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as place:
        soaked = soak(Load(seconds=seconds), Path(place))
    tally, watch = soaked.tally, soaked.watch
    growth = {name: watch.growth(name) for name in watch.processes}
    print(f"{tally.begun} calls, {tally.right.total()} right, {tally.told.total()} told")
    print(f"{len(tally.lost)} lost, {len(soaked.report['doubled'])} doubled")
    print(f"memory: {', '.join(f'{name} {share:+.1%}' for name, share in growth.items())}")
    print(*tally.lost[:20], sep="\n")
    with tempfile.TemporaryDirectory() as place:
        capacity = measured(Path(place))
    marks = [at - watch.begun for at in tally.forgotten]
    (DOCS / "img").mkdir(exist_ok=True)
    (DOCS / "img" / "soak.svg").write_text(picture(watch.samples, marks))
    (DOCS / "scaling.md").write_text(page(soaked, capacity))
    return 0 if soaked.holds and max(growth.values()) <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
