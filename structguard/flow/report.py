"""
How a call was served: one `Info` a call, attached to the answer and told to whoever watches.

Nothing is written into the answer itself: a registry beside it holds the Info as long as it lives.
Source: DESIGN "Public face".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from structguard.types import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """
    How one call was served.

    `enforced`: True when the endpoint accepted the format, False when it was left out, None when
    none was asked for. `requests`: logical sends, 1 or 2. `source`: how the value was read from the
    text (json, fenced, …), None where the text was not read or holds no value. `refusal`: what the
    call was rescued from, now or, from the memo, earlier.
    """

    provider: str
    model: str
    enforced: bool | None
    requests: int
    source: str | None = None
    refusal: Refusal | None = None


_watching: ContextVar[tuple[list[Info], ...]] = ContextVar("structguard_watching", default=())
_attached: dict[int, tuple[weakref.ref[object], Info]] = {}


@contextmanager
def watch() -> Generator[list[Info]]:
    """
    Collect one Info per call made in this context, whatever the face; tasks started inside count.

    >>> with watch() as calls:
    ...     pass
    >>> calls
    []
    """
    calls: list[Info] = []
    _watching.set((*_watching.get(), calls))
    try:
        yield calls
    finally:  # no token: it may end after one that began later, or in another task (a fixture's)
        _watching.set(tuple(other for other in _watching.get() if other is not calls))


def info(answer: object) -> Info | None:
    """How this answer was served; None where no Info could be attached (str, dict, tuple, …)."""
    attached = _attached.get(id(answer))
    return attached[1] if attached is not None and attached[0]() is answer else None


def publish(info: Info) -> Callable[[Info], None]:
    """
    Hand an Info to everyone who watches in this context.

    The function handed back puts a fuller Info in its place, for what is only known later: how the
    text of a stream was read.
    """
    watching = _watching.get()
    for calls in watching:
        calls.append(info)

    def amend(updated: Info) -> None:
        for calls in watching:
            for at, current in enumerate(calls):  # in place: other threads append meanwhile
                if current is info:
                    calls[at] = updated

    return amend


def attach(answer: object, info: Info) -> None:
    """Remember an Info beside an answer, for as long as the answer lives."""
    key = id(answer)
    try:
        ref = weakref.ref(answer, lambda _: _attached.pop(key, None) and None)
    except TypeError:  # str, dict, list, None: nothing can be attached
        return
    _attached[key] = (ref, info)
