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
    """What a text reader returns if it has no value: `NOTHING` or `ABSTAIN`."""

    NOTHING = "nothing"
    ABSTAIN = "abstain"

    def __repr__(self) -> str:
        return self.name


NOTHING = Mark.NOTHING
"""Returned by a reader: the text is not in its format."""
ABSTAIN = Mark.ABSTAIN
"""Returned by a reader, and a value of `Parsed`: the model said explicitly that there is none."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a text reader returns: the value, and the lines or parts that it did not accept."""

    value: object
    rejected: Sequence[object] = ()


class Parsed(NamedTuple):
    """
    A value, and how it was found.

    `value` is plain JSON, an instance if the schema is a type, or ABSTAIN. `source` says how it was
    found, `span` where in the answer, in characters. `complete` is False if the end is missing.
    `repairs` are (kind, offset) pairs, `coercions` are (path, from, to). `alternatives` are other,
    different values that also match the schema, `rejected` is what a text reader did not accept, and
    `warnings` are sentences.
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
    part: bool = False  # it stands in a value that could not be read
    example: bool = False  # the words before it call it one
    labelled: bool = False  # … or the input, a draft, an old version
    retracted: bool = False  # the words behind it correct it, and another value follows

    @property
    def aside(self) -> bool:
        """Whether the words before it say that it is something else than the answer."""
        return self.example or self.labelled
