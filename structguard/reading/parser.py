"""
parse(): from what a model really wrote to a value that fits the schema, or an honest ParseError.

The steps are numbered as in spec parse. Nothing here recurses; all work is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from structguard.errors import Attempt, ParseError, ParseReason
from structguard.reading.choose import Choice, alternatives, choose, fitted, never_kept
from structguard.reading.cut import cut_json
from structguard.reading.harmony import Region, regions
from structguard.reading.latex import latex_warning, restore_latex
from structguard.reading.lost import lost_braces
from structguard.reading.marks import without_reasoning
from structguard.reading.markup import markup_candidates
from structguard.reading.placeholders import is_placeholder, is_schema
from structguard.reading.readers import marker_of
from structguard.reading.scan import Found, Scanner
from structguard.reading.shapes import block_text
from structguard.reading.strict import Late, NotStrict, encoded, strict, strict_bytes
from structguard.reading.target import Target
from structguard.reading.values import ABSTAIN, NOTHING, Candidate, Parsed, Read
from structguard.types import Completion

LIMIT: Final = 2_097_152
_NOISE: Final = 500  # repairs from which on nothing sensible is inside
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


def parse(
    answer: str | Completion,
    schema: object = None,
    *,
    reader: Callable[[str], object] | None = None,
    coerce: bool = False,
    partial: bool = False,
    markup: bool = False,
    latex: bool = False,
    limit: int = LIMIT,
) -> Parsed:
    r"""
    The value in a model's answer that fits the schema, and how it was found.

    `schema` is a JSON Schema, an OpenAI response_format, or a type (the value is then an instance).
    `reader` is a text reader (see `readers`). `coerce` allows exact coercions, `partial` keeps the
    string or number that the end cuts, `markup` reads XML-style tool arguments, `latex` restores
    commands such as `\frac` that decoding took for escapes. `limit` is in bytes.

    Raises:
        ParseError: no value that can be used; `attempts` says what was tried.
        ValueError: a broken schema. TypeError: not an answer, or not a schema.
    """
    text = answer.text if isinstance(answer, Completion) else answer
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"parse() takes text or a Completion, got {type(answer).__name__}")
    target = Target.of(schema)
    raw = encoded(text) if len(text) <= limit else None
    if len(text) > limit or (_size(text) if raw is None else len(raw)) > limit:
        raise ParseError("over_budget")
    try:
        value, warnings = strict_bytes(text, raw)
    except NotStrict as error:
        return _lenient(Job(text, target, reader, coerce, partial, markup, latex), str(error))
    if target is None and "\\" not in text:  # the commonest case
        return Parsed(value, "json", True, (0, len(text)), warnings=warnings)
    return _whole(Job(text, target, reader, coerce, partial, markup, latex), value, warnings)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _whole(job: Job, value: object, warnings: Sequence[str]) -> Parsed:
    """Step 2: the whole text is strict JSON."""
    text, target = job.text, job.target
    if "\\" in text:
        value, warnings = _latex(job, value, warnings)
    span = (0, len(text))
    if target is None:
        return Parsed(value, "json", span=span, warnings=warnings)
    if target.validator.is_valid(value) and not _is_no_answer(job, value) and target.builds(value):
        return Parsed(target.build(value), "json", True, span, warnings=warnings)
    candidate = Candidate(value, span, "json", warnings=warnings, whole=True)
    found = Found(candidates=[candidate])
    return _decide(job, found)


def _is_no_answer(job: Job, value: object) -> bool:
    """Whether a value that fits is the schema handed back or a template left unfilled."""
    if job.target is not None and is_schema(value, job.target.format.schema):
        return True
    text = job.text
    hinted = "<" in text or "..." in text or "{{" in text or "\u2026" in text
    return hinted and is_placeholder(value, sure=True)


def _latex(job: Job, value: object, warnings: Sequence[str]) -> tuple[object, Sequence[str]]:
    """Escapes that were LaTeX commands: restored where asked for, else a warning."""
    if job.latex:
        value, changed = restore_latex(value)
        said = f"LaTeX commands were restored in {changed} strings" if changed else None
    else:
        said = None if isinstance(warnings, Late) else latex_warning(job.text)
    return value, (*warnings, said) if said else warnings


def _lenient(job: Job, fault: str) -> Parsed:
    """Steps 3 to 10: the text is not one strict JSON value."""
    taken = _marked_reader(job)
    if taken is not None:
        return taken
    early: list[Attempt] = []
    if fault.startswith("EOF while parsing") and (cut := _cut(job, fault, early)):
        return cut
    found = _scanned(job)
    found.attempts[:0] = early
    return _decide(job, found)


def _marked_reader(job: Job) -> Parsed | None:
    """Step 3: the caller's reader, when its marker is in the text."""
    marker = marker_of(job.reader) if job.reader is not None else None
    if marker is None or marker.search(job.text) is None:
        return None
    return _ask_reader(job)


def _ask_reader(job: Job) -> Parsed | None:
    if job.reader is None:
        return None
    given = job.reader(without_reasoning(job.text))
    if given is NOTHING:
        return None
    if given is ABSTAIN:
        return Parsed(ABSTAIN, "text", span=(0, len(job.text)))
    read = given if isinstance(given, Read) else Read(given)
    candidate = Candidate(read.value, (0, len(job.text)), "text")
    if job.target is not None:
        fit = fitted(candidate, job.target, coerce=job.coerce)
        if fit is None:
            return None
        candidate = fit
    return _taken(job, candidate, Choice(), tuple(read.rejected))


def _cut(job: Job, fault: str, early: list[Attempt]) -> Parsed | None:
    """Step 4: only the end is missing."""
    opened = job.text.lstrip("\ufeff \t\r\n")
    if opened[:1] not in ("{", "["):
        return None
    try:
        value = cut_json(opened, fault, partial=job.partial)
    except NotStrict:
        return None
    span = (len(job.text) - len(opened), len(job.text))
    candidate = Candidate(value, span, "truncated", complete=False, whole=True)
    choice = choose([candidate], job.target, job.text, coerce=job.coerce)
    early.extend(choice.attempts)
    return _taken(job, choice.fitting[0], choice, ()) if choice.fitting else None


def candidates_of(job: Job) -> Found:
    """Every value that may be meant, before the schema chooses; for `explain`."""
    try:
        value, warnings = strict(job.text)
    except NotStrict:
        return _scanned(job)
    span = (0, len(job.text))
    return Found(candidates=[Candidate(value, span, "json", warnings=warnings, whole=True)])


def _scanned(job: Job) -> Found:
    """Steps 5 and 6: what is not the answer is passed over, the rest is read."""
    parts, reasoned = regions(job.text)
    known = job.target.known if job.target is not None else frozenset[str]()
    scanner = Scanner(
        job.text,
        known,
        job.partial,
        lambda candidate: never_kept(candidate, job.target, job.text),
        _most(job.target),
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
    return 2000 if target.types is not None and "array" not in target.types else 20_000


def _mark_whole(found: Found, text: str) -> None:
    if len(found.candidates) == 1:
        start, end = found.candidates[0].span
        found.candidates[0].whole = not text[:start].strip() and not text[end:].strip()


def _decide(job: Job, found: Found) -> Parsed:
    """Steps 7 to 10: the schema chooses; what was left out is tried; else the reader, else none."""
    choice = choose(found.candidates, job.target, job.text, coerce=job.coerce)
    for more in (_blocks, _inside, _lost):
        if choice.fitting:
            break
        again = more(job, found)
        if again is not None:
            again.attempts[:0] = choice.attempts
            choice = again
    if choice.fitting:
        return _taken(job, choice.fitting[0], choice, ())
    taken = _ask_reader(job)
    if taken is not None:
        return taken
    raise ParseError(_reason(job, found, choice), [*choice.attempts, *found.attempts][:50])


def _blocks(job: Job, found: Found) -> Choice | None:
    """Content blocks: the answer is in their text."""
    if job.nested or len(found.candidates) > 4:
        return None
    for candidate in found.candidates:
        inner = block_text(candidate.value)
        if inner is None:
            continue
        scanned = _scanned(replace(job, text=inner, nested=True))
        for one in scanned.candidates:
            one.unwrapped, one.span = True, candidate.span
        return choose(scanned.candidates, job.target, job.text, coerce=job.coerce)
    return None


def _inside(job: Job, found: Found) -> Choice | None:
    """A repaired value that does not fit may have swallowed the one that does."""
    swallowed = [
        c for c in found.candidates if c.value and (0 < len(c.repairs) < _NOISE or not c.complete)
    ]
    if job.target is not None and job.target.types == {"array"}:
        swallowed = [c for c in swallowed if not isinstance(c.value, list)]  # no part for the whole
    swallowed = swallowed[:_INNER]
    if job.target is None or not swallowed:
        return None
    scanner = Scanner(job.text, job.target.known, job.partial)
    reach = 0
    for candidate in swallowed:
        start, end = candidate.span
        if start + 1 >= reach:
            scanner.scan(Region(start + 1, end))
            reach = end
    return choose(scanner.found.candidates, job.target, job.text, coerce=job.coerce)


def _lost(job: Job, found: Found) -> Choice | None:
    """Members of an object whose braces are not there."""
    if found.candidates or job.target is None:
        return None
    candidate = lost_braces(job.text, job.target.known, partial=job.partial)
    if candidate is None:
        return None
    return choose([candidate], job.target, job.text, coerce=job.coerce)


def _is_reasoning(text: str) -> bool:
    """Whether nothing is left of a text without its reasoning."""
    return not regions(text)[0] or not without_reasoning(text).strip()


def _reason(job: Job, found: Found, choice: Choice) -> ParseReason:
    """The one word for why there is no value."""
    count = len(found.candidates)
    facts: tuple[tuple[ParseReason, bool], ...] = (
        ("too_deep", found.too_deep),
        ("over_budget", found.over_budget and not count),
        ("schema_echo", 0 < choice.echoes == count),
        ("placeholder", 0 < choice.placeholders == count),
        ("misfit", count > 0 or found.refused > 0),
        ("reasoning_only", found.reasoned and _is_reasoning(job.text)),
    )
    for reason, applies in facts:
        if applies:
            return reason
    return "no_json"


def _taken(job: Job, candidate: Candidate, choice: Choice, rejected: tuple[object, ...]) -> Parsed:
    """The chosen candidate as Parsed, its value built where the schema was a type."""
    value = candidate.value
    if candidate.source not in ("json", "text") and "\\" in job.text:
        value, candidate.warnings = _latex(job, value, candidate.warnings)
    source = candidate.source
    if candidate.repairs and source in ("embedded", "fenced", "json"):
        source = "repaired"
    return Parsed(
        value=value if job.target is None else job.target.build(value),
        source=source,
        complete=candidate.complete,
        span=candidate.span,
        repairs=tuple(candidate.repairs),
        coercions=tuple(candidate.coercions),
        alternatives=alternatives(choice, candidate.value),
        rejected=rejected,
        warnings=candidate.warnings,
    )
