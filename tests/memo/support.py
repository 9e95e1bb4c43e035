"""What the memo's tests are made of: a key, refusals, a clock that is set by hand, real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from structguard.memo import Entry
from structguard.types import Flag, MemoKey, Refusal, Scope

ROOT = Path(__file__).resolve().parents[2]
NOON = 1_800_000_000.0
DAY = 86_400.0
KEY = MemoKey(
    provider="host/v1", model="m", base_url="host/v1", schema="5" * 64, flags=frozenset({"tools"})
)


def refusal(
    scope: Scope = Scope.CAPABILITY,
    evidence: str = "response_format is not supported",
    flag: Flag | None = None,
) -> Refusal:
    return Refusal(scope, "a-rule", "response_format", evidence, flag)


def entry(
    number: int = 0,
    *,
    wall: float = NOON,
    expiry: float | None = DAY,
    key: MemoKey = KEY,
    what: Refusal | None = None,
) -> Entry:
    """The entry of model `m`, `m1`, `m2`, … without jitter."""
    key = replace(key, model=f"{key.model}{number or ''}")
    return Entry.of(
        key, what or refusal(), status=400, wall=wall, expiry=expiry, jitter=lambda: 0.5
    )


def program(name: str, *args: object) -> list[str]:
    """The command line of one of our programs."""
    return [sys.executable, "-m", f"tests.memo.programs.{name}", *map(str, args)]


@contextmanager
def running(name: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """One of our programs as a process of its own; killed at the end if it still runs."""
    process = subprocess.Popen(  # noqa: S603  our own interpreter on our own files
        program(name, *args),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(process: subprocess.Popen[str], *words: object) -> str:
    """One line to a program, one line back."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(" ".join(map(str, words)) + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def told(process: subprocess.Popen[str]) -> str:
    """One line that a program says by itself."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
