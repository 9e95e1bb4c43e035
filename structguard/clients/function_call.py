"""
One call of a guarded function as the flow sees it: where its format, model and time-out stand.

Source: spec guard §2, the paragraph on `guarded`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import cast

from structguard.events import Observer
from structguard.memo import Memo
from structguard.memo.keys import routing_digest
from structguard.options import Policy
from structguard.refusal import RequestFacts, request_facts
from structguard.schema import advise, as_format, digest
from structguard.service import Clock
from structguard.types import Format, JsonObject, JsonSchema, MemoKey, Place, as_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionGuard:
    """What the calls of one guarded function share; `model` and `format` name its arguments."""

    function: Callable[..., object]
    signature: inspect.Signature
    provider: str
    model: str | Callable[..., str]
    format: str
    memo: Memo
    policy: Policy
    observer: Observer
    clock: Clock

    def plan(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> FunctionCall:
        """The call as the flow sees it; a wrong call is the function's own TypeError."""
        bound = self.signature.bind(*args, **kwargs)
        values: dict[str, object] = {}
        for name, parameter in self.signature.parameters.items():
            value = bound.arguments.get(name, parameter.default)
            if parameter.kind is parameter.VAR_KEYWORD:
                values.update(as_mapping(value) or {})
            elif value is not parameter.empty:
                values[name] = value
        given = values.get(self.format)
        is_given = self.format not in self.signature.parameters or self.format in bound.arguments
        asks = not _is_absent(given) if is_given else _is_format(given)
        format_ = as_format(given) if asks else None
        return FunctionCall(
            guard=self,
            bound=bound,
            values=values,
            format=format_,
            guardable=format_ is not None,
            name=self._model(args, kwargs, values, asks=format_ is not None),
        )

    def _model(
        self,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        values: Mapping[str, object],
        *,
        asks: bool,
    ) -> str:
        if not callable(self.model):
            return _name_of(values.get(self.model), asks=asks)
        if not asks:  # it may cost, and it may fail
            return ""
        return _name_of(self.model(*args, **kwargs), asks=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """One call of a guarded function."""

    guard: FunctionGuard
    bound: inspect.BoundArguments
    values: Mapping[str, object]
    format: Format | None
    guardable: bool
    name: str

    @property
    def pair(self) -> tuple[str, str]:
        """The memo's first level."""
        return (self.guard.provider, self.name)

    @property
    def facts(self) -> RequestFacts:
        """What the call carries beside the format, as arguments or in an SDK's `extra_body`."""
        extra = as_mapping(self.values.get("extra_body")) or {}
        facts = request_facts({**self.values, **extra})
        return replace(
            facts,
            sent="json_schema" if isinstance(self.format, JsonSchema) else "json_object",
            stream=bool(self.values.get("stream")),
            reasoning=facts.reasoning or bool(self.values.get("effort")),
        )

    @property
    def place(self) -> Place:
        """The memo's second level."""
        return self.key.place

    @property
    def key(self) -> MemoKey:
        """The whole key; a function knows no base URL."""
        json_schema = self.format if isinstance(self.format, JsonSchema) else None
        extra = as_mapping(self.values.get("extra_body")) or {}
        return MemoKey(
            provider=self.guard.provider,
            model=self.name,
            format="json_schema" if json_schema else "json_object",
            routing=routing_digest(extra.get("provider")),
            flags=self.facts.flags,
            schema=digest(json_schema.schema) if json_schema else "",
            strict=json_schema.strict if json_schema else None,
        )

    @property
    def timeout(self) -> float | None:
        """The function's own `timeout` argument in seconds, if it has a number there."""
        timeout = self.values.get("timeout")
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        return float(cast("float", timeout)) if is_number else None

    def degraded(self) -> FunctionCall:
        """The same call, the format left out where it has a default, else None in its place."""
        changed = self._rebound({self.guard.format: self._instead()})
        return replace(self, bound=changed, guardable=False)

    def _instead(self) -> object:
        """What stands in the format's place; a default that is itself a format is no way out."""
        parameters = self.guard.signature.parameters
        parameter = parameters.get(self.guard.format)
        if parameter is None:
            return _ABSENT
        if parameter.default is parameter.empty or _is_format(parameter.default):
            return None
        by_place = parameter.kind is parameter.POSITIONAL_ONLY or any(
            p.kind is p.VAR_POSITIONAL for p in parameters.values()
        )  # then nothing may be missing before what follows
        return parameter.default if by_place else _ABSENT

    def within(self, seconds: float | None) -> FunctionCall:
        """The same call with what is left of its own time-out."""
        if seconds is None or self.timeout is None:
            return self
        return replace(self, bound=self._rebound({"timeout": seconds}))

    def _rebound(self, changes: Mapping[str, object]) -> inspect.BoundArguments:
        arguments = dict(self.bound.arguments)
        parameters = self.guard.signature.parameters
        rest = next((n for n, p in parameters.items() if p.kind is p.VAR_KEYWORD), None)
        for name, value in changes.items():
            target = arguments
            if name not in parameters and rest is not None:
                target = arguments[rest] = dict(arguments.get(rest, {}))
            if value is _ABSENT:
                target.pop(name, None)
            else:
                target[name] = value
        return inspect.BoundArguments(self.guard.signature, arguments)

    def prompted(self) -> FunctionCall:
        """The same call: this face leaves the prompt alone."""
        return self

    def advice(self) -> str:
        """What the schema would have to change to fit OpenAI's strict mode."""
        return advise(self.format.schema) if isinstance(self.format, JsonSchema) else ""


def checked_signature(
    function: Callable[..., object], model: str | Callable[..., str], format_: str
) -> inspect.Signature:
    """
    The signature of a function that can be guarded.

    Raises:
        TypeError: not a function, or one that yields. ValueError: it has no such arguments.
    """
    if not callable(function):
        raise TypeError(f"guarded decorates a function, got {type(function).__name__}")
    if _yields(function) or _yields(getattr(function, "__call__", None)):  # noqa: B004  an object's
        raise TypeError("guarded cannot guard a generator function: wrap the client instead")
    signature = inspect.signature(function)
    parameters = signature.parameters
    takes_rest = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    named = [format_] if callable(model) else [format_, model]
    missing = [name for name in named if name not in parameters]
    if missing and not takes_rest:
        raise ValueError(
            f"{getattr(function, '__qualname__', function)!s} has no argument"
            f" {', '.join(map(repr, missing))}; its arguments are {', '.join(parameters) or 'none'}:"
            " name them with guarded(model=…, format=…)"
        )
    return signature


def _yields(function: object) -> bool:
    return inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)


class _Absent:
    """Stands for an argument that is left out."""


_ABSENT = _Absent()


def _name_of(model: object, *, asks: bool) -> str:
    """
    The model's name; "" for none. Two models must not share what is remembered of one.

    Raises:
        TypeError: it is no name, and a format is asked for.
    """
    named: object = model.value if isinstance(model, Enum) else model
    if isinstance(named, str):
        return named
    if _is_absent(named) or not asks:
        return ""
    raise TypeError(
        f"guarded: the model is a {type(named).__name__}, not a name: guarded(model=…) takes a"
        " callable of the same arguments that gives its name"
    )


def _is_absent(given: object) -> bool:
    """None, or an SDK's own mark for an argument that was not given."""
    return given is None or type(given).__name__ in ("NotGiven", "Omit")


def _is_format(default: object) -> bool:
    """Whether a default asks for JSON by itself; an unknown mark for "not given" does not."""
    return isinstance(default, Mapping | type | JsonSchema | JsonObject)
