"""
Measure every client at every endpoint and write docs/compare.md and its picture.

`python -m benchmarks.compare` (needs the libraries: `make compare`); names of clients as arguments
print those only and write nothing. Ends with 1 when a guarded cell is neither right nor truthful.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.compare.clients import CLIENTS
from benchmarks.compare.endpoints import BEHAVIOURS
from benchmarks.compare.outcome import Pair, guarded, without
from benchmarks.compare.page import Measured, page
from benchmarks.compare.picture import picture

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main(names: Sequence[str]) -> int:
    """Measure, print, write."""
    warnings.simplefilter("ignore")  # the libraries' own, on import
    logging.disable(logging.CRITICAL)
    cells: dict[tuple[str, str], Measured] = {}
    missed = 0
    for name in names or CLIENTS:
        client = CLIENTS[name]
        for key, behaviour in BEHAVIOURS.items():
            one = Measured(
                without(client, behaviour),
                guarded(client, behaviour, "wrap"),
                guarded(client, behaviour, "transport"),
            )
            cells[key, name] = one
            holds = one.wrapped.holds and one.transport.holds
            missed += not holds
            shown = "   ".join(map(_shown, (one.without, one.wrapped, one.transport)))
            print(
                f"{name:12} {behaviour.title:22} {shown}{'' if holds else '   MISSED'}", flush=True
            )
    if not names:
        _write(cells)
    print(f"{len(cells)} cells, {missed} guarded ones neither right nor truthful")
    return 1 if missed else 0


def _write(cells: dict[tuple[str, str], Measured]) -> None:
    packages = {client.package for client in CLIENTS.values()} | {"openai", "pydantic"}
    versions = {name: version(name) for name in packages}
    (DOCS / "compare.md").write_text(page(cells, versions))
    halves = {
        (BEHAVIOURS[key].title, name): (one.without, one.wrapped)
        for (key, name), one in cells.items()
    }
    titles = [behaviour.title for behaviour in BEHAVIOURS.values()]
    (DOCS / "img").mkdir(exist_ok=True)
    (DOCS / "img" / "compare.svg").write_text(picture(titles, list(CLIENTS), halves))


def _shown(pair: Pair) -> str:
    return " ".join(f"{one.verdict.value}{one.requests}" for one in (pair.first, pair.second))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
