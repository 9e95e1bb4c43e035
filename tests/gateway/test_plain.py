"""The plain case and the general way behind it: what was tried is never sent again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structguard.clients.call import BodyCall
from structguard.gateway.plain import Tried, plan_of
from structguard.memo import open_memo
from structguard.options import Policy
from structguard.testing import RefusingEndpoint
from tests.gateway.support import (
    CHAT_FORMAT,
    SCHEMA,
    VALUE,
    chat,
    embedded_config,
    json_request,
    running,
    settings,
)

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("model", "sent"),
    [("enforce", [1, 1]), ("refuse400", [2, 1]), ("refuse404", [2, 1]), ("fenced", [1, 1])],
)
def test_nothing_is_sent_more_often_than_it_has_to_be(
    path: str, model: str, sent: list[int], *, stream: bool
) -> None:
    with (
        RefusingEndpoint(model, value=VALUE) as endpoint,
        running(embedded_config(endpoint.base_url)) as gateway,
    ):
        found: list[int] = []
        for _ in sent:
            before = len(endpoint.requests)
            assert gateway.post(path, json_request(path, model, stream=stream)).status_code == 200
            found.append(len(endpoint.requests) - before)
    assert found == sent


@pytest.mark.parametrize("stream", [False, True])
def test_a_fault_counts_as_the_first_of_the_attempts(*, stream: bool) -> None:
    with RefusingEndpoint("flaky429") as endpoint:
        up = {"base_url": endpoint.base_url, "attempts": 2}
        with running(settings("", providers={"up": up})) as gateway:
            reply = gateway.post(CHAT, chat("flaky429", stream=stream))
        assert reply.status_code == 200
        assert reply.headers["x-structguard-requests"] == "2"
        assert len(endpoint.requests) == 2


def call(**fields: object) -> BodyCall:
    body = chat("m", **fields)
    return BodyCall(provider="p", model="m", base_url="h", api="chat", body=body,
                    guardable="response_format" in fields)  # fmt: skip


def test_what_needs_more_than_one_look_is_not_plain() -> None:
    memo = open_memo("memory:")
    json_request = call(response_format=CHAT_FORMAT)
    assert plan_of(json_request, "guard", memo, Policy()) is not None
    for policy in (Policy(mode="observe"), Policy(require_enforced=True), Policy(ignored_after=2)):
        assert plan_of(json_request, "guard", memo, policy) is None
        assert plan_of(call(), "guard", memo, policy) is not None
        assert plan_of(json_request, "native", memo, policy) is not None


def test_a_format_that_cannot_be_read_goes_the_general_way() -> None:
    broken = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nonsense"}}}
    with (
        RefusingEndpoint("refuse400") as endpoint,
        running(embedded_config(endpoint.base_url)) as gateway,
    ):
        assert gateway.post(CHAT, json_request(CHAT, "refuse400", stream=False)).status_code == 200
        reply = gateway.post(CHAT, chat("refuse400", response_format=broken))
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == "response_format"


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_prompt_that_shows_the_schema_is_not_told_it_again(path: str) -> None:
    asking_for = {"content": f"Fill this in: {json.dumps(SCHEMA)}", "role": "user"}
    body = json_request(path, "refuse400", stream=False)
    with (
        RefusingEndpoint("refuse400", value=VALUE) as endpoint,
        running(embedded_config(endpoint.base_url)) as gateway,
    ):
        for said in ({"role": "user", "content": "Where?"}, asking_for):
            body["messages" if path == CHAT else "input"] = [said]
            assert gateway.post(path, body).status_code == 200
        told = [request.body for request in endpoint.requests]
    assert len(told) == 3
    assert "no prose" in json.dumps(told[1])
    assert "no prose" not in json.dumps(told[2])


def test_what_was_tried_is_taken_once_and_only_for_the_same_bytes() -> None:
    tried = Tried[str](b"a", "reply", 0.0)
    assert tried.taken(b"a") == "reply"
    assert tried.taken(b"a") is None
    other = Tried[str](b"a", "reply", 0.0)
    assert other.taken(b"b") is None
    assert other.taken(b"a") is None
