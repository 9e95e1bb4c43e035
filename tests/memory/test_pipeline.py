"""The example pipeline: eight turns over a refusing endpoint, with the guard and without it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "memory_pipeline"


class Told(Protocol):
    """What the tests read of the example's report."""

    statuses: Counter[str]
    warnings: int
    switches: int
    asked: tuple[int, int]
    outcomes: list[tuple[str, object]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Told]]:
    """The example's `run`."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    for name in ("main", "pretend"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return cast("Callable[..., Awaitable[Told]]", import_module("main").run)


async def test_guarded_nothing_fails_nothing_switches_and_one_warning_is_given(
    run: Callable[..., Awaitable[Told]],
) -> None:
    report = await run(guarded=True)
    assert len(report.outcomes) == 25
    assert set(report.statuses) == {"ok", "skipped"}
    assert report.statuses["skipped"] == 1  # the first message has no history
    assert (report.switches, report.warnings) == (0, 1)
    assert report.asked[1] == 0


async def test_without_the_guard_every_sub_call_that_is_made_fails(
    run: Callable[..., Awaitable[Told]],
) -> None:
    report = await run(guarded=False)
    assert report.statuses == Counter(failed=24, skipped=1)


def test_it_runs_as_a_program() -> None:
    ran = subprocess.run(  # noqa: S603  our own interpreter on our own file
        [sys.executable, str(EXAMPLE / "main.py")],
        cwd=EXAMPLE.parents[1],
        env={"PYTHONPATH": str(EXAMPLE.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0 provider switches, 1 warning(s)" in ran.stdout
