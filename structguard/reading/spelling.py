"""
Numbers that become strings keep the spelling of the answer: 1.10 is "1.10", never "1.1".

Source: spec parse, step 8 ("exact") and the rule that every leaf occurs in the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import cast

from structguard.reading.values import Candidate, Coercion, Holder, Path

_TOKEN = re.compile(r"[-+]?(?:[0-9][0-9_]*+\.?[0-9_]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def as_written(candidate: Candidate, text: str) -> Candidate | None:
    """The candidate with such strings spelled as in the text; None where that cannot be told."""
    if not any(map(_is_respelled, candidate.coercions)):
        return candidate
    spellings = _spellings(text[slice(*candidate.span)])
    box: list[object] = [candidate.value]
    done: list[Coercion] = []
    for path, old, new in candidate.coercions:
        written = new
        if _is_respelled((path, old, new)):
            found = spellings[cast("float", old)]
            if len(found) != 1:
                return None
            written = next(iter(found))
            _put(box, path, written)
        done.append((path, old, written))
    candidate.value, candidate.coercions = box[0], done
    return candidate


def _is_respelled(coercion: Coercion) -> bool:
    return isinstance(coercion[1], float) and isinstance(coercion[2], str)


def _spellings(text: str) -> defaultdict[float, set[str]]:
    """Every way in which a number is written there."""
    found: defaultdict[float, set[str]] = defaultdict(set)
    for token in _TOKEN.findall(text):
        if len(token) < 400:
            found[float(token.replace("_", ""))].add(token)
    return found


def _put(box: list[object], path: Path, value: object) -> None:
    holder, key = cast("Holder", box), cast("str | int", 0)
    for step in path:
        holder, key = cast("Holder", holder[key]), step
    holder[key] = value
