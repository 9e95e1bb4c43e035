"""What every wire does with a reply once its pieces are read: calls, finish, promotion."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import jiter

from structguard.schema import validator
from structguard.types import (
    Completion,
    DeclineDelta,
    Failure,
    Finish,
    Finished,
    Format,
    JsonSchema,
    Reasoning,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
    Usage,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import BadReply, Headers
from structguard.wire.headers import lowered, rate_limits, request_id, retry_after
from structguard.wire.payload import loads

PROMOTED = "promoted_from_reasoning"
"""The mark in `repairs` of an answer that was found in the reasoning alone."""


@dataclass(slots=True)
class Reply:
    """The pieces of one reply as they are read; `completion` makes the whole of them."""

    text: list[str] = field(default_factory=list[str])
    declined: list[str] = field(default_factory=list[str])
    reasoning: list[Reasoning] = field(default_factory=list[Reasoning])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: Finish = "stop"
    usage: Usage | None = None
    model: str | None = None
    id: str | None = None
    metadata: dict[str, object] = field(default_factory=dict[str, object])
    _leading: int = 0  # reasoning parts at the end that nothing followed yet

    def say(self, text: str) -> None:
        """Text of the answer."""
        self.text.append(text)
        self._leading = 0

    def decline(self, text: str) -> None:
        """Words of declining."""
        self.declined.append(text)
        self._leading = 0

    def think(self, part: Reasoning) -> None:
        """Reasoning, in order."""
        self.reasoning.append(part)
        self._leading += 1

    def call(self, call: ToolCall) -> None:
        """A call; the reasoning right before it led to it and says so."""
        self.calls.append(call)
        for at in range(len(self.reasoning) - self._leading, len(self.reasoning)):
            self.reasoning[at] = replace(self.reasoning[at], call_id=call.id)
        self._leading = 0

    def keep(self, item: object) -> None:
        """An item that is not ours to read (a hosted tool's) and not ours to lose."""
        self.note("items", [item])

    def note(self, name: str, given: object) -> None:
        """What a part says beside its text (citations), gathered in `metadata` under its name."""
        if more := as_sequence(given):
            before = as_sequence(self.metadata.get(name)) or ()
            self.metadata = {**self.metadata, name: [*before, *more]}

    def completion(self, format: Format | None) -> Completion:  # noqa: A002  the field's word
        """
        The whole reply. A decline keeps its words and wins over any finish but filtered; calls
        make the finish tool_calls unless the reply was cut, filtered or failed; where only the
        reasoning holds JSON for the format, that is the answer and `repairs` says so.
        """
        text = "".join((*self.text, *self.declined))
        finish = self.finish
        repairs: tuple[str, ...] = ()
        if self.declined and finish != "filtered":
            finish = "declined"
        elif self.calls and finish == "stop":
            finish = "tool_calls"
        if format is not None and not text.strip() and not self.calls:
            found = answer_in("".join(part.text for part in self.reasoning), format)
            if found:
                text, repairs = found, (PROMOTED,)
        return Completion(
            text=text,
            tool_calls=tuple(self.calls),
            finish=finish,
            reasoning=tuple(self.reasoning),
            usage=self.usage,
            model=self.model,
            id=self.id,
            enforced=None if format is None else True,
            repairs=repairs,
            metadata=self.metadata,
        )


def answer_in(reasoning: str, format: Format) -> str:  # noqa: A002  the field's word
    """The reasoning text where it is, as a whole, JSON valid for the format; else ""."""
    text = reasoning.strip()
    if not text:
        return ""
    try:
        value = loads(text.encode("utf-8", "surrogatepass"))
        if isinstance(format, JsonSchema):
            fits = validator(format.schema).is_valid(value)
        else:
            fits = isinstance(value, dict)
    except ValueError:  # not JSON, or a schema only the endpoint understands
        return ""
    return text if fits else ""


def finish_in(finishes: Mapping[object, Finish], reason: object) -> Finish:
    """The neutral finish of a vendor's word; a word it never said, or no word at all, is a stop."""
    return finishes.get(as_text(reason), "stop")


def tool_call(
    id: str,  # noqa: A002  the field's word
    name: str,
    arguments: str,
    signature: str | None = None,
) -> ToolCall:
    """A call with the model's own text; where that is no JSON object, `error` says why."""
    return ToolCall(
        id=id, name=name, arguments=arguments, error=_fault(arguments), signature=signature
    )


def _fault(arguments: str) -> str | None:
    try:
        value = jiter.from_json(arguments.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        return f"the arguments are not JSON: {error}"
    return None if isinstance(value, dict) else "the arguments are not a JSON object"


def events_of(completion: Completion) -> list[StreamEvent]:
    """A whole reply as the events of a stream, for a server that ignored `stream`."""
    events: list[StreamEvent] = []
    if completion.reasoning_text:
        events.append(ReasoningDelta(completion.reasoning_text))
    if completion.text:
        delta = DeclineDelta if completion.finish == "declined" else TextDelta
        events.append(delta(completion.text))
    events.extend(ToolCalled(call) for call in completion.tool_calls)
    events.append(Finished(completion))
    return events


def finished(reply: Reply, format: Format | None) -> list[StreamEvent]:  # noqa: A002
    """The last events of a stream: a promoted answer as text, then the whole reply."""
    completion = reply.completion(format)
    promoted = PROMOTED in completion.repairs
    end: list[StreamEvent] = [Finished(completion)]
    return [TextDelta(completion.text), *end] if promoted else end


def openai_counts(usage: Usage) -> tuple[int, int, int]:
    """
    Input, output and total as OpenAI counts them: what the cache gave and took is input, thoughts are
    output. Other vendors count both apart; where they give a total, it tells (only Anthropic does not).
    """
    read, written = usage.input or 0, usage.output or 0
    cached = (usage.cached_read or 0) + (usage.cached_write or 0)
    if usage.total is None or (usage.total <= read + written and cached > read):
        return read + cached, written, read + cached + written
    apart = max(0, usage.total - read - written)
    thought = min(apart, usage.reasoning or 0)
    return read + min(apart - thought, cached), written + thought, usage.total


def json_object(body: bytes) -> Mapping[str, object]:
    """
    The reply's JSON object.

    Raises:
        BadReply: not JSON, or not an object; `failure.body` keeps what came instead.
    """
    try:
        value = as_mapping(loads(body))
    except ValueError as error:
        raise bad(f"the reply is not JSON: {error}", body) from error
    if value is None:
        raise bad("the reply is JSON, but not an object", body)
    return value


@contextmanager
def facts_of(headers: Headers) -> Generator[None, None, None]:
    """A fault found inside also says what the headers say: request id, Retry-After, rate limits."""
    try:
        yield
    except BadReply as fault:
        raise BadReply(with_headers(fault.failure, headers)) from fault


def with_headers(failure: Failure, headers: Headers) -> Failure:
    """The failure with what the headers of its reply say; its own words win."""
    low = lowered(headers)
    wait = failure.retry_after
    return replace(
        failure,
        request_id=failure.request_id or request_id(low),
        retry_after=retry_after(low) if wait is None else wait,
        metadata={**rate_limits(low), **failure.metadata},
    )


def bad(message: str, body: bytes | str = "") -> BadReply:
    """A 2xx reply that is no completion: kind bad_response, as no code or status says more."""
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    return BadReply(Failure(status=200, body=text, message=message))


def texts(parts: Sequence[object] | None, key: str = "text") -> str:
    """The texts under `key` of a list of objects, concatenated in order."""
    values: list[str] = []
    for part in parts or ():
        value = (as_mapping(part) or {}).get(key)
        if isinstance(value, str):
            values.append(value)
    return "".join(values)
