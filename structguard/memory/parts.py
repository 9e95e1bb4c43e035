"""What the four share: cutting text for a prompt, and a part of an answer that was not taken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from structguard.types import Message

NONE = re.compile(r"[\s*_`\"'(\[]*none[\s*_`\"')\].!]*", re.IGNORECASE)
"""The whole of an answer in text that says there is nothing."""
BULLET = r"[ \t>*`-]*(?:\d{1,2}[.)][ \t]+[*`]*)?"
"""
What may stand before a line's word: bullets, a number. No line ends: tried at each line and run over
all empty ones after it, a pattern takes a minute for the blank lines that a model can end in.
"""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A part of an answer that was not taken, as it stood there (cut to 200 characters), and why."""

    part: str
    reason: str


def rejected(part: object, reason: str) -> Rejected:
    """A part that was not taken."""
    return Rejected(clip(str(part), 200), reason)


def clip(text: str, characters: int) -> str:
    """The text on one line, whitespace collapsed; what is cut off ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def conversation(prompt: str, form: str, data: Sequence[str]) -> list[Message]:
    """System text (the prompt, then the words on the format) and one user message of lines."""
    return [
        Message(role="system", content=f"{prompt}\n\n{form}"),
        Message(role="user", content="\n".join(data)),
    ]


def plain(value: object) -> str | None:
    """Text without space around it; None for anything else."""
    return value.strip() if isinstance(value, str) else None
