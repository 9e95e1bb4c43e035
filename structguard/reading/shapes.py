"""
Other shapes of one answer: a wrapper around the value, or the wrapper that is missing.

One level only, always reported: a single key, `parameters`/`arguments` of a call, content blocks, a
list of one, the schema's own `properties` filled with values; an array put under the one array
property. Source: spec parse, step 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from structguard.reading.strict import NotStrict, strict
from structguard.reading.target import Target
from structguard.types import as_mapping, as_sequence, as_text

_ARGUMENTS: Final = (
    "arguments",
    "parameters",
    "args",
    "input",
    "kwargs",
    "action_input",
    "tool_input",
)
_ANSWERS: Final = frozenset({"answer", "result", "value", "output", "response", "final_answer"})
_CALLS: Final = ("function", "function_call", "tool_call")
_SCHEMA_WORDS: Final = frozenset({"type", "required", "title", "description", "$schema", "$defs",
                                  "additionalProperties"})  # fmt: skip
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning")
_NAMES: Final = ("name", "function", "tool", "tool_name", "action", "type", "id", "recipient_name",
                 "function_name")  # fmt: skip


def shapes(value: object, target: Target) -> Iterator[object]:
    """The value in the other shapes it may have been meant in, likeliest first."""
    mapping = as_mapping(value)
    if mapping is not None:
        yield from _unwrapped(mapping)
    elif (items := as_sequence(value)) is not None:
        only = as_mapping(items[0]) if len(items) == 1 else None
        if only is not None:
            yield items[0]
            yield from _arguments(only)
        if (calls := _each(items)) is not None:
            yield calls
        if target.one_array is not None:
            yield {target.one_array: value}
    elif isinstance(value, str):
        yield from _decoded(value)


def _unwrapped(mapping: Mapping[str, object]) -> Iterator[object]:
    yield from _arguments(mapping)
    if "properties" in mapping and mapping.keys() - {"properties"} <= _SCHEMA_WORDS:
        yield mapping["properties"]  # the schema's shape, filled with values
    if len(mapping) == 1:
        key, value = next(iter(mapping.items()))
        if not isinstance(value, str | int | float | None) or key.lower() in _ANSWERS:
            yield from _inner(value)
        elif isinstance(value, str):
            yield from _decoded(value)


def _arguments(mapping: Mapping[str, object]) -> Iterator[object]:
    """The arguments of a tool call in one of its usual spellings."""
    for key in _ARGUMENTS:
        if key in mapping and any(name in mapping for name in _NAMES):
            yield from _inner(mapping[key])
    for key in _CALLS:
        called = as_mapping(mapping.get(key))
        if called is not None and "arguments" in called:
            yield from _inner(called["arguments"])


def _each(items: Sequence[object]) -> list[object] | None:
    """The arguments of every call in a list of calls."""
    found: list[object] = []
    for item in items:
        mapping = as_mapping(item)
        arguments = None if mapping is None else next(_arguments(mapping), None)
        if arguments is None:
            return None
        found.append(arguments)
    return found or None


def _inner(value: object) -> Iterator[object]:
    if isinstance(value, str):
        yield from _decoded(value)
    yield value


def _decoded(text: str) -> Iterator[object]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield strict(text)[0]
        except NotStrict:
            return


def block_text(value: object) -> str | None:
    """The text of content blocks (`[{"type": "text", "text": …}]`) or of a message around it."""
    mapping = as_mapping(value)
    if mapping is not None and "content" in mapping and "role" in mapping:
        content = mapping["content"]
        return content if isinstance(content, str) else block_text(content)
    blocks = [as_mapping(block) or {} for block in as_sequence(value) or [value]]
    said = [block for block in blocks if block.get("type") not in _THOUGHTS]
    texts = [
        text
        for block in said
        if block.get("type") in ("text", "output_text")
        and (text := as_text(block.get("text"))) is not None
    ]
    return "".join(texts) if texts and len(texts) == len(said) else None
