"""The rewriter: what it asks, what it takes for an answer, and once per turn."""

from __future__ import annotations

import json
import threading
from functools import partial

import anyio
import pytest

from structguard.memory import RewriteLimits, Rewriter, rewriter
from structguard.memory.rewriter import Turn
from structguard.memory.selfcontained import is_self_contained
from structguard.subcalls import Outcome
from structguard.testing import Script
from structguard.types import Failure, JsonSchema, Request

DOWN = Failure(status=503, message="down")
HISTORY: list[Turn] = [
    "user: I have two cats, Mia and Bo.",
    {"role": "assistant", "content": "Lovely!"},
]
MESSAGE = "how old is she?"
ANSWER = "<rewritten_query>How old is the cat Mia?</rewritten_query>"


async def rewritten(answer: str, limits: RewriteLimits | None = None) -> Outcome[str]:
    """The outcome of one answer."""
    rewrite = rewriter(limits=limits) if limits else rewriter()
    return await rewrite(Script([answer]), HISTORY, MESSAGE)


def asked(request: Request) -> tuple[str, str]:
    """System and user text of a request."""
    system, user = request.conversation
    return system.text, user.text


async def test_it_asks_with_its_schema_and_names_the_text_format() -> None:
    script = Script([ANSWER])
    outcome = await rewriter(model="small")(script, HISTORY, MESSAGE, session="7")
    assert outcome.value == "How old is the cat Mia?"
    request = script.requests[0]
    assert (request.model, request.timeout, request.partition) == ("small", 10.0, "rewriter:7")
    assert isinstance(request.response_format, JsonSchema)
    assert request.response_format.name == "query_rewriter_v1"
    assert list(request.response_format.schema["properties"]) == ["rewritten_query"]  # type: ignore[call-overload]
    system, user = asked(request)
    assert "<rewritten_query>" in system
    assert "JSON" in system
    assert user.splitlines() == [
        "Conversation:",
        "user: I have two cats, Mia and Bo.",
        "assistant: Lovely!",
        "Last message:",
        "how old is she?",
    ]


async def test_long_lines_are_cut_with_an_ellipsis_and_whitespace_is_collapsed() -> None:
    script = Script([ANSWER])
    await rewriter()(script, ["a  \n b " + "x" * 500], "its " + "y " * 400)
    lines = asked(script.requests[0])[1].splitlines()
    assert lines[1].startswith("a b xxx")
    assert (len(lines[1]), lines[1][-1]) == (400, "…")
    assert (len(lines[3]), lines[3][-1]) == (500, "…")


@pytest.mark.parametrize(
    ("answer", "value", "source"),
    [
        ('{"rewritten_query": "a"}', "a", "json"),
        ("<rewritten_query> a </rewritten_query>", "a", "text"),
        ("Sure: <Rewritten_Query>a</REWRITTEN_QUERY> done", "a", "text"),
        ('{"query": "x"} <rewritten_query>a</rewritten_query>', "a", "text"),
        ('```json\n{"rewritten_query": "a"}\n```', "a", "fenced"),
        ("{'rewritten_query': 'a',}", "a", "repaired"),
        ("<think>hm</think><rewritten_query>a</rewritten_query>", "a", "text"),
    ],
)
async def test_json_then_the_tag_then_repaired_json_is_read(
    answer: str, value: str, source: str
) -> None:
    outcome = await rewritten(answer)
    assert (outcome.status, outcome.value, outcome.source) == ("ok", value, source)


@pytest.mark.parametrize(
    "answer",
    [
        "NONE",
        "<rewritten_query>none</rewritten_query>",
        json.dumps({"rewritten_query": "NONE"}),
        json.dumps({"rewritten_query": "  "}),
        json.dumps({"rewritten_query": "two\nlines"}),
        "<rewritten_query>two\nlines</rewritten_query>",
        "<rewritten_query>" + "x" * 401 + "</rewritten_query>",
        "<rewritten_query>a < b</rewritten_query>",
        "I would rather chat.",
        '{"something": "else"}',
    ],
)
async def test_what_cannot_be_used_is_none_and_the_caller_keeps_the_message(answer: str) -> None:
    outcome = await rewritten(answer)
    assert (outcome.status, outcome.value) == ("none", None)
    assert outcome.reason


async def test_limits_prompt_and_time_out_can_be_given() -> None:
    limits = RewriteLimits(name="mine_v2", key="q", characters=5)
    assert (await rewritten("<q>12345</q>", limits)).value == "12345"
    assert (await rewritten("<q>123456</q>", limits)).status == "none"
    script = Script(["<q>1</q>"])
    await rewriter(prompt="Mine.", limits=limits, timeout=1.0)(script, HISTORY, MESSAGE)
    assert asked(script.requests[0])[0].startswith(
        "Mine.\n\nAnswer with exactly one line of at most 5"
    )
    assert script.requests[0].timeout == 1.0


async def test_it_is_skipped_without_history_and_for_self_contained_messages() -> None:
    rewrite = rewriter()
    alone = await rewrite(Script(), [], MESSAGE)
    assert (alone.status, alone.reason) == ("skipped", "no history")
    clear = await rewrite(Script(), HISTORY, "what is the capital city of France today?")
    assert (clear.status, clear.reason) == ("skipped", "the message is self-contained")


@pytest.mark.parametrize(
    ("message", "alone"),
    [
        ("what is the capital city of France", True),
        ("how do I install PostgreSQL on Debian?", True),
        ("how do I install it on Debian?", False),
        ("and what is the capital of Spain", False),
        ("what about the capital city of Spain", False),
        ("is the second option with the garden cheaper", False),
        ("how old?", False),
        ("¿cuál es la capital de Francia hoy?", False),
        ("", False),
    ],
)
def test_only_messages_that_surely_stand_alone_do(message: str, alone: bool) -> None:  # noqa: FBT001
    assert is_self_contained(message) is alone


# once per turn


async def ask_twice(rewrite: Rewriter, script: Script, *messages: str) -> list[str]:
    """The statuses of one call for each message in session 7."""
    return [(await rewrite(script, HISTORY, message, session="7")).status for message in messages]


async def test_the_same_turn_is_asked_about_once() -> None:
    rewrite, script = rewriter(), Script([ANSWER, ANSWER])
    first = await rewrite(script, HISTORY, MESSAGE, session="7")
    again = await rewrite(script, HISTORY, MESSAGE, session="7")
    assert again.value == first.value
    assert (again.requests, len(script.requests)) == (0, 1)
    await rewrite(script, [*HISTORY, "user: more"], MESSAGE, session="7")
    assert len(script.requests) == 2


async def test_failed_and_timed_out_attempts_count() -> None:
    async def hang(request: Request) -> str:
        await anyio.sleep_forever()
        return ""

    rewrite = rewriter(timeout=0.01)
    for play, status in ((DOWN, "failed"), (hang, "timeout")):
        assert await ask_twice(rewrite, Script([play]), status, status) == [status, status]


async def test_only_the_latest_turn_of_a_session_is_remembered() -> None:
    script = Script([ANSWER] * 3)
    await ask_twice(rewriter(), script, "and her?", "and him?", "and her?")
    assert len(script.requests) == 3


async def test_sessions_are_forgotten_least_recently_used_first() -> None:
    rewrite, script = rewriter(limits=RewriteLimits(sessions=2)), Script([ANSWER] * 4)
    for session in ("1", "2", "1", "3", "1", "2"):
        await rewrite(script, HISTORY, MESSAGE, session=session)
    assert len(script.requests) == 4


async def test_without_a_session_nothing_is_remembered() -> None:
    rewrite, script = rewriter(), Script([ANSWER, ANSWER])
    for _ in range(2):
        await rewrite(script, HISTORY, MESSAGE)
    assert len(script.requests) == 2


async def test_a_turn_that_is_under_way_is_waited_for() -> None:
    gate = anyio.Event()

    async def gated(request: Request) -> str:
        await gate.wait()
        return ANSWER

    rewrite, script = rewriter(), Script([gated])
    statuses: list[str] = []

    async def call() -> None:
        statuses.append((await rewrite(script, HISTORY, MESSAGE, session="7")).status)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert (statuses, len(script.requests)) == (["ok"] * 3, 1)


def test_one_rewriter_serves_event_loops_in_several_threads() -> None:
    """What one loop waits for, another cannot wake: each asks for itself."""

    async def slow(request: Request) -> str:
        await anyio.sleep(0.2)
        return ANSWER

    rewrite = rewriter()
    statuses: list[str] = []

    async def call() -> None:
        outcome = await rewrite(Script([slow]), HISTORY, MESSAGE, session="7")
        statuses.append(outcome.status)

    threads = [threading.Thread(target=anyio.run, args=(call,), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert statuses == ["ok"] * 4


async def test_an_aborted_attempt_does_not_count() -> None:
    async def hang(request: Request) -> str:
        await anyio.sleep_forever()
        return ""

    rewrite, script = rewriter(), Script([hang, ANSWER, ANSWER])
    statuses: dict[str, str] = {}

    async def call(message: str) -> None:
        statuses[message] = (await rewrite(script, HISTORY, message, session="7")).status

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, "and her?")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(call, "and him?")
    assert statuses == {"and her?": "aborted", "and him?": "ok"}
    assert await ask_twice(rewrite, script, "and her?") == ["ok"]


async def test_who_waits_for_an_aborted_turn_is_aborted_with_it() -> None:
    """It is older than the call that aborted it, and must not abort that one in turn."""
    gate = anyio.Event()

    async def gated(request: Request) -> str:
        await gate.wait()
        return ANSWER

    rewrite, script = rewriter(), Script([gated, gated])
    told: list[tuple[str, str, int]] = []

    async def call(message: str) -> None:
        outcome = await rewrite(script, HISTORY, message, session="7")
        told.append((message, outcome.status, outcome.requests))

    async with anyio.create_task_group() as tasks:
        for message in ("and her?", "and her?", "and him?"):
            tasks.start_soon(call, message)
            await anyio.wait_all_tasks_blocked()
        gate.set()
    assert told == [("and her?", "aborted", 0), ("and her?", "aborted", 0), ("and him?", "ok", 1)]
    assert len(script.requests) == 2


async def test_an_aborted_attempt_is_asked_about_again() -> None:
    """Even when the call that aborted it never came to an end itself."""

    async def hang(request: Request) -> str:
        await anyio.sleep_forever()
        return ""

    rewrite, script = rewriter(), Script([hang, hang, ANSWER])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(rewrite, script, HISTORY, "and her?", session="7"))
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0.05):
            await rewrite(script, HISTORY, "and him?", session="7")
    assert (await rewrite(script, HISTORY, "and her?", session="7")).status == "ok"


async def test_a_cancelled_attempt_hands_the_turn_to_whoever_waits() -> None:
    async def hang(request: Request) -> str:
        await anyio.sleep_forever()
        return ""

    rewrite, script = rewriter(), Script([hang, ANSWER])
    statuses: list[str] = []

    async def call() -> None:
        statuses.append((await rewrite(script, HISTORY, MESSAGE, session="7")).status)

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def first() -> None:
            with scope:
                await call()

        tasks.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
    assert statuses == ["ok"]


async def test_half_a_surrogate_pair_is_a_message_like_any_other() -> None:
    outcome = await rewriter()(Script([ANSWER]), HISTORY, "how old is \ud83d she?", session="7")
    assert outcome.ok
