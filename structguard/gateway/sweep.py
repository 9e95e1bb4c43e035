"""
Clients that go away, bodies that do not come: looked after by one task a worker, not one a request.

A request that is over within `EVERY` seconds is never looked at. Source: spec gateway "Requests".
"""

from __future__ import annotations

import asyncio  # noqa: TID251  a request's own task is ended: a scope a request costs a tenth of it
import time
from dataclasses import dataclass, field

import anyio
import anyio.abc

from structguard.gateway.asgi import Receive

EVERY = 0.2  # seconds between two looks


@dataclass(slots=True, eq=False)
class Watched:
    """
    One request under way, in its own `task`. `late_at` bounds the reading of its body (monotonic
    seconds); `late`, `gone` and `stopped` say why it was ended.
    """

    receive: Receive
    task: asyncio.Task[object]
    since: float
    late_at: float
    reading: bool = True
    late: bool = False
    stopped: bool = False
    gone: bool = False
    watcher: bool = False
    over: bool = False

    def body_came(self) -> None:
        """Its body is whole."""
        self.reading = False

    def was_ended(self) -> bool:
        """Whether a cancellation was the sweeper's; then the task goes on, unless others mean it."""
        return (self.late or self.gone or self.stopped) and not self.task.uncancel()


@dataclass(slots=True)
class Sweeper:
    """Ends requests whose body is late or whose client is gone."""

    requests: set[Watched] = field(default_factory=set[Watched])

    def watch(self, receive: Receive, seconds: float) -> Watched:
        """Look after the running task's request from now on; its body must be there in `seconds`."""
        now = time.monotonic()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        watched = Watched(receive, task, now, now + seconds)
        self.requests.add(watched)
        return watched

    def done(self, watched: Watched) -> None:
        """The request is over."""
        watched.over = True
        self.requests.discard(watched)

    def stop(self) -> None:
        """The server ends: cancel what is still under way."""
        for one in list(self.requests):
            one.stopped = True
            one.task.cancel()

    async def run(self) -> None:
        """Look, again and again, until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                await anyio.sleep(EVERY)
                self.look(group, time.monotonic())

    def look(self, group: anyio.abc.TaskGroup, now: float) -> None:
        """End what is late; watch for the client of what has been under way for a while."""
        for one in list(self.requests):
            if one.reading:
                if now >= one.late_at and not one.late:
                    one.late = True
                    one.task.cancel()
            elif not one.watcher and now - one.since >= EVERY:
                one.watcher = True
                group.start_soon(_until_gone, one)


async def _until_gone(watched: Watched) -> None:
    """Wait for the client to leave; a body that nobody asked for may come before."""
    while (await watched.receive())["type"] != "http.disconnect":
        pass
    if not watched.over:
        watched.gone = True
        watched.task.cancel()
