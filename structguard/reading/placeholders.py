"""
Values that are none: the schema handed back, or a template whose fields are still to be filled.

Source: spec parse, step 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from structguard.types import as_mapping, as_sequence

_TYPE_WORDS: Final = frozenset(
    {"string", "str", "text", "integer", "int", "number", "float", "boolean", "bool", "object",
     "array", "list", "null", "any", "..."}
)  # fmt: skip
_TEMPLATE = re.compile(
    r"<[^<>\"'=/]{1,80}>|\{\{?[^{}\"\'\n:]{1,80}\}?\}|\[[A-Za-z][^\[\]\"\'\n:]{0,80}\]|\.\.\.|\u2026|_{3,}"
    r"|(?:your|the|insert|enter|put)[ _][\w ]{1,40} here|(?:string|number|integer|boolean)\s*\|.*",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"<[A-Za-z]+(?:[ _-][\w'-]+){1,8}>|<(?:string|number|integer|int|float|boolean|bool|value|text)>"
    r"|(?-i:<[A-Z][A-Z_ ]{1,40}>)|\.\.\.|\u2026|\{\{[\w .]{1,40}\}\}",
    re.IGNORECASE,
)
_MOST: Final = 200  # leaves looked at


def is_schema(value: object, schema: Mapping[str, object]) -> bool:
    """Whether a value is the schema itself, or a copy of it with small changes."""
    mapping = as_mapping(value)
    if mapping is None:
        return False
    if mapping == schema:
        return True
    own = as_mapping(mapping.get("properties"))
    asked = as_mapping(schema.get("properties"))
    if own is None or asked is None or "properties" in asked:
        return False
    inner = [as_mapping(item) for item in own.values()]
    described = [part for part in inner if part and {"type", "$ref", "anyOf", "enum"} & set(part)]
    return bool(own) and set(own) <= set(asked) and len(described) == len(own)


def is_placeholder(value: object, *, sure: bool = False) -> bool:
    """
    Whether every text in the value is a template's, and there is at least one.

    `sure` asks for what can be nothing else: several words in angle brackets, an ellipsis, "string"
    wherever a text belongs.
    """
    if sure and _is_specimen(value):
        return True
    waiting, texts = [value], 0
    for _ in range(_MOST):
        if not waiting:
            break
        item = waiting.pop()
        if isinstance(item, str):
            if not (_is_sure_template(item) if sure else _is_template(item)):
                return False
            texts += bool(item)
        elif isinstance(item, int | float):
            if item not in (0, 1):
                return False
        else:
            waiting.extend((as_mapping(item) or {}).values() or as_sequence(item) or ())
    return texts > 0 and not waiting


def _is_specimen(value: object) -> bool:
    """`{"name": "string", "age": 0}`: a type's name for every text; where types are told it is one."""
    waiting, texts, leaves = [value], 0, 0
    while waiting and leaves < _MOST:
        item = waiting.pop()
        leaves += 1
        mapping = as_mapping(item)
        if mapping is not None:
            if any("type" in key.lower() or "format" in key.lower() for key in mapping):
                return False
            waiting.extend(mapping.values())
        elif isinstance(item, str):
            if item != "string":
                return False
            texts += 1
        elif isinstance(item, int | float):
            if item != 0:
                return False
        else:
            waiting.extend(as_sequence(item) or ())
    return texts > 0 and leaves > 2 and not waiting


def _is_sure_template(text: str) -> bool:
    return not text or _SURE.fullmatch(text.strip()) is not None


def _is_template(text: str) -> bool:
    bare = text.strip()
    return not bare or bare.lower() in _TYPE_WORDS or _TEMPLATE.fullmatch(bare) is not None
