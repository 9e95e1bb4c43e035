"""
Members of an object that has lost its opening brace: `"name": "Ada", "age": 36`.

Only quoted keys that the schema names, and only when they make up the whole text.
Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.cursor import GiveUp
from structguard.reading.lookahead import key_at
from structguard.reading.repair import repair
from structguard.reading.values import Candidate

_FENCE = re.compile(r"\s*(?:```[a-z]*)?\s*")


def lost_braces(text: str, known: frozenset[str], *, partial: bool) -> Candidate | None:
    """The object that the text is without its braces, or None."""
    begun = _FENCE.match(text)
    start = begun.end() if begun else 0
    key = key_at(text, start, len(text))
    if key is None or key not in known:
        return None
    braced = "{" + text[start:]
    try:
        found = repair(braced, 0, len(braced), known=known, partial=partial)
    except GiveUp:
        return None
    if braced[found.end :].strip("`}] \t\r\n"):
        return None
    notes = [(kind, offset + start - 1) for kind, offset in found.notes if kind != "end of text"]
    return Candidate(
        found.value,
        (start, start + found.end - 1),
        "repaired",
        repairs=[("missing brace", start), *notes],
        whole=True,
    )
