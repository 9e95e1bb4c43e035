"""
The first sign of an answer in a stream: text that is not blank, a tool call or a decline; and the
sign that one was cut.

Source: spec guard §2, row "retry accepted".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from structguard.clients.replies import get, items, text_slots
from structguard.types import Api


def gives_answer(event: object, api: Api) -> bool:
    """Whether this event is the first sign of an answer: text, a tool call or a decline."""
    return _GIVES[api](event)


def tells_a_cut(event: object) -> bool:
    """Whether the text before this event ends at the token limit."""
    return (
        get(event, "type") == "response.incomplete"
        or get(get(event, "item"), "status") == "incomplete"
        or get(get(event, "delta"), "stop_reason") == "max_tokens"
    )


def _says(holder: object, name: str) -> bool:
    text = get(holder, name)
    return isinstance(text, str) and bool(text.strip())


_CALLS_OR_DECLINES = ("tool_calls", "function_call", "refusal")


def _chat_gives(event: object) -> bool:
    return any(
        _says(get(choice, "delta"), "content")
        or any(get(get(choice, "delta"), name) for name in _CALLS_OR_DECLINES)
        for choice in items(event, "choices")
    )


def _responses_gives(event: object) -> bool:
    kind = get(event, "type")
    if kind == "response.output_item.added":
        return get(get(event, "item"), "type") in ("function_call", "custom_tool_call")
    if kind == "response.completed":
        slots = text_slots(get(event, "response"), "responses")
        return any(_says(holder, name) for holder, name in slots)
    if kind == "response.output_text.delta":
        return _says(event, "delta")
    return kind in ("response.refusal.delta", "response.function_call_arguments.delta")


def _messages_gives(event: object) -> bool:
    match get(event, "type"):
        case "content_block_delta":
            return _says(get(event, "delta"), "text")
        case "content_block_start":
            return get(get(event, "content_block"), "type") == "tool_use"
        case _:
            return get(get(event, "delta"), "stop_reason") == "refusal"


def _google_gives(event: object) -> bool:
    return any(
        _says(holder, name) for holder, name in text_slots(event, "generate_content")
    ) or any(
        get(part, "functionCall")
        for candidate in items(event, "candidates")
        for part in items(get(candidate, "content"), "parts")
    )


_GIVES: Mapping[Api, Callable[[object], bool]] = {
    "chat": _chat_gives,
    "responses": _responses_gives,
    "messages": _messages_gives,
    "generate_content": _google_gives,
    "converse": lambda _event: False,
}
