"""POST /v1/chat/completions: passed on as it came, guarded, healed; errors in the one form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.support import (
    CHAT_FORMAT,
    VALUE,
    Running,
    chat,
    embedded_config,
    running,
    settings,
)
from tests.gateway.upstream import SAYS, Upstream

Json = dict[str, Any]


@pytest.fixture(scope="module")
def gateway(chat_upstream: Upstream) -> Iterator[Running]:
    with running(embedded_config(chat_upstream.base_url)) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(enforcing: RefusingEndpoint) -> Iterator[Running]:
    with running(embedded_config(enforcing.base_url)) as made:
        yield made


def chunks_of(text: str) -> list[Json]:
    blocks = [block for block in text.split("\n\n") if block]
    assert blocks[-1] == "data: [DONE]"
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]


def text_of(chunks: list[Json]) -> str:
    return "".join(
        choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]
    )


def test_a_body_that_needs_no_change_goes_out_and_comes_back_as_it_is(
    gateway: Running, chat_upstream: Upstream
) -> None:
    body = chat("tools", temperature=0.5, unknown={"kept": [1, 2.0]})
    reply = gateway.post("/v1/chat/completions", body)
    assert chat_upstream.asked[-1] == body
    assert reply.content == gateway.post("/v1/chat/completions", body).content
    assert reply.json()["choices"][0]["message"]["tool_calls"]


def test_of_the_clients_headers_only_the_safe_ones_go_upstream(
    gateway: Running, chat_upstream: Upstream
) -> None:
    gateway.post(
        "/v1/chat/completions",
        chat("text"),
        authorization="Bearer clients-key",
        traceparent="00-1-2-3",
        cookie="a=b",
        x_private="s",
    )
    sent = chat_upstream.headers[-1]
    assert (sent["authorization"], sent["traceparent"]) == ("Bearer clients-key", "00-1-2-3")
    assert not {"cookie", "x-private", "x-structguard-mode"} & sent.keys()


def test_a_key_of_ours_replaces_the_clients(chat_upstream: Upstream) -> None:
    up = {"base_url": chat_upstream.base_url, "api_key_env": "UP_KEY"}
    config = settings(chat_upstream.base_url, environ={"UP_KEY": "ours"}, providers={"up": up})
    with running(config) as made:
        made.post("/v1/chat/completions", chat("text"), authorization="Bearer clients-key")
    assert chat_upstream.headers[-1]["authorization"] == "Bearer ours"


@pytest.mark.parametrize("model", sorted(SAYS))
def test_a_stream_passes_event_by_event(gateway: Running, model: str) -> None:
    reply = gateway.post("/v1/chat/completions", chat(model, stream=True))
    assert text_of(chunks_of(reply.text)) == (SAYS[model][0]["content"] or "")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["enforce", "refuse400", "refuse404", "refuse200", "fenced"])
def test_the_structured_answer_arrives_whatever_the_upstream_does(
    guarded: Running, model: str, *, stream: bool
) -> None:
    for _ in range(2):
        body = chat(model, response_format=CHAT_FORMAT, stream=stream)
        reply = guarded.post("/v1/chat/completions", body)
        assert reply.status_code == 200, reply.text
        if stream:
            text = text_of(chunks_of(reply.text))
        else:
            text = reply.json()["choices"][0]["message"]["content"]
        assert json.loads(text) == VALUE
        enforced = "false" if model.startswith("refuse") else "true"
        assert reply.headers["x-structguard-enforced"] == enforced


def test_the_second_send_is_the_first_minus_the_format_plus_the_schema_in_the_prompt(
    guarded: Running, enforcing: RefusingEndpoint
) -> None:
    body = chat("x/refuse422", response_format=CHAT_FORMAT, top_p=0.5)
    guarded.post("/v1/chat/completions", body)
    first, second = (asked.body for asked in enforcing.requests[-2:])
    assert first == body
    messages: Any = second["messages"]
    system, rest = messages[0], messages[1:]
    assert "Bonn" not in system["content"]
    assert '"city"' in system["content"]
    assert rest == body["messages"]
    assert second["top_p"] == 0.5
    assert "response_format" not in second


def test_native_mode_hands_the_refusal_on_and_off_mode_does_not_look(guarded: Running) -> None:
    body = chat("y/refuse400", response_format=CHAT_FORMAT)
    native = guarded.post("/v1/chat/completions", body, x_structguard_mode="native")
    assert (native.status_code, native.json()["error"]["param"]) == (400, "response_format")
    off = guarded.post("/v1/chat/completions", body, x_structguard_mode="off")
    assert off.status_code == 400
    prose = chat("fenced", response_format=CHAT_FORMAT)
    raw = guarded.post("/v1/chat/completions", prose, x_structguard_mode="off")
    assert "```json" in raw.json()["choices"][0]["message"]["content"]
    assert guarded.post("/v1/chat/completions", body, x_structguard_mode="x").status_code == 400


@pytest.mark.parametrize(
    ("status", "error", "headers", "told", "type_", "code"),
    [
        (429, {"message": "slow down"}, {"retry-after": "7"}, 429, "rate_limit_error", None),
        (500, {"message": "oops"}, {}, 502, "upstream_error", None),
        (503, {"message": "busy"}, {}, 503, "upstream_error", None),
        (401, {"message": "bad key"}, {}, 401, "authentication_error", None),
        (404, {"message": "no model x", "code": "model_not_found"}, {}, 404,
         "invalid_request_error", "model_not_found"),
        (400, {"message": "bad top_p", "param": "top_p", "type": "invalid_request_error"}, {},
         400, "invalid_request_error", None),
        (402, {"message": "out of credit"}, {}, 502, "upstream_error", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstreams_error_has_four_keys_and_the_tables_status(  # noqa: PLR0917
    chat_upstream: Upstream,
    status: int,
    error: Json,
    headers: dict[str, str],
    told: int,
    type_: str,
    code: str | None,
    *,
    stream: bool,
) -> None:
    from dataclasses import replace  # noqa: PLC0415

    config = embedded_config(chat_upstream.base_url)
    up = replace(config.providers["upstream"], attempts=1)
    chat_upstream.errors["fails"] = (status, {"error": error}, headers)
    with running(replace(config, providers={"upstream": up})) as made:
        reply = made.post("/v1/chat/completions", chat("fails", stream=stream))
    assert reply.status_code == told
    shown = reply.json()["error"]
    assert list(shown) == ["message", "type", "param", "code"]
    assert shown["type"] == type_
    assert code is None or shown["code"] == code
    if headers:
        assert reply.headers["retry-after"] == "7"


def test_an_upstream_that_cannot_be_reached_is_a_502_without_its_address() -> None:
    with running(settings("http://127.0.0.1:9/v1")) as made:
        reply = made.post("/v1/chat/completions", chat("m"))
    assert reply.status_code == 502
    assert "127.0.0.1" not in reply.text


def test_a_stream_that_breaks_ends_in_an_error_object(gateway: Running) -> None:
    reply = gateway.post("/v1/chat/completions", chat("breaks", stream=True))
    assert reply.status_code == 200
    last = json.loads(reply.text.strip().split("\n\n")[-1].removeprefix("data: "))
    assert set(last["error"]) == {"message", "type", "param", "code"}
    assert "127.0.0.1" not in reply.text


def test_a_client_that_leaves_takes_the_upstream_call_with_it(
    gateway: Running, chat_upstream: Upstream
) -> None:
    chat_upstream.left.clear()
    with gateway.client.stream(
        "POST", "/v1/chat/completions", json=chat("hangs", stream=True)
    ) as reply:
        next(reply.iter_bytes())
    assert chat_upstream.left.wait(5)


def test_a_deadline_of_the_client_is_a_504(gateway: Running) -> None:
    reply = gateway.post("/v1/chat/completions", chat("hangs"), x_request_timeout="0.3")
    assert (reply.status_code, reply.json()["error"]["type"]) == (504, "timeout_error")


def test_chains_fall_back_and_translate_for_the_next_link(
    chat_upstream: Upstream, enforcing: RefusingEndpoint
) -> None:
    chat_upstream.errors["down"] = (503, {"error": {"message": "busy"}}, {})
    config = settings(
        chat_upstream.base_url,
        providers={
            "first": {"base_url": chat_upstream.base_url, "attempts": 1},
            "second": {"base_url": enforcing.base_url, "api": "responses"},
        },
        models={"fast": ["first:down", "second:refuse400"]},
    )
    with running(config) as made:
        for stream in (False, True):
            body = chat("fast", response_format=CHAT_FORMAT, stream=stream)
            reply = made.post("/v1/chat/completions", body)
            assert reply.status_code == 200, reply.text
            assert reply.headers["x-structguard-provider"] == "second"
            text = (
                text_of(chunks_of(reply.text))
                if stream
                else reply.json()["choices"][0]["message"]["content"]
            )
            assert json.loads(text) == VALUE
        assert "instructions" in enforcing.requests[-1].body
        assert [model["id"] for model in made.get("/v1/models").json()["data"]] == ["fast"]
        lost = made.post("/v1/chat/completions", chat("nobody"))
        assert (lost.status_code, lost.json()["error"]["code"]) == (404, "model_not_found")


def test_another_clients_key_learns_nothing_from_a_refusal(enforcing: RefusingEndpoint) -> None:
    with running(embedded_config(enforcing.base_url)) as made:
        body = chat("z/refuse400", response_format=CHAT_FORMAT)
        spent = [
            made.post("/v1/chat/completions", body, authorization=f"Bearer {key}").headers[
                "x-structguard-requests"
            ]
            for key in ("one", "one", "two")
        ]
    assert spent == ["2", "1", "2"]


@pytest.mark.parametrize(
    ("origin", "status"), [("https://evil.example", 403), ("null", 403), ("", 200)]
)
def test_a_page_of_another_site_asks_nothing_without_a_token(
    gateway: Running, chat_upstream: Upstream, origin: str, status: int
) -> None:
    before = len(chat_upstream.asked)
    blind = {"origin": origin or gateway.url, "content-type": "text/plain"}
    sent = gateway.client.post(
        "/v1/chat/completions", content=json.dumps(chat("text")), headers=blind
    )
    assert sent.status_code == status
    assert (len(chat_upstream.asked) > before) is (status == 200)
