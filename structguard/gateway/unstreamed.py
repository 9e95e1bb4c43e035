"""
A whole reply told as the stream that was asked for: a server that ignores `stream` answers so.

Nothing of the reply is lost on the way: what has no events of its own comes with its item's first
and last one. Source: spec gateway "Replies", row "Stream" (no delta arrived → one with the whole text).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structguard.gateway.blocks import DONE, spoken
from structguard.gateway.resource import new_id
from structguard.types import Api, as_mapping, as_sequence, as_text

Event = dict[str, object]
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_FAILED = frozenset({"failed", "cancelled"})
_TEXTS: Mapping[object, tuple[str, str]] = {
    "output_text": ("response.output_text", "text"),
    "refusal": ("response.refusal", "refusal"),
}


def told(reply: Mapping[str, object], api: Api) -> bytes:
    """The events of a whole reply, the terminal one included."""
    if api == "chat":
        return b"".join(spoken(chunk, api) for chunk in _chunks(reply)) + DONE
    events = enumerate(_events(reply))
    return b"".join(
        spoken({"type": event["type"], "sequence_number": at, **event}, api) for at, event in events
    )


def _chunks(reply: Mapping[str, object]) -> Iterator[Event]:
    """Two chunks a choice: all it says, and its finish; the usage comes with the last."""
    base: Event = {key: value for key, value in reply.items() if key not in {"choices", "usage"}}
    base["object"] = "chat.completion.chunk"
    usage: Event = {"usage": reply["usage"]} if reply.get("usage") else {}
    choices = [
        choice for one in as_sequence(reply.get("choices")) or () if (choice := as_mapping(one))
    ]
    for at, choice in enumerate(choices):
        message = as_mapping(choice.get("message")) or {}
        delta: Event = {"role": "assistant", **message}
        calls = as_sequence(message.get("tool_calls"))
        if calls:
            delta["tool_calls"] = [
                {"index": number, **(as_mapping(call) or {})} for number, call in enumerate(calls)
            ]
        said = {
            "index": choice.get("index", at),
            "delta": delta,
            "logprobs": choice.get("logprobs"),
        }
        yield {**base, "choices": [{**said, "finish_reason": None}]}
        finish = choice.get("finish_reason") or "stop"
        end = {**said, "delta": {}, "logprobs": None, "finish_reason": finish}
        yield {**base, "choices": [end], **(usage if at == len(choices) - 1 else {})}


def _events(resource: Mapping[str, object]) -> Iterator[Event]:
    """The document's sequence, one item after another."""
    given = as_sequence(resource.get("output")) or ()
    items = [_item(item) for one in given if (item := as_mapping(one)) is not None]
    begun: Event = {
        **resource,
        "status": "in_progress",
        "output": [],
        **dict.fromkeys(("usage", "error", "incomplete_details", "completed_at")),
    }
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for at, item in enumerate(items):
        yield from _item_events(at, item)
    status = resource.get("status")
    status = (
        "failed" if status in _FAILED else "incomplete" if status == "incomplete" else "completed"
    )
    whole = {**resource, "status": status, "output": items}
    yield {"type": f"response.{status}", "response": whole}


def _item(given: Mapping[str, object]) -> Event:
    """An item with an id, its text as a part."""
    kind = as_text(given.get("type")) or "message"
    item: Event = {
        **given,
        "type": kind,
        "id": given.get("id") or new_id(_PREFIXES.get(kind, "item")),
    }
    if kind == "message":
        item = {"status": "completed", **item}
    if kind == "message" and isinstance(given.get("content"), str):
        text = given["content"]
        item["content"] = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return item


def _item_events(at: int, item: Event) -> Iterator[Event]:
    place: Event = {"item_id": item["id"], "output_index": at}
    opened: Event = dict(item)
    inside: Iterator[Event] = iter(())
    match item["type"]:
        case "message":
            opened |= {"status": "in_progress", "content": []}
            inside = _parts(place, as_sequence(item.get("content")) or ())
        case "reasoning":
            opened["summary"] = []
            inside = _summaries(place, as_sequence(item.get("summary")) or ())
        case "function_call":
            opened |= {"status": "in_progress", "arguments": ""}
            inside = _arguments(place, item)
        case _:
            pass
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    yield from inside
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _parts(place: Event, parts: object) -> Iterator[Event]:
    for index, one in enumerate(as_sequence(parts) or ()):
        part = as_mapping(one) or {}
        where: Event = {**place, "content_index": index}
        name, key = _TEXTS.get(part.get("type"), ("", ""))
        empty: Event = {**part, key: ""} if key else {**part}
        yield {"type": "response.content_part.added", **where, "part": empty}
        if key:
            yield from _text(name, where, key, as_text(part.get(key)) or "")
        yield {"type": "response.content_part.done", **where, "part": part}


def _summaries(place: Event, parts: object) -> Iterator[Event]:
    for index, one in enumerate(as_sequence(parts) or ()):
        part = as_mapping(one) or {}
        where: Event = {**place, "summary_index": index}
        name = "response.reasoning_summary"
        yield {"type": f"{name}_part.added", **where, "part": {**part, "text": ""}}
        yield from _text(f"{name}_text", where, "text", as_text(part.get("text")) or "")
        yield {"type": f"{name}_part.done", **where, "part": part}


def _text(name: str, where: Event, key: str, text: str) -> Iterator[Event]:
    logs: Event = {"logprobs": []} if name == "response.output_text" else {}
    if text:
        yield {"type": f"{name}.delta", **where, "delta": text, **logs}
    yield {"type": f"{name}.done", **where, key: text, **logs}


def _arguments(place: Event, item: Event) -> Iterator[Event]:
    name, arguments = "response.function_call_arguments", as_text(item.get("arguments")) or ""
    if arguments:
        yield {"type": f"{name}.delta", **place, "delta": arguments}
    yield {"type": f"{name}.done", **place, "name": item.get("name"), "arguments": arguments}
