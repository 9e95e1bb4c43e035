"""The vote runner: only what was surfaced, the first of each, eight at most."""

from __future__ import annotations

import json

import pytest

from structguard.memory import Rejected, Surfaced, Vote, VoteLimits, vote_runner
from structguard.subcalls import Outcome
from structguard.testing import Script
from structguard.types import JsonSchema

SURFACED = [Surfaced("fact", 1, "Mia is a cat."), Surfaced("lesson", 1), Surfaced("fact", 2)]


async def voted(answer: str, limits: VoteLimits | None = None) -> Outcome[tuple[Vote, ...]]:
    """The outcome of one answer."""
    vote = vote_runner(limits=limits) if limits else vote_runner()
    return await vote(Script([answer]), SURFACED, "message", "reply")


def as_json(*votes: object, kind: str = "votes") -> str:
    return json.dumps({"kind": kind, "votes": list(votes)})


def one(kind: object, number: object, direction: object = 1) -> dict[str, object]:
    return {"target_kind": kind, "target_id": number, "direction": direction}


async def test_it_asks_with_its_schema_and_shows_what_was_surfaced() -> None:
    script = Script(["NONE"])
    vote = vote_runner(prompt="Mine.")
    await vote(script, SURFACED, "m" * 700, "r " * 700, session="7")
    request = script.requests[0]
    assert (request.partition, request.timeout) == ("vote:7", 60.0)
    assert isinstance(request.response_format, JsonSchema)
    assert request.response_format.name == "vote_runner_v1"
    assert '"maxItems": 16' in json.dumps(request.response_format.schema)
    system, user = request.conversation
    assert "UPVOTE kind:id" in system.text
    assert "at most 8 lines" in system.text
    lines = user.text.splitlines()
    assert [len(lines[1]), len(lines[3])] == [600, 600]
    assert lines[5:] == ["fact:1 Mia is a cat.", "lesson:1 ", "fact:2 "]


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (as_json(one("fact", 1), one("lesson", 1, -1)), "json"),
        ("UPVOTE fact:1\nDOWNVOTE lesson:1", "text"),
        ("I think:\n- UPVOTE fact: 1.\n> DOWNVOTE lesson:1", "text"),
        ("1. **UPVOTE fact:1**\n2. DOWNVOTE `lesson:1`", "text"),
        (
            "{kind: votes, votes: [" + str(one("fact", 1)) + "," + str(one("lesson", 1, -1)) + "]}",
            "repaired",
        ),
    ],
)
async def test_votes_are_read_from_json_and_text_alike(answer: str, source: str) -> None:
    outcome = await voted(answer)
    assert outcome.value == (Vote("fact", 1, 1), Vote("lesson", 1, -1))
    assert (outcome.source, outcome.rejected) == (source, ())


@pytest.mark.parametrize("kind", ["kb.fact", "user note", "a/b", "größe"])
async def test_a_kind_is_read_as_it_was_shown(kind: str) -> None:
    outcome = await vote_runner()(Script([f"UPVOTE {kind}:7"]), [Surfaced(kind, 7)], "m", "r")
    assert outcome.value == (Vote(kind, 7, 1),)


@pytest.mark.parametrize("answer", ["NONE", "", as_json(), as_json(one("fact", 1), kind="none")])
async def test_nothing_is_none(answer: str) -> None:
    assert (await voted(answer)).status == "none"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (one("fact", 3), "not_surfaced"),
        (one("lesson", 2), "not_surfaced"),
        (one("fact", 1, -1), "duplicate"),
        (one("fact", 0), "malformed"),
        (one("fact", -1), "malformed"),
        (one("fact", True), "malformed"),
        (one("fact", "2"), "malformed"),
        (one("fact", 2, 0), "malformed"),
        (one("fact", 2, True), "malformed"),
        (one(7, 2), "malformed"),
        ("fact:2", "malformed"),
    ],
)
async def test_a_bad_vote_is_dropped_with_its_reason_and_the_good_one_kept(
    part: object, reason: str
) -> None:
    outcome = await voted(as_json(one("fact", 1), part))
    assert outcome.value == (Vote("fact", 1, 1),)
    assert outcome.rejected == (Rejected(" ".join(str(part).split()), reason),)


async def test_bad_lines_are_listed_too() -> None:
    outcome = await voted("UPVOTE fact\nUPVOTE fact:0\nDOWNVOTE fact:2")
    assert outcome.value == (Vote("fact", 2, -1),)
    assert outcome.rejected == (
        Rejected("UPVOTE fact", "malformed"),
        Rejected(str(one("fact", 0)), "malformed"),
    )


async def test_at_most_so_many_are_kept() -> None:
    outcome = await voted("UPVOTE fact:1\nUPVOTE fact:2\nUPVOTE lesson:1", VoteLimits(votes=2))
    assert outcome.value == (Vote("fact", 1, 1), Vote("fact", 2, 1))
    assert outcome.rejected == (Rejected(str(one("lesson", 1)), "cap_exceeded"),)
    assert VoteLimits().votes == 8


async def test_when_none_can_be_kept_the_outcome_is_none() -> None:
    outcome = await voted("UPVOTE fact:9")
    assert (outcome.status, outcome.reason) == ("none", "no vote could be kept")


async def test_it_is_skipped_when_nothing_was_surfaced() -> None:
    outcome = await vote_runner()(Script(), [], "message", "reply")
    assert (outcome.status, outcome.reason) == ("skipped", "nothing was surfaced")
