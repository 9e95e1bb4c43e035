"""Sub-calls: every outcome is a value, and what is nobody's fault but ours is raised."""

from __future__ import annotations

import pickle

import anyio
import pytest
from pydantic import BaseModel

from structguard import reading
from structguard.errors import ProviderError, StructguardError
from structguard.events import Event, SubcallFailing
from structguard.layers.fallback import FallbackChain, Link
from structguard.subcalls import (
    Ask,
    Outcome,
    Rejection,
    Skip,
    Subcall,
    SubcallFailed,
    subcall,
)
from structguard.testing import Outcome as ScriptOutcome, Script
from structguard.types import Completion, Failure, JsonSchema, Request

DOWN = Failure(status=503, message="down")
Messages = list[dict[str, str]]


class Rewrite(BaseModel):
    """What the sub-call asks for."""

    query: str


def ask(question: str) -> Messages:
    """One user message."""
    return [{"role": "user", "content": question}]


@subcall(name="rewriter", schema=Rewrite, timeout=5.0)
def rewrite(history: list[str], message: str) -> Messages | Skip:
    """Describe a rewrite."""
    return ask(message) if history else Skip("no history")


async def hang(request: Request) -> str:
    await anyio.sleep_forever()
    return ""


# what is asked


async def test_the_request_carries_format_timeout_model_and_partition() -> None:
    @subcall(name="rewriter", schema=Rewrite, timeout=5.0, model="small")
    def small(message: str) -> Messages:
        return ask(message)

    script = Script(['{"query": "a"}'])
    await small(script, "hello", session="7")
    request = script.requests[0]
    assert request.conversation[0].text == "hello"
    assert isinstance(request.response_format, JsonSchema)
    assert request.response_format.source is Rewrite
    assert (request.timeout, request.model) == (5.0, "small")
    assert request.partition == "rewriter:7"


async def test_what_a_described_request_says_itself_stays() -> None:
    @subcall(schema=Rewrite, timeout=5.0, model="small")
    def whole() -> Request:
        return Request(messages=[], model="big", timeout=1.0, partition="mine", max_tokens=7)

    script = Script(['{"query": "a"}'])
    await whole(script, session="7")
    request = script.requests[0]
    assert (request.model, request.timeout, request.partition) == ("big", 1.0, "mine")
    assert request.max_tokens == 7
    assert isinstance(request.response_format, JsonSchema)


async def test_without_a_session_the_partition_is_the_name() -> None:
    @subcall(schema=Rewrite)
    def plain() -> Messages:
        return ask("a")

    script = Script(['{"query": "a"}'])
    await plain(script)
    assert script.requests[0].partition == "plain"


async def test_a_describing_function_may_be_async() -> None:
    @subcall(schema=Rewrite)
    async def slowly(message: str) -> Messages:
        await anyio.lowlevel.checkpoint()
        return ask(message)

    assert (await slowly(Script(['{"query": "a"}']), "x")).value == Rewrite(query="a")


async def test_a_chain_is_asked_in_the_partition_of_the_sub_call() -> None:
    first, second = Script([DOWN], id="a"), Script(['{"query": "b"}'] * 2, id="b")
    chain = FallbackChain([Link(first), Link(second)], observer=lambda event: None)
    for _ in range(2):
        outcome = await rewrite(chain, ["h"], "m", session="7")
        assert outcome.require() == Rewrite(query="b")
    assert chain.state("rewriter:7")[0].mode == "cooling"
    assert chain.state("rewriter:8")[0].mode == "closed"


# what comes back


async def test_an_answer_gives_a_value_of_the_schema_and_how_it_was_obtained() -> None:
    ticks = iter((10.0, 12.5))

    @subcall(schema=Rewrite, clock=lambda: next(ticks))
    def timed() -> Messages:
        return ask("a")

    reply = Completion(text='Sure!\n```json\n{"query": "a"}\n```', enforced=False, requests=2)
    outcome = await timed(Script([reply]))
    assert outcome == Outcome[Rewrite](
        value=Rewrite(query="a"),
        status="ok",
        source="fenced",
        enforced=False,
        requests=2,
        elapsed=2.5,
    )
    assert outcome.ok
    assert outcome.require() == Rewrite(query="a")


async def test_skip_asks_nobody() -> None:
    script = Script()
    outcome = await rewrite(script, [], "m", session="7")
    assert (outcome.status, outcome.reason, outcome.value) == ("skipped", "no history", None)
    assert script.requests == []


async def test_an_abstaining_answer_is_none() -> None:
    @subcall(schema=Rewrite, reader=reading.readers.tag("query"), otherwise="as it was")
    def tagged() -> Messages:
        return ask("a")

    outcome = await tagged(Script(["<query>NONE</query>"]))
    assert (outcome.status, outcome.source, outcome.value) == ("none", "text", "as it was")


async def test_the_text_format_is_read_and_rejected_lines_are_listed() -> None:
    lines = reading.readers.lines(r"UP (?P<id>\w+)")

    @subcall(reader=lines)
    def votes() -> Messages:
        return ask("a")

    outcome = await votes(Script(["UP a\nnonsense\nUP b"]))
    assert outcome.value == [{"id": "a"}, {"id": "b"}]
    assert outcome.rejected == ("nonsense",)
    assert outcome.enforced is None


async def test_a_check_knows_the_calls_own_data() -> None:
    @subcall()
    def choose(known: list[str]) -> Ask:
        def check(value: object) -> reading.Read | Rejection:
            if value in known:
                return reading.Read(value, ("looked at",))
            return Rejection("unknown", ("dropped",))

        return Ask(ask("which?"), check)

    kept = await choose(Script(['"a"']), ["a"])
    assert (kept.value, kept.status, kept.rejected) == ("a", "ok", ("looked at",))
    dropped = await choose(Script(['"b"']), ["a"])
    assert (dropped.value, dropped.status) == (None, "none")
    assert (dropped.reason, dropped.rejected) == ("unknown", ("dropped",))
    assert dropped.source == "json"


@pytest.mark.parametrize(
    ("played", "reason"),
    [
        ("no json here", "ParseError: the answer contains no JSON"),
        (Completion(text="I cannot", finish="declined"), "the model declined: I cannot"),
        (Completion(text="I can\nnot.", finish="declined"), "the model declined: I can not."),
        (DOWN, "unavailable: script: down"),
        (Failure(status=400, message="bad"), "invalid_request: script: bad"),
        (Failure(status=504, message="slow"), "timeout: script: slow"),
        (ConnectionResetError("cut"), "ConnectionResetError: cut"),
    ],
)
async def test_no_fault_of_model_or_endpoint_is_raised(
    played: str | Completion | Failure | Exception, reason: str
) -> None:
    outcome = await rewrite(Script([played]), ["h"], "m")
    assert outcome.status == "failed"
    assert outcome.reason.startswith(reason)
    assert outcome.value is None
    assert outcome.requests == 1


async def test_requests_of_all_links_of_a_failed_chain_are_counted() -> None:
    chain = FallbackChain(
        [Link(Script([DOWN], id="a")), Link(Script([DOWN], id="b"))], observer=lambda event: None
    )
    assert (await rewrite(chain, ["h"], "m")).requests == 2


@pytest.mark.parametrize("own", [True, False])
async def test_only_our_own_time_out_has_the_status_timeout(own: bool) -> None:  # noqa: FBT001
    failure = Failure(status=None if own else 504, timed_out=True, own_timeout=own)
    outcome = await rewrite(Script([failure]), ["h"], "m")
    assert outcome.status == ("timeout" if own else "failed")


async def test_require_turns_a_failure_into_an_exception_with_its_cause() -> None:
    outcome = await rewrite(Script([DOWN]), ["h"], "m")
    with pytest.raises(SubcallFailed, match=r"failed\): unavailable") as caught:
        outcome.require()
    assert isinstance(caught.value, StructguardError)
    assert isinstance(caught.value.__cause__, ProviderError)
    assert pickle.loads(pickle.dumps(caught.value)).outcome == outcome  # noqa: S301  our own bytes
    with pytest.raises(SubcallFailed, match="no history"):
        (await rewrite(Script(), [], "m")).require()


@pytest.mark.parametrize("wrong", [TypeError("oops"), KeyError("oops"), AssertionError("oops")])
async def test_programming_errors_are_raised(wrong: Exception) -> None:
    with pytest.raises(type(wrong), match="oops"):
        await rewrite(Script([wrong]), ["h"], "m")

    @subcall(schema=Rewrite)
    def broken() -> Messages:
        raise wrong

    with pytest.raises(type(wrong), match="oops"):
        await broken(Script())


async def test_a_wrong_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        await rewrite(Script(), ["h"], "m", "too many", session="7")
    with pytest.raises(TypeError, match="session must be a string"):
        await rewrite(Script(), ["h"], "m", session=7)  # type: ignore[call-overload]


def test_wrong_options_are_errors_where_they_are_written() -> None:
    with pytest.raises(ValueError, match="more than 0 seconds, got 0"):
        subcall(timeout=0.0)
    with pytest.raises(TypeError, match="cannot have an argument 'session'"):

        @subcall()
        def wrong(session: str) -> Messages:
            return ask(session)


def test_a_sub_call_keeps_the_functions_name_and_words() -> None:
    assert isinstance(rewrite, Subcall)
    assert rewrite.__doc__ == "Describe a rewrite."
    assert getattr(rewrite, "__name__", None) == "rewrite"
    assert rewrite.name == "rewriter"


# time and sessions


async def test_a_call_that_takes_too_long_has_the_status_timeout() -> None:
    @subcall(schema=Rewrite, timeout=0.01, otherwise="kept")
    def quick() -> Messages:
        return ask("a")

    outcome = await quick(Script([hang]), session="7")
    assert (outcome.status, outcome.value) == ("timeout", "kept")
    assert outcome.reason == "no answer within 0.01 s"
    assert outcome.requests == 0


async def test_a_newer_call_of_the_session_aborts_the_one_in_flight() -> None:
    outcomes: list[Outcome[Rewrite]] = []
    script = Script([hang, hang, '{"query": "third"}'])

    async def call(session: str) -> None:
        outcomes.append(await rewrite(script, ["h"], "m", session=session))

    with anyio.fail_after(2.0):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call, "7")
                await anyio.wait_all_tasks_blocked()
    reasons = {outcome.status: outcome.reason for outcome in outcomes}
    assert sorted(outcome.status for outcome in outcomes) == ["aborted", "aborted", "ok"]
    assert reasons["aborted"] == "a newer call of this session took its place"


async def test_a_call_of_another_session_or_sub_call_aborts_nothing() -> None:
    gate = anyio.Event()

    async def gated(request: Request) -> str:
        await gate.wait()
        return '{"query": "a"}'

    @subcall(schema=Rewrite)
    def other() -> Messages:
        return ask("a")

    statuses: list[str] = []

    async def call(which: str) -> None:
        script = Script([gated])
        match which:
            case "other":
                outcome = await other(script, session="7")
            case "none":
                outcome = await rewrite(script, ["h"], "m")
            case _:
                outcome = await rewrite(script, ["h"], "m", session=which)
        statuses.append(outcome.status)

    async with anyio.create_task_group() as tasks:
        for which in ("7", "8", "other", "none", "none"):
            tasks.start_soon(call, which)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert statuses == ["ok"] * 5


async def test_aborting_can_be_switched_off() -> None:
    gate = anyio.Event()

    async def gated(request: Request) -> str:
        await gate.wait()
        return '{"query": "a"}'

    @subcall(schema=Rewrite, abort=False)
    def patient() -> Messages:
        return ask("a")

    statuses: list[str] = []

    async def call() -> None:
        statuses.append((await patient(Script([gated]), session="7")).status)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert statuses == ["ok", "ok"]


async def test_an_abort_that_the_provider_wraps_is_an_abort_all_the_same() -> None:
    async def wrapping(request: Request) -> str:
        try:
            await anyio.sleep_forever()
        except BaseException:  # noqa: BLE001  as some SDKs do
            raise ConnectionError("connection closed") from None
        return ""

    outcomes: list[str] = []

    async def call(script: Script) -> None:
        outcomes.append((await rewrite(script, ["h"], "m", session="7")).status)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, Script([wrapping]))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(call, Script(['{"query": "a"}']))
    assert sorted(outcomes) == ["aborted", "ok"]


async def test_the_callers_own_cancellation_passes_and_leaves_nothing_behind() -> None:
    with anyio.move_on_after(0.01) as scope:
        await rewrite(Script([hang]), ["h"], "m", session="7")
    assert scope.cancelled_caught
    outcome = await rewrite(Script(['{"query": "a"}']), ["h"], "m", session="7")
    assert outcome.status == "ok"


# operators


def watched(events: list[Event]) -> Subcall[[bool], object]:
    """A sub-call that can be skipped, with its events kept."""

    @subcall(name="watched", timeout=0.2, observer=events.append)
    def describe(skip: bool) -> Messages | Skip:  # noqa: FBT001
        return Skip("no") if skip else ask("a")

    return describe


async def test_three_failures_or_time_outs_in_a_row_give_one_warning() -> None:
    events: list[Event] = []
    call = watched(events)
    script = Script([DOWN, hang, DOWN, DOWN, DOWN, DOWN])
    for _ in range(6):
        await call(script, False, session="7")
        assert len(events) == (1 if len(script.requests) >= 3 else 0)
    assert events == [
        SubcallFailing(name="watched", session="7", times=3, reason="unavailable: script: down")
    ]


async def test_an_observer_that_raises_costs_no_outcome() -> None:
    def breaks(event: Event, /) -> None:
        raise RuntimeError(type(event).__name__)

    @subcall(schema=Rewrite, observer=breaks)
    def watched(message: str) -> Messages:
        return ask(message)

    script = Script([DOWN] * 3)
    assert [(await watched(script, "hi", session="7")).status for _ in range(3)] == ["failed"] * 3


@pytest.mark.parametrize("between", ["1", "NONE", "skip"])
async def test_an_outcome_without_fault_starts_the_count_anew(between: str) -> None:
    events: list[Event] = []

    @subcall(name="s", observer=events.append, reader=reading.readers.scalar(int))
    def call(skip: bool) -> Messages | Skip:  # noqa: FBT001
        return Skip("no") if skip else ask("a")

    asked: list[ScriptOutcome] = [] if between == "skip" else [between]
    plays = [DOWN, DOWN, *asked, DOWN, DOWN]
    script = Script(plays)
    for skip in (False, False, between == "skip", False, False):
        await call(script, skip, session="7")
    assert events == []


async def test_sessions_are_counted_apart_and_an_abort_is_neutral() -> None:
    events: list[Event] = []
    call = watched(events)
    for session in ("7", "8", "7", "8"):
        await call(Script([DOWN]), False, session=session)

    @subcall(name="n", observer=events.append)
    def other() -> Messages:
        return ask("a")

    assert events == []
    script = Script([DOWN, DOWN, hang, DOWN])
    for _ in range(2):
        await other(script, session="7")
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await other(script, session="7")

        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await other(script, session="7")
    assert [type(event) for event in events] == [SubcallFailing]


async def test_failing_sessions_are_remembered_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structguard.subcalls.sessions.SESSIONS", 2)
    events: list[Event] = []
    call = watched(events)
    for session in ("1", "2", "3"):
        await call(Script([DOWN, DOWN]), False, session=session)
        await call(Script([DOWN, DOWN]), False, session=session)
    await call(Script([DOWN]), False, session="1")
    assert events == []
    await call(Script([DOWN]), False, session="3")
    assert len(events) == 1
