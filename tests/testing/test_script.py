"""The scripted provider plays what it was given and fails as real providers do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from structguard.errors import ProviderError, RateLimited
from structguard.events import Event, ProviderFailed
from structguard.refusal import is_refusal
from structguard.service import Provider
from structguard.testing import Script, ScriptOver
from structguard.testing.script import Step
from structguard.types import (
    Completion,
    Failure,
    Finished,
    JsonObject,
    Kind,
    Request,
    Scope,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
)

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

PLAIN = Request(messages=[{"role": "user", "content": "hi"}], model="m")
ASKED = Request(messages=[{"role": "user", "content": "hi"}], model="m", response_format={})
REFUSAL = Failure(status=400, message="response_format is not supported by this model")


async def streamed(script: Script, request: Request) -> list[StreamEvent]:
    async with script.stream(request) as events:
        return [event async for event in events]


async def test_outcomes_are_played_in_order_and_requests_kept() -> None:
    script = Script(["one", Completion(text="two", model="other")], id="s")
    provider: Provider = script
    assert await provider.complete(PLAIN) == Completion(text="one", provider="s", model="m")
    second = await provider.complete(ASKED)
    assert (second.text, second.model, second.enforced) == ("two", "other", True)
    assert script.requests == [PLAIN, ASKED]


async def test_a_refusal_is_judged_as_our_providers_judge_it() -> None:
    seen: list[Event] = []
    script = Script([REFUSAL], observer=seen.append)
    with pytest.raises(ProviderError) as caught:
        await script.complete(ASKED)
    assert caught.value.kind is Kind.FORMAT_REFUSED
    assert caught.value.refusal is not None
    assert caught.value.refusal.scope is Scope.CAPABILITY
    assert is_refusal(caught.value)
    assert [type(event) for event in seen] == [ProviderFailed]


async def test_json_object_is_a_format_too() -> None:
    request = Request(messages=PLAIN.messages, response_format=JsonObject())
    with pytest.raises(ProviderError) as caught:
        await Script([Failure(status=400, message="json_object is not supported")]).complete(
            request
        )
    assert caught.value.kind is Kind.FORMAT_REFUSED


async def test_without_a_format_nothing_is_a_refusal() -> None:
    with pytest.raises(ProviderError) as caught:
        await Script([REFUSAL]).complete(PLAIN)
    assert caught.value.kind is Kind.INVALID_REQUEST
    assert caught.value.refusal is None


async def test_facts_are_read_from_a_body() -> None:
    failure = Failure(status=429, body='{"error": {"message": "slow down", "code": "rate_limit"}}')
    with pytest.raises(RateLimited, match="slow down") as caught:
        await Script([failure]).complete(PLAIN)
    assert caught.value.failure.code == "rate_limit"


async def test_a_bare_status_is_told_as_an_answer_that_says_nothing() -> None:
    """No body is made up for it, to be quoted back."""
    with pytest.raises(ProviderError, match="no message in the body") as caught:
        await Script([Failure(status=503)]).complete(PLAIN)
    assert caught.value.failure.body == ""


async def test_a_failure_without_a_status_is_a_network_fault() -> None:
    with pytest.raises(ProviderError) as caught:
        await Script([Failure(network=True, message="gone")]).complete(ASKED)
    assert caught.value.kind is Kind.UNAVAILABLE
    assert caught.value.failure.body == ""


async def test_an_exception_is_raised_as_it_is() -> None:
    boom = RuntimeError("boom")
    with pytest.raises(RuntimeError) as caught:
        await Script([boom]).complete(PLAIN)
    assert caught.value is boom


async def test_a_callable_gets_the_request_and_may_be_async() -> None:
    async def later(request: Request) -> str:
        return f"later {request.model}"

    script = Script([lambda request: f"now {request.model}", later, lambda _request: REFUSAL])
    assert (await script.complete(PLAIN)).text == "now m"
    assert (await script.complete(PLAIN)).text == "later m"
    with pytest.raises(ProviderError):
        await script.complete(PLAIN)


async def test_any_reply_can_be_streamed() -> None:
    call = ToolCall(id="1", name="f", arguments="{}")
    reply = Completion(text="hello", tool_calls=(call,))
    events = await streamed(Script([reply], id="s"), ASKED)
    whole = Completion(text="hello", tool_calls=(call,), provider="s", model="m", enforced=True)
    assert events == [TextDelta("hello"), ToolCalled(call), Finished(whole)]
    assert await streamed(Script([Completion()]), PLAIN) == [
        Finished(Completion(provider="script", model="m"))
    ]


async def test_stream_events_are_played_and_make_a_whole_reply_too() -> None:
    events: list[Step] = [TextDelta("a"), TextDelta("b"), Finished(Completion(text="ab"))]
    script = Script([events, events])
    assert (await streamed(script, PLAIN))[:2] == events[:2]
    assert (await script.complete(PLAIN)).text == "ab"


async def test_a_failure_at_the_start_is_raised_on_entering() -> None:
    with pytest.raises(ProviderError) as caught:
        async with Script([REFUSAL]).stream(ASKED):
            pytest.fail("the context was entered")
    assert caught.value.operation == "stream"
    assert caught.value.kind is Kind.FORMAT_REFUSED


async def test_a_failure_inside_breaks_the_stream_there() -> None:
    script = Script([[TextDelta("a"), Failure(truncated=True, message="cut")]])
    seen: list[StreamEvent] = []
    with pytest.raises(ProviderError) as caught:  # noqa: PT012  what came before is looked at
        async with script.stream(PLAIN) as events:
            async for event in events:
                seen.append(event)  # noqa: PERF401
    assert seen == [TextDelta("a")]
    assert caught.value.failure.yielded
    assert not caught.value.retryable


async def test_running_out_says_what_was_asked() -> None:
    script = Script(["one"], id="s")
    await script.complete(PLAIN)
    with pytest.raises(
        ScriptOver, match=r"'s' got request number 2 and has 1 outcomes.*format json_schema"
    ):
        await script.complete(ASKED)


@pytest.mark.parametrize("wrong", [5, None, [], [TextDelta("a")], {"text": "a"}])
async def test_what_is_no_outcome_is_refused_at_once(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"an outcome is|ends with Finished"):
        Script([wrong])  # type: ignore[list-item]


async def test_a_callable_must_give_an_outcome_too() -> None:
    with pytest.raises(TypeError, match="an outcome is"):
        await Script([lambda _request: 5]).complete(PLAIN)  # type: ignore[list-item,return-value]


async def test_it_is_healthy_and_can_be_closed() -> None:
    script = Script(api="responses", base_url="http://x.invalid")
    assert (await script.status()).health == "healthy"
    assert (script.api_for("m"), script.base_url) == ("responses", "http://x.invalid")
    await script.aclose()
    assert script.closed == 1


async def test_the_names_are_loaded_when_touched() -> None:
    import structguard.testing  # noqa: PLC0415

    assert "Script" in dir(structguard.testing)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = structguard.testing.Nothing
    code = "import sys, structguard.testing; print('structguard.testing.script' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: ASYNC221, S603
    assert run.stdout.strip() == "False"
