"""
The plain case, which is nearly every request: one body out, one reply back, nothing made in between.

A request is plain where one send says all there is to say: it asks for no JSON, or the memo knows
either nothing of its upstream or that the format has to be left out. A reply is plain where its
texts are strict JSON already. Whatever is not goes the general way (`passing`), which takes over the
exchange that was made: nothing is sent twice. Source: spec gateway "Speed bar"; spec guard §2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import orjson

from structguard.clients.call import BodyCall
from structguard.clients.healing import looks_right
from structguard.clients.replies import get, text_slots
from structguard.events import Observer
from structguard.gateway.turn import Mode, Served
from structguard.gateway.whole import RawReply, Whole
from structguard.memo import Entry, Memo
from structguard.options import Policy
from structguard.providers.call import Fault
from structguard.types import Api

T = TypeVar("T")
_TEXT = ("message", "output_text")


class Plan(NamedTuple):
    """
    What goes out for a plain request, and the memo's entry for which it goes without a format; its
    `body` where that is made already.
    """

    call: BodyCall
    entry: Entry | None
    body: bytes | None = None

    @property
    def enforced(self) -> bool | None:
        """How an accepted reply to it was served."""
        return None if self.entry is None and not self.call.guardable else self.entry is None

    def skipped(self, memo: Memo, observer: Observer) -> None:
        """Tell that the format was left out, once that has worked."""
        if self.entry is not None:
            memo.note_saved(self.entry)
            observer(self.entry.skipped)


def plan_of(
    asked: BodyCall,
    mode: Mode,
    memo: Memo,
    policy: Policy,
    without: Callable[[BodyCall], bytes | None] = lambda _: None,
) -> Plan | None:
    """
    How a plain request goes out; None where it is not plain. `without` gives its body without the
    format, where it can more cheaply than `degraded` does.
    """
    if not asked.guardable or mode == "native":
        return Plan(asked, None)
    if policy.mode != "guard" or policy.require_enforced or policy.ignored_after or memo.stale():
        return None
    try:
        entry = memo.look(asked)
        if entry is None:
            return Plan(asked, None)
        if memo.due(entry):
            return None
        body = without(asked)
        return Plan(asked.degraded(), entry) if body is None else Plan(asked, entry, body)
    except ValueError:  # the client's schema: the general way says what is wrong with it
        return None


def plain_reply(whole: Whole, asked: BodyCall, told: Served) -> RawReply | None:
    """The reply as it goes back; None where it is not plain."""
    if asked.guardable:
        degraded = told.enforced is False
        texts = _texts(whole.parsed, asked.api)
        if not texts or not all(_fits(text, asked, degraded=degraded) for text in texts):
            return None
        told.source = "json"
    return RawReply(body=whole.raw, parsed=whole.parsed, served=told, strict=whole.strict)


def _texts(parsed: Mapping[str, object], api: Api) -> list[object]:
    """The texts of a reply; first by the shape that nearly all have."""
    shape = cast("Any", parsed)  # on trust: what is otherwise raises, at half the cost of asking
    try:
        if api == "chat":
            (choice,) = shape["choices"]
            text = choice["message"]["content"]
        else:
            (item,) = shape["output"]
            (part,) = item["content"]
            text = part["text"] if (item["type"], part["type"]) == _TEXT else None
    except (LookupError, TypeError, ValueError):
        text = None
    if isinstance(text, str):
        return [text]
    return [get(holder, name) for holder, name in text_slots(parsed, api)]


def _fits(text: object, asked: BodyCall, *, degraded: bool) -> bool:
    """Whether a text is strict JSON; after a degraded send, of the outer shape that was asked for."""
    try:
        value: object = orjson.loads(str(text))
    except orjson.JSONDecodeError:
        return False
    return not degraded or looks_right(value, asked.resolve())


@dataclass(slots=True)
class Tried(Generic[T]):
    """A first exchange that was not plain: what went out, what came of it, when it began (clock)."""

    body: bytes
    outcome: T | Fault | None
    began: float

    def taken(self, body: bytes) -> T | Fault | None:
        """What came of it, once, and only to whoever would send the same."""
        outcome = self.outcome if body == self.body else None
        self.outcome = None
        return outcome
