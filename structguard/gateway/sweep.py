"""
Clients that go away, bodies that do not come: looked after by one task a worker, not one a request.

A request that is over within `EVERY` seconds is never looked at. Source: spec gateway "Requests".
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import anyio.abc

EVERY = 0.2  # seconds between two looks


@dataclass(slots=True, eq=False)
class Watched:
    """One request under way. `late_at` bounds the reading of its body (monotonic seconds)."""

    receive: Callable[[], Awaitable[object]]
    scope: anyio.CancelScope
    late_at: float
    since: float
    reading: bool = True
    late: bool = False
    watcher: bool = False
    over: bool = False


@dataclass(slots=True)
class Sweeper:
    """Cancels requests whose body is late or whose client is gone."""

    requests: set[Watched] = field(default_factory=set[Watched])

    def watch(
        self, receive: Callable[[], Awaitable[object]], scope: anyio.CancelScope, seconds: float
    ) -> Watched:
        """Look after a request from now on; its body must be there in `seconds`."""
        now = time.monotonic()
        watched = Watched(receive, scope, now + seconds, now)
        self.requests.add(watched)
        return watched

    def done(self, watched: Watched) -> None:
        """The request is over."""
        watched.over = True
        self.requests.discard(watched)

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                await anyio.sleep(EVERY)
                self.look(group, time.monotonic())

    def look(self, group: anyio.abc.TaskGroup, now: float) -> None:
        """Cancel what is late; watch for the client of what has been under way for a while."""
        for one in list(self.requests):
            if one.reading:
                if now >= one.late_at:
                    one.late = True
                    one.scope.cancel()
            elif not one.watcher and now - one.since >= EVERY:
                one.watcher = True
                group.start_soon(_until_gone, one)


async def _until_gone(watched: Watched) -> None:
    """Wait for the client to leave: after the body, that is the only message there can be."""
    await watched.receive()
    if not watched.over:
        watched.scope.cancel()
