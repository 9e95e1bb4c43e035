"""
An upstream's own resource made whole: what it left out is added, what is not as the document types it put right.

Where adding is enough its bytes are kept, and what is added stands behind them: most of a reply is the
answer's text, and nobody writes that again. Source: the Open Responses document (2026-04-24),
ResponseResource; spec gateway "Replies".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from structguard.gateway.resource import COMMON, REQUIRED, Started, now
from structguard.gateway.writing import packed
from structguard.types import as_mapping, as_sequence

_DETAILS = (
    ("input_tokens_details", "cached_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
)


class Lack(NamedTuple):
    """
    What a resource lacks: the fields, the end of its JSON text with them, and which of the request's
    fields would make them others.
    """

    fields: Mapping[str, object]
    end: bytes
    asked: frozenset[str]


def filled(
    given: Mapping[str, object], start: Started, text: bytes | None = None, *, own: bool = False
) -> tuple[dict[str, object], bytes | None]:
    """
    The resource with what it left out, under `start`'s id if it is to be our `own`; null where the
    document knows none is left.

    `text` is its JSON text; handed back is the whole one's, None where that has to be written anew.
    """
    lack = None if text is None else _lack_of(given)
    if text is None or lack is None or not _can_stay(given, lack, start):
        made = _made_anew(given, start)
        return ({**made, "id": start.id} if own else made), None
    if not own:
        return {**given, **lack.fields}, text.rstrip()[:-1] + lack.end
    made = {**given, **lack.fields, "id": start.id}
    return made, replaced(text.rstrip(), given["id"], start.id, lack.end)


def replaced(text: bytes, old: object, new: str, end: bytes = b"") -> bytes | None:
    """
    A JSON text with `new` where the string `old` stood, if it stood there exactly once; and with an
    `end` for its last byte.
    """
    quoted = b'"%s"' % str(old).encode("utf-8", "surrogatepass")
    at = text.find(quoted)
    if at < 0 or text.find(quoted, at + 1) >= 0:
        return None
    rest = text[at + len(quoted) : len(text) - bool(end)]
    return b"".join((text[:at], b'"%s"' % new.encode(), rest, end))


def _lack_of(given: Mapping[str, object]) -> Lack | None:
    """What a resource lacks; None where adding is not enough."""
    nulls = [key for key, value in given.items() if value is None]
    if not REQUIRED.issuperset(nulls):
        return None
    return _lack(REQUIRED.difference(given), tuple(nulls))


@lru_cache(maxsize=64)
def _lack(keys: frozenset[str], nulls: tuple[str, ...]) -> Lack | None:
    """The same by required fields alone: an upstream leaves the same out again and again."""
    if not keys <= COMMON.keys() or any(COMMON.get(key, key) is not None for key in nulls):
        return None
    fields = {key: value for key, value in COMMON.items() if key in keys}
    end = b"," + packed(fields)[1:] if fields else b"}"
    return Lack(fields, end, frozenset({*fields, *nulls}))


def _can_stay(given: Mapping[str, object], lack: Lack, start: Started) -> bool:
    """Whether all that is there is as it should be, and what is not there was not asked for."""
    asked, text, done = start.asked, as_mapping(given["text"]), given.get("completed_at")
    return (
        lack.asked.isdisjoint(asked)
        and bool(given["id"])
        and given["tools"] == []
        and text is not None
        and as_mapping(text.get("format")) is not None
        and _is_counted(given.get("usage"))
        and not isinstance(given["created_at"], float)
        and (type(done) is int or (done is None and given.get("status") != "completed"))
        and given.get("previous_response_id") == asked.get("previous_response_id")
    )


def _is_counted(usage: object) -> bool:
    """Whether counts are whole numbers, their details among them; or there are none."""
    counts = cast("Any", usage)  # on trust: what is otherwise raises, at half the cost of asking
    try:
        numbers = usage is None or (
            counts["input_tokens"],
            counts["output_tokens"],
            counts["total_tokens"],
            counts["input_tokens_details"]["cached_tokens"],
            counts["output_tokens_details"]["reasoning_tokens"],
        )
    except (LookupError, TypeError):
        return False
    return numbers is True or {*map(type, numbers)} == {int}


def _made_anew(given: Mapping[str, object], start: Started) -> dict[str, object]:
    kept = {key: value for key, value in given.items() if value is not None}
    made = {"id": None, **start.common(), **kept}
    made["id"] = kept.get("id") or start.id
    for key in REQUIRED.difference(made):
        made[key] = start.field(key)
    if made["completed_at"] is None and made["status"] == "completed":
        made["completed_at"] = now()
    tools = as_sequence(made["tools"]) or ()
    made["tools"] = [_strict(tool) for tool in tools] if tools else []
    text = as_mapping(made["text"]) or {}
    if as_mapping(text.get("format")) is None:
        made["text"] = {**text, **(as_mapping(start.field("text")) or {})}
    made["usage"] = _usage(as_mapping(made["usage"]))
    for key in ("created_at", "completed_at"):
        if isinstance(made[key], float):
            made[key] = _whole(made[key])
    made["previous_response_id"] = start.field("previous_response_id")
    return made


def has_whole_numbers(resource: Mapping[str, object]) -> bool:
    """Whether times and counts are integers, as the document types them: not every server's are."""
    usage = as_mapping(resource.get("usage")) or {}
    return not (
        isinstance(resource.get("created_at"), float)
        or isinstance(resource.get("completed_at"), float)
        or isinstance(usage.get("input_tokens"), float)
        or isinstance(usage.get("output_tokens"), float)
        or isinstance(usage.get("total_tokens"), float)
    )


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and math.isfinite(number) else number


def _strict(tool: object) -> object:
    fields = as_mapping(tool)
    if fields is None or fields.get("type") != "function":
        return tool
    return {
        "description": None,
        "parameters": None,
        **fields,
        "strict": bool(fields.get("strict")),
    }


def _usage(given: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The counts with their details, 0 where the upstream did not count."""
    match given:
        case None:
            return None
        case {
            "input_tokens": int(),
            "output_tokens": int(),
            "total_tokens": int(),
            "input_tokens_details": {"cached_tokens": int()},
            "output_tokens_details": {"reasoning_tokens": int()},
        }:
            return given
        case _:
            pass
    counts = ("input_tokens", "output_tokens", "total_tokens")
    made = {**given, **{name: _whole(given.get(name, 0)) for name in counts}}
    for name, part in _DETAILS:
        details = as_mapping(given.get(name))
        if details is None or part not in details:
            made[name] = {part: 0, **(details or {})}
    return made
