"""JSON out and in again, whatever a model or an upstream put into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson

TOO_DEEP = "Recursion limit reached"
"""What orjson says of JSON that it has read (1024 levels) and cannot write (254); validators too."""
MARK = b" "
"""What stands before JSON that orjson could not have written, and would not read as it is."""


def packed(value: object, default: Callable[[Any], object] | None = None) -> bytes:
    """
    Compact JSON. What orjson refuses, half a surrogate pair or an integer beyond 64 bits, is written as
    the standard library does, after a `MARK`: both are JSON, and no answer is lost for them.

    Raises:
        TypeError: too deep, or a value that is no JSON and that `default` does not make one.
    """
    try:
        return orjson.dumps(value, default=default)
    except orjson.JSONEncodeError as error:
        if str(error) == TOO_DEEP:
            raise
        return MARK + json.dumps(value, default=default, separators=(",", ":")).encode()


def unpacked(text: bytes | str) -> object:
    """
    The value of what `packed` wrote.

    Raises:
        ValueError, RecursionError: it did not.
    """
    value: object = (json.loads if text[:1] in (MARK, MARK.decode()) else orjson.loads)(text)
    return value
