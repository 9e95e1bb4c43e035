"""
JSON as it is found in error texts: whole, inside prose, cut, doubly quoted, or a Python repr.

All linear in the text: strict JSON by the standard parser, the rest by one pass of a flat pattern
that picks the pairs worth reading and never tries to rebuild what surrounds them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice

from structguard.types import as_mapping, as_sequence

_DECODER = json.JSONDecoder(strict=False)
_OPENING = re.compile(r"[{\[]")
_TRIES = 4  # openings inside prose that are tried as JSON
_REACH = 32_768  # characters of broken JSON that are searched
_TURN = "role"  # only a turn of the conversation has one, and it is printed back
_PAIRS = 200  # pairs read from broken JSON
_STRINGY = re.compile(r'\A"[^"\\]*+(?:\\.[^"\\]*+)*+"\Z', re.DOTALL)


def whole(text: str) -> object:
    """The JSON object, array or string that is the whole text, else None."""
    if not text.startswith(("{", "[", '"')):
        return None
    if text[0] == '"' and not _STRINGY.match(text):
        return None
    found = _decode(text, 0)
    return found[1] if found is not None and not text[found[0] :].strip() else None


def embedded(
    text: str, wanted: Callable[[object], bool], tries: int = _TRIES
) -> tuple[int, int, object] | None:
    """The first JSON value inside prose that is `wanted`: start, end, value."""
    for opening in islice(_OPENING.finditer(text), tries):
        found = _decode(text, opening.start())
        if found is not None and wanted(found[1]):
            return opening.start(), found[0], found[1]
    return None


def _decode(text: str, start: int) -> tuple[int, object] | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    kept = as_mapping(value) is not None or as_sequence(value) is not None or isinstance(value, str)
    return (end, value) if kept else None


def scraps(
    text: str, message_keys: frozenset[str], other_keys: tuple[str, ...]
) -> tuple[int, list[Mapping[str, object]]]:
    """
    What can be read of objects that are no JSON: where they start, and each one's telling pairs.

    Reads Python reprs, JSON that is cut, and JSON whose inner quotes lost their backslashes.
    """
    opening = _OPENING.search(text)
    if opening is None:
        return 0, []
    text = text[: opening.start() + _REACH]
    if '\\"' in text:
        text = text.replace('\\\\"', '"').replace('\\"', '"')
    objects: list[Mapping[str, object]] = []
    current: dict[str, object] = {}
    said = False
    for pair in islice(_pairs().finditer(text, opening.start()), _PAIRS):
        key = (pair.group("key") or "").lower().replace("_", "").replace("-", "")
        known = key in message_keys or key in other_keys or key == _TURN
        if (not key or key in current) and current:
            objects.append(current)
            current = {}
        if known:
            current[key] = _scrap(pair)
            said = said or key in message_keys
    if current:
        objects.append(current)
    objects = [found for found in objects if _TURN not in found]
    return (opening.start(), objects) if said else (0, [])


def _scrap(pair: re.Match[str]) -> object:
    if pair.group("list") is not None:
        items = (item.strip(" '\"") for item in pair.group("list").split(","))
        return [item for item in items if item]
    value = pair.group("double") if pair.group("double") is not None else pair.group("single")
    return value.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')


@lru_cache(maxsize=1)
def _pairs() -> re.Pattern[str]:
    return re.compile(
        r"""
        ["'](?P<key>[A-Za-z_-]{2,24})["']\s{0,40}:\s{0,40}
        (?: "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)
          | '(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)
          | [\[(](?P<list>\s{0,40}["'][^\])({}]{0,400}) )
        | [{}]+
        """,
        re.VERBOSE | re.DOTALL,
    )
