"""Memos on real directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import NOON

Open = Callable[..., Memo]


@pytest.fixture
def wall() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> EventRecorder:
    return EventRecorder()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def memo(wall: ManualClock, clock: ManualClock, recorder: EventRecorder) -> Memo:
    return Memo(wall=wall, clock=clock, observer=recorder)


@pytest.fixture
def disk(
    place: Path, wall: ManualClock, clock: ManualClock, recorder: EventRecorder
) -> Iterator[Memo]:
    with Memo(DiskStore(place), wall=wall, clock=clock, observer=recorder) as memo:
        yield memo


@pytest.fixture
def other(place: Path, wall: ManualClock, clock: ManualClock) -> Iterator[Memo]:
    """A second memo on the same directory that shares nothing but the directory."""
    with Memo(DiskStore(place), wall=wall, clock=clock, observer=EventRecorder()) as memo:
        yield memo


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
