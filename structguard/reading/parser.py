"""
parse(): from what a model really wrote to a value that fits the schema, or an honest ParseError.

The steps are numbered as in spec parse. Nothing here recurses; all work is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from structguard.errors import ParseError, ParseReason
from structguard.reading.choose import Choice, alternatives
from structguard.reading.finding import Job, decided, restore, weighed
from structguard.reading.fitting import fitted
from structguard.reading.found import Found
from structguard.reading.harmony import regions
from structguard.reading.latex import latex_warning
from structguard.reading.marks import without_reasoning
from structguard.reading.placeholders import is_placeholder, is_schema
from structguard.reading.readers import marker_of
from structguard.reading.strict import Late, NotStrict, encoded, strict_bytes
from structguard.reading.target import Target
from structguard.reading.values import ABSTAIN, NOTHING, Candidate, Parsed, Read
from structguard.types import Completion

LIMIT: Final = 2_097_152


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
    Find the value in a model's answer that matches the schema.

    Args:
        answer: The text of the answer, or a `Completion`.
        schema: A JSON Schema, an OpenAI `response_format`, or a type, in which case the value is an
            instance of it. None takes the first value.
        reader: A text reader for answers that are not JSON (see `readers`).
        coerce: Convert types where the schema requires it and nothing is lost, such as "42" to 42.
        partial: Keep a string or number that is cut off at the end of the answer.
        markup: Read XML-style tool arguments.
        latex: Restore commands such as `\frac` that JSON decoding turned into escapes.
        limit: Bytes of an answer at most.

    Raises:
        ParseError: There is no usable value; `attempts` says what was tried.
        ValueError: The schema is broken; the message names the place.
        TypeError: Not an answer, or not a schema.
    """
    text = answer if isinstance(answer, str) else _text_of(answer)
    target = None if schema is None else Target.of(schema)
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


def _text_of(answer: object) -> str:
    if isinstance(answer, Completion):
        return answer.text
    raise TypeError(f"parse() takes text or a Completion, got {type(answer).__name__}")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _whole(job: Job, value: object, warnings: Sequence[str]) -> Parsed:
    """Step 2: the whole text is strict JSON."""
    candidate = Candidate(value, (0, len(job.text)), "json", warnings=warnings, whole=True)
    if job.latex and "\\" in job.text:
        restore(candidate)
    value, target = candidate.value, job.target
    if target is None or (
        target.validator.is_valid(value) and not _is_no_answer(job, value) and target.builds(value)
    ):
        return _taken(job, candidate, Choice(), ())
    found = Found(candidates=[candidate])
    return _answered(job, found, decided(job, found))


def _is_no_answer(job: Job, value: object) -> bool:
    """Whether a value that fits is the schema handed back or a template left unfilled."""
    if job.target is not None and is_schema(value, job.target.format.schema):
        return True
    text = job.text
    hinted = "<" in text or "..." in text or "{{" in text or "\u2026" in text or '"string"' in text
    return hinted and is_placeholder(value, sure=True)


def _lenient(job: Job, fault: str) -> Parsed:
    """Steps 3 to 10: the text is not one strict JSON value."""
    taken = _marked_reader(job)
    if taken is not None:
        return taken
    return _answered(job, *weighed(job, fault))


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


def _answered(job: Job, found: Found, choice: Choice) -> Parsed:
    """Steps 9 and 10: the best of what fits, else the caller's reader, else why there is none."""
    if choice.fitting:
        return _taken(job, choice.fitting[0], choice, ())
    taken = _ask_reader(job)
    if taken is not None:
        return taken
    raise ParseError(_reason(job, found, choice), [*choice.attempts, *found.attempts][:50])


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
    value, source, warnings = candidate.value, candidate.source, candidate.warnings
    if source != "text" and not job.latex and not isinstance(warnings, Late) and "\\" in job.text:
        said = latex_warning(job.text)
        warnings = (*warnings, said) if said else warnings
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
        warnings=warnings,
    )
