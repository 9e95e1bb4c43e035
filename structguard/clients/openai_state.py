"""
What a guarded `openai` client and its values hold of each other: no copy and no value keeps what is
another's.

Source: DESIGN "Decisions" (guarded in place), spec guard §2.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from structguard.flow import Info, attach
from structguard.types import as_mapping


def state_of_copy(
    client: object, *, without: Collection[str], back: Mapping[str, object]
) -> Callable[[], object]:
    """
    The client's `__getstate__`: what `copy.copy` takes over.

    Not what the guard set on the instance (`without`; `back` is what stood there before), and not
    the resources kept on it: they ask through the client they were made by.
    """
    original: Callable[[], object] = client.__getstate__

    def state() -> object:
        state = original()
        attributes = as_mapping(state)
        if attributes is None:  # a subclass that keeps more than attributes
            return state
        remaining = {
            name: value
            for name, value in attributes.items()
            if name not in without and getattr(value, "_client", None) is not client
        }
        return {**remaining, **back}

    return state


def amender(info: Info, amend: Callable[[Info], None], value: object) -> Callable[[str], None]:
    """What tells a value's Info anew once its source is known."""
    get_value = _weakly(value)  # the value holds its reader, which calls this

    def amended(source: str) -> None:
        updated = replace(info, source=source)
        attach(get_value(), updated)
        amend(updated)

    return amended


def _weakly(value: object) -> Callable[[], object]:
    try:
        return weakref.ref(value)
    except TypeError:  # a list, a dict: nothing can be attached to it either
        return lambda: None
