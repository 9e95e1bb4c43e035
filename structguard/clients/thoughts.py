"""
An answer that stands where the thoughts should: nothing said, and the reasoning is the JSON asked for.

Some servers put the whole answer into `reasoning_content` when a format is set. Source: spec wire
"Reply", row "content empty".
"""

from __future__ import annotations

from collections.abc import Callable

from structguard.clients.replies import get, items, put
from structguard.types import Api, Format, as_text
from structguard.wire.reply import answer_in

SOURCE = "reasoning"
"""How a value was read that was found there."""

_FIELDS = ("reasoning_content", "reasoning")
_SAYS = ("tool_calls", "function_call", "refusal")


def promote(reply: object, api: Api, get_format: Callable[[], Format | None]) -> bool:
    """
    Make the thoughts of a chat reply its content where they are, as a whole, JSON valid for the
    format and nothing else is said; whether that was so. `get_format` is only called when it matters.
    """
    if api != "chat":
        return False
    found = False
    for choice in items(reply, "choices"):
        message = get(choice, "message")
        thoughts = _silent_thoughts(message)
        if thoughts:
            answer = _valid(thoughts, get_format)
            if answer:
                put(message, "content", answer)
                found = True
    return found


def _silent_thoughts(message: object) -> str:
    """The reasoning of a message that says nothing; "" of any other."""
    content = get(message, "content")
    if isinstance(content, str):
        content = content.strip()
    if content or any(get(message, name) for name in _SAYS):
        return ""
    return next(filter(None, (as_text(get(message, name)) for name in _FIELDS)), "")


def _valid(thoughts: str, get_format: Callable[[], Format | None]) -> str:
    try:
        format = get_format()  # noqa: A001  the field's word
    except ValueError:  # a schema only the endpoint understands
        return ""
    return "" if format is None else answer_in(thoughts, format)
