"""
A whole reply of an upstream that speaks the client's wire: read once, told apart, healed in place.

What needs no change goes back byte for byte. Source: spec gateway "Replies", row "Healing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from structguard.clients.call import BodyCall
from structguard.clients.healing import heal
from structguard.clients.replies import (
    calls_or_declines,
    failure_in,
    get,
    is_answer,
    put,
    text_slots,
    was_cut,
)
from structguard.clients.thoughts import promote
from structguard.gateway.promoting import with_answer
from structguard.gateway.turn import RAW, Served
from structguard.gateway.writing import packed
from structguard.layers.served import answers as is_answered
from structguard.types import Api, Completion, as_mapping, as_sequence
from structguard.wire.payload import loads


class Whole(NamedTuple):
    """
    A 2xx reply: its bytes, the same read, and the completion in it where that was asked for; `strict`
    unless it had to be read leniently.
    """

    raw: bytes
    parsed: Mapping[str, object]
    decoded: Completion | None = None
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A reply as it goes back to the client; `parsed` is the same, read, `strict` as of `Whole`."""

    body: bytes = field(repr=False)
    parsed: Mapping[str, object] = field(repr=False)
    served: Served
    strict: bool = True

    @property
    def completion(self) -> Completion:
        """Itself as what chains and breakers hand on."""
        told = self.served
        return Completion(
            provider=told.provider,
            enforced=told.enforced,
            requests=told.requests,
            metadata={RAW: self},
        )


def read(raw: bytes) -> Whole:
    """A reply's JSON object, read leniently where it must be; empty where there is none."""
    try:
        return Whole(raw, as_mapping(orjson.loads(raw)) or {})
    except orjson.JSONDecodeError:
        try:
            value = as_mapping(loads(raw))
        except ValueError:
            value = None
    return Whole(raw, value or {}, strict=False)


def is_json(text: str) -> bool:
    """Whether a text is strict JSON, as cheaply as can be; what is too deep for orjson is not."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def is_sound(parsed: Mapping[str, object], api: Api) -> bool:
    """Whether a reply is plainly an answer; else the wire says what is wrong with it."""
    output = as_sequence(parsed.get("choices" if api == "chat" else "output"))
    return bool(output) and failure_in(parsed, api) is None


def answers(whole: Whole, api: Api) -> bool:
    """Whether the client gets an answer it can use: of a decoded reply, by what was decoded."""
    reply = whole.decoded
    if reply is None:
        return is_answer(whole.parsed, api)
    return reply.finish != "error" and is_answered(reply)


def promoted(whole: Whole, asked: BodyCall) -> Whole:
    """The reply with an answer that stands in the thoughts put where it belongs."""
    if whole.decoded is not None:  # decoding did it
        return whole
    if not asked.guardable:
        return whole
    if asked.api == "responses":
        said = with_answer(whole.parsed, asked.resolve)
        return whole if said is whole.parsed else Whole(packed(said), said)
    if promote(whole.parsed, asked.api, asked.resolve):
        return Whole(packed(whole.parsed), whole.parsed)
    return whole


def holds_prose(whole: Whole, asked: BodyCall) -> bool | None:
    """Whether a text of the reply holds no JSON; None where that says nothing."""
    texts = [str(get(holder, name)) for holder, name in text_slots(whole.parsed, asked.api)]
    if not texts or not asked.guardable or calls_or_declines(whole.parsed, asked.api):
        return None
    return any(heal(text, asked.resolve, degraded=False).source is None for text in texts)


def healed(whole: Whole, asked: BodyCall, told: Served) -> RawReply:
    """The reply whose texts are bare JSON, where JSON was asked for and can be found."""
    if not asked.guardable:
        return RawReply(body=whole.raw, parsed=whole.parsed, served=told, strict=whole.strict)
    changed, cut = False, was_cut(whole.parsed, asked.api)
    for holder, name in text_slots(whole.parsed, asked.api):
        text = str(get(holder, name))
        found = heal(text, asked.resolve, degraded=told.enforced is False, cut=cut)
        told.source = told.source or found.source
        if found.text != text:
            put(holder, name, found.text)
            changed = True
    raw = packed(whole.parsed) if changed else whole.raw
    strict = changed or whole.strict
    return RawReply(body=raw, parsed=whole.parsed, served=told, strict=strict)
