"""
What came back to the guard: whether it is an answer, and how it is marked as served.

Source: spec guard §2, rows "retry accepted" and "streaming with a format".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from structguard.errors import ProviderError
from structguard.flow import Served
from structguard.types import (
    Completion,
    DeclineDelta,
    Finished,
    StreamEvent,
    TextDelta,
    ToolCalled,
)


@dataclass(slots=True)
class Budget:
    """What both sends share: the deadline and the transport attempts."""

    deadline: float | None
    attempts: int | None
    spent: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that gave its first events."""

    head: list[StreamEvent]
    events: AsyncIterator[StreamEvent]


class MarkedEvents:
    """The events of a served stream; the reply at its end says how it was served."""

    def __init__(self, served: Served[Opened], budget: Budget) -> None:
        self._served, self._budget = served, budget
        self._head = iter(served.value.head)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event = next(self._head, None)
        if event is None:
            try:
                event = await anext(self._served.value.events)
            except ProviderError as error:
                error.requests += self._budget.spent
                raise
        return self._marked(event)

    def waiting(self) -> list[StreamEvent]:
        """What is there without waiting, taken out, where the provider's events tell it."""
        more = cast("Callable[[], list[StreamEvent]] | None",
                    getattr(self._served.value.events, "waiting", None))  # fmt: skip
        ready = [*self._head, *(more() if more is not None else ())]
        if ready:
            ready[-1] = self._marked(ready[-1])
        return ready

    def _marked(self, event: StreamEvent) -> StreamEvent:
        if isinstance(event, Finished):
            return Finished(marked(event.completion, self._served, self._budget))
        return event


async def head_of(events: AsyncIterator[StreamEvent], *, confirm: bool) -> list[StreamEvent]:
    """The first event; to confirm, all up to the first sign of an answer."""
    head: list[StreamEvent] = []
    async for event in events:
        head.append(event)
        if not confirm or is_sign(event):
            break
    return head


def is_sign(event: StreamEvent) -> bool:
    match event:
        case TextDelta(text) | DeclineDelta(text):
            return bool(text.strip())
        case ToolCalled():
            return True
        case Finished(completion):
            return answers(completion)
        case _:
            return False


def answers(reply: Completion) -> bool:
    return reply.answered and (reply.finish != "length" or bool(reply.tool_calls))


def marked(reply: Completion, served: Served[Any], budget: Budget) -> Completion:
    """The reply with how it was served; of a format not ours to judge, its provider is believed."""
    believed = reply.enforced is False or served.enforced is None
    enforced = reply.enforced if believed else served.enforced
    requests = reply.requests + budget.spent
    if (enforced, requests, served.refusal) == (reply.enforced, reply.requests, reply.refusal):
        return reply
    return replace(reply, enforced=enforced, requests=requests, refusal=served.refusal)
