"""
A checked JSON value → an instance of the type the schema was made from.

The strict JSON mode of a TypeAdapter is used: an ISO text becomes a date and a list a tuple, as JSON
has no other way to write them, but "1" never becomes 1. Source: spec parse, `Parsed.value`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from structguard.schema.engines import in_short
from structguard.schema.source import adapter
from structguard.schema.validate import Violation
from structguard.types import JsonSchema

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 20  # violations kept of one failed build


class Misbuilt(ValueError):
    """A value fits the JSON Schema, but its type will not be built from it; `violations` say why."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__("; ".join(map(str, self.violations[:3])))

    def __reduce__(self) -> tuple[type[Misbuilt], tuple[tuple[Violation, ...]]]:
        return type(self), (self.violations,)


def build(fmt: JsonSchema, value: object) -> object:
    """
    The value as an instance of `fmt.source`; the value itself when the format has no source.

    The caller has checked the value against the schema. A model's own defaults are filled in.

    Raises:
        Misbuilt: the type's own rules (validators, strictness) refuse the value.
    """
    if fmt.source is None:
        return value
    from pydantic import ValidationError  # noqa: PLC0415  loaded when the schema was made

    try:
        return adapter(fmt.source).validate_json(json.dumps(value, allow_nan=False), strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise Misbuilt(_violation(entry) for entry in found[:_SHOWN]) from error
    except Exception as error:  # the type's own code may raise anything; no answer may crash us
        raise Misbuilt(
            [Violation((), "build", in_short(f"{type(error).__name__}: {error}"))]
        ) from error


def _violation(entry: ErrorDetails) -> Violation:
    return Violation(entry["loc"], entry["type"], in_short(entry["msg"]))
