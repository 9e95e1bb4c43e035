"""
The state of one repairing read: where it stands, what is open, what was repaired.

Source: spec parse, step 9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from structguard.reading.brackets import Brackets
from structguard.reading.lookahead import CLOSERS
from structguard.reading.values import Repair

DEPTH: Final = 200
NOTES: Final = 500  # repairs kept of one value; the last one then says that there were more
MISSING: Final = object()
"""Stands for a value that is not there: its key is left out."""


class GiveUp(Exception):
    """
    No value here: `at` is the place of the fault, `resume` where another value may begin, `cost` what
    was spent on reading, in characters.
    """

    def __init__(self, why: str, at: int, resume: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.at = at
        self.cost = 0
        self.resume = resume
        self.structured = False  # quoted keys or values had been read: it was meant as JSON


@dataclass(slots=True)
class Frame:
    """An open object, array, parenthesis or call. `key` waits for its value (objects)."""

    closer: str
    start: int
    members: dict[str, object] | None = None
    items: list[object] = field(default_factory=list[object])
    key: str | None = None
    bare: bool = False  # its keys are unquoted
    foreign: bool = False  # it has a key that the schema does not name: a map, or more than asked
    implied: bool = False  # an object whose brace was not there
    called: bool = False  # (value) or name(value): stands for the value
    named: bool = False  # name(…): with several values it stands for nothing JSON has

    def put(self, value: object) -> None:
        """Add a finished value: under the waiting key, or at the end."""
        if self.members is None:
            if value is not MISSING:
                self.items.append(value)
        else:
            key, self.key = self.key, None
            if value is not MISSING and key is not None:
                self.members[key] = value

    @property
    def last(self) -> object:
        """The value that was put last, MISSING when there is none."""
        if self.members is not None:
            return next(reversed(self.members.values()), MISSING)
        return self.items[-1] if self.items else MISSING

    @last.setter
    def last(self, value: object) -> None:
        if self.members is not None:
            self.members[next(reversed(self.members))] = value
        else:
            self.items[-1] = value

    def drop_last(self) -> None:
        """Forget the value that was put last."""
        if self.members is not None:
            self.members.popitem()
        else:
            self.items.pop()

    @property
    def value(self) -> object:
        """What the frame has become."""
        if self.members is not None:
            return self.members
        if self.named or (self.called and self.items):
            return self.items[0] if len(self.items) == 1 else MISSING
        return self.items


@dataclass(slots=True)
class Cursor:
    """Text, position and findings. `known` are the property names of the schema ("" when none)."""

    text: str
    position: int
    end: int
    brackets: Brackets
    known: frozenset[str] = frozenset()
    partial: bool = False
    stack: list[Frame] = field(default_factory=list[Frame])
    notes: list[Repair] = field(default_factory=list[Repair])
    quoted: int = 0  # strings in quotes, and numbers and literals as values
    bare: int = 0  # unquoted text taken as a string
    doubled: bool = False  # its keys are in doubled quotes: ""key""
    raw: bool = False  # the string that begins here has Python's prefix r
    last_bare: bool = False  # the value read last was unquoted words
    looks: int = 0  # quotes that were judged
    endless: int = 0  # strings that would have run to the end
    overshot: int = 0  # characters read in vain behind strings that have no end
    cut: bool = False  # the text ended inside
    expects_separator: bool = False  # a value was read: a comma or a closer comes next

    def note(self, kind: str, position: int) -> None:
        """Count one repair."""
        if len(self.notes) < NOTES:
            self.notes.append((kind, position))
        elif len(self.notes) == NOTES:
            self.notes.append(("more repairs", position))

    def push(self, closer: str, *, called: bool = False, named: bool = False) -> None:
        """Open a container at the current position."""
        if len(self.stack) >= DEPTH:
            raise GiveUp("nested too deeply", self.position, self.position)
        self.stack.append(
            Frame(
                closer,
                self.position,
                members={} if closer == "}" else None,
                called=called,
                named=named,
            )
        )

    def begin_member(self, key: str) -> None:
        """A key was read: its value comes next."""
        self.top.key = key
        self.top.foreign = self.top.foreign or key not in self.known

    @property
    def named(self) -> frozenset[str]:
        """The only keys the innermost object may have; empty where that is not known."""
        return frozenset() if self.top.foreign else self.known

    @property
    def top(self) -> Frame:
        """The innermost open container."""
        return self.stack[-1]

    def holds(self, closer: str) -> bool:
        """Whether this closer belongs to anything that is open."""
        wanted = CLOSERS[closer]
        return any(frame.closer == wanted for frame in self.stack)
