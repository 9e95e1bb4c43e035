"""docs/scaling.md, its figures written from the run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from benchmarks.soak.capacity import WAITING, Capacity
from benchmarks.soak.running import Soaked

_PAGE = """\
# How far it goes

What one machine carries, measured; when several need Redis; the arithmetic for many. `make soak` writes the figures of
this page anew; those below are of a machine with {cores} cores that had other work to do.

## Two minutes under faults

All faces at once, each with {workers} workers, against an upstream that refuses formats, ignores them, and gives one
call in five a fault: a 503, a 429, a reply cut in the middle, a connection closed without a word, a late answer. The
memo's files are removed every {forget:.0f} seconds while they are in use, and refusals expire after 5 seconds, so that they
are learned and tried again all the time. Each call carries a marker of its own, which its answer must bring back; the
upstream counts how often it answered each.

![Memory, file handles and latency during the soak](img/soak.svg)

| | |
|---|--:|
| seconds | {seconds:.0f} |
| calls | {calls} |
| answered with their own marker | {right} |
| errors that a cut stream explains | {told} |
| **lost**: no answer, another's, or an error out of nothing | **{lost}** |
| **doubled**: answered more than once | **{doubled}** |
| requests that reached the upstream | {requests} |
| refused formats among them | {refused} |
| faults given | {faults} |
| memory of the process with all faces, after warming up and at the end | {faces} |
| memory of the gateway | {gateway} |
| file handles, most at once: faces, gateway | {handles} |

{by_face}

What the process with the faces still gains is the JSON parser's own cache of short strings, as every marker is a new
one: it holds 16,384 of them and grows no further. Where the answers repeat, memory stands still.

A stream that breaks after its first event is never sent again: its error is the caller's, and the only one there is.
Every other fault is met below: by the SDK's own retries, by the providers', by the chain's next link.

## One machine

| one request | CPU, µs, the least of eight rounds |
|---|--:|
{costs}

{capacity}

## Many machines, and when Redis is worth it

The gateway keeps three things: refusals (the memo), stored responses (the store), and connections. Any proxy may send
any request to any host.

| you have | memo | store |
|---|---|---|
| one process | `memory:` or `disk:` | `memory:` |
| one machine, several processes | `disk:` (the default): all of them share it | `disk:PATH` |
| several machines, `previous_response_id` in use | `redis://` | `redis://`: the next turn may reach another host |
| several machines, everything with `store: false` | either | `memory:` |
| hosts that come and go, or a disk that does not stay | `redis://` | `redis://` |

Without Redis every host learns by itself: with *M* models that refuse, *H* hosts and an expiry of a day, that is
*H · M* refused requests a day, instead of *M*. Fifty hosts and twenty such models are 1,000 requests a day, or one in
86 seconds: a disk each is enough. It is another matter where hosts are short-lived: a container that lives for ten
minutes learns 144 times a day, and fifty of them at any time are 144,000 refused requests.

What Redis has to bear is small. A process asks it for others' writes at most once a second, with one GET, and only
while calls are made: *H* hosts with *W* workers are *H · W* GETs a second (50 · 8: 400). It writes when a refusal is
learned, renewed or forgotten, and one lease for each expiry. An entry is about 600 bytes; 10,000 are kept at most.
When it is away, calls go on with what each process knows.

How many hosts: with *R* calls a second at the peak, *L* seconds an answer takes, *c* µs of CPU a request and *n* requests at
once that a worker may have (`limits.concurrent`, 1000),

```
workers ≥ max( R · c / 1,000,000 / 0.6 ,   R · L / n )
memory  ≈ workers · {base:.0f} MB + R · L · {kilobytes:.0f} KB
handles ≈ R · L · 2   (raise the limit of open files to match)
```

0.6 leaves room for garbage collection, log lines and a host that is gone. An example: 2,000 calls a second that take
8 seconds are 16,000 requests at once. At {middle:.0f} µs that is {by_cpu:.1f} workers by CPU and 16 by `limits.concurrent`: four hosts of
four cores, {example:.1f} GB of memory in all, 32,000 handles. Waiting is what costs, not work.

In your own process nothing changes with the number of hosts: `wrap`, `guarded` and `protect` keep the memo and no
connection of their own. Give the memo a Redis address under the rule above.
"""


def page(soaked: Soaked, capacity: Capacity) -> str:
    """The whole page."""
    tally, watch, report = soaked.tally, soaked.watch, soaked.report
    base = watch.samples[-1].memory["gateway"]
    middle = sorted(capacity.gateway.values())[1]
    return _PAGE.format(
        cores=os.cpu_count(),
        workers=soaked.load.workers,
        forget=soaked.load.forget,
        seconds=soaked.load.seconds,
        calls=tally.begun,
        right=tally.right.total(),
        told=tally.told.total(),
        lost=len(tally.lost),
        doubled=len(report["doubled"]),
        requests=report["requests"],
        refused=report["refused"],
        faults=", ".join(f"{n} {name}" for name, n in report["faults"].items() if name),
        faces=_grown(soaked, "faces"),
        gateway=_grown(soaked, "gateway"),
        handles=", ".join(
            str(max(one.handles[name] for one in watch.samples)) for name in watch.processes
        ),
        by_face=_by_face(soaked),
        costs=_costs(capacity),
        capacity=_words(capacity, base),
        base=base,
        kilobytes=capacity.kilobytes,
        middle=middle,
        by_cpu=2000 * middle / 1e6 / 0.6,
        example=(16 * base + 16_000 * capacity.kilobytes / 1024) / 1024,
    )


def _grown(soaked: Soaked, name: str) -> str:
    early, late = soaked.watch.ends(name)
    return f"{early:.1f} → {late:.1f} MB ({soaked.watch.growth(name):+.1%})"


def _by_face(soaked: Soaked) -> str:
    right, told = soaked.tally.right, soaked.tally.told
    lines = [_row(["face", "right", "told"]), _row(["---", "--:", "--:"])]
    lines += [_row([name, str(right[name]), str(told[name])]) for name in sorted(right)]
    return "\n".join(lines)


def _costs(capacity: Capacity) -> str:
    rows = [(f"the gateway: {name}", cost) for name, cost in capacity.gateway.items()]
    rows += [(f"the openai SDK, {name}", cost) for name, cost in capacity.wrap.items()]
    return "\n".join(_row([name, f"{cost:.0f}"]) for name, cost in rows)


def _words(capacity: Capacity, base: float) -> str:
    cheap, dear = min(capacity.gateway.values()), max(capacity.gateway.values())
    waiting = 1000 * capacity.kilobytes / 1024 + base
    return "\n".join(
        [
            f"- A worker is one process on one core: {1e6 / dear:,.0f} to {1e6 / cheap:,.0f} requests a second here.",
            (
                f"- {WAITING} requests that waited for their upstream at the same time cost it {capacity.kilobytes:.0f} KB of memory"
                f" and {capacity.handles:.1f} file handles each, beside the {base:.0f} MB it has when it is warm."
            ),
            (
                "- Answers of models take seconds, so waiting decides what one worker has at once, not CPU: at 5 seconds an"
                f" answer, 1000 requests at once (`limits.concurrent`) are 200 a second, {200 * dear / 1e4:.0f} % of a core at"
                f" the dearest, and {waiting:.0f} MB."
            ),
            "- `--workers N` starts one worker for each core; they share memo and store on the disk.",
        ]
    )


def _row(fields: Iterable[str]) -> str:
    return "| " + " | ".join(fields) + " |"
