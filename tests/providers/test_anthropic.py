"""Anthropic: exact bytes, native structured output, streams, errors, environment."""

from __future__ import annotations

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response as Answer

from structguard.errors import AuthenticationFailed, ProviderError
from structguard.events import OptionIgnored
from structguard.providers import Anthropic
from structguard.service import Provider
from structguard.types import Kind
from structguard.wire.base import WireOptions
from tests.doubles import EventRecorder
from tests.providers.payloads import ANSWER, FORMAT, MESSAGES, SCHEMA, sse
from tests.providers.support import Sleeps, ask, collect, script, text_of

REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-1",
    "content": [{"type": "text", "text": ANSWER}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 5},
}
STREAM = [
    sse(event, named=True)
    for event in (
        {"type": "message_start", "message": {**REPLY, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": ANSWER},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    )
]
PATH = "/v1/messages"


def provider(server: HTTPServer, key: str | None = "sk-ant", **options: object) -> Anthropic:
    given = {"base_url": server.url_for("/"), "observer": EventRecorder(), **options}
    return Anthropic(key, **given)  # type: ignore[arg-type]


async def test_a_call_carries_the_format_on_the_native_field(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, (200, REPLY, {"request-id": "req_7"}))
    async with provider(httpserver) as opened:
        face: Provider = opened
        reply = await face.complete(
            ask(
                messages=[{"role": "system", "content": "Be brief."}, *MESSAGES],
                response_format=FORMAT,
            )
        )
        assert (opened.api_for("m"), opened.attempts) == ("messages", 3)
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert body["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}
    assert (body["model"], body["max_tokens"], body["system"]) == ("m", 4096, "Be brief.")
    assert set(body) == {"model", "max_tokens", "system", "messages", "output_config"}
    headers = served.received[0].headers
    assert (headers["X-Api-Key"], headers["Anthropic-Version"]) == ("sk-ant", "2023-06-01")
    assert "Authorization" not in headers
    assert (reply.text, reply.enforced, reply.requests) == (ANSWER, True, 1)
    assert reply.metadata["request_id"] == "req_7"


async def test_the_format_can_be_a_forced_tool(httpserver: HTTPServer) -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "Answer", "input": {"answer": "forty-two"}}
    served = script(httpserver, PATH, {**REPLY, "content": [tool], "stop_reason": "tool_use"})
    options = WireOptions(structured="tool")
    async with provider(httpserver, options=options) as opened:
        reply = await opened.complete(ask(response_format=FORMAT))
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert body["tools"][0]["input_schema"] == SCHEMA
    assert body["tool_choice"]["type"] == "tool"
    assert "output_config" not in body
    assert reply.enforced is True
    assert "forty-two" in reply.text


async def test_a_stream_gives_its_events(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_handler(
        lambda _: Answer(iter(STREAM), content_type="text/event-stream")
    )
    async with provider(httpserver) as opened:
        assert text_of(await collect(opened, ask())) == ANSWER


ERRORS = [
    (400, "invalid_request_error", "bad", Kind.INVALID_REQUEST, 1),
    (400, "invalid_request_error", "Your credit balance is too low", Kind.BILLING, 1),
    (401, "authentication_error", "invalid x-api-key", Kind.AUTHENTICATION, 1),
    (403, "permission_error", "no", Kind.AUTHENTICATION, 1),
    (404, "not_found_error", "model: x", Kind.NOT_FOUND, 1),
    (413, "request_too_large", "big", Kind.REQUEST_TOO_LARGE, 1),
    (429, "rate_limit_error", "slow down", Kind.RATE_LIMITED, 3),
    (500, "api_error", "oops", Kind.UNAVAILABLE, 3),
    (529, "overloaded_error", "busy", Kind.UNAVAILABLE, 3),
]


@pytest.mark.parametrize(("status", "name", "message", "kind", "requests"), ERRORS)
async def test_errors_have_their_kinds(
    httpserver: HTTPServer, status: int, name: str, message: str, kind: Kind, requests: int
) -> None:
    body = {"type": "error", "error": {"type": name, "message": message}}
    script(httpserver, PATH, (status, body))
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask())
    assert (caught.value.kind, caught.value.requests) == (kind, requests)


async def test_a_refused_format_is_recognised(httpserver: HTTPServer) -> None:
    message = "output_config.format: this model does not support structured outputs."
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    script(httpserver, PATH, (400, body))
    async with provider(httpserver) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask(response_format=FORMAT))
    assert caught.value.kind is Kind.FORMAT_REFUSED


async def test_an_overloaded_stream_is_opened_again(httpserver: HTTPServer) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    turns = [[sse(error, named=True)], STREAM]
    httpserver.expect_request(PATH).respond_with_handler(
        lambda _: Answer(iter(turns.pop(0)), content_type="text/event-stream")
    )
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        assert text_of(await collect(opened, ask())) == ANSWER
    assert turns == []


async def test_a_missing_key_sends_nothing(httpserver: HTTPServer) -> None:
    async with provider(httpserver, None) as opened:
        with pytest.raises(AuthenticationFailed, match="ANTHROPIC_API_KEY") as caught:
            await opened.complete(ask())
    assert caught.value.requests == 0
    assert httpserver.log == []


async def test_status_lists_the_models(httpserver: HTTPServer) -> None:
    script(httpserver, "/v1/models", {"data": []}, method="GET")
    async with provider(httpserver) as opened:
        assert (await opened.status()).health == "healthy"


async def test_from_env(monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer) -> None:
    served = script(httpserver, "/base/v1/messages", REPLY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", httpserver.url_for("/base/"))
    monkeypatch.setenv("ANTHROPIC_API_VERSION", "2030-01-01")
    monkeypatch.setenv("ANTHROPIC_TIMEOUT", "9")
    async with Anthropic.from_env(id="claude", observer=EventRecorder()) as opened:
        await opened.complete(ask())
        assert (opened.id, opened._engine.timeout) == ("claude", 9.0)
        assert repr(opened) == "Anthropic(id='claude')"
    headers = served.received[0].headers
    assert (headers["X-Api-Key"], headers["Anthropic-Version"]) == ("sk-env", "2030-01-01")
    for name in ("API_KEY", "BASE_URL", "API_VERSION", "TIMEOUT"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "")
    assert Anthropic.from_env().id == Anthropic().base_url == "api.anthropic.com"


def test_api_is_ignored_with_one_warning_and_an_unknown_one_refused() -> None:
    seen = EventRecorder()
    Anthropic("k", api="responses", observer=seen)
    (told,) = seen.of(OptionIgnored)
    assert (told.option, "messages" in told.reason) == ("api", True)
    Anthropic("k", api="messages", observer=seen)
    Anthropic("k", observer=seen)
    assert len(seen.events) == 1
    with pytest.raises(ValueError, match="'responses', got 'smoke'"):
        Anthropic("k", api="smoke")
