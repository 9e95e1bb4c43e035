"""
Events → the `structguard` logger. Never prompts, answers or credentials.

WARNING for a new memo entry and for trouble, INFO on recovery, DEBUG on a skip, ERROR for a failed
call that nobody rescues. Source: spec guard §2 "Log", spec errors §3.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import assert_never

import structguard.events as ev

_log = logging.getLogger("structguard")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Careful:
    """An observer whose own fault is logged: no call fails by being watched."""

    observer: ev.Observer

    def __call__(self, event: ev.Event, /) -> None:
        try:
            self.observer(event)
        except Exception:  # noqa: BLE001  told, not hidden
            _log.exception("an observer failed on %s", type(event).__name__)


def careful(observer: ev.Observer) -> ev.Observer:
    """The observer as faces are to tell it: what it raises is logged and fails no call."""
    is_ours = observer is log_events or isinstance(observer, Careful)
    return observer if is_ours else Careful(observer)


def log_events(event: ev.Event, /) -> None:
    """Write one event to the `structguard` logger."""
    if isinstance(event, ev.RefusalSkipped) and not _log.isEnabledFor(logging.DEBUG):
        return  # one a call that the memo helps: its text would be most of what it costs
    level, text = _described(event)
    if _log.isEnabledFor(level):
        _log.log(level, "%s", text, extra={"structguard_event": event})


def _described(event: ev.Event) -> tuple[int, str]:
    match event:
        case (
            ev.RefusalRemembered()
            | ev.RefusalSkipped()
            | ev.RefusalRenewed()
            | ev.RefusalUnhandled()
            | ev.RefusalObserved()
        ):
            return _refusal(event)
        case ev.FormatRecovered() | ev.FormatIgnored() | ev.ApiSwitched() | ev.ApiLookupFailed():
            return _endpoint(event)
        case ev.MemoTrouble() | ev.OptionIgnored() | ev.ProviderFailed() | ev.SubcallFailing():
            return _trouble(event)
        case _:
            return _chain(event)


def _refusal(
    event: ev.RefusalRemembered
    | ev.RefusalSkipped
    | ev.RefusalRenewed
    | ev.RefusalUnhandled
    | ev.RefusalObserved,
) -> tuple[int, str]:
    who, why = f"{event.provider} {event.model}", f"{event.refusal.evidence!r}"
    match event:
        case ev.RefusalRemembered():
            return logging.WARNING, _remembered(event, who, why)
        case ev.RefusalSkipped():
            return (
                logging.DEBUG,
                f"{who}: sent without {event.format}, which it refused before: {why}",
            )
        case ev.RefusalRenewed():
            return logging.INFO, f"{who} still refuses {event.format}: {why}"
        case ev.RefusalUnhandled():
            return logging.ERROR, (
                f"{who} refused {event.format} and was not rescued ({event.reason}): {why}"
            )
        case ev.RefusalObserved():
            would = {
                "retry": "would send the call once more without it",
                "skip": "would leave it out",
            }[event.would]
            return logging.WARNING, f"{who} refused {event.format}; the guard {would}: {why}"
        case _:
            assert_never(event)


def _remembered(event: ev.RefusalRemembered, who: str, why: str) -> str:
    refusal = event.refusal
    reach = {
        "capability": f"{event.format} is left out of its calls",
        "schema": "this one schema is left out of its calls",
        "combination": f"{event.format} is left out of its calls that carry {refusal.flag}",
        "unnamed": f"{event.format} is left out of its calls",
    }[refusal.scope.value]
    until = "until forgotten" if event.expires_in is None else f"for {_duration(event.expires_in)}"
    advice = f" {event.advice}" if event.advice else ""
    return (
        f"{who} refused {event.format} ({refusal.scope.value}): {why}. The same call without it was"
        f" answered; {reach} {until}.{advice} {_how_to_forget(event)}"
    )


def _how_to_forget(event: ev.RefusalRemembered) -> str:
    """The command that forgets an entry; a memo in memory is out of the command line's reach."""
    if event.store == "memory:":
        return "This is remembered in memory only, until the process ends."
    memo = f" --memo {event.store!r}" if event.store else ""
    return (
        f"To forget: structguard memo forget{memo} --provider {event.provider!r}"
        f" --model {event.model!r}"
    )


def _endpoint(
    event: ev.FormatRecovered | ev.FormatIgnored | ev.ApiSwitched | ev.ApiLookupFailed,
) -> tuple[int, str]:
    match event:
        case ev.FormatRecovered():
            return logging.INFO, f"{event.provider} {event.model} accepts {event.format} again"
        case ev.FormatIgnored():
            return logging.WARNING, (
                f"{event.provider} {event.model} accepts {event.format} but answered with prose"
                f" {event.times} times in a row; the schema is added to the prompt for an hour"
            )
        case ev.ApiSwitched():
            return logging.INFO, (
                f"{event.provider} {event.model} is called over {event.api} from now on:"
                f" {event.evidence!r}"
            )
        case ev.ApiLookupFailed():
            return logging.WARNING, (
                f"{event.provider}: the models of {event.base_url} could not be listed"
                f" ({event.reason}); chat is used for now"
            )
        case _:
            assert_never(event)


def _trouble(
    event: ev.MemoTrouble | ev.OptionIgnored | ev.ProviderFailed | ev.SubcallFailing,
) -> tuple[int, str]:
    match event:
        case ev.MemoTrouble():
            level = logging.INFO if event.benign else logging.WARNING
            moved = f"; it was moved to {event.moved_to}" if event.moved_to else ""
            return level, (
                f"memo {event.store}: {event.reason}{moved}; until that is repaired, refusals are"
                " remembered in memory only"
            )
        case ev.OptionIgnored():
            return logging.WARNING, f"{event.where}: {event.option} is ignored: {event.reason}"
        case ev.ProviderFailed():
            level = logging.ERROR if event.refusal is None else logging.DEBUG
            ask = f", request id {event.request_id}" if event.request_id else ""
            user = f", user {event.user}" if event.user else ""
            return level, (
                f"{event.provider} {event.model or 'no model'} {event.operation} failed: {event.kind.value}"
                f"{' (retryable)' if event.retryable else ''}: {event.message}{ask}{user}"
            )
        case ev.SubcallFailing():
            return logging.WARNING, (
                f"sub-call {event.name} failed {event.times} times in a row in session"
                f" {event.session}: {event.reason}"
            )
        case _:
            assert_never(event)


def _chain(
    event: ev.LinkAway
    | ev.LinkBack
    | ev.BreakerOpened
    | ev.BreakerHalfOpen
    | ev.LinkDropped
    | ev.ChainExhausted,
) -> tuple[int, str]:
    match event:
        case ev.LinkAway():
            return logging.WARNING, f"{event.partition}: {event.link} → {event.to}: {event.reason}"
        case ev.LinkBack():
            return logging.INFO, f"{event.partition}: back to {event.link}"
        case ev.BreakerOpened():
            return logging.INFO, (
                f"{event.partition}: {event.link} cools down for {event.seconds:g} s: {event.reason}"
            )
        case ev.BreakerHalfOpen():
            return logging.DEBUG, f"{event.partition}: probing {event.link}"
        case ev.LinkDropped():
            return logging.WARNING, f"link {event.link} is left out: {event.reason}"
        case ev.ChainExhausted():
            tried = "; ".join(f"{link}: {error}" for link, error in event.attempts)
            return logging.ERROR, f"{event.partition}: every link failed: {tried}"
        case _:
            assert_never(event)


def _duration(seconds: float) -> str:
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
