"""What a call came to: its requests, and whether what came out is right, truthful, or neither."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from pydantic import ValidationError

import structguard
from benchmarks.compare.clients import Client, Face, Setting
from benchmarks.compare.endpoints import LISBON, Behaviour, City
from structguard.testing import RefusingEndpoint


class Verdict(Enum):
    """Four ways to come out of a call; the value is the mark in the tables."""

    RIGHT = "✓"  # the object
    TRUTHFUL = "●"  # there is none to be had, and the error says why
    LOST = "✗"  # an error: an object was to be had, or it does not say what happened
    SILENT = "≈"  # something else, handed over as if it were the object


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call: what it cost, what came of it, in a few words."""

    requests: int
    verdict: Verdict
    told: str


@dataclass(frozen=True, slots=True)
class Pair:
    """The first call and the second."""

    first: Outcome
    second: Outcome

    @property
    def holds(self) -> bool:
        """The bar: right, or truthful where nothing right is to be had."""
        good = (Verdict.RIGHT, Verdict.TRUTHFUL)
        return self.first.verdict in good and self.second.verdict in good


def without(client: Client, behaviour: Behaviour) -> Pair:
    """Two calls, nothing guarded."""
    with behaviour.open() as endpoint:
        setting = Setting(endpoint.base_url)
        return _pair(endpoint, behaviour, lambda: client.ask(setting))


def guarded(client: Client, behaviour: Behaviour, face: Face) -> Pair:
    """Two calls through a guard that begins with an empty memo."""
    guard = structguard.Guard(memo="memory:", policy=client.policy, observer=lambda _event: None)
    with guard, behaviour.open() as endpoint:
        setting = Setting(endpoint.base_url, guard, face)
        return _pair(endpoint, behaviour, lambda: client.ask(setting))


def _pair(endpoint: RefusingEndpoint, behaviour: Behaviour, ask: Callable[[], object]) -> Pair:
    return Pair(_outcome(endpoint, behaviour, ask), _outcome(endpoint, behaviour, ask))


def _outcome(
    endpoint: RefusingEndpoint, behaviour: Behaviour, ask: Callable[[], object]
) -> Outcome:
    before = endpoint.count()
    try:
        value = ask()
    except Exception as error:  # noqa: BLE001  whatever a framework raises is what is measured
        verdict = _judged(error, behaviour)
        told = f"{type(error).__name__}: {error}"
    else:
        verdict = Verdict.RIGHT if _is_right(value) else Verdict.SILENT
        told = "the object" if verdict is Verdict.RIGHT else _handed(value)
    return Outcome(endpoint.count() - before, verdict, told)


def _judged(error: Exception, behaviour: Behaviour) -> Verdict:
    if behaviour.has_object:
        return Verdict.LOST
    says = any(re.search(behaviour.truth, str(one)) for one in _causes(error))
    return Verdict.TRUTHFUL if says else Verdict.LOST


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _is_right(value: object) -> bool:
    """The object itself (of a class made from ours, too), or the very JSON of it."""
    if isinstance(value, str):
        try:
            value = City.model_validate_json(value)
        except ValidationError:
            return False
    return isinstance(value, City) and value.model_dump() == LISBON.model_dump()


def _handed(value: object) -> str:
    return "None as the answer" if value is None else f"handed on: {value!s}"
