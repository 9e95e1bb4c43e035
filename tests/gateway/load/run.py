"""A load: many clients at once, each with its own connection and markers; and the sum of what came."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import anyio

from tests.gateway.load.mix import MIX, Kind, Outcome
from tests.gateway.load.process import Process
from tests.gateway.load.wire import Connection, Got

TURNS = 6  # of one conversation, then another begins


@dataclass
class Sums:
    """What came of the requests; `odd` keeps the first few that nothing explains."""

    of: Counter[Outcome] = field(default_factory=Counter[Outcome])
    kinds: dict[str, Counter[Outcome]] = field(default_factory=dict[str, Counter[Outcome]])
    unexpected: Counter[str] = field(default_factory=Counter[str])
    odd: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])  # markers

    @property
    def sent(self) -> int:
        """All requests."""
        return sum(self.of.values())

    def add(self, kind: Kind, marker: str, got: Got) -> Outcome:
        """One more reply."""
        outcome = kind.judge(marker, got)
        self.of[outcome] += 1
        self.kinds.setdefault(kind.name, Counter())[outcome] += 1
        if outcome != kind.wants:
            self.unexpected[f"{kind.name}: {outcome}"] += 1
        if outcome in {"lost", "wrong"}:
            self.lost.append(marker)
            if len(self.odd) < 5:
                self.odd.append(
                    f"{kind.name} {outcome} {marker}: {got.status} {got.reason!r} whole={got.whole}"
                    f" extra={got.extra} …{got.text[-300:]!r}"
                )
        return outcome


@dataclass
class Load:
    """Clients that ask until told to stop."""

    port: int
    kinds: Sequence[Kind] = MIX
    connections: int = 64
    seconds: float = 30.0  # for one reply
    sums: Sums = field(default_factory=Sums)
    stopping: bool = False
    _numbers: count[int] = field(default_factory=count)
    _run: str = field(default_factory=lambda: secrets.token_hex(3))

    async def run(self, *, seconds: float | None = None, requests: int | None = None) -> Sums:
        """All clients, for so long or so many requests in all; or until `stopping`."""
        async with anyio.create_task_group() as group:
            for number in range(self.connections):
                group.start_soon(self._client, number, requests)
            if seconds is not None:
                await anyio.sleep(seconds)
                self.stopping = True
        return self.sums

    async def _client(self, number: int, requests: int | None) -> None:
        connection, previous, turns = Connection(self.port), None, 0
        at = number  # each begins elsewhere in the mix
        try:
            while not self.stopping:
                request = next(self._numbers)
                if requests is not None and request >= requests:
                    return
                kind, marker = self.kinds[at % len(self.kinds)], f"{self._run}-{number}-{request}"
                at += 1
                body = kind.body(marker, previous if kind.goes_on else None)
                got = await connection.ask(
                    "POST", kind.path, body, stop=kind.stop, seconds=self.seconds
                )
                outcome = self.sums.add(kind, marker, got)
                if kind.goes_on:
                    turns = (turns + 1) % TURNS
                    previous = response_id(got) if outcome == "answered" and turns else None
                if outcome == "lost":
                    await anyio.sleep(0.05)  # nobody answers: no busy loop
        finally:
            await connection.aclose()


def response_id(got: Got) -> str | None:
    """The id of a reply that was stored, whole or streamed."""
    at = got.text.find('"id":"resp_')
    return None if at < 0 else got.text[at + 6 : got.text.index('"', at + 6)]


async def stats(upstream: Process) -> dict[str, object]:
    """What the upstream saw."""
    connection = Connection(upstream.port)
    got = await connection.ask("GET", "/stats", headers={"connection": "close"})
    await connection.aclose()
    return got.json()


async def quiet(upstream: Process, seconds: float = 5.0) -> dict[str, object]:
    """The same, once nothing is under way there, or after so long."""
    found = await stats(upstream)
    for _ in range(int(seconds / 0.1)):
        if not found["busy"]:
            break
        await anyio.sleep(0.1)
        found = await stats(upstream)
    return found
