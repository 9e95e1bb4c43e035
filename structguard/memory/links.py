"""The link generator: relations among memories that were retrieved together. Source: spec memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structguard.events import Observer
from structguard.memory.lists import Lines, accepted_parts, lax_list_schema, list_schema
from structguard.memory.parts import BULLET, clip, conversation
from structguard.observe import log_events
from structguard.reading import Read
from structguard.subcalls import Ask, Options, Rejection, Skip, Subcall
from structguard.types import JsonSchema, as_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """Format and limits in one place: schema, prompt and reader are all made from it."""

    name: str = "link_generator_v1"
    kinds: tuple[str, ...] = (  # the first is meant where none is named
        "RELATES_TO",
        "CAUSED_BY",
        "REFERENCES",
        "CONTRADICTS",
        "DUPLICATES",
        "SUPERSEDES",
    )
    links: int = 4  # that are kept
    schema_links: int = 16  # that an answer may hold
    preview: int = 80  # characters of a memory


@dataclass(frozen=True, slots=True)
class Memory:
    """A retrieved memory."""

    id: str | int
    text: str


@dataclass(frozen=True, slots=True)
class Relation:
    """One memory relates to another; the ids are as they were given."""

    from_id: str | int
    to_id: str | int
    kind: str


DEFAULTS = LinkLimits()
PROMPT = """\
You are given memories that were retrieved together. Name the relations among them that the texts
themselves bear out, the strongest first. Guess nothing; most memories are not related.\
"""


def schema(limits: LinkLimits) -> JsonSchema:
    """What is asked of endpoints that can enforce it."""
    identifier = {"type": ["string", "integer"]}
    fields = {
        "from_id": identifier,
        "to_id": identifier,
        "link_kind": {"type": "string", "enum": list(limits.kinds)},
    }
    return list_schema(limits.name, "links", fields, most=limits.schema_links)


ACCEPTED = lax_list_schema("links")
"""What an answer must fit: one bad link must not cost the others."""


def answer_instructions(limits: LinkLimits) -> str:
    """What the prompt says about the answer's form."""
    return (
        f"Answer with at most {limits.links} lines, one relation each, from one id to another:\n"
        "LINK from_id to_id kind=KIND\n"
        f"KIND is one of {', '.join(limits.kinds)}. Answer with NONE when nothing is related. If a"
        ' JSON schema is imposed, answer with that JSON instead: {"kind": "links", "links":'
        f' [{{"from_id": 1, "to_id": 2, "link_kind": "{limits.kinds[0]}"}}]}}, or'
        ' {"kind": "none", "links": []}.'
    )


_LINK = re.compile(rf"{BULLET}LINK[\s*`]+(\S+)\s+(\S+)(?:\s+\[?kind\s*=\s*(\w+)\]?)?[\s.*`]*")


def _reader(limits: LinkLimits) -> Lines:
    def part_of(line: str) -> Mapping[str, object] | None:
        found = _LINK.fullmatch(line)
        if found is None:
            return None
        start, end, kind = found.groups()
        if kind is None:
            end, kind = (
                end.rstrip(".*`"),
                limits.kinds[0],
            )  # the end of a sentence is no part of an id
        return {"from_id": start, "to_id": end, "link_kind": kind}

    return Lines("links", "LINK", part_of)


def link_generator(
    *,
    prompt: str = PROMPT,
    limits: LinkLimits = DEFAULTS,
    timeout: float = 60.0,
    model: str | None = None,
    observer: Observer = log_events,
) -> Subcall[[Sequence[Memory]], tuple[Relation, ...]]:
    """
    Create a link generator; `await link(provider, memories, session="7")` gives Relations.

    It is skipped if there are fewer than two memories. Links that are malformed, name an unknown id
    or kind, point to themselves, are repeated or exceed the limit are left out and listed in
    `rejected`. `timeout` is in seconds.
    """

    def describe(memories: Sequence[Memory]) -> Ask | Skip:
        known = {str(memory.id): memory.id for memory in memories}
        if len(known) < 2:  # the same one twice is one
            return Skip("fewer than two memories")
        data = ["Memories:", *(f"{m.id}: {clip(m.text, limits.preview)}" for m in memories)]

        def judge(part: object, kept: Sequence[Relation]) -> Relation | str:
            link = _relation(part, known, limits)
            return link if isinstance(link, str) else _surplus(link, kept, limits)

        def check(value: object) -> Read | Rejection:
            return accepted_parts(value, "links", judge, verb="link")

        return Ask(conversation(prompt, answer_instructions(limits), data), check)

    options = Options(
        name="link-gen",
        schema=schema(limits),
        accepts=ACCEPTED,
        reader=_reader(limits),
        empty="none",  # as many lines as there is something to say: none
        timeout=timeout,
        model=model,
        observer=observer,
    )
    return Subcall(describe, otherwise=None, options=options)


def _relation(part: object, known: Mapping[str, str | int], limits: LinkLimits) -> Relation | str:
    """The relation of one part of the answer, or why it is none."""
    fields = as_mapping(part) or {}
    start, end, kind = (fields.get(key) for key in ("from_id", "to_id", "link_kind"))
    if not (_is_id(start) and _is_id(end) and isinstance(kind, str)):
        return "malformed"
    named = next((one for one in limits.kinds if one.casefold() == kind.casefold()), None)
    if named is None:
        return "unknown_kind"
    if str(start) not in known or str(end) not in known:
        return "unknown_id"
    if str(start) == str(end):
        return "self_loop"
    return Relation(known[str(start)], known[str(end)], named)


def _surplus(link: Relation, accepted: Sequence[Relation], limits: LinkLimits) -> Relation | str:
    if link in accepted:
        return "duplicate"
    return "cap_exceeded" if len(accepted) >= limits.links else link


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
