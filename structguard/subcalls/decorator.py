"""`@subcall`: a function that describes a request becomes one that gives a checked value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, ParamSpec, TypedDict, Unpack, overload

from typing_extensions import TypeVar

from structguard.events import Observer
from structguard.observe import log_events
from structguard.service import Clock
from structguard.subcalls.call import Described, Options, Subcall
from structguard.types import JsonObject, JsonSchema

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D", default=None)


class _Options(TypedDict, total=False):
    """What every overload takes; `subcall` itself says what each is."""

    reader: Callable[[str], object] | None
    timeout: float | None
    name: str | None
    model: str | None
    abort: bool
    observer: Observer
    clock: Clock


class _Decorator(Generic[T, D]):
    """`subcall(…)` before it is given its function."""

    def __init__(self, otherwise: D, options: Options) -> None:
        self._otherwise = otherwise
        self._options = options

    def __call__(
        self, describe: Callable[P, Described | Awaitable[Described]], /
    ) -> Subcall[P, T, D]:
        return Subcall(describe, otherwise=self._otherwise, options=self._options)


@overload
def subcall(
    *,
    schema: type[T],
    otherwise: None = None,
    **options: Unpack[_Options],
) -> _Decorator[T, None]: ...


@overload
def subcall(
    *,
    schema: type[T],
    otherwise: D,
    **options: Unpack[_Options],
) -> _Decorator[T, D]: ...


@overload
def subcall(
    *,
    schema: Mapping[str, object] | JsonSchema | JsonObject | None = None,
    otherwise: None = None,
    **options: Unpack[_Options],
) -> _Decorator[object, None]: ...


@overload
def subcall(
    *,
    schema: Mapping[str, object] | JsonSchema | JsonObject | None = None,
    otherwise: D,
    **options: Unpack[_Options],
) -> _Decorator[object, D]: ...


def subcall(
    *,
    schema: object = None,
    otherwise: object = None,
    reader: Callable[[str], object] | None = None,
    timeout: float | None = None,
    name: str | None = None,
    model: str | None = None,
    abort: bool = True,
    observer: Observer = log_events,
    clock: Clock = time.monotonic,
) -> object:
    """
    Turn a function that describes a request into a sub-call.

    The function returns messages, a `Request`, or `Skip(reason)`, and may be async. Calling the
    result with a provider, the function's arguments and, optionally, `session=` returns an
    `Outcome`. Three failures or timeouts in a row in one session emit one `SubcallFailing` event.

    Args:
        schema: A type or a JSON Schema; the outcome's value has that type.
        otherwise: The outcome's value if its status is not ok.
        reader: Reads the text format that the prompt describes (see `readers`).
        timeout: Limit of the whole call, in seconds.
        name: First half of the partition "<name>:<session>"; by default the function's name.
        model: Sets `Request.model`.
        abort: Whether a newer call of the same session aborts the running one.
        observer: A callable that receives every event.
        clock: Returns monotonic seconds; for tests.

    Raises:
        ValueError: A timeout that is not greater than 0.
        TypeError: The function has an argument `session`.
    """
    options = Options(
        schema=schema,
        reader=reader,
        timeout=timeout,
        name=name,
        model=model,
        abort=abort,
        observer=observer,
        clock=clock,
    )
    return _Decorator[object, object](otherwise, options)
