"""
Steps 4 to 8: the values an answer may mean, and the one the schema chooses.

First the text as it is but for its end, then one scan; where nothing of that fits, what the scan
passed over: content blocks, the inside of misfits, members without braces. Source: spec parse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import unescape
from typing import Final

from structguard.errors import Attempt
from structguard.reading.choose import Choice, choose, never_kept
from structguard.reading.cut import cut_json
from structguard.reading.found import Found
from structguard.reading.harmony import Region, regions
from structguard.reading.latex import restore_latex
from structguard.reading.lost import lost_braces
from structguard.reading.markup import markup_candidates
from structguard.reading.scan import Scanner
from structguard.reading.shapes import block_text
from structguard.reading.strict import NotStrict
from structguard.reading.target import Target
from structguard.reading.values import Candidate

_NOISE: Final = 500  # repairs from which on nothing sensible is inside
_ENTITIES = re.compile(r"[{\[]\s{0,80}(?:[{\[]\s{0,80})?&(?:quot|#34|#x22|#39|apos);")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_INNER: Final = 8  # misfits whose inside is scanned once more


@dataclass(frozen=True, slots=True)
class Job:
    """One call of parse: the text, what it has to fit, the options."""

    text: str
    target: Target | None = None
    reader: Callable[[str], object] | None = None
    coerce: bool = False
    partial: bool = False
    markup: bool = False
    latex: bool = False
    nested: bool = False  # the text came out of content blocks


def weighed(job: Job, fault: str) -> tuple[Found, Choice]:
    """What is found in a text that is not one strict value, and what of it fits, best first."""
    early: list[Attempt] = []
    if fault.startswith("EOF while parsing") and (candidate := _cut(job, fault)) is not None:
        choice = _chosen(job, [candidate])
        if choice.fitting:
            return Found(candidates=[candidate]), choice
        early = choice.attempts
    found = _scanned(job)
    found.attempts[:0] = early
    return found, decided(job, found)


def decided(job: Job, found: Found) -> Choice:
    """Steps 7 and 8: the schema chooses; where nothing fits, what was left out is tried."""
    choice = _chosen(job, found.candidates)
    for more in (_blocks, _inside, _lost, _entities):
        if choice.fitting:
            break
        candidates = more(job, found)
        if candidates:
            again = _chosen(job, candidates)
            again.attempts[:0] = choice.attempts
            choice = again
    return choice


def _chosen(job: Job, candidates: list[Candidate]) -> Choice:
    if job.latex:
        for candidate in candidates:
            restore(candidate)
    return choose(candidates, job.target, job.text, coerce=job.coerce)


def restore(candidate: Candidate) -> None:
    """Restore LaTeX commands in a candidate, with a warning that says so."""
    candidate.value, changed = restore_latex(candidate.value)
    if changed:
        said = f"LaTeX commands were restored in {changed} strings"
        candidate.warnings = (*candidate.warnings, said)


def _cut(job: Job, fault: str) -> Candidate | None:
    """Step 4: only the end is missing."""
    opened = job.text.lstrip("\ufeff \t\r\n")
    if opened[:1] not in ("{", "["):
        return None
    try:
        value = cut_json(opened, fault, partial=job.partial)
    except NotStrict:
        return None
    span = (len(job.text) - len(opened), len(job.text))
    return Candidate(value, span, "truncated", complete=False, whole=True)


def _scanned(job: Job) -> Found:
    """Steps 5 and 6: what is not the answer is passed over, the rest is read."""
    parts, reasoned = regions(job.text)
    scanner = Scanner(
        job.text,
        job.target.known if job.target is not None else frozenset(),
        job.partial,
        lambda candidate: never_kept(candidate, job.target, job.text),
        lambda: _most(job.target),
    )
    scanner.found.reasoned = reasoned
    for part in parts:
        scanner.scan(part)
        if job.markup:
            scanner.found.candidates += markup_candidates(job.text, part, job.target)
    _mark_whole(scanner.found, job.text)
    return scanner.found


def _most(target: Target | None) -> int:
    """How many candidates are worth keeping: a list may be given as many objects."""
    if target is None:
        return 200
    listed = target.types is None or "array" in target.types or target.one_array is not None
    return 20_000 if listed else 2000


def _mark_whole(found: Found, text: str) -> None:
    if len(found.candidates) == 1:
        start, end = found.candidates[0].span
        found.candidates[0].whole = not text[:start].strip() and not text[end:].strip()


def _blocks(job: Job, found: Found) -> list[Candidate]:
    """Content blocks, or a string that holds nearly JSON: the answer is in their text."""
    if job.nested or len(found.candidates) > 4:
        return []
    for candidate in found.candidates:
        inner = _text_inside(candidate)
        if inner is None:
            continue
        scanned = _scanned(replace(job, text=inner, nested=True))
        for one in scanned.candidates:
            one.unwrapped, one.span = True, candidate.span
        return scanned.candidates
    return []


def _text_inside(candidate: Candidate) -> str | None:
    value = candidate.value
    if isinstance(value, str):
        return value if candidate.whole and value.lstrip()[:1] in ("{", "[", "`") else None
    return block_text(value)


def _inside(job: Job, found: Found) -> list[Candidate]:
    """A repaired value that does not fit may have swallowed the one that does."""
    swallowed = [
        c for c in found.candidates if c.value and (0 < len(c.repairs) < _NOISE or not c.complete)
    ]
    if job.target is not None and job.target.types == {"array"}:
        swallowed = [c for c in swallowed if not isinstance(c.value, list)]  # no part for the whole
    if job.target is None:
        return []
    scanner = Scanner(job.text, job.target.known, job.partial)
    for candidate in swallowed[:_INNER]:
        scanner.scan(Region(candidate.span[0] + 1, candidate.span[1]))
    return scanner.found.candidates


def _entities(job: Job, _found: Found) -> list[Candidate]:
    """Quotes written as HTML writes them: `{&quot;name&quot;: &quot;Ada&quot;}`."""
    quoted = _ENTITIES.search(job.text) if "&" in job.text and not job.nested else None
    if quoted is None:
        return []
    candidates = _scanned(replace(job, text=_unescaped(job.text), nested=True)).candidates
    for candidate in candidates:
        candidate.span = (quoted.start(), len(job.text))
        candidate.repairs = [("HTML entities", quoted.start())]
    return candidates


def _unescaped(text: str) -> str:
    """Whole entities only: `unescape` alone would make a sign of "&copy" too."""
    return _ENTITY.sub(lambda found: unescape(found.group()), text)


def _lost(job: Job, _found: Found) -> list[Candidate]:
    """Members of an object whose braces are not there."""
    if job.target is None or job.nested:
        return []
    candidate = lost_braces(job.text, job.target.known, partial=job.partial)
    return [] if candidate is None else [candidate]
