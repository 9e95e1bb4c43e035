"""docs/scaling.md, its figures written from the run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from benchmarks.soak.capacity import WAITING, Capacity
from benchmarks.soak.running import Soaked

_PAGE = """\
# Scale and faults

What one machine can carry, when several machines need Redis, and how to calculate for many. `make soak` measures the figures
on this page again; those below come from a machine with {cores} cores that had other work to do.

## Two minutes under faults

Every way of using structguard runs at once, each with {workers} workers, against an upstream that refuses or ignores formats
and disturbs one call in five: a 503, a 429, a reply that breaks off, a closed connection, a late answer. The memo's files are
deleted every {forget:.0f} seconds while they are in use, and refusals expire after 5 seconds, so that they are learned and tried
again all the time. Each call carries its own marker, which the answer has to return; the upstream counts how often it answered
each.

![Memory, file handles and latency during the soak](img/soak.svg)

| | |
|---|--:|
| seconds | {seconds:.0f} |
| calls | {calls} |
| answered, with their own marker | {right} |
| errors because a stream broke off | {told} |
| **lost**: no answer, another call's answer, or an unexplained error | **{lost}** |
| **doubled**: answered more than once | **{doubled}** |
| requests that reached the upstream | {requests} |
| refused formats among them | {refused} |
| faults caused by the upstream | {faults} |
| memory of the process under test, after warming up and at the end | {faces} |
| memory of the gateway | {gateway} |
| most open file handles: process under test, gateway | {handles} |

{by_face}

The process still grows a little because the JSON parser caches short strings and every marker is a new one: that cache holds
16,384 strings and grows no further. If answers repeat, memory stays constant.

A stream that breaks off after its first event is never sent again; that error reaches the caller, and it is the only kind that
does. All other faults are handled by the retries of the SDK or the provider, or by the next link of the chain.

## One machine

| one request | CPU, µs (lowest of eight rounds) |
|---|--:|
{costs}

{capacity}

## Many machines, and when Redis is worth it

The gateway keeps three things: refusals (the memo), stored responses (the store), and connections. A proxy in front may send
any request to any host.

| you have | memo | store |
|---|---|---|
| one process | `memory:` or `disk:` | `memory:` |
| one machine, several processes | `disk:` (the default): all of them share it | `disk:PATH` |
| several machines, with `previous_response_id` | `redis://` | `redis://`: the next turn may go to another host |
| several machines, always with `store: false` | either | `memory:` |
| short-lived hosts, or no persistent disk | `redis://` | `redis://` |

Without Redis, every host learns on its own: with *M* models that refuse, *H* hosts and an expiry of a day, there are *H · M*
refused requests a day instead of *M*. Fifty hosts and twenty such models make 1,000 requests a day, or one every 86 seconds: a
disk per host is enough. Short-lived hosts are different: containers that live for ten minutes learn 144 times a day, and fifty
of them cause 144,000 refused requests a day.

The load on Redis is small. A process asks it for the writes of others at most once a second, with one GET, and only while calls
are made: *H* hosts with *W* workers make *H · W* GETs a second (50 · 8 = 400). A process writes when a refusal is learned,
renewed or forgotten, and takes one lease per expiry. An entry has about 600 bytes; at most 10,000 are kept. If Redis is down,
calls continue with what each process knows.

To calculate the number of hosts from *R* calls a second at the peak, *L* seconds per answer, *c* µs of CPU per request and *n*
concurrent requests per worker (`limits.concurrent`, 1000):

```
workers ≥ max( R · c / 1,000,000 / 0.6 ,   R · L / n )
memory  ≈ workers · {base:.0f} MB + R · L · {kilobytes:.0f} KB
handles ≈ R · L · 2   (raise the limit of open files to match)
```

The factor 0.6 leaves room for garbage collection, logging and the loss of a host. Example: 2,000 calls a second that take 8
seconds each are 16,000 concurrent requests. At {middle:.0f} µs per request, that takes {by_cpu:.1f} workers by CPU and 16 by
`limits.concurrent`: four hosts with four cores each, {example:.1f} GB of memory in all, 32,000 handles. Waiting determines the
size, not CPU.

If you use structguard inside your own processes, nothing else depends on the number of hosts: `wrap`, `guarded` and `protect`
keep the memo and no connections of their own. Use Redis for the memo by the same rule as above.
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
    lines = [_row(["way of calling", "right", "errors"]), _row(["---", "--:", "--:"])]
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
            f"- A worker is one process and uses one core: {1e6 / dear:,.0f} to {1e6 / cheap:,.0f} requests a second here.",
            (
                f"- With {WAITING} requests waiting for their upstream at the same time, each takes {capacity.kilobytes:.0f} KB of memory"
                f" and {capacity.handles:.1f} file handles, in addition to the {base:.0f} MB of a warm worker."
            ),
            (
                "- Models take seconds to answer, so waiting limits a worker, not CPU: with 5 seconds per answer, 1000 concurrent"
                f" requests (`limits.concurrent`) are 200 a second, which take at most {200 * dear / 1e4:.0f} % of a core and"
                f" {waiting:.0f} MB."
            ),
            "- `--workers N` starts several workers, ideally one per core; they share the memo and the store on disk.",
        ]
    )


def _row(fields: Iterable[str]) -> str:
    return "| " + " | ".join(fields) + " |"
