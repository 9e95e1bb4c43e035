"""
One sub-call: describe, ask, read, check; every outcome is a value.

Source: spec memory, first paragraph.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeAlias, cast, overload

from typing_extensions import TypeVar

import structguard.reading as reading
from structguard.errors import ParseError, ProviderError
from structguard.events import Observer
from structguard.layers.breaker import one_line
from structguard.layers.outage import kind_of
from structguard.observe import careful, log_events
from structguard.schema import as_format
from structguard.service import Clock
from structguard.subcalls.outcome import Outcome, Skip, Status
from structguard.subcalls.sessions import RunningCall, RunningCalls, Streaks
from structguard.types import Completion, Format, Kind, Message, Request

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D", default=None)


class Completes(Protocol):
    """What a sub-call asks: a provider, a protected one, or a chain."""

    async def complete(self, request: Request, /) -> Completion: ...


@dataclass(frozen=True, slots=True)
class Rejection:
    """A check's answer: nothing of this can be kept. The outcome's status is none."""

    reason: str
    rejected: Sequence[object] = ()


Messages: TypeAlias = Sequence[Message | Mapping[str, object]]
Check: TypeAlias = Callable[[object], reading.Read | Rejection]


@dataclass(frozen=True, slots=True)
class Ask:
    """
    Messages (or a Request) together with a check that knows this call's data: it is given the value
    that was read and answers with `Read(value, rejected)` or a `Rejection`.
    """

    what: Request | Messages
    check: Check


Described: TypeAlias = Request | Messages | Ask | Skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a sub-call asks and reads; see `subcall`."""

    schema: object = None
    accepts: object = None  # what an answer is checked against, if laxer than `schema`
    reader: Callable[[str], object] | None = None
    timeout: float | None = None  # seconds, the whole call
    name: str | None = None
    model: str | None = None
    abort: bool = True
    partition: str = "{name}:{session}"
    unreadable: Status = "failed"  # the status of an answer that cannot be read
    empty: Status | None = (
        None  # of a finished answer without text; None: as one that is unreadable
    )
    observer: Observer = log_events
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be more than 0 seconds, got {self.timeout!r}")


class Subcall(Generic[P, T, D]):
    """
    A sub-call: `await rewrite(safe, history, message, session="7")` gives an `Outcome`. The first
    argument is a provider, a protected one or a chain. Made by `subcall`.
    """

    def __init__(
        self,
        describe: Callable[P, Described | Awaitable[Described]],
        *,
        otherwise: D,
        options: Options,
    ) -> None:
        if "session" in inspect.signature(describe).parameters:
            raise TypeError(
                "the function of a sub-call cannot have an argument 'session': the sub-call has it"
            )
        self.describe = describe
        self.options = options
        self.name: str = options.name or str(getattr(describe, "__name__", "subcall"))
        self._otherwise = otherwise
        self._format: Format | None = None
        self._running = RunningCalls()
        self._streaks = Streaks(self.name, careful(options.observer))
        functools.update_wrapper(self, describe, updated=())

    @overload
    async def __call__(
        self, provider: Completes, /, *args: P.args, **kwargs: P.kwargs
    ) -> Outcome[T, D]: ...

    @overload
    async def __call__(
        self, provider: Completes, /, *args: object, session: str, **kwargs: object
    ) -> Outcome[T, D]: ...

    async def __call__(
        self, provider: Completes, /, *args: object, **kwargs: object
    ) -> Outcome[T, D]:
        """
        Ask, and say how it went.

        Raises:
            What the describing function raises, and other programming errors (a broken schema, a
            TypeError in a provider); never for a model's or an endpoint's fault.
        """
        session = kwargs.pop("session", None)
        if session is not None and not isinstance(session, str):
            raise TypeError(f"session must be a string, got {session!r}")
        return await self._run(provider, session, args, kwargs)

    def in_session(
        self, session: str
    ) -> Callable[Concatenate[Completes, P], Awaitable[Outcome[T, D]]]:
        """The sub-call with its session given, so that type checkers see every argument."""

        async def call(provider: Completes, /, *args: P.args, **kwargs: P.kwargs) -> Outcome[T, D]:
            return await self._run(provider, session, args, kwargs)

        return call

    async def _run(
        self,
        provider: Completes,
        session: str | None,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> Outcome[T, D]:
        if not hasattr(provider, "complete"):
            raise TypeError(
                "the first argument of a sub-call is a provider or a chain, an object with complete,"
                f" got {type(provider).__qualname__}"
            )
        began = self.options.clock()
        outcome: Outcome[T, D] | None = None
        abort_session = session if self.options.abort else None
        with self._running.start(abort_session, self.options.timeout) as running:
            describe = cast("Callable[..., Described | Awaitable[Described]]", self.describe)
            outcome = await self._outcome(provider, describe(*args, **kwargs), session)
        outcome = self._cut_short(running, outcome)
        self._streaks.note(session or "", outcome.status, outcome.reason)
        return replace(outcome, elapsed=self.options.clock() - began)

    async def _outcome(
        self,
        provider: Completes,
        described: Described | Awaitable[Described],
        session: str | None,
    ) -> Outcome[T, D]:
        found = await described if isinstance(described, Awaitable) else described
        match found:
            case Skip(reason):
                return self._without("skipped", reason)
            case Ask(what, check):
                return await self._ask(provider, self._request(what, session), check)
            case _:
                return await self._ask(provider, self._request(found, session), None)

    async def _ask(
        self, provider: Completes, request: Request, check: Check | None
    ) -> Outcome[T, D]:
        try:
            completion = await provider.complete(request)
        except Exception as error:
            if kind_of(error) is None:
                raise  # nobody's fault but ours or the caller's
            return self._failed(error)
        return replace(
            self._read(completion, check),
            enforced=completion.enforced,
            requests=completion.requests,
        )

    def _read(self, completion: Completion, check: Check | None) -> Outcome[T, D]:
        if completion.finish == "declined":
            said = " ".join(completion.text.split())
            return self._without("failed", f"the model declined: {said}"[:200])
        try:
            parsed = reading.parse(completion, self._accepted, reader=self.options.reader)
        except ParseError as error:
            status = self.options.unreadable
            if completion.finish == "stop" and not completion.text.strip():
                status = self.options.empty or status
            return replace(self._without(status, one_line(error)), error=error)
        rejected = tuple(parsed.rejected)
        if parsed.value is reading.ABSTAIN:
            nothing = self._without("none", "the model says there is nothing")
            return replace(nothing, source=parsed.source, rejected=rejected)
        checked = reading.Read(parsed.value) if check is None else check(parsed.value)
        rejected += tuple(checked.rejected)
        if isinstance(checked, Rejection):
            nothing = self._without("none", checked.reason)
            return replace(nothing, source=parsed.source, rejected=rejected)
        value = cast("T", checked.value)  # the schema and the check have seen to it
        return Outcome(value=value, status="ok", source=parsed.source, rejected=rejected)

    def _failed(self, error: Exception) -> Outcome[T, D]:
        own = isinstance(error, ProviderError) and error.failure.own_timeout
        timed_out = kind_of(error) is Kind.TIMEOUT and (own or not isinstance(error, ProviderError))
        attempts = [failure for _, failure in getattr(error, "attempts", ())] or [error]
        requests = sum(getattr(failure, "requests", 1) for failure in attempts)
        outcome = self._without("timeout" if timed_out else "failed", one_line(error))
        return replace(outcome, error=error, requests=requests)

    def _cut_short(self, running: RunningCall, outcome: Outcome[T, D] | None) -> Outcome[T, D]:
        """An aborted or timed-out call has that as its outcome, whatever the cut looked like."""
        if outcome is not None and (outcome.status != "failed" or not running.scope.cancel_called):
            return outcome
        if running.aborted:
            return self._without("aborted", "a newer call of this session took its place")
        return self._without("timeout", f"no answer within {self.options.timeout:g} s")

    def _without(self, status: Status, reason: str) -> Outcome[T, D]:
        return Outcome(value=self._otherwise, status=status, reason=reason)

    @property
    def format(self) -> Format | None:
        """The format that is asked for; made from `schema` at the first call."""
        if self._format is None:
            self._format = as_format(self.options.schema)
        return self._format

    @property
    def _accepted(self) -> object:
        return self.format if self.options.accepts is None else self.options.accepts

    def partition(self, session: str | None) -> str:
        """The chain's partition of a session; the name alone without one."""
        if session is None:
            return self.name
        return self.options.partition.format(name=self.name, session=session)

    def _request(self, described: Request | Messages, session: str | None) -> Request:
        """The whole request; what a Request of the describing function says itself stays."""
        partition = self.partition(session)
        if not isinstance(described, Request):
            return Request(
                messages=described,
                response_format=self.format,
                model=self.options.model,
                timeout=self.options.timeout,
                partition=partition,
            )
        response_format = described.response_format
        return described.derive(
            response_format=self.format if response_format is None else response_format,
            model=described.model or self.options.model,
            timeout=self.options.timeout if described.timeout is None else described.timeout,
            partition=described.partition or partition,
        )
