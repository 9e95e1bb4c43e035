"""
What the prompt says when the format cannot say it: one instruction, the schema in it.

Source: spec guard §2, row "prompt on a degraded send".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from structguard.schema.identity import fingerprint, unpack
from structguard.types import Format, JsonObject


def instruction(format: Format) -> str:  # noqa: A002  the field's word
    """The sentence that is added to the system text of a degraded send."""
    if isinstance(format, JsonObject):
        return "Answer with one JSON object and nothing else: no prose, no code fence."
    packed = format.packed or fingerprint(format.schema)
    return _with_schema(format.schema) if packed is None else _with_packed(packed)


@lru_cache(maxsize=64)
def _with_packed(packed: bytes) -> str:
    """Made once a schema: the same callers ask with the same one."""
    return _with_schema(unpack(packed))


def _with_schema(given: Mapping[str, object]) -> str:
    schema = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    return (
        "Answer with one JSON value that fits the JSON Schema below and nothing else:"
        f" no prose, no code fence, not the schema itself.\n{schema}"
    )
