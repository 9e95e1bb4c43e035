"""The tables of the gateway's benchmark, and the page they stand on."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.gateway_cells import Row
from benchmarks.gateway_servers import Burst

_HEAD = """\
# How fast the gateway is

This page is written by `python -m benchmarks.gateway --peers --page`, which you can run on your own machine.

It compares the CPU time that the gateway's process needs per request, pinned to one core, with that of a bare proxy in the same
run: raw ASGI on uvicorn (uvloop, httptools) in front of an aiohttp client, passing bodies on without looking at them. Upstream
and load generator (in C, with canned replies of 1 KB and streams of 203 events) use the other core. The two take turns in bursts
of {seconds}, and ratios are medians over the pairs, so that a busy machine affects both alike. There are sixteen connections
unless a row says otherwise.

The gateway does more than the bare proxy: it checks credentials, sizes and schemas, counts, looks into the memo, reads the
reply, checks that the answer is JSON, and stores responses for `previous_response_id`. `wanted` is the project's own target.
"""
_TAIL = """\
## What the rows mean

- **chat**, **responses**: the upstream uses the client's API. The request is passed on as it came, and so is a reply that needs
  no change. *kept* stores the response (`store` is true by default), *not kept* does not. The default is to store on disk; the
  write is safe there before the client has its answer.
- **stream** rows: 203 events. Only the events before the first text, and those that carry the whole resource, are read.
- **a remembered refusal**: compared with an ordinary chat call of the gateway. The memo knows that the format is refused, so it
  is left out, the schema is put into the prompt, and the answer is checked.
- **over**: the upstream uses the other API, so the request, the reply and every event are translated. The base is the bare proxy
  with the upstream's own API.

## Why it is this fast

- The busiest endpoints are plain ASGI callables; Starlette serves the rest.
- Requests to upstreams use a client written for this purpose on top of httptools (`structguard/http/h1`): a quarter of aiohttp's
  cost, and streams without work per chunk.
- Bodies are parsed once, with orjson, and passed on as the bytes that arrived; validators are compiled once.
- The ordinary case has its own path (`gateway/plain.py`); everything else takes the general path, which continues with what has
  been sent.
- An ordinary body is translated directly between the two OpenAI APIs (`gateway/direct.py`), without a neutral form in between,
  and then takes the path of any body of that API.
- A whole reply leaves in one write, head and body together (`HttpConnection.whole`).
- What an upstream's resource lacks is added behind its bytes (`gateway/filling.py`), and a format that is known to be refused
  is cut out of a chat body's bytes (`gateway/cutting.py`); neither is written anew.
- Translated text events that differ from the previous one only in their text are recognised by their bytes
  (`wire/shortcut.py`), and written without building an event.
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
