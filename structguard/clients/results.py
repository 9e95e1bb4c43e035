"""
What a guarded function gave back: is it there at all, and does it hold an answer.

Source: spec guard §2, rows "retry accepted" and the paragraph on `guarded`.
"""

from __future__ import annotations

import inspect

from structguard.clients.replies import is_answer
from structguard.types import Api, Completion, as_mapping

_REPLIES: tuple[tuple[Api, str], ...] = (("chat", "choices"), ("responses", "output"))


def at_once(value: object) -> object:
    """
    The result of a function that is not async.

    Raises:
        TypeError: it is yet to be awaited: what fails then, nobody here would see.
    """
    if not inspect.isawaitable(value):
        return value
    if inspect.iscoroutine(value):
        value.close()
    raise TypeError(
        f"guarded: a function that is not async gave {type(value).__name__}: decorate the async"
        " function it calls, or make it `async def`"
    )


def answers(value: object) -> bool:
    """Whether a result can be seen to hold an answer; a stream or None cannot."""
    if isinstance(value, str | bytes):
        return bool(value.strip())
    if isinstance(value, Completion):
        return value.answered and value.finish != "length"
    if value is None or hasattr(value, "__next__") or hasattr(value, "__anext__"):
        return False
    for api, field in _REPLIES:
        if hasattr(value, field) or field in (as_mapping(value) or {}):
            return is_answer(value, api)
    return not (as_mapping(value) or {}).get("error")
