"""A driver for tests: it plays scripted results and keeps every effect, over a real memory memo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from structguard.events import Event
from structguard.flow import Forget, Lease, Remember, Send, Sent, Served, guarded_flow
from structguard.flow.algorithm import Flow
from structguard.memo import Memo, open_memo
from structguard.options import Policy
from structguard.types import MemoKey, Place, Refusal, Scope

KEY = MemoKey(provider="p", model="m", base_url="p", schema="d1")
REFUSAL = Refusal(Scope.CAPABILITY, "feature", "response_format", "response_format is unsupported")


class Refused(Exception):
    """What an endpoint that refuses the format raises."""


@dataclass(frozen=True)
class FakeCall:
    """A call that tells what was done to it."""

    key: MemoKey = KEY
    guardable: bool = True
    form: str = "with format"

    @property
    def place(self) -> Place:
        return self.key.place

    @property
    def pair(self) -> tuple[str, str]:
        return self.key.pair

    def degraded(self) -> FakeCall:
        return replace(self, guardable=False, form="without format")

    def prompted(self) -> FakeCall:
        return replace(self, form="with format and prompt")

    def advice(self) -> str:
        return "set additionalProperties to false"


def refused(
    refusal: Refusal | None = REFUSAL, *, left: float | None = None, status: int = 400
) -> Sent[str]:
    return Sent(error=Refused("no"), refusal=refusal, status=status, left=left)


def answered(text: str = "{}", *, answer: bool = True, prose: bool | None = None) -> Sent[str]:
    return Sent(value=text, status=200, answered=answer, prose=prose)


def failed(error: Exception) -> Sent[str]:
    return Sent(error=error, status=500)


@dataclass
class Player:
    """Plays `results` for the sends in order; `effects` and `events` keep what happened."""

    memo: Memo = field(default_factory=lambda: open_memo("memory:"))
    policy: Policy = field(default_factory=Policy)
    effects: list[object] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def sends(self) -> list[Send[FakeCall]]:
        return [effect for effect in self.effects if isinstance(effect, Send)]

    @property
    def forms(self) -> list[str]:
        return [send.call.form for send in self.sends]

    def play(
        self, results: Sequence[Sent[str] | Callable[[], Sent[str]]], call: FakeCall | None = None
    ) -> Served[str]:
        left = list(results)
        flow: Flow[FakeCall, str]
        flow = guarded_flow(call or FakeCall(), self.memo, self.policy, self.events.append)
        result: object = None
        try:
            while True:
                effect = flow.send(result)
                self.effects.append(effect)
                match effect:
                    case Send():
                        step = left.pop(0)
                        result = step() if callable(step) else step
                    case Remember(entry):
                        result = self.memo.remember(entry)
                    case Lease(entry):
                        result = self.memo.lease(entry, 30.0)
                    case Forget(entry):
                        self.memo.clear(entry)
                        result = None
        except StopIteration as stop:
            assert not left, "the flow sent less often than scripted"
            served: Served[str] = stop.value
            return served
