"""
Several objects where a list is asked for: each stands in the text, together they are the list.

Source: spec parse, step 7 ("several objects that fit its items → the list").
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final, cast

from structguard.reading.fitting import as_it_is
from structguard.reading.said import corrects
from structguard.reading.shapes import shapes
from structguard.reading.target import Target
from structguard.reading.values import Candidate, Path
from structguard.types import as_mapping, as_sequence

_TRIES: Final = 200  # objects that may fail to be items


def listed(
    fitting: list[Candidate],
    candidates: list[Candidate],
    target: Target,
    text: str,
    *,
    coerce: bool,
) -> list[Candidate]:
    """
    What fits when the objects of the text are taken as one list, for an array or a one-array object.

    A list without one that stands among them would be a lie, and so would one of drafts, or one of
    what is left of a list that could not be read.
    """
    if fitting and not all(c.coercions or c.unwrapped for c in fitting):
        return fitting
    objects = [c for c in candidates if isinstance(c.value, dict) and not c.guessed]
    answers = [c for c in objects if not c.aside]
    if len(objects) > len(answers) == 1:
        return [c for c in fitting if all(path for path, _, _ in c.coercions)]
    objects = answers or objects
    place = _place(target) if len(objects) > 1 else None
    kept = [] if place is None else _items(objects, place, target, coerce=coerce)
    if place is None or len(kept) < 2:
        return fitting
    first, last = kept[0].span, kept[-1].span
    between = [c for c in objects if first <= c.span <= last]
    whole = _list_of(kept, place)
    if (
        len(kept) < len(between)
        or any(c.part for c in kept)
        or not target.validator.is_valid(whole.value)
    ):
        return [c for c in fitting if not isinstance(c.value, list)]
    if any(corrects(text, one.span[1], other.span[0]) for one, other in pairwise(kept)):
        return []
    return [whole]


def _place(target: Target) -> Path | None:
    """Where in the answer the list stands: at its top, or under its one key."""
    if target.types is not None and "array" in target.types:
        return ()
    if target.types != {"object"} or target.one_array is None:
        return None
    return (target.one_array,)


def _put(items: list[object], place: Path) -> object:
    return {place[0]: items} if place else items


def _at(value: object, place: Path) -> object:
    return cast("dict[str | int, object]", value)[place[0]] if place else value


def _list_of(kept: list[Candidate], place: Path) -> Candidate:
    return Candidate(
        _put([c.value for c in kept], place),
        (kept[0].span[0], kept[-1].span[1]),
        "concatenated",
        repairs=[note for c in kept for note in c.repairs][:500],
        warnings=[w for c in kept for w in c.warnings][:20],
        complete=all(c.complete for c in kept),
        coercions=[
            ((*place, index, *path), old, new)
            for index, c in enumerate(kept)
            for path, old, new in c.coercions
        ],
        unwrapped=bool(place),
        example=all(c.example for c in kept),
    )


def _items(
    objects: list[Candidate], place: Path, target: Target, *, coerce: bool
) -> list[Candidate]:
    """Those of the objects that may be items of the list, converted."""
    kept: list[Candidate] = []
    for index, candidate in enumerate(objects):
        if index - len(kept) > _TRIES:
            break
        item = _item(candidate, place, target, coerce=coerce)
        if item is not None:
            kept.append(item)
    return kept


def _item(candidate: Candidate, place: Path, target: Target, *, coerce: bool) -> Candidate | None:
    for value in (candidate.value, *shapes(candidate.value, target)):
        if place and not target.known.intersection(as_mapping(value) or ()):
            continue  # an object of other things, not an item in need of its wrapper
        fit = as_it_is(replace(candidate, value=_put([value], place)), target, coerce=coerce)
        items = None if fit is None else as_sequence(_at(fit.value, place))
        if fit is not None and items:
            coercions = [(path[len(place) + 1 :], old, new) for path, old, new in fit.coercions]
            return replace(fit, value=items[0], coercions=coercions)
    return None
