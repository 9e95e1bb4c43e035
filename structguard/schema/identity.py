"""
JSON Schema → canonical text, digest and a name vendors accept.

Equal schemas have equal digests whatever the order of their keys. Source: spec guard §3.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

from structguard.types import JsonSchema, as_mapping, as_sequence

pack: Callable[[object, int], bytes] = cast("Callable[[object, int], bytes]", marshal.dumps)
"""Plain values → bytes; ValueError for what is not plain or is nested beyond 2,000 levels."""

DEEPEST = 200
"""Levels of a schema; what is deeper, or holds itself, is refused rather than met by a crash."""

FINGERPRINT_LIMIT = 262_144
"""Bytes; a larger schema is digested anew each time instead of being kept as a cache key."""


def canonical(schema: Mapping[str, object]) -> str:
    """
    The schema as JSON with sorted keys and no spaces: equal schemas give equal texts.

    Raises:
        ValueError: the schema holds something that is not JSON, with its place.
    """
    return _text(schema, sort_keys=True)


def plain_copy(schema: Mapping[str, object]) -> dict[str, object]:
    """A deep copy in dicts and lists, keys in their order; raises ValueError as `canonical` does."""
    copied: dict[str, object] = json.loads(_text(schema, sort_keys=False))
    return copied


def digest(schema: Mapping[str, object]) -> str:
    """64 hex characters that name a schema: the sha256 of its canonical text."""
    packed = fingerprint(schema)
    return _digest_of(canonical(schema)) if packed is None else _digest_of_packed(packed)


def schema_name(format: JsonSchema) -> str:  # noqa: A002  the field's word
    """The format's name made valid for every vendor's pattern, else `schema_` + 16 hex."""
    name = "".join(
        c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in format.name or ""
    )
    return name[:64] if name.strip("_-") else f"schema_{digest(format.schema)[:16]}"


def fingerprint(schema: Mapping[str, object]) -> bytes | None:
    """
    The schema's exact content as bytes, in about a microsecond a kilobyte: a sound cache key even
    when the caller changes the dict later. None where there is no cheap one.

    Version 2 of the format has no back references, so equal content gives equal bytes. The order of
    keys shows; two orders are two keys that lead to one digest.
    """
    try:
        packed = pack(schema, 2)
    except ValueError:  # a subclass, an unknown type, nested beyond 2,000
        return None
    return packed if len(packed) <= FINGERPRINT_LIMIT else None


def unpack(packed: bytes) -> Mapping[str, object]:
    """A private copy of the schema a fingerprint was made from."""
    schema: Mapping[str, object] = marshal.loads(packed)  # noqa: S302  only our own bytes
    return schema


def pointer(path: tuple[str | int, ...]) -> str:
    """A path as a JSON Pointer (RFC 6901); the whole document is called the top level."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps) or "the top level"


def _text(schema: Mapping[str, object], *, sort_keys: bool) -> str:
    foreign = _foreign(schema)
    if foreign is not None:
        raise ValueError(foreign)
    return json.dumps(
        schema, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False, default=_plain
    )


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=512)
def _digest_of_packed(packed: bytes) -> str:
    return _digest_of(canonical(unpack(packed)))


def _plain(value: object) -> object:
    return dict(as_mapping(value) or {})  # a read-only view, say; all else was found foreign before


def _foreign(schema: object) -> str | None:
    """What in the schema is not JSON, and where; None when all is. No recursion."""
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(schema, ())]
    while waiting:
        value, path = waiting.pop()
        if len(path) > DEEPEST:
            return f"the JSON Schema is nested more than {DEEPEST} levels deep, or holds itself"
        mapping, items = as_mapping(value), as_sequence(value)
        if mapping is not None:
            for key, inner in cast("Mapping[object, object]", mapping).items():
                if not isinstance(key, str):
                    return (
                        f"the JSON Schema has a key that is no string at {pointer(path)}: {key!r}"
                    )
                waiting.append((inner, (*path, key)))
        elif items is not None:
            waiting += [(inner, (*path, index)) for index, inner in enumerate(items)]
        elif not _is_scalar(value):
            return f"the JSON Schema holds {_shown(value)} at {pointer(path)}, which is not JSON"
    return None


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | bool | int)


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
