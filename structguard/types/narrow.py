"""
JSON arrives as `object`; these narrow it for the type checkers, in one place.

Each gives the value when it has the shape, else None; nothing is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

_PLAIN = frozenset({type(None), str, list, int, float, bool, tuple})  # no mapping, and often asked


def as_mapping(value: object) -> Mapping[str, object] | None:
    """The value if it is a mapping (JSON object)."""
    if isinstance(value, dict):  # nearly always, and ten times cheaper to ask than the ABC
        return cast("dict[str, object]", value)
    if type(value) in _PLAIN:
        return None
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def as_sequence(value: object) -> Sequence[object] | None:
    """The value if it is a list or tuple (JSON array)."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def as_iterable(value: object) -> Iterable[object] | None:
    """The value if it can be walked and is neither text nor a mapping."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return cast("Iterable[object]", value)
    return None


def as_text(value: object) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None
