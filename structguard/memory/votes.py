"""The vote runner: judges the memories that were surfaced for a turn. Source: spec memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from structguard.events import Observer
from structguard.memory.lists import Lines, accepted_parts, lax_list_schema, list_schema
from structguard.memory.parts import BULLET, clip, conversation
from structguard.observe import log_events
from structguard.reading import Read
from structguard.subcalls import Ask, Options, Rejection, Skip, Subcall
from structguard.types import JsonSchema, as_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteLimits:
    """Format and limits in one place: schema, prompt and reader are all made from it."""

    name: str = "vote_runner_v1"
    votes: int = 8  # that are kept
    schema_votes: int = 16  # that an answer may hold
    message: int = 600  # characters of the message and of the reply
    preview: int = 80  # characters of a memory


@dataclass(frozen=True, slots=True)
class Surfaced:
    """A memory that was shown for this turn; ids are more than 0."""

    kind: str
    id: int
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One memory helped (1) or misled (-1)."""

    kind: str
    id: int
    direction: Literal[1, -1]


DEFAULTS = VoteLimits()
PROMPT = """\
You judge which stored memories helped with one turn of a conversation. Vote for a memory that the
reply made use of and that was right, against one that was wrong or led astray. Do not vote on
memories that made no difference.\
"""


def schema(limits: VoteLimits) -> JsonSchema:
    """What is asked of endpoints that can enforce it."""
    fields = {
        "target_kind": {"type": "string"},
        "target_id": {"type": "integer"},
        "direction": {"type": "integer", "enum": [1, -1]},
    }
    return list_schema(limits.name, "votes", fields, most=limits.schema_votes)


ACCEPTED = lax_list_schema("votes")
"""What an answer must fit: one bad vote must not cost the others."""


def answer_instructions(limits: VoteLimits) -> str:
    """What the prompt says about the answer's form."""
    return (
        f"Answer with at most {limits.votes} lines, one vote each, kind and id as listed:\n"
        "UPVOTE kind:id\nDOWNVOTE kind:id\n"
        "Answer with NONE when no memory made a difference. If a JSON schema is imposed, answer"
        ' with that JSON instead: {"kind": "votes", "votes": [{"target_kind": "fact",'
        ' "target_id": 1, "direction": 1}]}, direction 1 or -1, or {"kind": "none", "votes": []}.'
    )


_VOTE = re.compile(
    rf"{BULLET}(UP|DOWN)VOTE[\s*`]+(\S(?:.*\S)?)\s*:\s*(\d{{1,18}})[\s.*`]*"  # a kind is any words
)


def _part_of(line: str) -> Mapping[str, object] | None:
    found = _VOTE.fullmatch(line)
    if found is None:
        return None
    direction, kind, number = found.groups()
    return {
        "target_kind": kind,
        "target_id": int(number),
        "direction": 1 if direction == "UP" else -1,
    }


_READER = Lines("votes", "(?:UP|DOWN)VOTE", _part_of)


def vote_runner(
    *,
    prompt: str = PROMPT,
    limits: VoteLimits = DEFAULTS,
    timeout: float = 60.0,
    model: str | None = None,
    observer: Observer = log_events,
) -> Subcall[[Sequence[Surfaced], str, str], tuple[Vote, ...]]:
    """
    Create a vote runner; `await vote(provider, surfaced, message, reply, session="7")` gives Votes.

    It is skipped if nothing was surfaced. Votes that are malformed, concern something that was not
    surfaced, are repeated (the first one counts) or exceed the limit are left out and listed in
    `rejected`. `timeout` is in seconds.
    """

    def describe(surfaced: Sequence[Surfaced], message: str, reply: str) -> Ask | Skip:
        if not surfaced:
            return Skip("nothing was surfaced")
        allowed = frozenset((memory.kind, memory.id) for memory in surfaced)
        data = [
            "Message:",
            clip(message, limits.message),
            "Reply:",
            clip(reply, limits.message),
            "Memories:",
            *(f"{m.kind}:{m.id} {clip(m.preview, limits.preview)}" for m in surfaced),
        ]

        def judge(part: object, kept: Sequence[Vote]) -> Vote | str:
            vote = _vote(part)
            return _allowed(vote, kept, allowed, limits) if vote else "malformed"

        def check(value: object) -> Read | Rejection:
            return accepted_parts(value, "votes", judge, verb="vote on")

        return Ask(conversation(prompt, answer_instructions(limits), data), check)

    options = Options(
        name="vote",
        schema=schema(limits),
        accepts=ACCEPTED,
        reader=_READER,
        empty="none",  # as many lines as there is something to say: none
        timeout=timeout,
        model=model,
        observer=observer,
    )
    return Subcall(describe, otherwise=None, options=options)


def _vote(part: object) -> Vote | None:
    match as_mapping(part):
        case {"target_kind": str(kind), "target_id": int(id), "direction": 1 | -1 as way} if (
            id > 0 and not isinstance(id, bool) and not isinstance(way, bool)
        ):
            return Vote(kind, id, 1 if way == 1 else -1)
        case _:
            return None


def _allowed(
    vote: Vote, accepted: Sequence[Vote], allowed: frozenset[tuple[str, int]], limits: VoteLimits
) -> Vote | str:
    """The vote, or why it is not taken."""
    target = (vote.kind, vote.id)
    if target not in allowed:
        return "not_surfaced"
    if any(target == (other.kind, other.id) for other in accepted):
        return "duplicate"
    return "cap_exceeded" if len(accepted) >= limits.votes else vote
