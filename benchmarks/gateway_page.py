"""The tables of the gateway's benchmark, and the page they stand on."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.gateway_cells import Row
from benchmarks.gateway_servers import Burst

_HEAD = """\
# How fast the gateway is

Written by `python -m benchmarks.gateway --peers --page`; run it on your own machine.

The measure is CPU time a request of the gateway's process, pinned to one core, against a bare proxy in
the same run: raw ASGI on uvicorn (uvloop, httptools) in front of an aiohttp client, which looks at
nothing. Upstream and load generator (C, canned replies of 1 KB and streams of 203 events) have the
other core. The sides take turns in bursts of {seconds}; ratios are medians over the pairs, so that a
busy machine changes both sides alike. Sixteen connections unless a row says otherwise.

The gateway does more than the bare proxy: it checks credentials, sizes and schemas, counts, looks into the
memo, reads the reply and checks that the answer is JSON, and keeps responses for
`previous_response_id`. `wanted` is what we hold ourselves to.
"""
_TAIL = """\
## What the rows mean

- **chat**, **responses**: the upstream speaks the client's wire; the body goes out as it came, and so does
  a reply that needs no change. *kept* stores the response (`store` is true by default), *not kept* does not.
  On disk is the default; a write is safe there before the client has its answer.
- **stream** rows: 203 events. Only what comes before the first text, and the events that carry the whole
  resource, are read.
- **a remembered refusal**: against an ordinary chat call of the gateway. The memo knows that the format is
  refused; it is left out, put into the prompt, and the answer is checked.
- **over**: the upstream speaks the other wire; request, reply and every event are translated. The base is
  the bare proxy on the upstream's own wire.

## Why it is this fast

- Hot endpoints are plain ASGI callables; Starlette serves the rest.
- Upstream HTTP is a client of our own over httptools (`structguard/http/h1`): a quarter of aiohttp's cost for
  the one thing a gateway asks, and streams without work for every chunk.
- Bodies are parsed once, with orjson, and pass as the bytes they came in; validators are compiled once.
- The plain case has a path of its own (`gateway/plain.py`); whatever is not plain goes the general way,
  which takes over what was sent.
- A plain body crosses from one OpenAI wire to the other without a neutral form between
  (`gateway/direct.py`), and then takes the path of any body of that wire.
- Translated text events are taken by their bytes where they differ from the one before in their text
  alone (`wire/shortcut.py`), and written without building an event.
"""


def table(rows: Sequence[Row]) -> str:
    """What was measured, a line a cell."""
    lines = [
        "| | req/s | base | CPU µs | base | ratio | wanted | first byte, µs more |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cell, base, ours = row.cell, row.base, row.ours
        later = _mid(ours, "ttfb50") - _mid(base, "ttfb50")
        lines.append(
            f"| {cell.name} | {_mid(ours, 'rps'):.0f} | {_mid(base, 'rps'):.0f}"
            f" | {_mid(ours, 'cpu'):.0f} | {_mid(base, 'cpu'):.0f}"
            f" | {row.ratio():.2f} | {cell.bar or '-'} | {later:.0f} |"
        )
    return "\n".join(lines)


def page(shown: Sequence[str], seconds: str = "a fraction of a second") -> str:
    """The page."""
    return "\n".join([_HEAD.format(seconds=seconds), *shown, _TAIL])


def _mid(runs: Sequence[Burst], key: str) -> float:
    return statistics.median(run[key] for run in runs)
