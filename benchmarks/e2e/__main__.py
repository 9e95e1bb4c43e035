"""
Start the servers, run every face at every place, write docs/proof.md.

`python -m benchmarks.e2e` needs xllamacpp here and a litellm proxy in .venv-litellm (`make e2e`). Ends
with 1 when a face does not get a right answer at the price that is allowed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from benchmarks.e2e import page, places, scenes, servers
from benchmarks.e2e.tap import tapped


def main() -> int:
    """Run, print, write."""
    with ExitStack() as stack:
        at = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        llama = stack.enter_context(servers.llama(at))
        proxy = stack.enter_context(servers.proxy(at, llama))
        llama_tap = stack.enter_context(tapped(llama))
        proxy_tap = stack.enter_context(tapped(proxy))
        spare = stack.enter_context(tapped(llama))
        gateways = {
            tap.url: stack.enter_context(servers.gateway(at, tap.url))
            for tap in (llama_tap, proxy_tap)
        }
        found: list[scenes.Row] = []
        for place in (*places.at_llama(llama_tap), *places.at_proxy(proxy_tap)):
            for row in scenes.rows(place, gateways[place.tap.url], spare):
                found.append(row)
                print(_line(row), flush=True)
        shared = scenes.shared(places.at_proxy(proxy_tap)[0], at / "memo")
        itself = scenes.litellm_itself(llama_tap)
    missed = sum(not row.holds for row in found if row.face != scenes.PLAIN)
    learned = [len(call.seen) for _, call in shared]
    guarded = [len(call.seen) for _, call in itself]
    print(f"one memo, three faces: {learned} requests; litellm itself: {guarded}")
    print(f"{missed} misses; the chains' spare was asked {len(spare.seen)} times")
    facts = {
        "xllamacpp": f"xllamacpp {version('xllamacpp')}",
        "litellm": _proxy_version(),
        "openai": version("openai"),
    }
    text = page.page(found, shared, itself, facts)
    (servers.ROOT / "docs" / "proof.md").write_text(text)
    return 1 if missed or spare.seen or learned != [2, 1, 1] or guarded != [0, 1, 1] else 0


def _line(row: scenes.Row) -> str:
    mark = "" if row.holds or row.face == scenes.PLAIN else "   MISSED"
    counts = f"{len(row.first.seen)} {len(row.second.seen)}"
    return f"{row.place.name:26}{row.face:22}{counts}  {row.first.told[:60]!r}{mark}"


def _proxy_version() -> str:
    code = "from importlib.metadata import version; print(version('litellm'))"
    done = subprocess.run(  # noqa: S603  our own interpreter
        [str(servers.PROXY_PYTHON), "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
