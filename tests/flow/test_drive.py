"""The two drivers do what the flow asks: on a real disk, in this thread and off the event loop."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from structguard.events import Event, FormatRecovered, RefusalRemembered, ignore
from structguard.flow import Send, Sent, Served, adrive, drive
from structguard.flow.drive import lease_seconds
from structguard.memo import Memo, open_memo
from structguard.options import Policy
from tests.flow.play import FakeCall, Refused, answered, failed, refused
from tests.flow.test_flow import Wall

Driver = Callable[[Memo, list[Sent[str]]], Served[str]]


class Harness:
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
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_the_sync_driver_remembers_leases_and_forgets(harness: Harness) -> None:
    assert harness.drive(refused(), answered()).requests == 2
    assert harness.drive(answered()).requests == 1
    harness.wall.now += 200_000.0
    assert harness.drive(answered()).enforced is True
    assert harness.told[0] is RefusalRemembered
    assert harness.told[-1] is FormatRecovered
    assert harness.memo.entries() == []


async def test_the_async_driver_remembers_leases_and_forgets(harness: Harness) -> None:
    assert (await harness.adrive(refused(), answered())).requests == 2
    assert (await harness.adrive(answered())).requests == 1
    harness.wall.now += 200_000.0
    assert (await harness.adrive(answered())).enforced is True
    assert harness.told[-1] is FormatRecovered
    assert await harness.memo.aentries() == []


async def test_store_work_leaves_the_event_loops_thread(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = harness.memo.remember

    def remember(entry: object) -> bool:
        harness.threads.add(threading.get_ident())
        return original(entry)  # type: ignore[arg-type]

    monkeypatch.setattr(harness.memo, "remember", remember)
    await harness.adrive(refused(), answered())
    assert harness.threads
    assert threading.get_ident() not in harness.threads


def test_the_store_is_read_before_the_first_call_that_carries_a_format(tmp_path: Path) -> None:
    Harness(tmp_path).drive(refused(), answered())
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


class Failed(Exception):
    """An endpoint's error; one that can be watched going away."""


class Loss:
    """Sends that are refused and fail; `gone` watches the last one's error."""

    def __init__(self) -> None:
        self.gone: list[weakref.ref[Failed]] = []

    def send(self, effect: Send[FakeCall]) -> Sent[str]:
        if effect.call.guardable:
            return refused()
        error = Failed("down")
        self.gone.append(weakref.ref(error))
        return failed(error)

    async def asend(self, effect: Send[FakeCall]) -> Sent[str]:
        return self.send(effect)


@pytest.fixture
def loss() -> Iterator[Loss]:
    """No cycle may keep an error, and the request that hangs on it, until the collector comes by."""
    gc.collect()
    gc.disable()
    yield Loss()
    gc.enable()


def test_a_failed_call_is_let_go_at_once(harness: Harness, loss: Loss) -> None:
    with pytest.raises(Failed, match="down") as caught:
        drive(FakeCall(), loss.send, memo=harness.memo, policy=Policy(), observer=ignore)
    assert isinstance(caught.value.__cause__, Refused)
    del caught
    assert [error() for error in loss.gone] == [None]


async def test_a_failed_async_call_is_let_go_at_once(harness: Harness, loss: Loss) -> None:
    with pytest.raises(Failed, match="down") as caught:
        await adrive(FakeCall(), loss.asend, memo=harness.memo, policy=Policy(), observer=ignore)
    assert isinstance(caught.value.__cause__, Refused)
    del caught
    assert [error() for error in loss.gone] == [None]


def test_a_stop_iteration_comes_out_of_the_sync_driver_as_it_is(harness: Harness) -> None:
    with pytest.raises(StopIteration):
        harness.drive(failed(StopIteration()))


@pytest.mark.parametrize(
    "error", [RuntimeError("own"), RuntimeError("generator raised StopIteration")], ids=str
)
def test_a_runtime_error_stays_one(harness: Harness, error: RuntimeError) -> None:
    error.__cause__ = StopIteration() if "generator" in str(error) else None
    with pytest.raises(RuntimeError) as caught:
        harness.drive(failed(error))
    assert caught.value is error


@pytest.mark.parametrize(("timeout", "lease"), [(None, 120.0), (10.0, 15.0), (600.0, 120.0)])
def test_a_lease_lasts_the_requests_timeout_and_five_seconds(
    timeout: float | None, lease: float
) -> None:
    assert lease_seconds(timeout) == lease
