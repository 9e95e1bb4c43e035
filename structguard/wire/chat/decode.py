"""A client's Chat Completions body → neutral request."""

from __future__ import annotations

from collections.abc import Mapping

from structguard.schema import as_format
from structguard.types import Format, Message, Request, as_mapping, as_sequence, as_text
from structguard.wire.base import Undecodable
from structguard.wire.chat.reply import reasoning_of
from structguard.wire.chat.request import REASONING_FIELDS
from structguard.wire.fields import Fields, decoded_request, effort_in, tools_in

_BARE = frozenset({"role", "content"})
_CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "required": "any"}


def decode_request(body: Mapping[str, object]) -> Request:
    """The neutral request; `stream` is the caller's to read. Source: OpenAI API reference, Chat."""
    fields = Fields(body)
    messages = tuple(_message(item, at) for at, item in enumerate(fields.items("messages")))
    functions, hosted = tools_in(fields)
    effort, extra = effort_in(fields.take("reasoning_effort"), "reasoning_effort")
    caps = (fields.whole("max_completion_tokens"), fields.whole("max_tokens"))
    if fields.whole("n") not in {None, 1}:
        raise Undecodable("n must be 1: one request gets one answer", param="n")
    for name in ("stream", "stream_options"):
        fields.take(name)
    return decoded_request(
        messages=messages,
        model=fields.text("model"),
        response_format=_format(fields.take("response_format")),
        tools=functions,
        hosted_tools=hosted,
        tool_choice=_choice(fields.take("tool_choice")),
        max_tokens=next((cap for cap in caps if cap is not None), None),
        effort=effort,
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        frequency_penalty=fields.number("frequency_penalty"),
        presence_penalty=fields.number("presence_penalty"),
        seed=fields.whole("seed"),
        stop=fields.texts("stop"),
        extra_body={**extra, **fields.rest()},
    )


def _message(value: object, at: int) -> Message:
    where = f"messages[{at}]"
    message = as_mapping(value)
    if message is None:
        raise Undecodable(f"{where} must be an object", param=where)
    if message.keys() <= _BARE:  # nearly every message
        return _read(message, where)
    known = {key: value for key, value in message.items() if value is not None}
    reasoning = reasoning_of(known)
    for name in (*REASONING_FIELDS, "reasoning_details"):
        known.pop(name, None)
    refusal = known.pop("refusal", None)
    if refusal and not known.get("content"):
        known["content"] = refusal
    return _read({**known, "reasoning": reasoning}, where)


def _plain(part: object) -> object:
    """A refusal is text too."""
    fields = as_mapping(part) or {}
    if fields.get("type") == "refusal":
        return {"type": "text", "text": fields.get("refusal")}
    return part


def _read(message: Mapping[str, object], where: str) -> Message:
    parts = as_sequence(message.get("content"))
    if parts is not None:
        message = {**message, "content": [_plain(part) for part in parts]}
    try:
        return Message.of(message)
    except (TypeError, ValueError) as error:
        raise Undecodable(f"{where}: {error}", param=where) from error


def _format(value: object) -> Format | None:
    try:
        return as_format(as_mapping(value))
    except (TypeError, ValueError) as error:
        raise Undecodable(str(error), param="response_format") from error


def _choice(choice: object) -> str | None:
    if choice is None:
        return None
    if isinstance(choice, str) and choice in _CHOICES:
        return _CHOICES[choice]
    function = as_mapping((as_mapping(choice) or {}).get("function"))
    name = as_text((function or {}).get("name"))
    if name is None:
        raise Undecodable(
            "tool_choice must be auto, none, required or a function's name", param="tool_choice"
        )
    return name
