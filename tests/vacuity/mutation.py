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


def room_rule(room: str, name: str, module: str, old: str, new: str, *tests: str) -> Mutation:
    """A mutation of a module of one room; `tests` stand in the room's own folder."""
    return Mutation(
        f"{room}-{name}",
        f"structguard/{room}/{module}.py",
        old,
        new,
        tuple(f"tests/{room}/{test}" for test in tests),
    )
