"""
Replies as the vendors' APIs give them: is it an answer, an error in disguise, and where is its text.

One table for parsed JSON (dicts) and for SDK objects (attributes): a reply is only looked at, and
its text slots only written, through `get` and `put`. Source: spec guard §2, rows "retry accepted"
and "reply to a request that asked for JSON".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from structguard.types import Api, as_sequence


def get(holder: object, name: str) -> object:
    """A field of a dict or of an SDK object; None where it has none."""
    if isinstance(holder, dict):
        return cast("dict[str, object]", holder).get(name)
    return getattr(holder, name, None)


def put(holder: object, name: str, value: object) -> None:
    """Set a field of a dict or of an SDK object."""
    if isinstance(holder, dict):
        cast("dict[str, object]", holder)[name] = value
    else:
        setattr(holder, name, value)


def items(holder: object, name: str) -> Iterator[object]:
    """The items of a field that is a list; nothing for any other."""
    yield from as_sequence(get(holder, name)) or ()


Slot = tuple[object, str]


def text_slots(reply: object, api: Api) -> Iterator[Slot]:
    """The (holder, field) pairs whose strings are the answer's text."""
    return _SLOTS[api](reply)


def _chat_slots(reply: object) -> Iterator[Slot]:
    for choice in items(reply, "choices"):
        message = get(choice, "message")
        if isinstance(get(message, "content"), str):
            yield message, "content"
            continue
        for part in items(message, "content"):  # some reasoning models answer in parts
            if get(part, "type") == "text" and isinstance(get(part, "text"), str):
                yield part, "text"


def _responses_slots(reply: object) -> Iterator[Slot]:
    for item in items(reply, "output"):
        if get(item, "type") == "message":
            for part in items(item, "content"):
                if get(part, "type") == "output_text":
                    yield part, "text"


def _messages_slots(reply: object) -> Iterator[Slot]:
    for block in items(reply, "content"):
        if get(block, "type") == "text":
            yield block, "text"


def _converse_slots(reply: object) -> Iterator[Slot]:
    for block in items(get(get(reply, "output"), "message"), "content"):
        if isinstance(get(block, "text"), str):
            yield block, "text"


def _google_parts(reply: object) -> Iterator[object]:
    for candidate in items(reply, "candidates"):
        yield from items(get(candidate, "content"), "parts")


def _google_slots(reply: object) -> Iterator[Slot]:
    for part in _google_parts(reply):
        if isinstance(get(part, "text"), str) and not get(part, "thought"):
            yield part, "text"


_SLOTS: Mapping[Api, Callable[[object], Iterator[Slot]]] = {
    "chat": _chat_slots,
    "responses": _responses_slots,
    "messages": _messages_slots,
    "converse": _converse_slots,
    "generate_content": _google_slots,
}


def is_answer(reply: object, api: Api) -> bool:
    """Whether a caller can use it: text, a tool call or a decline is present, and it is not cut."""
    if failure_in(reply, api) is not None:
        return False
    return calls_or_declines(reply, api) or (
        any(str(get(holder, name)).strip() for holder, name in text_slots(reply, api))
        and not was_cut(reply, api)
    )


def no_json(reply: object, api: Api) -> str | None:
    """What to say of a reply in which no JSON was found; None where a call or a decline stands."""
    if calls_or_declines(reply, api):
        return None
    length = sum(len(str(get(holder, name)).strip()) for holder, name in text_slots(reply, api))
    what = f"{length} characters of something else" if length else "empty"
    cut = ", cut at the token limit" if was_cut(reply, api) else ""
    return f"the endpoint's answer contains no JSON: it is {what}{cut}"


def calls_or_declines(reply: object, api: Api) -> bool:
    """Whether the model called a tool or declined: an answer without text."""
    match api:
        case "chat":
            messages = [get(choice, "message") for choice in items(reply, "choices")]
            return any(
                get(message, name)
                for message in messages
                for name in ("tool_calls", "function_call", "refusal")
            )
        case "responses":
            kinds = {get(item, "type") for item in items(reply, "output")}
            parts = {
                get(part, "type")
                for item in items(reply, "output")
                for part in items(item, "content")
            }
            return bool(kinds & {"function_call", "custom_tool_call"}) or "refusal" in parts
        case "messages":
            kinds = {get(block, "type") for block in items(reply, "content")}
            return "tool_use" in kinds or get(reply, "stop_reason") == "refusal"
        case "converse":
            blocks = items(get(get(reply, "output"), "message"), "content")
            return get(reply, "stopReason") == "refusal" or any(
                get(block, "toolUse") for block in blocks
            )
        case "generate_content":
            return any(get(part, "functionCall") for part in _google_parts(reply))


def was_cut(reply: object, api: Api) -> bool:
    """Whether the answer ends at the token limit."""
    match api:
        case "chat":
            return any(
                get(choice, "finish_reason") == "length" for choice in items(reply, "choices")
            )
        case "responses":
            return get(reply, "status") == "incomplete"
        case "messages":
            return get(reply, "stop_reason") == "max_tokens"
        case "converse":
            return get(reply, "stopReason") == "max_tokens"
        case "generate_content":
            return any(
                get(candidate, "finishReason") == "MAX_TOKENS"
                for candidate in items(reply, "candidates")
            )


def failure_in(reply: object, api: Api) -> object | None:
    """
    The error object inside a 200, None for a real reply.

    An `error` field counts where the reply has no answer of its own; so does finish_reason "error".
    """
    if api == "chat" and (choices := as_sequence(get(reply, "choices"))):
        # Asking an SDK object for a field it lacks is dear: real replies are only asked this.
        for choice in choices:
            if get(choice, "finish_reason") == "error":
                error = get(choice, "error") or get(reply, "error")
                return error or {"message": "the reply ended in an error"}
        return None
    error = get(reply, "error")
    if not error and api == "responses" and get(reply, "status") == "failed":
        return {"message": "the response failed and says no more"}
    return error or None


def error_status(error: object) -> int | None:
    """The HTTP status that an error object inside a 200 names, if it names one."""
    for name in ("code", "status", "status_code", "http_code"):
        value = get(error, name)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def error_message(error: object) -> str:
    """What an error object says, in one line."""
    message = get(error, "message") if not isinstance(error, str) else error
    return (
        message if isinstance(message, str) and message else "the endpoint answered with an error"
    )


def plain(error: object) -> object:
    """An error object as plain JSON (SDK models are dumped)."""
    dump = getattr(error, "model_dump", None)
    return dump(mode="json") if callable(dump) else error
