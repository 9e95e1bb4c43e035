"""
Stream events that carry a text: the same event with another text in it, and what else it says.

Pure, for SDK objects and for parsed JSON alike. Source: spec guard §2, row "streaming".
"""

from __future__ import annotations

import copy

from structguard.clients.replies import get, items, put
from structguard.types import Api

_BESIDE = (
    "role", "tool_calls", "function_call", "refusal", "reasoning", "reasoning_content",
    "reasoning_details", "annotations", "images", "audio",
)  # fmt: skip


def carry(carrier: object, api: Api, at: int, text: str) -> object:
    """A copy of the event with this text in it; `at` is its choice or candidate."""
    event = copy.deepcopy(carrier)
    match api:
        case "responses":
            put(event, "delta", text)
        case "messages":
            put(get(event, "delta"), "text", text)
        case "generate_content":
            _carry_google(event, at, text)
        case _:
            _carry_chat(event, at, text)
    return event


def _carry_chat(chunk: object, at: int, text: str) -> None:
    """Only the one choice and its text: what else the chunk said was handed on when it came."""
    kept = list(items(chunk, "choices"))[at]
    delta = get(kept, "delta")
    for holder, names in ((delta, _BESIDE), (kept, ("finish_reason",)), (chunk, ("usage",))):
        for name in names:
            if get(holder, name) is not None:
                put(holder, name, None)
    put(delta, "content", text)
    put(chunk, "choices", [kept])


def _carry_google(chunk: object, at: int, text: str) -> None:
    """Only the one candidate, its text in one part, and no word of an end yet."""
    kept = list(items(chunk, "candidates"))[at]
    content = get(kept, "content")
    put(content, "parts", [{"text": text}])
    only: dict[str, object] = {"content": content}
    if (index := get(kept, "index")) is not None:
        only["index"] = index
    put(chunk, "candidates", [only])


def says_more(chunk: object) -> bool:
    """Whether a chunk whose text is held says anything else worth handing on."""
    for choice in items(chunk, "choices"):
        delta = get(choice, "delta")
        if get(choice, "finish_reason") or any(get(delta, name) for name in _BESIDE):
            return True
    return bool(get(chunk, "usage"))


def text_parts(candidate: object) -> list[object]:
    """The parts of the answer's own text: thoughts are not."""
    return [
        part
        for part in items(get(candidate, "content"), "parts")
        if isinstance(text := get(part, "text"), str) and text and not get(part, "thought")
    ]


def google_says_more(chunk: object) -> bool:
    """Whether a chunk whose text is held says anything else; usage is repeated with the end."""
    for candidate in items(chunk, "candidates"):
        if get(candidate, "finishReason"):
            return True
        for part in items(get(candidate, "content"), "parts"):
            if get(part, "text") != "" or get(part, "thoughtSignature"):
                return True
    return get(chunk, "promptFeedback") is not None
