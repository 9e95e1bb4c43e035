"""
The one algorithm: a generator without I/O that every face drives.

It yields effects and is sent their results; reading the in-process view of the memo and telling an
event are plain calls. Source: DESIGN "One algorithm, several drivers", spec guard §2.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeAlias, TypedDict, TypeVar, cast

from structguard.events import (
    FormatIgnored,
    FormatRecovered,
    Observer,
    RefusalObserved,
    RefusalRemembered,
    RefusalRenewed,
    RefusalUnhandled,
    Unhandled,
    Verdict,
)
from structguard.memo import Entry
from structguard.options import Policy
from structguard.types import FormatKind, MemoKey, Place, Refusal, Scope

T = TypeVar("T")
DEFAULT_STATUSES = frozenset({200, 400, 404, 405, 422})


class Call(Protocol):
    """One guarded call as a face sees it. `key` is costly and only asked for when it matters."""

    @property
    def pair(self) -> tuple[str, str]: ...
    @property
    def place(self) -> Place: ...
    @property
    def key(self) -> MemoKey: ...
    @property
    def guardable(self) -> bool:
        """Whether it carries a format that is ours to remove."""
        ...

    def degraded(self) -> Self:
        """The same call without the format (with the prompt instruction where the face adds one)."""
        ...

    def prompted(self) -> Self:
        """The same call, format kept, with the schema in the prompt too."""
        ...

    def advice(self) -> str:
        """What a rejected schema would have to change; "" if that is not known."""
        ...


C = TypeVar("C", bound=Call)


class View(Protocol):
    """What the flow asks of the memo: plain calls on memory, no I/O (`memo.Memo` is the one)."""

    @property
    def name(self) -> str: ...
    def look(self, call: Call, verdict: Verdict = "refused") -> Entry | None: ...
    def due(self, entry: Entry) -> bool: ...
    def draft(
        self, key: MemoKey, refusal: Refusal, *, status: int | None, expiry: float | None
    ) -> Entry: ...
    def draft_ignored(self, key: MemoKey) -> Entry: ...
    def note_saved(self, entry: Entry) -> None: ...
    def pause(self, key: MemoKey) -> None: ...
    def paused(self, call: Call) -> bool: ...
    def rescued_before(self, key: MemoKey) -> bool: ...
    def count_prose(self, key: MemoKey) -> int: ...
    def reset_prose(self, key: MemoKey) -> None: ...


class Send(NamedTuple, Generic[C]):
    """Send this call once. `budget` is the time left in seconds, None for the call's own."""

    call: C
    budget: float | None = None
    confirm: bool = (
        False  # say whether the reply is an answer (a stream: once its first delta came)
    )


@dataclass(frozen=True, slots=True)
class Lease:
    """Ask to be the one caller that tries an expired entry again."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Remember:
    """Write an entry; the result is True for its first writer only."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Forget:
    """Clear an entry that no longer holds."""

    entry: Entry


Effect: TypeAlias = Send[C] | Lease | Remember | Forget


class Sent(NamedTuple, Generic[T]):
    """
    What a send came to. Exactly one of `value` and `error` counts: an error means it failed.

    `refusal` is the detector's verdict on the error, judged by what the *first* send carried;
    `answered` is only meaningful where the send asked to confirm; `prose` is True for a complete
    reply that holds no JSON; `left` is what remains of the time budget in seconds.
    """

    value: T | None = None
    error: Exception | None = None
    refusal: Refusal | None = None
    status: int | None = None
    answered: bool = True
    prose: bool | None = None
    left: float | None = None


class Served(NamedTuple, Generic[T]):
    """The outcome of a guarded call: the value and how it was obtained."""

    value: T
    enforced: bool | None
    requests: int
    refusal: Refusal | None = None


Flow: TypeAlias = Generator[Effect[C], object, Served[T]]


def guarded_flow(call: C, view: View, policy: Policy, notify: Observer) -> Flow[C, T]:
    """
    Yield effects, be sent their results, return how the call was served. No I/O here.

    Raises:
        Exception: the error of the last send; a failed retry has the first error as `__cause__`.
    """
    guarded: _GuardedCall[C, T] = _GuardedCall(call, view, policy, notify)
    if not call.guardable:
        return guarded.served((yield from guarded.send(call)), enforced=None)
    if policy.mode != "guard" or policy.require_enforced:
        return (yield from guarded.unguarded())
    entry = view.look(call)
    if entry is None:
        return (yield from guarded.first(None))
    if view.due(entry) and (yield Lease(entry)):
        return (yield from guarded.first(entry))
    view.note_saved(entry)
    notify(entry.skipped)
    sent = yield from guarded.send(call.degraded())
    return guarded.served(sent, enforced=False, refusal=entry.refusal)


class _GuardedCall(NamedTuple, Generic[C, T]):
    """One guarded call on its way through the flow."""

    call: C
    view: View
    policy: Policy
    notify: Observer

    def first(self, expired: Entry | None) -> Flow[C, T]:
        """Ask with the format; `expired` is the entry this call was leased to try again."""
        sent = yield from self.send(self.first_call())
        if sent.error is None:
            if expired is not None:
                yield Forget(expired)
                self.notify(FormatRecovered(**self.facts()))
            if self.policy.ignored_after and sent.prose is not None:
                yield from self.note_reply(prose=sent.prose)
            return self.served(sent, enforced=True)
        if sent.refusal is None:
            raise sent.error
        if sent.left is not None and sent.left < self.policy.retry_floor:
            raise self.unhandled(sent.refusal, "no_time", sent.error)
        if self.view.paused(self.call):
            raise self.unhandled(sent.refusal, "retry_paused", sent.error)
        return (yield from self.rescue(sent, sent.error, sent.refusal, expired))

    def rescue(
        self, sent: Sent[T], error: Exception, refusal: Refusal, expired: Entry | None
    ) -> Flow[C, T]:
        """Exactly one more send, without the format, with the time that is left."""
        try:
            degraded = self.call.degraded()
        except ValueError as broken:  # the caller's schema cannot be read: their mistake, named
            raise broken from error
        retried = yield from self.send(degraded, sent.left, confirm=True)
        if retried.error is not None:
            if retried.refusal is not None and retried.refusal.rule == refusal.rule:
                self.view.pause(self.call.key)
            failure = self.unhandled(refusal, "retry_failed", retried.error)
            if failure is error:  # one object raised twice must not become its own cause
                raise failure
            raise failure from error
        if retried.answered:
            yield from self.remember(refusal, sent.status, expired)
        return self.served(retried, enforced=False, requests=2, refusal=refusal)

    def remember(
        self, refusal: Refusal, status: int | None, expired: Entry | None
    ) -> Generator[Effect[C], object, None]:
        """Only now: the send without the format was answered."""
        if status not in DEFAULT_STATUSES and not self.view.rescued_before(self.call.key):
            return  # a server error may be a passing fault: believed from the second rescue on
        entry = self.view.draft(self.call.key, refusal, status=status, expiry=self.policy.expiry)
        new = yield Remember(entry)
        if expired is not None:
            if expired.slot != entry.slot:  # refused again, but for another reason: not both hold
                yield Forget(expired)
            self.notify(RefusalRenewed(**self.facts(), refusal=refusal))
        elif new:
            advice = self.call.advice() if refusal.scope is Scope.SCHEMA else ""
            self.notify(
                RefusalRemembered(
                    **self.facts(),
                    refusal=refusal,
                    expires_in=None if entry.expires is None else entry.expires - entry.confirmed,
                    advice=advice,
                    store=self.view.name,
                )
            )

    def first_call(self) -> C:
        """The call as it is first sent: schema in the prompt too where the format is ignored."""
        if self.policy.ignored_after:
            entry = self.view.look(self.call, "ignored")
            if entry is not None and not self.view.due(entry):
                return self.call.prompted()
        return self.call

    def note_reply(self, *, prose: bool) -> Generator[Effect[C], object, None]:
        """Count complete replies that were prose under an accepted format."""
        if not prose:
            self.view.reset_prose(self.call.key)
            entry = self.view.look(self.call, "ignored")
            if entry is not None and self.view.due(entry):
                yield Forget(entry)
            return
        times = self.view.count_prose(self.call.key)
        if times >= self.policy.ignored_after and (
            yield Remember(self.view.draft_ignored(self.call.key))
        ):
            self.notify(FormatIgnored(**self.facts(), times=times))

    def unguarded(self) -> Flow[C, T]:
        """Modes off and observe, and require_enforced: one send as it is."""
        observing = self.policy.mode == "observe"
        entry = self.view.look(self.call) if observing else None
        if entry is not None:
            self.notify(RefusalObserved(**self.facts(), refusal=entry.refusal, would="skip"))
        sent = yield from self.send(self.call)
        if sent.error is not None and sent.refusal is not None:
            if observing and entry is None:
                self.notify(RefusalObserved(**self.facts(), refusal=sent.refusal, would="retry"))
            elif self.policy.mode == "guard":
                raise self.unhandled(sent.refusal, "require_enforced", sent.error)
        return self.served(sent, enforced=True)

    def unhandled(self, refusal: Refusal, reason: Unhandled, error: Exception) -> Exception:
        """The error to raise for a refusal that stays; tells it first."""
        self.notify(RefusalUnhandled(**self.facts(), refusal=refusal, reason=reason))
        return error

    def send(
        self, call: C, budget: float | None = None, *, confirm: bool = False
    ) -> Generator[Effect[C], object, Sent[T]]:
        """One send; what the driver sends back for it is a `Sent` of the call's own type."""
        return cast("Sent[T]", (yield Send(call, budget, confirm)))

    def served(
        self,
        sent: Sent[T],
        *,
        enforced: bool | None,
        requests: int = 1,
        refusal: Refusal | None = None,
    ) -> Served[T]:
        """The outcome of a send that came back; the error of one that did not."""
        if sent.error is not None:
            raise sent.error
        return Served(cast("T", sent.value), enforced, requests, refusal)

    def facts(self) -> _Facts:
        """Who and what, for the events."""
        provider, model = self.call.pair
        return {"provider": provider, "model": model, "format": self.call.place[2]}


class _Facts(TypedDict):
    provider: str
    model: str
    format: FormatKind
