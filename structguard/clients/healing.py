"""
From what came back to bare JSON: strict JSON stays as it is, byte for byte; else `parse()` reads it.

Source: spec guard §2, row "reply to a request that asked for JSON".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from structguard.reading import parse
from structguard.reading.strict import NotStrict, strict
from structguard.types import Format, JsonSchema, as_mapping, as_sequence

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Healed:
    """The text to hand on and how its value was read; `source` None: no value, text as it came."""

    text: str
    source: str | None


def heal(
    text: str, get_format: Callable[[], Format | None], *, degraded: bool, cut: bool = False
) -> Healed:
    """
    The text reduced to bare JSON.

    Strict JSON is handed on byte for byte, but for a byte order mark, which no JSON parser of a
    caller's takes. After a degraded send it must also have the outer shape
    the schema asks for: without decode-time enforcement a model likes to wrap its answer, and then
    the value inside that fits is the one the caller's own parser can use. `get_format` gives the format
    and is only called when it matters. `cut`: the reply says that it ends at the token limit; then a
    value whose end is missing is left as it came, for closed it would pass for the whole.
    """
    try:
        value, _ = strict(text)
    except NotStrict:
        found = False
    else:
        found, text = True, text.lstrip(_BOM)
        if not degraded or looks_right(value, get_format()):
            return Healed(text, "json")
    try:
        format = get_format()  # noqa: A001  the field's word
        parsed = parse(
            text, format.schema if isinstance(format, JsonSchema) else {"type": "object"}
        )
    except ValueError:  # a ParseError; or the schema is broken, and the endpoint did not mind
        return Healed(text, "json" if found else None)
    if cut and not parsed.complete:
        return Healed(text, None)
    return Healed(compact(parsed.value), parsed.source)


def compact(value: object) -> str:
    """The value as compact JSON, characters kept as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def looks_right(value: object, format: Format | None) -> bool:  # noqa: A002
    """A look at the outermost level only: the caller's own validation sees the rest."""
    if not isinstance(format, JsonSchema):
        return True
    schema = format.schema
    if schema.get("type") == "object":
        mapping = as_mapping(value)
        required = as_sequence(schema.get("required")) or ()
        return mapping is not None and all(map(mapping.__contains__, required))
    if schema.get("type") == "array":
        return isinstance(value, list)
    return True
