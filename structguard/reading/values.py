"""
What the parser hands out: Parsed, the reader's answers, and the candidate it weighs inside.

Pure data. Source: spec parse, "Parsed" and "reader".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

Source: TypeAlias = Literal[
    "json", "embedded", "fenced", "concatenated", "repaired", "truncated", "text"
]
Path: TypeAlias = tuple[str | int, ...]
Repair: TypeAlias = tuple[str, int]
"""What was repaired, and the character offset in the answer where."""
Coercion: TypeAlias = tuple[Path, object, object]
"""Where in the value, what stood there, what stands there now."""


Holder: TypeAlias = dict[str | int, object]  # a list too: only [] is used


class Mark(Enum):
    """The two answers of a text reader that are no value."""

    NOTHING = "nothing"
    ABSTAIN = "abstain"

    def __repr__(self) -> str:
        return self.name


NOTHING = Mark.NOTHING
"""A reader's answer: this text is not in my format."""
ABSTAIN = Mark.ABSTAIN
"""A reader's answer, and a value of `Parsed`: the model said explicitly that there is none."""


@dataclass(frozen=True, slots=True)
class Read:
    """A reader's answer: the value, and the lines or parts it would not take."""

    value: object
    rejected: Sequence[object] = ()


class Parsed(NamedTuple):
    """
    A value and how it was found.

    `value` is plain JSON, an instance when the schema was a type, or ABSTAIN. `span` is where in
    the answer it stood, in characters; `complete` is False when the end was cut off; `repairs` are
    (kind, offset), `coercions` (path, from, to); `alternatives` are other, different values that
    also fit; `rejected` what a reader would not take; `warnings` are sentences.
    """

    value: object
    source: Source
    complete: bool = True
    span: tuple[int, int] = (0, 0)
    repairs: tuple[Repair, ...] = ()
    coercions: tuple[Coercion, ...] = ()
    alternatives: tuple[object, ...] = ()
    rejected: tuple[object, ...] = ()
    warnings: Sequence[str] = ()


@dataclass(slots=True)
class Candidate:
    """One value found in the text, before the schema has judged it."""

    value: object
    span: tuple[int, int]
    source: Source
    repairs: list[Repair] = field(default_factory=list[Repair])
    warnings: Sequence[str] = ()
    complete: bool = True
    fenced: bool = False  # it opens a code fence
    whole: bool = False  # nothing but it is in the text
    guessed: bool = False  # neither a quoted string nor a container of them: may be mere prose
    coercions: list[Coercion] = field(default_factory=list[Coercion])
    unwrapped: bool = False
