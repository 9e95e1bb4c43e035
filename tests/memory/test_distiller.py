"""The distiller: a lesson within its limits, a procedure or none, tags in lower case."""

from __future__ import annotations

import json

import anyio
import pytest

from structguard.memory import (
    DistillLimits,
    Episode,
    Lesson,
    Procedure,
    Rejected,
    Step,
    distiller,
)
from structguard.subcalls import Outcome
from structguard.testing import Script
from structguard.types import JsonSchema, Request

EPISODES = [Episode("The vet helped.", ("Cat", "vet")), Episode("The vet was right.")]
STEPS = [
    {"description": "Call the vet", "tool_hint": "phone"},
    {"description": "Go", "tool_hint": None},
]
HALF = {"activation": "a cat is ill", "steps": STEPS, "tags": ["Vet"]}
PROCEDURE = Procedure("a cat is ill", (Step("Call the vet", "phone"), Step("Go")), ("vet",))


def answer(**changes: object) -> str:
    """A whole JSON answer with these fields changed."""
    whole: dict[str, object] = {
        "kind": "lesson",
        "activation": "a cat is ill",
        "principle": "ask the vet",
        "tags": ["Cat"],
        "procedure": None,
    }
    return json.dumps({**whole, **changes})


async def distilled(text: str, *, procedure: bool = True) -> Outcome[Lesson]:
    """The outcome of one answer."""
    return await distiller(procedure=procedure)(Script([text]), EPISODES)


@pytest.mark.parametrize(
    ("procedure", "name"),
    [(False, "distill_lesson_v1"), (True, "distill_lesson_and_procedure_v1")],
)
async def test_it_asks_with_its_schema_in_the_sessions_own_partition(
    procedure: bool,  # noqa: FBT001
    name: str,
) -> None:
    script = Script([answer()])
    episodes = [Episode("x" * 500, tuple("abcdefgh"))]
    await distiller(procedure=procedure, prompt="Mine.")(script, episodes, session="7")
    request = script.requests[0]
    assert (request.partition, request.timeout) == ("7", 60.0)
    assert isinstance(request.response_format, JsonSchema)
    assert request.response_format.name == name
    system, user = request.conversation
    assert system.text.startswith("Mine.")
    assert ("PROCEDURE" in system.text) == procedure
    assert ("procedure" in json.dumps(request.response_format.schema)) == procedure
    line = user.text.splitlines()[1]
    assert line == "- " + "x" * 399 + "… [a, b, c, d, e, f]"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (answer(procedure=HALF), "json"),
        (
            (
                'LESSON activation="a cat is ill"; principle="ask the vet"; tags=Cat\n'
                'PROCEDURE activation="a cat is ill"; steps="Call the vet@phone; Go"; tags=vet'
            ),
            "text",
        ),
        (
            (
                'Well.\n- LESSON activation=“a cat is ill”; principle="ask the vet" ; tags= cat ,\n'
                '- PROCEDURE activation="a cat is ill"; steps="Call the vet @phone;Go;"; tags=vet'
            ),
            "text",
        ),
    ],
)
async def test_lesson_and_procedure_are_read_from_json_and_text_alike(
    text: str, source: str
) -> None:
    outcome = await distilled(text)
    assert outcome.value == Lesson("a cat is ill", "ask the vet", ("cat",), PROCEDURE)
    assert (outcome.status, outcome.source, outcome.rejected) == ("ok", source, ())


@pytest.mark.parametrize(
    "quoted", ['"say “hi” now"', '“say "hi" now”', '"say hi now”', '"say \\"hi\\" now"']
)
async def test_quotes_inside_quotes_cut_nothing_off(quoted: str) -> None:
    lesson = (await distilled(f'LESSON activation="a"; principle={quoted}; tags=x')).require()
    assert lesson.principle.replace("“", "").replace("”", "").replace('"', "") == "say hi now"
    assert lesson.tags == ("x",)


async def test_a_quoted_quote_is_read() -> None:
    outcome = await distilled(r'LESSON activation="say \"no\""; principle="a; b=c"')
    assert outcome.value == Lesson('say "no"', "a; b=c")


async def test_without_a_procedure_wanted_one_is_ignored() -> None:
    outcome = await distilled(answer(procedure=HALF), procedure=False)
    assert outcome.value == Lesson("a cat is ill", "ask the vet", ("cat",))


@pytest.mark.parametrize(
    "text",
    [
        "NONE",
        answer(kind="none", activation="", principle=""),
        '{"kind": "none"}',
        answer(activation="(no consensus)", principle="(No durable advice)"),
        'LESSON activation="(no consensus)"; principle="(no durable advice)"; tags=',
    ],
)
async def test_no_consensus_is_none(text: str) -> None:
    outcome = await distilled(text)
    assert (outcome.status, outcome.value) == ("none", None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"activation": "x" * 241}, "activation_too_long"),
        ({"activation": " "}, "activation_missing"),
        ({"principle": "x" * 801}, "principle_too_long"),
        ({"principle": ""}, "principle_missing"),
    ],
)
async def test_a_lesson_that_breaks_a_limit_is_none_with_a_typed_reason(
    changes: dict[str, object], reason: str
) -> None:
    outcome = await distilled(answer(**changes))
    assert (outcome.status, outcome.reason) == ("none", reason)


def half(**changes: object) -> dict[str, object]:
    return {**HALF, **changes}


def steps(number: int, **changes: object) -> list[dict[str, object]]:
    return [{"description": f"step {i}", "tool_hint": None, **changes} for i in range(number)]


@pytest.mark.parametrize(
    ("procedure", "reason"),
    [
        (half(activation="x" * 241), "procedure_activation_too_long"),
        (half(activation=""), "procedure_activation_missing"),
        (half(activation=3), "malformed"),
        (half(steps="do it"), "malformed"),
        (half(steps=steps(1)), "too_few_steps"),
        (half(steps=steps(9)), "too_many_steps"),
        (half(steps=steps(2, description="x" * 241)), "step_too_long"),
        (half(steps=steps(2, description="")), "step_missing"),
        (half(steps=steps(2, tool_hint="x" * 65)), "tool_hint_too_long"),
        (half(steps=steps(2, tool_hint=3)), "malformed"),
        (half(steps=["a", "b"]), "step_missing"),
        ("do it", "malformed"),
    ],
)
async def test_a_bad_procedure_is_left_out_with_a_typed_reason_and_the_lesson_kept(
    procedure: object, reason: str
) -> None:
    outcome = await distilled(answer(procedure=procedure))
    assert outcome.value == Lesson("a cat is ill", "ask the vet", ("cat",))
    assert [bad.reason for bad in outcome.rejected if isinstance(bad, Rejected)] == [reason]


async def test_a_procedure_line_that_cannot_be_read_is_listed() -> None:
    outcome = await distilled('LESSON activation="a"; principle="b"\nPROCEDURE do it')
    assert outcome.value == Lesson("a", "b")
    assert outcome.rejected == (Rejected("PROCEDURE do it", "malformed"),)


async def test_eight_steps_fit() -> None:
    outcome = await distilled(answer(procedure=half(steps=steps(8))))
    assert outcome.require().procedure is not None


async def test_tags_are_lower_case_once_each_and_within_the_limits() -> None:
    tags = ["B", "b", 7, "", "x" * 41, *(f"t{i}" for i in range(12))]
    outcome = await distilled(answer(tags=tags))
    assert outcome.require().tags == ("b", *(f"t{i}" for i in range(11)))
    assert [bad.reason for bad in outcome.rejected if isinstance(bad, Rejected)] == [
        "malformed",
        "malformed",
        "tag_too_long",
        "cap_exceeded",
    ]


async def test_limits_and_words_are_one() -> None:
    limits = DistillLimits(activation=5, most_steps=3, no_activation="(nix)")
    script = Script(
        [answer(activation="123456"), answer(activation="(NIX)", principle="(no durable advice)")]
    )
    distill = distiller(limits=limits, timeout=1.0)
    assert (await distill(script, EPISODES)).reason == "activation_too_long"
    assert (await distill(script, EPISODES)).reason == "no_consensus"
    system = script.requests[0].conversation[0].text
    assert "activation at most 5 characters" in system
    assert "2 to 3 steps" in system
    assert '"(nix)"' in system


async def test_prose_is_a_failure_and_an_empty_cluster_is_skipped() -> None:
    assert (await distilled("Be kind to cats.")).status == "failed"
    outcome = await distiller()(Script(), [])
    assert (outcome.status, outcome.reason) == ("skipped", "the cluster is empty")


async def test_two_clusters_of_one_session_can_be_distilled_at_once() -> None:
    gate = anyio.Event()

    async def gated(request: Request) -> str:
        await gate.wait()
        return answer()

    distill, statuses = distiller(), list[str]()

    async def call() -> None:
        statuses.append((await distill(Script([gated]), EPISODES, session="7")).status)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert statuses == ["ok", "ok"]
