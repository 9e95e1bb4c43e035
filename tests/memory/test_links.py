"""The link generator: only known ids and kinds, no loops, no doubles, four at most."""

from __future__ import annotations

import json

import pytest

from structguard.memory import LinkLimits, Memory, Rejected, Relation, link_generator
from structguard.subcalls import Outcome
from structguard.testing import Script
from structguard.types import Completion, Failure, JsonSchema, as_mapping

MEMORIES = [Memory(1, "Mia is a cat."), Memory(2, "Mia is ill."), Memory("n-3", "The vet called.")]


async def linked(answer: str, limits: LinkLimits | None = None) -> Outcome[tuple[Relation, ...]]:
    """The outcome of one answer."""
    link = link_generator(limits=limits) if limits else link_generator()
    return await link(Script([answer]), MEMORIES)


def as_json(*links: object, kind: str = "links") -> str:
    return json.dumps({"kind": kind, "links": list(links)})


def one(start: object, end: object, kind: object = "RELATES_TO") -> dict[str, object]:
    return {"from_id": start, "to_id": end, "link_kind": kind}


async def test_it_asks_with_its_schema_and_the_same_kinds_everywhere() -> None:
    limits = LinkLimits(kinds=("LIKES", "HATES"), links=2, schema_links=5, preview=10)
    script = Script(["NONE"])
    await link_generator(limits=limits, prompt="Mine.", timeout=1.0)(script, MEMORIES, session="7")
    request = script.requests[0]
    assert (request.partition, request.timeout) == ("link-gen:7", 1.0)
    assert isinstance(request.response_format, JsonSchema)
    assert request.response_format.name == "link_generator_v1"
    properties = as_mapping(request.response_format.schema["properties"]) or {}
    text = json.dumps(properties["links"])
    assert '"maxItems": 5' in text
    assert '"enum": ["LIKES", "HATES"]' in text
    system, user = request.conversation
    assert system.text.startswith("Mine.")
    assert "LIKES, HATES" in system.text
    assert "at most 2 lines" in system.text
    assert user.text.splitlines() == [
        "Memories:",
        "1: Mia is a…",
        "2: Mia is il…",
        "n-3: The vet c…",
    ]


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (as_json(one(1, 2, "CAUSED_BY"), one("n-3", 2)), "json"),
        (as_json(one("1", "2", "caused_by"), one("n-3", "2")), "json"),
        ("LINK 1 2 kind=CAUSED_BY\nLINK n-3 2", "text"),
        ("1. LINK 1 2 kind=CAUSED_BY.\n2. **LINK n-3 2**.", "text"),
        ("Here:\n- LINK 1 2 [kind=caused_by]\n* LINK n-3 2 kind=RELATES_TO.\nDone.", "text"),
        ("```json\n" + as_json(one(1, 2, "CAUSED_BY"), one("n-3", 2)) + "\n```", "fenced"),
        (json.dumps([one(1, 2, "CAUSED_BY"), one("n-3", 2)]), "json"),
    ],
)
async def test_links_are_read_from_json_and_text_alike(answer: str, source: str) -> None:
    outcome = await linked(answer)
    assert outcome.value == (Relation(1, 2, "CAUSED_BY"), Relation("n-3", 2, "RELATES_TO"))
    assert (outcome.status, outcome.source, outcome.rejected) == ("ok", source, ())


@pytest.mark.parametrize(
    "answer", ["NONE", " none. ", "", " \n", as_json(), as_json(kind="none"), '{"kind": "none"}']
)
async def test_nothing_is_none(answer: str) -> None:
    outcome = await linked(answer)
    assert (outcome.status, outcome.value, outcome.rejected) == ("none", None, ())


async def test_an_answer_that_was_cut_before_its_first_word_is_failed() -> None:
    outcome = await link_generator()(Script([Completion(text="", finish="length")]), MEMORIES)
    assert (outcome.status, outcome.value) == ("failed", None)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (one(1, 9), "unknown_id"),
        (one(1, 1), "self_loop"),
        (one(1, "1"), "self_loop"),
        (one(1, 2, "LOVES"), "unknown_kind"),
        (one(1, None), "malformed"),
        (one(True, 2), "malformed"),
        ("1 2", "malformed"),
        (one(2, 1), "duplicate"),
    ],
)
async def test_a_bad_link_is_dropped_with_its_reason_and_the_good_one_kept(
    part: object, reason: str
) -> None:
    outcome = await linked(as_json(one(2, 1), part))
    assert outcome.value == (Relation(2, 1, "RELATES_TO"),)
    assert outcome.rejected == (Rejected(" ".join(str(part).split()), reason),)


async def test_bad_lines_are_listed_too() -> None:
    outcome = await linked("LINK 1\nLINK 1 2\nLINK 1 9")
    assert outcome.value == (Relation(1, 2, "RELATES_TO"),)
    assert [bad.reason for bad in outcome.rejected if isinstance(bad, Rejected)] == [
        "malformed",
        "unknown_id",
    ]


async def test_at_most_four_are_kept() -> None:
    kinds = LinkLimits().kinds
    outcome = await linked("\n".join(f"LINK 1 2 kind={kind}" for kind in kinds))
    assert outcome.require() == tuple(Relation(1, 2, kind) for kind in kinds[:4])
    assert [bad.reason for bad in outcome.rejected if isinstance(bad, Rejected)] == [
        "cap_exceeded"
    ] * 2


async def test_when_none_can_be_kept_the_outcome_is_none_with_the_reasons() -> None:
    outcome = await linked(as_json(one(1, 9)))
    assert (outcome.status, outcome.reason) == ("none", "no link could be kept")
    assert len(outcome.rejected) == 1


async def test_prose_is_a_failure() -> None:
    assert (await linked("Hard to say.")).status == "failed"
    assert (await linked('{"answer": 42}')).status == "failed"


@pytest.mark.parametrize("answer", ["LINK 1 2 kind=Likes", as_json(one(1, 2, "LIKES")), "LINK 1 2"])
async def test_kinds_are_as_the_limits_spell_them(answer: str) -> None:
    assert (await linked(answer, LinkLimits(kinds=("likes",)))).value == (Relation(1, 2, "likes"),)


async def test_one_memory_twice_is_one() -> None:
    outcome = await link_generator()(Script(), [Memory(1, "Mia is a cat."), Memory(1, "Mia.")])
    assert (outcome.status, outcome.reason) == ("skipped", "fewer than two memories")


async def test_fewer_than_two_memories_are_skipped() -> None:
    outcome = await link_generator()(Script(), MEMORIES[:1])
    assert (outcome.status, outcome.reason) == ("skipped", "fewer than two memories")


async def test_an_endpoints_fault_is_a_failed_outcome() -> None:
    outcome = await link_generator()(Script([Failure(status=500, message="oops")]), MEMORIES)
    assert outcome.status == "failed"


async def test_lines_that_are_all_malformed_are_not_called_nothing() -> None:
    outcome = await link_generator()(Script(["LINK **1** to 2"]), MEMORIES)
    assert (outcome.status, outcome.reason) == ("none", "no link could be kept")
    assert outcome.rejected == (Rejected("LINK **1** to 2", "malformed"),)
