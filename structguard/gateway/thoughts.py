"""
What a model thought, on its way through a Responses client and back to the model.

Claude's signatures, Google's thought signatures and other vendors' opaque parts have no place in the
document's reasoning items, and the model wants them back in the next turn. They ride, all of one answer
together, in the `encrypted_content` of a reasoning item, as text that this gateway reads again.
Source: spec gateway "Requests"; Anthropic "Extended thinking", Google "Thought signatures".
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from structguard.gateway.faults import ApiError
from structguard.gateway.writing import packed, unpacked
from structguard.types import (
    Api,
    Completion,
    Message,
    Reasoning,
    Request,
    ToolCall,
    as_mapping,
    as_sequence,
    as_text,
)

MARK = "sgr1."
_MOST = 4 * 1024 * 1024  # bytes of one answer's thoughts once unpacked
_READABLE = {"reasoning_content", "reasoning"}  # plain text under a chat server's own name
_CLAUDES = frozenset({"thinking", "redacted_thinking"})


def seal(completion: Completion) -> str | None:
    """An answer's thoughts as one opaque text; None where nothing of them is opaque."""
    signed = {call.id: call.signature for call in completion.tool_calls if call.signature}
    if not signed and not any(_is_opaque(part) for part in completion.reasoning):
        return None
    held = {
        "by": (completion.provider or "").partition("#")[0],
        "parts": [_written(part) for part in completion.reasoning],
        "calls": signed,
    }
    text = base64.urlsafe_b64encode(zlib.compress(packed(held, default=dict)))
    return MARK + text.decode()


def sealed(completion: Completion) -> Completion:
    """A whole answer whose thoughts can come back: readable ones stay, the first carries the seal."""
    text = seal(completion)
    if text is None:
        return completion
    shown = [Reasoning(text=part.text, call_id=part.call_id) for part in completion.reasoning if part.text]  # fmt: skip
    first = shown[0] if shown else Reasoning()
    return replace(completion, reasoning=(replace(first, encrypted=text), *shown[1:]))


def unsealed(request: Request, target: Api) -> tuple[Request, str]:
    """
    A request with its answers' own thoughts in place, and without those that `target` cannot carry;
    the second value warns of what was left out ("" for nothing).

    Raises:
        ApiError: a seal that cannot be read.
    """
    said = request.conversation
    if not any(message.reasoning for message in said):
        return request, ""
    messages: list[Message] = []
    left = False
    for message in _joined(said):
        opened = _opened(message)
        kept = tuple(part for part in opened.reasoning if _carries(target, part))
        left = left or len(kept) < len(opened.reasoning)
        if kept or opened.text or opened.tool_calls or not opened.reasoning:
            messages.append(replace(opened, reasoning=kept))
    return request.derive(messages=tuple(messages)), "reasoning left out" if left else ""


def without_seals(items: Sequence[object], ours: Container[str]) -> list[object] | None:
    """
    Input items for an upstream that speaks Responses itself and knows nothing of our reasoning items;
    None where there is none. A seal by a provider not among `ours` is another gateway's to read.
    """
    answers = {_answer_of(item) for item in items if _is_ours(item, ours)}
    if not answers:
        return None
    return [item for item in items if not (_is_reasoning(item) and _answer_of(item) in answers)]


def _is_ours(item: object, ours: Container[str]) -> bool:
    text = as_text((as_mapping(item) or {}).get("encrypted_content"))
    if not _is_reasoning(item) or text is None or not text.startswith(MARK):
        return False
    return str(_read(text).get("by")) in ours


def _is_reasoning(item: object) -> bool:
    return (as_mapping(item) or {}).get("type") == "reasoning"


def _answer_of(item: object) -> str:
    """What the ids of one answer's items have in common."""
    fields = as_mapping(item) or {}
    return str(fields.get("id") or fields.get("encrypted_content")).rpartition("_")[0]


def _is_opaque(part: Reasoning) -> bool:
    raw = part.raw or {}
    if raw.get("type") == "reasoning":  # the wire's own
        return False
    return bool(part.signature or part.encrypted or (raw and not raw.keys() <= _READABLE))


def _written(part: Reasoning) -> dict[str, object]:
    fields: dict[str, object] = {
        "text": part.text,
        "id": part.id,
        "encrypted": part.encrypted,
        "signature": part.signature,
        "raw": part.raw,
        "call_id": part.call_id,
    }
    return {name: value for name, value in fields.items() if value}


def _read(text: str) -> Mapping[str, object]:
    try:
        raw = base64.urlsafe_b64decode(text.removeprefix(MARK))
        unpacker = zlib.decompressobj()
        held = as_mapping(unpacked(unpacker.decompress(raw, _MOST)))
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ApiError(400, "a reasoning item's encrypted_content cannot be read", param="input") from error  # fmt: skip
    if held is None or unpacker.unconsumed_tail:
        raise ApiError(400, "a reasoning item's encrypted_content cannot be read", param="input")
    return held


def _part(given: object) -> Reasoning:
    fields = as_mapping(given) or {}
    return Reasoning(
        text=as_text(fields.get("text")) or "",
        id=as_text(fields.get("id")),
        encrypted=as_text(fields.get("encrypted")),
        signature=as_text(fields.get("signature")),
        raw=as_mapping(fields.get("raw")),
        call_id=as_text(fields.get("call_id")),
    )


def _opened(message: Message) -> Message:
    """A message with what its seals hold instead of the items that showed it."""
    seals = [
        _read(part.encrypted)
        for part in message.reasoning
        if part.encrypted and part.encrypted.startswith(MARK)
    ]
    if not seals:
        return message
    signed: dict[str, object] = {}
    for held in seals:
        signed |= as_mapping(held.get("calls")) or {}
    parts = [_part(one) for held in seals for one in as_sequence(held.get("parts")) or ()]
    calls = tuple(_signed(call, as_text(signed.get(call.id))) for call in message.tool_calls)
    return replace(message, reasoning=tuple(parts), tool_calls=calls)


def _signed(call: ToolCall, signature: str | None) -> ToolCall:
    return replace(call, signature=signature) if signature else call


def _joined(messages: Sequence[Message]) -> Iterator[Message]:
    """Thoughts that stand alone behind an answer belong to it: a stream tells them at its end."""
    before: Message | None = None
    for message in messages:
        if before is not None and before.role == "assistant" and _is_thought(message):
            before = replace(before, reasoning=(*before.reasoning, *message.reasoning))
            continue
        if before is not None:
            yield before
        before = message
    if before is not None:
        yield before


def _is_thought(message: Message) -> bool:
    return message.role == "assistant" and not message.text and not message.tool_calls


def _carries(target: Api, part: Reasoning) -> bool:
    """Whether a wire has a place for a thought: its own, or one that can be read."""
    raw = part.raw or {}
    match target:
        case "messages":
            signed = bool(part.signature) and (not raw or "reasoningText" in raw)
            return raw.get("type") in _CLAUDES or signed
        case "converse":
            return "reasoningText" in raw or "redactedContent" in raw or bool(part.text)
        case "generate_content":
            return bool(part.text) or "thoughtSignature" in raw
        case "chat":
            return bool(part.text) or str(raw.get("type", "")).startswith("reasoning.")
        case "responses":
            return raw.get("type") == "reasoning" or bool(part.text or part.encrypted or part.id)
