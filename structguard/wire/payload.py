"""JSON in and out: one parse with jiter, a forgiving second one only where that failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast

import jiter

_BOM = "\ufeff"  # before JSON it means nothing (RFC 8259 §8.1)


def loads(data: bytes) -> object:
    """
    The JSON value in the bytes.

    Lone surrogates, raw control characters and broken UTF-8, which some servers send inside
    otherwise good JSON, or a byte order mark before it, are read as well; the strict parse comes first and costs nothing extra.

    Raises:
        ValueError: not JSON.
    """
    try:
        value: object = jiter.from_json(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
        try:
            return cast("object", json.loads(text.removeprefix(_BOM), strict=False))
        except RecursionError as error:
            raise ValueError("JSON nested too deeply") from error
    return value


def json_or_text(text: str) -> object:
    """The JSON value of a text, the text itself where it is none: a call's streamed arguments."""
    try:
        return loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text


def dumps(value: object) -> str:
    """The value as compact JSON text, in the key order it has."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def merged(body: Mapping[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """Both objects in one; where both hold an object its members are merged, else `extra` wins."""
    result = dict(body)
    for key, value in extra.items():
        own = result.get(key)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            result[key] = merged(
                cast("Mapping[str, object]", own), cast("Mapping[str, object]", value)
            )
        else:
            result[key] = value
    return result


def with_extra(
    body: dict[str, object],
    extra: Mapping[str, object],
    *,
    reserved: Iterable[str],
    if_absent: Iterable[str] = ("tools",),
) -> dict[str, object]:
    """
    The body with the caller's own fields put in last. Keys in `reserved` are never taken from
    them, keys in `if_absent` only where the request itself set none.
    """
    if not extra:
        return body
    ignored = {*reserved, *(key for key in if_absent if key in body)}
    return merged(body, {key: value for key, value in extra.items() if key not in ignored})


def present(**fields: object) -> dict[str, object]:
    """The fields that are not None, in order."""
    return {key: value for key, value in fields.items() if value is not None}


def as_dict(value: object) -> dict[str, object] | None:
    """The value if it is a dict, as parsed JSON objects are; cheaper than asking for any Mapping."""
    return value if type(value) is dict else None  # pyright: ignore[reportUnknownVariableType]


def as_list(value: object) -> list[object] | None:
    """The value if it is a list, as parsed JSON arrays are."""
    return value if type(value) is list else None  # pyright: ignore[reportUnknownVariableType]


def count(value: object) -> int | None:
    """The value if it is a whole number, for token counts."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def embedded(text: str) -> object:
    """The JSON object or list inside a text, after any prefix; None if there is none."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    for at in sorted(starts):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        return cast("object", value)
    return None
