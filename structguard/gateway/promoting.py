"""
An answer that stands only in what the model thought, put where an answer stands, as it passes.

The neutral form does so when it is read; bodies and events that pass are done here, on either wire.
Source: spec wire "Reply", row "content empty".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from structguard.clients.replies import get, items
from structguard.gateway.faults import ApiError
from structguard.gateway.resource import new_id
from structguard.gateway.sequence import Sequence, message_item
from structguard.types import Format, as_mapping, as_sequence, as_text
from structguard.wire.reply import PROMOTED, answer_in
from structguard.wire.responses.reply import completion_in

Asked = Callable[[], Format | None]
_THINKS = ("reasoning_content", "reasoning")
_MOST = 1_000_000  # characters of thoughts that one stream holds
_SAYS = ("content", "tool_calls", "function_call", "refusal")


def answer_of(resource: Mapping[str, object], asked: Asked) -> str:
    """The answer of a response that only thought; "" of any other."""
    output = as_sequence(resource.get("output")) or ()
    if not output or any(get(item, "type") != "reasoning" for item in output):
        return ""
    completion = completion_in({**resource, "error": None}, b"", format=_format(asked))
    return completion.text if PROMOTED in completion.repairs else ""


def with_answer(resource: Mapping[str, object], asked: Asked) -> Mapping[str, object]:
    """The response with a message that says what it only thought; itself where it says something."""
    answer = answer_of(resource, asked)
    if not answer:
        return resource
    output = as_sequence(resource.get("output")) or ()
    return {**resource, "output": [*output, message_item(new_id("msg"), answer)]}


def spoken_answer(
    event: Mapping[str, object], number: int, asked: Asked
) -> tuple[list[dict[str, object]], dict[str, object] | None]:
    """
    The events of such a message, numbered from `number` on, and the end of the response with it;
    nothing and None where the response says something itself, or does not end here.
    """
    response = as_mapping(event.get("response"))
    if event.get("type") != "response.completed" or response is None:
        return [], None
    answer = answer_of(response, asked)
    if not answer:
        return [], None
    sequence = Sequence({"id": new_id()}, number, as_sequence(response.get("output")) or ())
    events = [*sequence.said(answer)]
    return events, {**event, "response": {**response, "output": sequence.items}}


@dataclass(slots=True)
class Silent:
    """What the choices of a chat stream think while they say nothing; much of it is no answer."""

    thought: dict[object, list[str]] = field(default_factory=dict[object, list[str]])
    spoke: set[object] = field(default_factory=set[object])
    room: int = _MOST

    def answers(self, chunk: Mapping[str, object], asked: Asked) -> Iterator[dict[str, object]]:
        """Chunks that say what a choice only thought, to go before this one, which ends it."""
        for choice in items(chunk, "choices"):
            index, delta = get(choice, "index"), get(choice, "delta")
            if any(_holds(get(delta, name)) for name in _SAYS):
                self.spoke.add(index)
                self.thought.pop(index, None)
            if index in self.spoke:
                continue
            text = next(filter(None, (as_text(get(delta, name)) for name in _THINKS)), "")
            self.thought.setdefault(index, []).append(text)
            self.room -= len(text)
            if self.room < 0:
                self.thought.clear()
                self.spoke.add(index)
            elif get(choice, "finish_reason") and (answer := self._answer(index, asked)):
                said = {"index": index, "delta": {"content": answer}, "finish_reason": None}
                yield {**chunk, "usage": None, "choices": [said]}  # the usage comes with the end

    def _answer(self, index: object, asked: Asked) -> str:
        thought = "".join(self.thought.pop(index))
        if not thought.strip() or (format_ := _format(asked)) is None:
            return ""
        return answer_in(thought, format_)


def _holds(value: object) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _format(asked: Asked) -> Format | None:
    """The format, where it can be read: the upstream took it, and here nothing fails for it."""
    try:
        return asked()
    except (ValueError, ApiError):
        return None
