"""docs/proof.md, written from the run and from nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.e2e.places import Place
from benchmarks.e2e.scenes import Call, Row
from benchmarks.e2e.tap import Seen

_TOP = """\
# Real, end to end

Every way of using structguard, run against real servers: the llama.cpp server ({xllamacpp}, with a tiny model that is built for
the run) and a litellm proxy ({litellm}) in front of it, configured with a provider whose `response_format` it refuses. Nothing
is mocked; a tap between client and server counts and records the requests. The client is openai {openai}.

```sh
make e2e          # starts the servers, makes every call twice at every place, writes this page; takes a minute or two
```

It exits with 1 unless every call gets a right answer at every place, both times, with the number of requests in the second and
third column.

| place | first call | second | what the server does |
|---|--:|--:|---|
"""


def page(
    rows: Sequence[Row],
    shared: Sequence[tuple[str, Call]],
    litellm: Sequence[tuple[str, Call]],
    facts: Mapping[str, str],
) -> str:
    """The whole page."""
    places = list({row.place.name: row.place for row in rows}.values())
    parts = [_TOP.format(**facts)]
    parts += [f"| {one.name} | {one.costs[0]} | {one.costs[1]} | {one.about} |\n" for one in places]
    for place in places:
        parts.append(_place(place, [row for row in rows if row.place is place]))
    parts.append(_simple(_SHARED, shared, "way of calling"))
    parts.append(_simple(_LITELLM, litellm, "call"))
    return "".join(parts).rstrip() + "\n"


_SHARED = """
## What one has learned, the others know

One memo directory, the litellm proxy that refuses, and three ways of calling it one after the other, each with a guard of its
own, as in separate processes.

"""
_LITELLM = """
## litellm as a library

If litellm does not support formats for a provider, it refuses before anything is sent, so there is no request to look at.
`guarded("volcengine")(litellm.completion)` judges the exception instead.

"""


def _place(place: Place, rows: Sequence[Row]) -> str:
    lines = [
        f"\n## {place.name}\n",
        f"The server: {place.about}.\n",
        _row(["way of calling", "first call", "second call", "result"]),
        _row(["---"] * 4),
    ]
    for row in rows:
        out = _words(row.first.told)
        lines.append(_row([row.face, _requests(row.first), _requests(row.second), f"`{out}`"]))
    wrapped = next(row for row in rows if row.face == "wrap").first.seen
    lines += ["", *_wire(wrapped)]
    return "\n".join(lines) + "\n"


def _wire(seen: Sequence[Seen]) -> list[str]:
    """What `wrap` sent and what came back, shortened."""
    found = ["On the wire (`wrap`, first call):\n"]
    for one in seen:
        parts = [f"  {json.dumps(name)}: {json.dumps(part)}" for name, part in _kept(one.body)]
        body = ",\n".join(parts)
        found += [f"`POST {one.path}`", "", "```json", "{", body, "}", "```", ""]
        found += [f"→ {one.status}", "", "```json", _reply(one), "```", ""]
    return found[:-1]


def _kept(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The parts of a body that matter here."""
    names = ("model", "messages", "input", "instructions", "response_format", "text")
    return [(name, body[name]) for name in names if name in body]


def _reply(seen: Seen) -> str:
    """The text of an answer, or the error as it came."""
    reply = json.loads(seen.reply)
    if seen.status != 200:
        return seen.reply.strip()
    if "choices" in reply:
        return json.dumps({"content": reply["choices"][0]["message"]["content"]})
    return json.dumps({"text": reply["output"][-1]["content"][0]["text"]})


def _simple(head: str, calls: Sequence[tuple[str, Call]], what: str) -> str:
    lines = [head.rstrip() + "\n", _row([what, "requests", "result"]), _row(["---"] * 3)]
    for name, call in calls:
        lines.append(_row([name, _requests(call), f"`{_words(call.told)}`"]))
    return "\n".join(lines) + "\n"


def _requests(call: Call) -> str:
    """`2: with the format 400, without 200`."""
    if not call.seen:
        return "0"
    each = ", ".join(
        f"{'with' if one.had_format else 'without'} the format {one.status}" for one in call.seen
    )
    return f"{len(call.seen)}: {each}"


def _words(told: str) -> str:
    words = re.sub(r"127\.0\.0\.1:\d+", "…", " ".join(told.split()))
    words = words.replace("`", "'").replace("|", "/")
    return words if len(words) <= 120 else words[:119] + "…"


def _row(fields: Iterable[str]) -> str:
    return "| " + " | ".join(fields) + " |"
