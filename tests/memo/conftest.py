"""Memos on real directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from structguard.memo import Memo
from structguard.memo.disk import DiskStore
from tests.memo.made import Ears, Hands

Open = Callable[..., Memo]


@pytest.fixture
def wall() -> Hands:
    return Hands()


@pytest.fixture
def clock() -> Hands:
    return Hands(now=1000.0)


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def memo(wall: Hands, clock: Hands, ears: Ears) -> Memo:
    return Memo(wall=wall, clock=clock, observer=ears)


@pytest.fixture
def disk(place: Path, wall: Hands, clock: Hands, ears: Ears) -> Iterator[Memo]:
    with Memo(DiskStore(place), wall=wall, clock=clock, observer=ears) as memo:
        yield memo


@pytest.fixture
def other(place: Path, wall: Hands, clock: Hands) -> Iterator[Memo]:
    """A second memo on the same directory that shares nothing but the directory."""
    with Memo(DiskStore(place), wall=wall, clock=clock, observer=Ears()) as memo:
        yield memo


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
