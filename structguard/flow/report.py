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
from typing import Any

from structguard.flow.algorithm import Served
from structguard.types import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """
    How one call was served.

    `enforced` is True if the endpoint accepted the format, False if the format was left out, and
    None if the call had none. `requests` is the number of sends, 1 or 2. `source` says how the value
    was found in the text (`json`, `fenced`, …), and is None if the text was not parsed or contains
    no value. `refusal` is what the call was rescued from, in this call or, if remembered, earlier.
    """

    provider: str
    model: str
    enforced: bool | None
    requests: int
    source: str | None = None
    refusal: Refusal | None = None


def info_of(pair: tuple[str, str], served: Served[Any], source: str | None = None) -> Info:
    """How a call of this provider and model was served."""
    provider, model = pair
    return Info(
        provider=provider,
        model=model,
        enforced=served.enforced,
        requests=served.requests,
        source=source,
        refusal=served.refusal,
    )


_watching: ContextVar[tuple[list[Info], ...]] = ContextVar("structguard_watching", default=())
_attached: dict[int, tuple[weakref.ref[object], Info]] = {}


@contextmanager
def watch() -> Generator[list[Info]]:
    """
    Collect one Info for every guarded call in this context, including tasks started inside it.

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
    """Return how this answer was served, or None if none is attached (to a str, dict, tuple, …)."""
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
