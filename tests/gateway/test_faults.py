"""Upstreams that break, at every stage of a request; and what a client is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structguard.errors import ProviderError, provider_error
from structguard.gateway.faults import failed
from structguard.testing import RefusingEndpoint
from structguard.types import Api, Failure, Kind
from tests.gateway.support import CHAT_FORMAT, chat, response, running, settings
from tests.gateway.upstream import upstream

Json = dict[str, Any]
KEYS = ["message", "type", "param", "code"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("model", ["hang_up", "error200", "finish_error", "cut"])
def test_an_upstream_that_breaks_is_an_error_in_the_one_form(
    path: str, model: str, *, stream: bool
) -> None:
    body = (chat if "chat" in path else response)(model, stream=stream)
    with RefusingEndpoint(model) as endpoint, running(settings(endpoint.base_url)) as gateway:
        reply = gateway.post(path, body)
        assert gateway.get("/healthz").status_code == 200
    if reply.status_code == 200:  # it had begun: the stream tells it
        assert stream
        told = reply.text[reply.text.index('"error":{"') :]
        assert '"message"' in told
    else:
        assert reply.status_code in {502, 503}
        assert list(reply.json()["error"]) == KEYS
    assert "127.0.0.1" not in reply.text


def test_a_refusal_that_cannot_be_rescued_is_the_retrys_own_error() -> None:
    with RefusingEndpoint("refuse400+empty") as endpoint:
        made = settings(endpoint.base_url)
        with running(made) as gateway:
            body = chat("refuse400+empty", response_format=CHAT_FORMAT)
            reply = gateway.post("/v1/chat/completions", body)
            again = gateway.post("/v1/chat/completions", body)
    assert reply.headers["x-structguard-requests"] == "2"
    assert again.headers["x-structguard-requests"] == "2"  # nothing was learned from no answer


def test_answers_in_prose_put_the_schema_in_the_prompt_where_the_settings_say_so() -> None:
    with RefusingEndpoint("ignore") as endpoint:
        made = settings(endpoint.base_url, guard={"memo": "memory:", "ignored_after": 2})
        with running(made) as gateway:
            body = chat("ignore", response_format=CHAT_FORMAT)
            for _ in range(3):
                gateway.post("/v1/chat/completions", body)
        sent: Any = endpoint.requests[-1].body
    assert "response_format" in sent
    assert sent["messages"][0]["role"] == "system"
    assert '"city"' in sent["messages"][0]["content"]


def test_an_answer_in_the_thoughts_is_the_answer_and_is_remembered() -> None:
    name = "refuse400+json_in_reasoning"
    with RefusingEndpoint(name) as endpoint, running(settings(endpoint.base_url)) as gateway:
        body = chat(name, response_format=CHAT_FORMAT)
        replies = [gateway.post("/v1/chat/completions", body) for _ in range(2)]
    for reply in replies:
        assert set(json.loads(reply.json()["choices"][0]["message"]["content"])) == {"city", "n"}
    assert [reply.headers["x-structguard-requests"] for reply in replies] == ["2", "1"]


def test_replies_that_only_a_lenient_reader_takes_are_passed_on() -> None:
    with upstream() as server, running(settings(server.base_url)) as gateway:
        server.errors["odd"] = (
            200,
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "\ud800"},
                          "finish_reason": "stop"}]},
            {},
        )  # fmt: skip
        reply = gateway.post("/v1/chat/completions", chat("odd"))
        assert reply.status_code == 200
        server.errors["none"] = (200, {"choices": []}, {})
        lost = gateway.post("/v1/chat/completions", chat("none"))
        assert (lost.status_code, lost.json()["error"]["code"]) == (502, "bad_response")


def error(kind: Kind, **facts: Any) -> ProviderError:
    return provider_error(
        kind=kind, message="told", failure=Failure(**facts), provider="up", model="m",
        operation="complete",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "facts", "status", "code"),
    [
        (Kind.NOT_FOUND, {"status": 404, "message": "no such model"}, 404, "model_not_found"),
        (Kind.NOT_FOUND, {"status": 404, "message": "no such model", "code": "ResourceNotFoundException"},
         404, "model_not_found"),
        (Kind.CONTEXT_LENGTH, {"status": 400, "code": "400"}, 400, "context_length"),
        (Kind.RATE_LIMITED, {"status": 429, "code": "429"}, 429, "rate_limited"),
        (Kind.RATE_LIMITED, {"status": 429, "code": "slow_down"}, 429, "slow_down"),
        (Kind.NOT_FOUND, {"status": 404, "message": "Not Found"}, 502, "not_found"),
        (Kind.AUTHENTICATION, {"status": 401}, 502, "authentication"),
        (Kind.BILLING, {"status": 402}, 502, "billing"),
        (Kind.CONTEXT_LENGTH, {"status": 400}, 400, "context_length"),
        (Kind.REQUEST_TOO_LARGE, {"status": 413}, 413, "request_too_large"),
        (Kind.TIMEOUT, {"own_timeout": True}, 504, "timeout"),
        (Kind.STREAM_TRUNCATED, {"truncated": True}, 502, "stream_truncated"),
        (Kind.CONTENT_FILTERED, {"status": 400}, 400, "content_filtered"),
        (Kind.INVALID_REQUEST, {"status": 400, "param": "top_p", "code": "400"}, 400, None),
    ],
)  # fmt: skip
def test_every_kind_has_its_status(kind: Kind, facts: Json, status: int, code: str | None) -> None:
    told = failed(error(kind, **facts), "chat", own_key=False)
    assert (told.status, told.code) == (status, code)
    assert list(json.loads(told.body)["error"]) == KEYS


@pytest.mark.parametrize(
    ("api", "told", "param"),
    [
        ("responses", "messages", "input"),
        ("responses", "messages[0].content", "input"),
        ("responses", "input[1].role", "input[1].role"),
        ("responses", "tools[0]", "tools[0]"),
        ("chat", "input", "messages"),
        ("chat", None, None),
    ],
)
def test_the_conversation_is_named_as_the_client_names_it(
    api: Api, told: str | None, param: str | None
) -> None:
    fault = error(Kind.INVALID_REQUEST, status=400, param=told)
    assert failed(fault, api, own_key=False).param == param


def test_a_bug_says_nothing_of_itself() -> None:
    told = failed(RuntimeError("secret detail"), "chat", own_key=True)
    assert told.status == 500
    assert b"secret" not in told.body
