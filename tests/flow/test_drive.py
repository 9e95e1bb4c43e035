"""The two drivers do what the flow asks: on a real disk, in this thread and off the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from structguard.events import Event, FormatRecovered, RefusalRemembered
from structguard.flow import Send, Sent, Served, adrive, drive
from structguard.flow.drive import lease_seconds
from structguard.memo import Memo, open_memo
from structguard.options import Policy
from tests.flow.play import FakeCall, answered, refused
from tests.flow.test_flow import Wall

Driver = Callable[[Memo, list[Sent[str]]], Served[str]]


class World:
    """A memo on disk with a wall clock that can be moved, and what happened."""

    def __init__(self, path: Path) -> None:
        self.wall = Wall()
        self.events: list[Event] = []
        self.threads: set[int] = set()
        self.memo = open_memo(f"disk:{path}", wall=self.wall)
        self.policy = Policy()

    def drive(self, *results: Sent[str]) -> Served[str]:
        left = list(results)

        def send(_effect: Send[FakeCall]) -> Sent[str]:
            return left.pop(0)

        return drive(
            FakeCall(), send, memo=self.memo, policy=self.policy, observer=self.events.append
        )

    async def adrive(self, *results: Sent[str]) -> Served[str]:
        left = list(results)

        async def send(_effect: Send[FakeCall]) -> Sent[str]:
            return left.pop(0)

        return await adrive(
            FakeCall(), send, memo=self.memo, policy=self.policy, observer=self.events.append
        )

    @property
    def told(self) -> list[type[Event]]:
        return [type(event) for event in self.events]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_sync_driver_remembers_leases_and_forgets(world: World) -> None:
    assert world.drive(refused(), answered()).requests == 2
    assert world.drive(answered()).requests == 1
    world.wall.now += 200_000.0
    assert world.drive(answered()).enforced is True
    assert world.told[0] is RefusalRemembered
    assert world.told[-1] is FormatRecovered
    assert world.memo.entries() == []


async def test_the_async_driver_remembers_leases_and_forgets(world: World) -> None:
    assert (await world.adrive(refused(), answered())).requests == 2
    assert (await world.adrive(answered())).requests == 1
    world.wall.now += 200_000.0
    assert (await world.adrive(answered())).enforced is True
    assert world.told[-1] is FormatRecovered
    assert await world.memo.aentries() == []


async def test_store_work_leaves_the_event_loops_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = world.memo.remember

    def remember(entry: object) -> bool:
        world.threads.add(threading.get_ident())
        return original(entry)  # type: ignore[arg-type]

    monkeypatch.setattr(world.memo, "remember", remember)
    await world.adrive(refused(), answered())
    assert world.threads
    assert threading.get_ident() not in world.threads


def test_the_store_is_read_before_the_first_call_that_carries_a_format(tmp_path: Path) -> None:
    World(tmp_path).drive(refused(), answered())
    other = Wall()
    fresh = open_memo(f"disk:{tmp_path}", wall=other)
    seen: list[object] = []

    def send(effect: Send[FakeCall]) -> Sent[str]:
        seen.append(effect.call.form)
        return answered()

    bare = FakeCall(guardable=False)
    for call in (bare, FakeCall()):
        drive(call, send, memo=fresh, policy=Policy(), observer=lambda _: None)
    assert seen == ["with format", "without format"]


@pytest.mark.parametrize(("timeout", "lease"), [(None, 120.0), (10.0, 15.0), (600.0, 120.0)])
def test_a_lease_lasts_the_requests_timeout_and_five_seconds(
    timeout: float | None, lease: float
) -> None:
    assert lease_seconds(timeout) == lease
