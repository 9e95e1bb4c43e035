"""
A router that found no endpoint for the request's parameters (404, spec guard §1.9).

The funnel of routing steps is read by field names: the step that filters by parameters refuses when
fewer endpoints are left after it than before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from structguard.refusal.rules import feature_in
from structguard.refusal.statements import Body, Statement, flat
from structguard.refusal.text import plain, spaced
from structguard.types import as_mapping, as_sequence, as_text

_NO_ROUTE = re.compile(
    r"\bno (?:\w+ ){0,3}?(?:endpoints?|providers?|routes?|deployments?|backends?|upstreams?)\b"
)
_PARAMETERS = re.compile(
    r"\b(?:requested|given|specified|required|all|your|these|request) (?:\w+ )?parameters?\b"
    r"|\bparameters? (?:you )?(?:requested|specified|in your request)"
)
_OTHER = re.compile(
    r"\b(?:tool|function|image|audio|video|file|pdf|data policy|privacy|guardrail|moderation|region"
    r"|allowed providers?|ignored?|price|context|tokens?|zdr|retention|prompt training)\b"
)
_SLUG = re.compile(r"\b[\w.@-]{1,60}/[\w.:@-]{1,100}")  # the name of a model names no feature
_STEP = re.compile(r"\bfilter(?:ed|ing)? by (?:\w+ )?param")
_STEP_KEYS = ("step", "name", "stage", "filter", "label", "title", "id")
_COUNT = re.compile(r"count|remaining|endpoints|providers|left|matched|after")
_DEEPEST = 8


def no_route(body: Body) -> Statement | None:
    """The statement in which a router refuses the request's parameters, else None."""
    for statement in body.statements:
        if "no " not in statement.text.lower():
            continue
        text = plain(statement.text)
        if _NO_ROUTE.search(text):
            text = spaced(_SLUG.sub("…", text))
            if not _about_other(text) and _for_parameters(text, body):
                return statement
    return None


def _about_other(text: str) -> bool:
    """Endpoints are missing for another reason, which the sentence names."""
    return _OTHER.search(text) is not None and not _PARAMETERS.search(text)


def _for_parameters(text: str, body: Body) -> bool:
    failed = _failed_step(body.root)
    if failed is not None:
        return _STEP.search(plain(failed)) is not None
    if _PARAMETERS.search(text) or feature_in(text):
        return True
    return _funnel_dropped(body)


def _failed_step(root: object) -> str | None:
    for mapping in _mappings(root, 0):
        for key, value in mapping.items():
            if flat(key) in {"failedroutingstep", "failedstep"} and as_text(value):
                return as_text(value)
    return None


def _funnel_dropped(body: Body) -> bool:
    """Whether the step by parameters dropped endpoints; a step whose counts are unreadable did."""
    for mapping in _mappings(body.root, 0):
        for value in mapping.values():
            verdict = _read(as_sequence(value) or ())
            if verdict is not None:
                return verdict
    return any(_STEP.search(plain(statement.text)) for statement in body.statements)


def _read(steps: Sequence[object]) -> bool | None:
    before: int | None = None
    for step in steps[:40]:
        count = _count(step)
        if _STEP.search(plain(_name(step))):
            return before is None or count is None or count < before
        before = count
    return None


def _name(step: object) -> str:
    if isinstance(step, str):
        return step[:200]
    fields = {flat(key): value for key, value in (as_mapping(step) or {}).items()}
    return next((text for key in _STEP_KEYS if (text := as_text(fields.get(key)))), "")


def _count(step: object) -> int | None:
    for key, value in (as_mapping(step) or {}).items():
        if _COUNT.search(key.lower()):
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            listed = as_sequence(value)
            if listed is not None:
                return len(listed)
    return None


def _mappings(value: object, depth: int) -> Iterator[Mapping[str, object]]:
    if depth > _DEEPEST:
        return
    mapping = as_mapping(value)
    if mapping is not None:
        yield mapping
        for inner in mapping.values():
            yield from _mappings(inner, depth + 1)
    else:
        for item in (as_sequence(value) or ())[:40]:
            yield from _mappings(item, depth + 1)
