"""A client's JSON body taken apart field by field, and what decoding has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from structguard.types import (
    EFFORTS,
    Effort,
    Part,
    Request,
    Text,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import Undecodable
from structguard.wire.encoding import BUDGETS

_T = TypeVar("_T")


class Fields:
    """
    A client's JSON object, taken apart field by field; null counts as absent.

    What nobody took is in `rest()`.
    """

    def __init__(self, body: Mapping[str, object], where: str = "") -> None:
        self._left = {key: value for key, value in body.items() if value is not None}
        self._where = where

    def take(self, key: str) -> object:
        """Any value, None if absent."""
        return self._left.pop(key, None)

    def text(self, key: str) -> str | None:
        """A string."""
        value = self.take(key)
        return None if value is None else self._need(as_text(value), key, "a string", value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.take(key)
        checked = value if isinstance(value, bool) else None
        return None if value is None else self._need(checked, key, "true or false", value)

    def whole(self, key: str) -> int | None:
        """A whole number."""
        value = self.take(key)
        checked = value if isinstance(value, int) and not isinstance(value, bool) else None
        return None if value is None else self._need(checked, key, "a whole number", value)

    def number(self, key: str) -> float | None:
        """A number."""
        value = self.take(key)
        checked = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        return None if value is None else self._need(checked, key, "a number", value)

    def mapping(self, key: str) -> Mapping[str, object] | None:
        """An object."""
        value = self.take(key)
        return None if value is None else self._need(as_mapping(value), key, "an object", value)

    def items(self, key: str) -> Sequence[object]:
        """A list; empty if absent."""
        value = self.take(key)
        return () if value is None else self._need(as_sequence(value), key, "a list", value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, or one string; empty if absent."""
        value = self._left.get(key)
        items = (self.take(key),) if isinstance(value, str) else self.items(key)
        return tuple(self._need(as_text(item), key, "a list of strings", item) for item in items)

    def rest(self) -> dict[str, object]:
        """What was not taken."""
        return dict(self._left)

    def _need(self, checked: _T | None, key: str, expected: str, value: object) -> _T:
        if checked is None:
            path = f"{self._where}.{key}" if self._where else key
            raise Undecodable(f"{path} must be {expected}, got {type(value).__name__}", param=path)
        return checked


def tools_in(
    fields: Fields,
) -> tuple[tuple[Mapping[str, object], ...], tuple[Mapping[str, object], ...]]:
    """A client's tools: functions, and the vendor's own kinds."""
    functions: list[Mapping[str, object]] = []
    hosted: list[Mapping[str, object]] = []
    for at, item in enumerate(fields.items("tools")):
        tool = as_mapping(item)
        if tool is None:
            raise Undecodable(f"tools[{at}] must be an object", param=f"tools[{at}]")
        (functions if tool.get("type", "function") == "function" else hosted).append(tool)
    return tuple(functions), tuple(hosted)


def effort_in(value: object, field: str) -> tuple[Effort | None, dict[str, object]]:
    """A client's effort; a word only the vendor knows stays where it was, for `extra_body`."""
    if value is None:
        return None, {}
    for word in EFFORTS:
        if value == word:
            return word, {}
    return None, {field: value}


def decoded_request(**fields: object) -> Request:
    """
    The Request of fields read from a body.

    Raises:
        Undecodable: a value Request itself refuses.
    """
    try:
        return Request(**fields)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        known = next((name for name in fields if name in str(error)), "tools")
        raise Undecodable(str(error), param=known) from error


def effort_of(budget: int | None) -> Effort | None:
    """The least effort that is worth the thinking budget."""
    if budget is None:
        return None
    for word in EFFORTS:
        if budget <= BUDGETS[word]:
            return word
    return EFFORTS[-1]


def plain(parts: tuple[Part, ...]) -> str | tuple[Part, ...]:
    """Content: one text part alone is text."""
    first = parts[0] if len(parts) == 1 else None
    return first.text if isinstance(first, Text) else parts
