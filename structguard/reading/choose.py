"""
Which of the candidates is the answer: the schema decides.

fits > not taken back by the words around it > no unknown keys > fenced > not unwrapped > strict >
not coerced > whole; equal values collapse, different ones are reported. Nothing that does not fit
is ever taken.
Source: spec parse, steps 7 and 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, cast

import structguard.schema as schemas
from structguard.errors import Attempt
from structguard.reading.fitting import builds, fitted
from structguard.reading.listing import listed
from structguard.reading.placeholders import is_placeholder, is_schema
from structguard.reading.said import declines, mark_examples, mark_retracted
from structguard.reading.shapes import shapes
from structguard.reading.spelling import as_written
from structguard.reading.target import Target
from structguard.reading.values import Candidate

ECHO: Final = "it is the schema itself"
PLACEHOLDER: Final = "it holds only placeholders"
NO_KEY: Final = "it has no key the schema names"
FOOTNOTE: Final = "numbers in brackets inside a sentence"
INDEX: Final = "an index, not a list"
EXAMPLE: Final = "an example, in a text that declines or asks"
_CALLBACK = re.compile(r"\s*[\w$.]+\s*\(\s*")
_JUDGED: Final = 200  # candidates that are put to the validator
_SHOWN: Final = 20  # alternatives reported


@dataclass(slots=True)
class Choice:
    """The candidates that fit, best first, and why the others do not."""

    fitting: list[Candidate] = field(default_factory=list[Candidate])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    echoes: int = 0
    placeholders: int = 0

    def refuse(self, candidate: Candidate, why: str) -> None:
        """Remember why a candidate is not the answer."""
        if len(self.attempts) < 50:
            self.attempts.append(Attempt(source=candidate.source, span=candidate.span, why=why))


def choose(
    candidates: list[Candidate], target: Target | None, text: str, *, coerce: bool
) -> Choice:
    """Judge the candidates; `fitting` of the result is in order of preference."""
    choice = Choice()
    rejected: list[Candidate] = []
    judged = 0
    mark_examples(candidates[: _JUDGED + 1] if len(candidates) > 1 else (), text)
    for candidate in candidates:
        why = _refusal(candidate, target, text)
        if why:
            choice.echoes += why == ECHO
            choice.placeholders += why == PLACEHOLDER
            choice.refuse(candidate, why)
            continue
        judged += 1
        if judged > _JUDGED:
            break
        fit = candidate if target is None else fitted(candidate, target, coerce=coerce)
        if fit is None:
            rejected.append(candidate)
        elif _is_footnote(candidate, fit, text):
            choice.refuse(candidate, FOOTNOTE)
        else:
            choice.fitting.append(fit)
    if target is not None:
        choice.fitting[:] = listed(choice.fitting, candidates, target, text, coerce=coerce)
        for candidate in rejected:
            choice.refuse(candidate, _misfit(candidate, target))
        choice.fitting[:] = _as_written(choice.fitting, target, text)
    _heed_words(choice, text)
    choice.fitting.sort(key=lambda c: _rank(c, target, text), reverse=True)
    return choice


def _heed_words(choice: Choice, text: str) -> None:
    """What the words around the values say: examples of a text that declines are no answer."""
    fitting = choice.fitting
    if len(fitting) == 1 and fitting[0].span[0] > 0:
        mark_examples(fitting, text)
    if fitting and all(c.example for c in fitting) and declines(text, fitting):
        for candidate in fitting:
            choice.refuse(candidate, EXAMPLE)
        fitting.clear()
    if len(fitting) > 1:
        mark_retracted(fitting, text)


def _as_written(fitting: list[Candidate], target: Target, text: str) -> list[Candidate]:
    """Those whose numbers that became strings fit in the spelling of the text."""
    written = (as_written(candidate, text) for candidate in fitting)
    return [c for c in written if c is not None and (not c.coercions or builds(c.value, target))]


def _is_footnote(candidate: Candidate, fit: Candidate, text: str) -> bool:
    """Whether numbers that would become strings are a reference: "as [1] says", "[1] Smith"."""
    numbers = candidate.value
    if not isinstance(numbers, list) or not fit.coercions or candidate.whole or candidate.fenced:
        return False
    if any(type(item) is not int for item in cast("list[object]", numbers)):
        return False
    end = candidate.span[1]
    behind = text[end : end + 80].partition("\n")[0].strip(" \t.*`")
    return bool(behind) or not _stands_out(candidate, text)


def _misfit(candidate: Candidate, target: Target) -> str:
    faults = target.validator.errors(candidate.value, limit=1)
    if faults:
        return str(faults[0])
    try:
        target.build(candidate.value)
    except schemas.Misbuilt as error:  # the type's own rules: a validator of a model, say
        return str(error.violations[0])
    return "it does not fit the schema"


def _refusal(candidate: Candidate, target: Target | None, text: str) -> str | None:
    """Why a candidate is refused whatever the schema says of it."""
    if target is not None and is_schema(candidate.value, target.format.schema):
        return ECHO
    if is_placeholder(candidate.value, sure=candidate.source == "json"):
        return PLACEHOLDER
    if candidate.repairs and target is not None and not _has_a_key(candidate.value, target):
        return NO_KEY
    return None if candidate.whole else _refused_in_prose(candidate, text)


def _has_a_key(value: object, target: Target) -> bool:
    """Whether a value, or what is wrapped in it, has at least one key the schema names."""
    return target.shares_a_key(value) or any(map(target.shares_a_key, shapes(value, target)))


def never_kept(candidate: Candidate, target: Target | None, text: str) -> str | None:
    """Why a repaired candidate is not even kept: nothing in the whole text could make it right."""
    if target is not None and not _has_a_key(candidate.value, target):
        return NO_KEY
    if candidate.guessed and target is not None and not _stands_out(candidate, text):
        return "unquoted words inside a sentence"
    return None


def _refused_in_prose(candidate: Candidate, text: str) -> str | None:
    """Why brackets inside a sentence are no value."""
    if _is_index(candidate, text):
        return INDEX
    if candidate.repairs and candidate.repairs[0] == ("missing start quote", candidate.span[0] + 1):
        return None if _stands_out(candidate, text) else "a bracket inside a string"
    if candidate.value in ({}, []):
        return _refused_empty(candidate, text)
    if candidate.guessed and not _stands_out(candidate, text):
        return "unquoted words inside a sentence"
    return None


def _is_index(candidate: Candidate, text: str) -> bool:
    """`m["k"]`, `f()[0]`: one scalar in brackets right behind a word."""
    items, start = candidate.value, candidate.span[0]
    if not isinstance(items, list) or not re.match(r"[\w)\]]", text[max(0, start - 1) : start]):
        return False
    return len(cast("list[object]", items)) == 1 and isinstance(items[0], str | int | float)


def _refused_empty(candidate: Candidate, text: str) -> str | None:
    """Empty brackets are easily no value: a slip, code, or a check box."""
    if not candidate.complete:
        return "it is cut before its first value"
    if _stands_out(candidate, text) or _CALLBACK.fullmatch(text, 0, candidate.span[0]):
        return None
    return "empty brackets inside a sentence"


def _stands_out(candidate: Candidate, text: str) -> bool:
    """Whether a value begins its own line or follows a colon, a mark or a fence."""
    start = candidate.span[0]
    before = text[max(0, start - 80) : start].rstrip(" \t")
    return candidate.fenced or not before or before.endswith("*/") or before[-1] in "\n:>`=;\uff1a"


CRITERIA: Final = (
    "the words around it take it back, or call it an example",
    "it has keys the schema does not name",
    "it does not open a code fence",
    "it had to be unwrapped",
    "it had to be repaired, or its end is missing",
    "it had to be coerced",
    "there is other text around it",
    "it stands inside a sentence",
)
"""What a candidate has against it, in the order in which it counts."""


def why_lost(candidate: Candidate, winner: Candidate, target: Target | None, text: str) -> str:
    """The first criterion by which the winner was preferred."""
    pairs = zip(_rank(candidate, target, text), _rank(winner, target, text), CRITERIA, strict=True)
    return next((why for own, better, why in pairs if own != better), "another one came first")


def _rank(candidate: Candidate, target: Target | None, text: str) -> tuple[bool, ...]:
    unknown = target is not None and target.unknown(candidate.value) > 0
    return (
        not (candidate.retracted or candidate.aside),
        not unknown,
        candidate.fenced,
        not candidate.unwrapped,
        not candidate.repairs and candidate.complete,
        not candidate.coercions,
        candidate.whole,
        _stands_out(candidate, text),
    )


def alternatives(choice: Choice, best: object) -> tuple[object, ...]:
    """The other values that fit, each once."""
    found: list[object] = []
    for candidate in choice.fitting[1 : _SHOWN + 1]:
        if not any(same(candidate.value, other) for other in (best, *found)):
            found.append(candidate.value)
    return tuple(found)


def same(one: object, other: object) -> bool:
    """Equality that keeps 1 and true apart; nested ones are left to Python."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
