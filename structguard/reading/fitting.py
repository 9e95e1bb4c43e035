"""
Does a value fit: as it is, in another shape, or with exact coercions.

Source: spec parse, step 8.
"""

from __future__ import annotations

from dataclasses import replace

from structguard.reading.convert import convert
from structguard.reading.shapes import shapes
from structguard.reading.target import Target
from structguard.reading.values import Candidate
from structguard.types import as_mapping, as_sequence


def fitted(candidate: Candidate, target: Target, *, coerce: bool) -> Candidate | None:
    """The candidate in the shape that fits, or None."""
    plain = as_it_is(candidate, target, coerce=coerce)
    if plain is not None and target.shares_a_key(plain.value):
        return plain
    for value in shapes(candidate.value, target):
        inner = as_it_is(replace(candidate, value=value, unwrapped=True), target, coerce=coerce)
        wrapped = as_sequence(candidate.value) is not None and as_mapping(value) is not None
        if inner is None or (wrapped and not _may_wrap(candidate)):
            continue
        if target.shares_a_key(inner.value):
            return inner
    return plain


def _may_wrap(candidate: Candidate) -> bool:
    """A list in prose may be a footnote; it is wrapped when it stands alone or holds objects."""
    values = as_sequence(candidate.value) or ()
    return candidate.whole or candidate.fenced or any(as_mapping(v) is not None for v in values)


def as_it_is(candidate: Candidate, target: Target, *, coerce: bool) -> Candidate | None:
    if builds(candidate.value, target):
        return candidate
    value, coercions = convert(candidate.value, target, coerce=coerce)
    if candidate.part and any(path == () for path, _, _ in coercions):
        return None  # what is left of a list is not the list
    if coercions and builds(value, target):
        return replace(candidate, value=value, coercions=[*candidate.coercions, *coercions])
    return None


def builds(value: object, target: Target) -> bool:
    return target.validator.is_valid(value) and target.builds(value)
