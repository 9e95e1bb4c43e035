"""A named way to break one rule, and the tests that must turn red when it is broken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """Replace `old` (found exactly once in `file`) by `new`; `tests` (pytest arguments) must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
