"""The query rewriter: makes the last user message self-contained. Source: spec memory."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import anyio

from structguard.events import Observer
from structguard.http.loops import PerLoop
from structguard.memory.parts import NONE, clip, conversation, plain
from structguard.memory.selfcontained import is_self_contained
from structguard.observe import log_events
from structguard.reading import ABSTAIN, NOTHING, Read
from structguard.subcalls import Ask, Completes, Options, Outcome, Rejection, Skip, Subcall
from structguard.types import JsonSchema, Message, as_mapping

Turn: TypeAlias = str | Message | Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteLimits:
    """Format and limits in one place: schema, prompt and reader are all made from it."""

    name: str = "query_rewriter_v1"
    key: str = "rewritten_query"  # the tag in text, the key in JSON
    characters: int = 400  # of a rewrite
    history_line: int = 400  # characters
    message: int = 500  # characters
    sessions: int = 256  # whose last rewrite is remembered


DEFAULTS = RewriteLimits()
PROMPT = """\
You make a user's last message understandable on its own, for a search in stored memories.
Replace words that point back (it, that one, there, he, the second) by what they stand for in the
conversation. Keep the user's language, meaning, names and numbers. Add nothing, answer nothing.\
"""


def schema(limits: RewriteLimits) -> JsonSchema:
    """What is asked of endpoints that can enforce it."""
    return JsonSchema(
        name=limits.name,
        strict=True,
        schema={
            "type": "object",
            "properties": {limits.key: {"type": "string"}},
            "required": [limits.key],
            "additionalProperties": False,
        },
    )


def answer_instructions(limits: RewriteLimits) -> str:
    """What the prompt says about the answer's form."""
    return (
        f"Answer with exactly one line of at most {limits.characters} characters:\n"
        f"<{limits.key}>the rewritten message</{limits.key}>\n"
        "or with NONE when the message needs no rewriting. If a JSON schema is imposed, answer"
        f' with that JSON instead: {{"{limits.key}": "the rewritten message"}}.'
    )


class _Reader:
    """Reads the tag, in any case, without `<` inside; or NONE."""

    def __init__(self, limits: RewriteLimits) -> None:
        tag = re.escape(limits.key)
        self._key = limits.key
        self._tagged = re.compile(rf"<{tag}>([^<]*)</{tag}>", re.IGNORECASE)
        self.marker = re.compile(rf"<{tag}>|\A{NONE.pattern}\Z", re.IGNORECASE)

    def __call__(self, text: str, /) -> object:
        if NONE.fullmatch(text):
            return ABSTAIN
        found = self._tagged.findall(text)
        if not found:
            return NOTHING
        return ABSTAIN if NONE.fullmatch(found[-1]) else Read({self._key: found[-1].strip()})


@dataclass(slots=True)
class _Running:
    """The rewrite under way in a session."""

    digest: str
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: Outcome[str] | None = None  # None where the call was cancelled from outside


class Rewriter:
    """
    The rewriter with its memory: per session, the same message and history are asked about once;
    a failed or timed-out attempt counts, an aborted one does not. What is under way is waited for
    within its event loop; another loop asks for itself.
    """

    def __init__(self, call: Subcall[[Sequence[Turn], str], str], sessions: int) -> None:
        self.call = call
        self._sessions = sessions
        self._last: OrderedDict[str, tuple[str, Outcome[str]]] = OrderedDict()
        self._lock = threading.Lock()  # loops in several threads may share the memory
        self._running: PerLoop[dict[str, _Running]] = PerLoop(dict)

    async def __call__(
        self,
        provider: Completes,
        history: Sequence[Turn],
        message: str,
        *,
        session: str | None = None,
    ) -> Outcome[str]:
        """
        The message made self-contained. On any status but ok keep the message as it is. A remembered
        outcome has `requests` 0.
        """
        if session is None:
            return await self.call(provider, history, message)
        digest = _digest(history, message)
        while (found := self._known(session, digest)) is None:
            running = self._running.get().get(session)
            if running is None or running.digest != digest:
                return await self._ask(provider, history, message, session, digest)
            await running.done.wait()
            # an abort is the waiter's too: it is as old as what was aborted
            if running.outcome is not None:
                return replace(running.outcome, requests=0, elapsed=0.0)
        return found

    def _known(self, session: str, digest: str) -> Outcome[str] | None:
        with self._lock:
            last, outcome = self._last.get(session, ("", None))
            if outcome is None or last != digest:
                return None
            self._last.move_to_end(session)
        return replace(outcome, requests=0, elapsed=0.0)

    async def _ask(
        self,
        provider: Completes,
        history: Sequence[Turn],
        message: str,
        session: str,
        digest: str,
    ) -> Outcome[str]:
        under_way = self._running.get()
        running = under_way[session] = _Running(digest)
        try:
            outcome = await self.call(provider, history, message, session=session)
            running.outcome = outcome
        finally:
            if under_way.get(session) is running:
                del under_way[session]
            running.done.set()
        if outcome.status != "aborted":
            with self._lock:
                self._last[session] = (digest, outcome)
                self._last.move_to_end(session)
                if len(self._last) > self._sessions:
                    self._last.popitem(last=False)
        return outcome


def rewriter(
    *,
    prompt: str = PROMPT,
    limits: RewriteLimits = DEFAULTS,
    timeout: float = 10.0,
    model: str | None = None,
    observer: Observer = log_events,
) -> Rewriter:
    """
    Create a rewriter: `await rewrite(provider, history, message, session="7")` is an `Outcome[str]`.

    It is skipped if there is no history, or if the message needs no context. An answer that cannot be
    used (several lines, too long, no tag) gives the status none. `timeout` is in seconds.
    """

    def describe(history: Sequence[Turn], message: str) -> Ask | Skip:
        if not history:
            return Skip("no history")
        if is_self_contained(message):
            return Skip("the message is self-contained")
        data = [
            "Conversation:",
            *(clip(_line(turn), limits.history_line) for turn in history),
            "Last message:",
            clip(message, limits.message),
        ]
        return Ask(conversation(prompt, answer_instructions(limits), data), check)

    def check(value: object) -> Read | Rejection:
        text = plain((as_mapping(value) or {}).get(limits.key))
        if not text or NONE.fullmatch(text):
            return Rejection("the model says there is nothing to rewrite")
        if len(text.splitlines()) > 1:
            return Rejection("the rewrite has more than one line")
        if len(text) > limits.characters:
            return Rejection(f"the rewrite is longer than {limits.characters} characters")
        return Read(text)

    options = Options(
        name="rewriter",
        schema=schema(limits),
        reader=_Reader(limits),
        timeout=timeout,
        model=model,
        unreadable="none",
        observer=observer,
    )
    return Rewriter(Subcall(describe, otherwise=None, options=options), limits.sessions)


def _line(turn: Turn) -> str:
    if isinstance(turn, str):
        return turn
    message = Message.of(turn)
    return f"{message.role}: {message.text}"


def _digest(history: Sequence[Turn], message: str) -> str:
    lines = [message, *map(_line, history)]
    whole = "\0".join(f"{len(line)}:{line}" for line in lines)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
