"""Answers that are lists (links, votes): as JSON, as lines, and how their parts are taken one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from structguard.memory.parts import BULLET, NONE, Rejected, rejected
from structguard.reading import ABSTAIN, NOTHING, Read
from structguard.subcalls import Rejection
from structguard.types import JsonSchema, as_mapping, as_sequence

T = TypeVar("T")


def list_schema(name: str, key: str, fields: Mapping[str, object], *, most: int) -> JsonSchema:
    """What is asked of endpoints that can enforce it: at most so many parts of these fields."""
    part = {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }
    return JsonSchema(
        name=name,
        strict=True,
        schema={
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["none", key]},
                key: {"type": "array", "items": part, "maxItems": most},
            },
            "required": ["kind", key],
            "additionalProperties": False,
        },
    )


def lax_list_schema(key: str) -> Mapping[str, object]:
    """A lax schema for a list under this key, a bare list, or kind none: parts are judged one by one."""
    return {
        "anyOf": [
            {"type": "object", "properties": {key: {"type": "array"}}, "required": [key]},
            {"type": "object", "properties": {"kind": {"const": "none"}}, "required": ["kind"]},
            {"type": "array", "items": {"type": "object"}},
        ]
    }


def parts_of(value: object, key: str) -> Sequence[object]:
    """The parts of an answer that fits `lax_list_schema(key)`; empty when it says that there are none."""
    answer = as_mapping(value)
    if answer is None:
        return as_sequence(value) or ()
    return () if answer.get("kind") == "none" else as_sequence(answer.get(key)) or ()


class Lines:
    """
    Reads the lines that begin with a word (a pattern), or NONE; others are the model's own talk.

    `part_of` makes of such a line what stands under `key` in JSON; None where it is malformed.
    """

    def __init__(
        self, key: str, word: str, part_of: Callable[[str], Mapping[str, object] | None]
    ) -> None:
        self.marker: re.Pattern[str] = re.compile(
            rf"^{BULLET}(?:{word})[\s*`]|\A{NONE.pattern}\Z", re.MULTILINE | re.IGNORECASE
        )
        self._line = re.compile(rf"^{BULLET}(?:{word})\b.*$", re.MULTILINE)
        self._key = key
        self._part_of = part_of

    def __call__(self, text: str, /) -> object:
        if NONE.fullmatch(text):
            return ABSTAIN
        lines: list[str] = self._line.findall(text)
        parts = [self._part_of(line) or line for line in lines]  # a malformed one is judged as such
        return Read({"kind": self._key, self._key: parts}) if parts else NOTHING


def accepted_parts(
    value: object, key: str, judge: Callable[[object, Sequence[T]], T | str], *, verb: str
) -> Read | Rejection:
    """
    The parts that `judge` takes, given those kept before; what it says of the others is their reason.

    `verb` says what there is nothing to do of in the reason of an empty answer.
    """
    parts = parts_of(value, key)
    if not parts:
        return Rejection(f"the model says there is nothing to {verb}")
    accepted: list[T] = []
    bad: list[Rejected] = []
    for part in parts:
        found = judge(part, accepted)
        if isinstance(found, str):
            bad.append(rejected(part, found))
        else:
            accepted.append(found)
    return (
        Read(tuple(accepted), bad) if accepted else Rejection(f"no {key[:-1]} could be kept", bad)
    )
