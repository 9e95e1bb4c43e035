"""
A plain body of one OpenAI wire as the other one's, without the neutral form between: most calls.

Plain is text alone, a schema, and the few numbers both wires name; whatever else a body holds, and
whatever is not what it should be, goes the long way (`translate.fitted`), which this one equals
wherever it answers. Source: spec wire, table "Request"; spec gateway "Speed bar".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from structguard.types import Api, Format, JsonSchema, as_sequence, as_text
from structguard.wire import chat, responses
from structguard.wire.base import WireOptions
from structguard.wire.payload import as_dict, as_list

Body: TypeAlias = dict[str, object]

_NUMBERS = ("temperature", "top_p")
_CHAT = frozenset({"model", "messages", "response_format", "stream", "max_tokens",
                   "max_completion_tokens", *_NUMBERS})  # fmt: skip
_RESPONSES = frozenset({"model", "input", "instructions", "text", "stream", "store",
                        "max_output_tokens", *_NUMBERS})  # fmt: skip
_ROLES = frozenset({"system", "developer", "user", "assistant"})
_SYSTEM = frozenset({"system", "developer"})
_MESSAGE = frozenset({"role", "content"})
_ITEM = frozenset({"type", "role", "content"})
_TEXTS = frozenset({"input_text", "output_text", "text"})


def direct(
    given: Mapping[str, object],
    source: Api,
    target: Api,
    *,
    model: str,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> Body | None:
    """The body of a whole call as `target` takes it; None where it is not plain. `format` is its own."""
    make = _WAYS.get((source, target))
    plain = options.structured == "native" and not options.reasoning and options.max_tokens is None
    if make is None or not plain:
        return None
    if format is not None and (not isinstance(format, JsonSchema) or options.needs_json_word):
        return None
    made: Body = {"model": model}
    for name in _NUMBERS:
        value = given.get(name)
        if type(value) in (int, float):
            made[name] = value
        elif value is not None:
            return None
    return make(given, made, format, options)


def _to_chat(
    given: Mapping[str, object], made: Body, format_: Format | None, options: WireOptions
) -> Body | None:
    text = given.get("text")
    if not given.keys() <= _RESPONSES or not (text is None or _holds(text, {"format"})):
        return None
    if not (_caps(made, "max_tokens", given.get("max_output_tokens")) and _flags(given, "store")):
        return None
    said = _said(given.get("instructions"), given.get("input"), _ITEM)
    if said is None:
        return None
    keep = options.developer_role
    made["messages"] = [
        {"role": "system" if role in _SYSTEM and not keep else role, "content": content}
        for role, content in said
    ]
    if format_ is not None:
        made["response_format"] = chat.encode_format(format_)
    return made


def _to_responses(
    given: Mapping[str, object], made: Body, format_: Format | None, options: WireOptions
) -> Body | None:
    del options  # instructions have no role
    caps = [given.get(name) for name in ("max_completion_tokens", "max_tokens")]
    cap = next((cap for cap in caps if cap is not None), None)
    if not given.keys() <= _CHAT or not _caps(made, "max_output_tokens", cap):
        return None
    said = _said(None, given.get("messages"), _MESSAGE)
    if said is None or len(caps) - caps.count(None) > 1:
        return None
    instructions = "\n\n".join(content for role, content in said if role in _SYSTEM)
    if instructions:
        made["instructions"] = instructions
    made["input"] = [
        _item(role, content)
        for role, content in said
        if role == "user" or (role == "assistant" and content)
    ]
    made["store"] = False
    if format_ is not None:
        made["text"] = responses.encode_format(format_)
    return made


_WAYS: Mapping[
    tuple[Api, Api],
    Callable[[Mapping[str, object], Body, Format | None, WireOptions], Body | None],
] = {
    ("responses", "chat"): _to_chat,
    ("chat", "responses"): _to_responses,
}


def _item(role: str, content: str) -> Body:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": content}]}


def _said(
    instructions: object, given: object, shape: frozenset[str]
) -> list[tuple[str, str]] | None:
    """Who said which text, in order; None where it is more than text."""
    said: list[tuple[str, str]] = []
    if instructions is not None:
        if not isinstance(instructions, str):
            return None
        if instructions:
            said.append(("system", instructions))
    if isinstance(given, str):
        return [*said, ("user", given)]
    for entry in as_sequence(given) or ():
        item = as_dict(entry)
        if item is None or not item.keys() <= shape:
            return None
        role, text = as_text(item.get("role")), _text(item.get("content"))
        if role not in _ROLES or text is None or item.get("type", "message") != "message":
            return None
        said.append((role, text))
    return said or None


def _text(content: object) -> str | None:
    """Content that is one text."""
    if isinstance(content, str):
        return content
    parts = as_list(content)
    part = as_dict(parts[0]) if parts and len(parts) == 1 else None
    if part is None or len(part) != 2 or part.get("type") not in _TEXTS:
        return None
    return as_text(part.get("text"))


def _caps(made: Body, name: str, cap: object) -> bool:
    """Put the cap in; whether it is one."""
    if cap is not None:
        made[name] = cap
    return cap is None or (type(cap) is int and cap > 0)


def _flags(given: Mapping[str, object], name: str) -> bool:
    return isinstance(given.get(name), bool | None)


def _holds(value: object, names: set[str]) -> bool:
    given = as_dict(value)
    return given is not None and given.keys() <= names
