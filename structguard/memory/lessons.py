"""A lesson's form in one place: schema, prompt words, text reader and the limits they all obey."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from structguard.memory.parts import BULLET, NONE, Rejected, plain, rejected
from structguard.reading import ABSTAIN, NOTHING, Read
from structguard.subcalls import Rejection
from structguard.types import JsonSchema, as_mapping, as_sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillLimits:
    """Format and limits in one place: schema, prompt and reader are all made from it."""

    name: str = "distill_lesson_v1"
    name_with_procedure: str = "distill_lesson_and_procedure_v1"
    activation: int = 240  # characters
    principle: int = 800  # characters
    tags: int = 12
    tag: int = 40  # characters
    least_steps: int = 2
    most_steps: int = 8
    step: int = 240  # characters
    tool_hint: int = 64  # characters
    episode: int = 400  # characters, in the prompt
    episode_tags: int = 6  # in the prompt
    no_activation: str = "(no consensus)"
    no_principle: str = "(no durable advice)"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a procedure, and the tool it is done with."""

    description: str
    tool_hint: str | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """How to do what a lesson advises."""

    activation: str
    steps: tuple[Step, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lesson:
    """When it applies, what to do, and if the episodes show it, how."""

    activation: str
    principle: str
    tags: tuple[str, ...] = ()
    procedure: Procedure | None = None


def _closed(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT, _TAGS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}


def schema(limits: DistillLimits, *, procedure: bool) -> JsonSchema:
    """What is asked of endpoints that can enforce it."""
    lesson: dict[str, object] = {
        "kind": {"type": "string", "enum": ["none", "lesson"]},
        "activation": _TEXT,
        "principle": _TEXT,
        "tags": _TAGS,
    }
    if not procedure:
        return JsonSchema(name=limits.name, strict=True, schema=_closed(lesson))
    step = _closed({"description": _TEXT, "tool_hint": {"type": ["string", "null"]}})
    steps = {"type": "array", "items": step, "maxItems": limits.most_steps}
    half = _closed({"activation": _TEXT, "steps": steps, "tags": _TAGS})
    lesson["procedure"] = {"anyOf": [half, {"type": "null"}]}
    return JsonSchema(name=limits.name_with_procedure, strict=True, schema=_closed(lesson))


def accepted() -> Mapping[str, object]:
    """What an answer must fit: a bad procedure or tag must not cost the lesson."""
    return {
        "type": "object",
        "properties": {"kind": _TEXT, "activation": _TEXT, "principle": _TEXT},
        "anyOf": [
            {"required": ["activation", "principle"]},
            {"required": ["kind"], "properties": {"kind": {"const": "none"}}},
        ],
    }


def answer_instructions(limits: DistillLimits, *, procedure: bool) -> str:
    """What the prompt says about the answer's form."""
    lesson = (
        "Answer with one line:\n"
        'LESSON activation="when it applies"; principle="what to do"; tags=a,b\n'
        f"activation at most {limits.activation} characters, principle {limits.principle}, at most"
        f" {limits.tags} tags in lower case of {limits.tag}. If the episodes teach no lesson, write"
        f' activation="{limits.no_activation}" and principle="{limits.no_principle}".'
    )
    second = (
        "\nIf they also show how to do it, add a second line:\n"
        'PROCEDURE activation="when it applies"; steps="first step@tool; second step"; tags=a,b\n'
        f"{limits.least_steps} to {limits.most_steps} steps of at most {limits.step} characters; the"
        f" tool after @ may be left out and has at most {limits.tool_hint} characters."
    )
    keys = "kind (lesson or none), activation, principle, tags" + (
        ", procedure (null, or activation, steps of description and tool_hint, tags)"
        if procedure
        else ""
    )
    imposed = f"\nIf a JSON schema is imposed, answer with that JSON instead: {keys}."
    return lesson + (second if procedure else "") + imposed


_QUOTES = (('"', '"', '"'), ("“", "”", "“”"), ('["“]', '["”]', '"“”'))  # opens, closes, not inside


def _quoted(name: str) -> str:
    """Text in straight quotes, in typographic ones, or in a mixture; it holds none of its own kind."""
    forms = (
        rf"{opens}(?P<{name}_{at}>(?:[^{inside}\\]|\\.)*){closes}"
        for at, (opens, closes, inside) in enumerate(_QUOTES)
    )
    return f"{name}=(?:{'|'.join(forms)})"


_TAGS_LAST = r"\s*(?:;\s*tags=(?P<tags>[^\n]*))?"
_LESSON = re.compile(
    rf"^{BULLET}LESSON\s+{_quoted('activation')}\s*;\s*{_quoted('principle')}{_TAGS_LAST}",
    re.MULTILINE,
)
_PROCEDURE = re.compile(
    rf"^{BULLET}PROCEDURE\s+{_quoted('activation')}\s*;\s*{_quoted('steps')}{_TAGS_LAST}",
    re.MULTILINE,
)
_PROCEDURE_LINE = re.compile(rf"^{BULLET}PROCEDURE\b.*", re.MULTILINE)
_STEP = re.compile(r"(.*?)(?:@([\w./:-]+))?", re.DOTALL)


class LessonReader:
    """Reads a LESSON line and an optional PROCEDURE line, or NONE."""

    marker: re.Pattern[str] = re.compile(
        rf"^{BULLET}LESSON\s|\A{NONE.pattern}\Z", re.MULTILINE | re.IGNORECASE
    )

    def __call__(self, text: str, /) -> object:
        if NONE.fullmatch(text):
            return ABSTAIN
        found = _LESSON.search(text)
        if found is None:
            return NOTHING
        value: dict[str, object] = {
            "kind": "lesson",
            "activation": _said(found, "activation"),
            "principle": _said(found, "principle"),
            "tags": _split(found["tags"] or "", ","),
        }
        line = _PROCEDURE_LINE.search(text)
        if line is None:
            return Read(value)
        procedure = _PROCEDURE.search(text)
        if procedure is None:
            return Read(value, [rejected(line.group(), "malformed")])
        value["procedure"] = {
            "activation": _said(procedure, "activation"),
            "steps": [_step(step) for step in _split(_said(procedure, "steps"), ";")],
            "tags": _split(procedure["tags"] or "", ","),
        }
        return Read(value)


def _said(found: re.Match[str], name: str) -> str:
    """What stood in the quotes, whichever they were, its escapes resolved."""
    forms = (found[f"{name}_{at}"] for at in range(len(_QUOTES)))
    text = next(said for said in forms if said is not None)
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def _split(text: str, separator: str) -> list[str]:
    return [part for item in text.split(separator) if (part := item.strip())]


def _step(text: str) -> dict[str, object]:
    found = _STEP.fullmatch(text)
    description, tool = found.groups() if found else (text, None)
    return {"description": description.strip(), "tool_hint": tool}


def lesson_of(value: object, limits: DistillLimits, *, procedure: bool) -> Read | Rejection:
    """The lesson of an answer that fits the schema, within the limits; or why there is none."""
    answer = as_mapping(value) or {}
    activation, principle = (plain(answer.get(key)) or "" for key in ("activation", "principle"))
    if answer.get("kind") == "none" or (activation.casefold(), principle.casefold()) == (
        limits.no_activation.casefold(),
        limits.no_principle.casefold(),
    ):
        return Rejection("no_consensus")
    fault = _over("activation", activation, limits.activation) or _over(
        "principle", principle, limits.principle
    )
    if fault:
        return Rejection(fault)
    tags, bad = _tags(answer.get("tags"), limits)
    lesson = Lesson(activation, principle, tags)
    half = answer.get("procedure")
    if half is None or not procedure:
        return Read(lesson, bad)
    found = _procedure_of(half, limits, bad)
    if isinstance(found, Procedure):
        return Read(replace(lesson, procedure=found), bad)
    return Read(lesson, [*bad, rejected(half, found)])


def _over(name: str, text: str, most: int) -> str:
    """The typed reason of a text that is missing or too long; empty for a good one."""
    if not text:
        return f"{name}_missing"
    return f"{name}_too_long" if len(text) > most else ""


def _tags(items: object, limits: DistillLimits) -> tuple[tuple[str, ...], list[Rejected]]:
    """Tags in lower case, each once, within the limits; and those that were dropped."""
    tags: dict[str, None] = {}
    bad: list[Rejected] = []
    for item in as_sequence(items) or ():
        tag = (plain(item) or "").lower()
        if not tag:
            bad.append(rejected(item, "malformed"))
        elif len(tag) > limits.tag:
            bad.append(rejected(tag, "tag_too_long"))
        elif tag not in tags and len(tags) >= limits.tags:
            bad.append(rejected(tag, "cap_exceeded"))
        else:
            tags[tag] = None
    return tuple(tags), bad


def _procedure_of(half: object, limits: DistillLimits, bad: list[Rejected]) -> Procedure | str:
    """The procedure, or the typed reason why it cannot be kept."""
    fields = as_mapping(half) or {}
    items = as_sequence(fields.get("steps"))
    activation = plain(fields.get("activation"))
    if items is None or activation is None:
        return "malformed"
    if fault := _over("activation", activation, limits.activation):
        return f"procedure_{fault}"
    if len(items) < limits.least_steps:
        return "too_few_steps"
    if len(items) > limits.most_steps:
        return "too_many_steps"
    steps = _steps(items, limits)
    if isinstance(steps, str):
        return steps
    tags, dropped = _tags(fields.get("tags"), limits)
    bad.extend(dropped)
    return Procedure(activation, steps, tags)


def _steps(items: Sequence[object], limits: DistillLimits) -> tuple[Step, ...] | str:
    steps: list[Step] = []
    for item in items:
        fields = as_mapping(item) or {}
        description = plain(fields.get("description")) or ""
        tool = fields.get("tool_hint")
        if not (tool is None or isinstance(tool, str)):
            return "malformed"
        fault = _over("step", description, limits.step)
        if fault or len(tool or "") > limits.tool_hint:
            return fault or "tool_hint_too_long"
        steps.append(Step(description, (tool or "").strip() or None))
    return tuple(steps)
