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
    Decorate a function that describes a request: it returns messages, a Request, or `Skip(reason)`.

    `schema` is a type or a JSON Schema; the outcome's value has that type. `reader` reads the text
    format the prompt names (see `readers`). `timeout` in seconds bounds the whole call. `name` (the
    function's by default) and the call's `session=` make the partition "<name>:<session>" of a
    chain. `otherwise` is the outcome's value on any status but ok. `abort`: a newer call of the
    same session aborts the one in flight. Three failures or time-outs in a row in one session emit
    one `SubcallFailing`.

    Raises:
        ValueError: a timeout that is not more than 0. TypeError: the function takes `session`.
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
