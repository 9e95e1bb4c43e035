"""A whole reply over the other OpenAI wire: guarded, remembered, retried and read as on its own wire."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_resource
from tests.gateway.support import (
    VALUE,
    chat,
    json_request,
    response,
    running,
    settings,
)
from tests.gateway.upstream import call, chunks, reply
from tests.gateway.wires import speaking

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
WAYS = [(CHAT, "responses"), (RESPONSES, "chat")]
REFUSED = {"error": {"message": "json_schema is not supported", "param": "response_format"}}
UNROUTED = {"error": {"message": "No endpoints found that can handle the requested parameters."}}
TOOL: Json = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def said(path: str, answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    if path == CHAT:
        return answer.json()["choices"][0]["message"]["content"]
    return check_resource(answer.json())["output"][-1]["content"][0]["text"]


def told(answer: httpx2.Response) -> tuple[str | None, str | None, str | None]:
    names = ("enforced", "requests", "source")
    enforced, requests, source = (answer.headers.get(f"x-structguard-{name}") for name in names)
    return enforced, requests, source


def one(base_url: str, **options: object) -> Any:
    return settings("", providers={"up": {"base_url": base_url, "attempts": 1, **options}})


@pytest.mark.parametrize(("path", "api"), WAYS)
def test_a_refused_format_is_rescued_and_remembered_for_streams_too(path: str, api: str) -> None:
    with (
        RefusingEndpoint("refuse400", answer="fenced", value=VALUE) as endpoint,
        running(one(endpoint.base_url, api=api)) as gateway,
    ):
        first = gateway.post(path, json_request(path, "m"))
        second = gateway.post(path, json_request(path, "m"))
        stream = gateway.post(path, json_request(path, "m", stream=True))
        assert [json.loads(said(path, answer)) for answer in (first, second)] == [VALUE, VALUE]
        assert (told(first)[:2], told(second)[:2]) == (("false", "2"), ("false", "1"))
        assert told(stream)[:2] == ("false", "1")
        assert len(endpoint.requests) == 4


@pytest.mark.parametrize(("path", "api"), WAYS)
def test_an_enforced_format_crosses(path: str, api: str) -> None:
    with (
        RefusingEndpoint("enforce", value=VALUE) as endpoint,
        running(one(endpoint.base_url, api=api)) as gateway,
    ):
        answer = gateway.post(path, json_request(path, "m"))
        assert json.loads(said(path, answer)) == VALUE
        assert told(answer) == ("true", "1", "json")
        off = gateway.post(path, json_request(path, "m"), x_structguard_mode="off")
        assert told(off) == (None, "1", None)
        native = gateway.post(path, json_request(path, "m"), x_structguard_mode="native")
        assert told(native)[:2] == ("true", "1")
        assert len(endpoint.requests) == 3


@pytest.mark.parametrize(("path", "api"), WAYS)
def test_native_mode_refuses_to_be_rescued(path: str, api: str) -> None:
    with (
        RefusingEndpoint("refuse400") as endpoint,
        running(one(endpoint.base_url, api=api)) as gateway,
    ):
        answer = gateway.post(path, json_request(path, "m"), x_structguard_mode="native")
        assert answer.status_code == 400
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(("path", "api"), WAYS)
def test_what_is_not_plain_crosses_too(path: str, api: str) -> None:
    tool = TOOL if path == RESPONSES else {"function": TOOL}
    body = (chat if path == CHAT else response)("m", tools=[{"type": "function", **tool}])
    with speaking(api) as up, running(settings("", providers={"up": up})) as gateway:
        found = gateway.post(path, body).json()
    called = (
        found["choices"][0]["message"]["tool_calls"][0]["function"]
        if path == CHAT
        else check_resource(found)["output"][0]
    )
    assert called["name"] == "get_weather"


def test_a_reply_that_is_none_is_sent_for_again_and_then_told(httpserver: HTTPServer) -> None:
    httpserver.expect_request(CHAT).respond_with_json({"choices": []})
    with running(one(httpserver.url_for("/v1"), api="chat", attempts=2)) as gateway:
        answer = gateway.post(RESPONSES, json_request(RESPONSES, "m"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "bad_response")
    assert "the reply has no choices" in answer.json()["error"]["message"]
    assert len(httpserver.log) == 2


def test_an_answer_in_the_thoughts_becomes_the_answer(httpserver: HTTPServer) -> None:
    message = {"content": "", "reasoning_content": json.dumps(VALUE)}
    httpserver.expect_request(CHAT).respond_with_json(reply(message))
    with running(one(httpserver.url_for("/v1"), api="chat")) as gateway:
        answer = gateway.post(RESPONSES, json_request(RESPONSES, "m"))
    assert json.loads(said(RESPONSES, answer)) == VALUE


def spoken(text: str | None, **more: object) -> Json:
    return {"index": 0, "message": {"role": "assistant", "content": text, **more}}


EMPTY = reply({"content": ""})
ANSWERED = {"type": "message", "content": [{"type": "output_text", "text": json.dumps(VALUE)}]}
RETRIES = [
    (CHAT, {"status": "incomplete", "output": [ANSWERED]}, False),
    (CHAT, {"status": "failed", "output": [ANSWERED]}, False),
    (CHAT, {"status": "completed", "output": [ANSWERED]}, True),
    (RESPONSES, {**EMPTY, "choices": [spoken(""), spoken("Another.")]}, False),
    (
        RESPONSES,
        {**EMPTY, "choices": [spoken(None, function_call={"name": "f", "arguments": "{}"})]},
        True,
    ),
    (RESPONSES, {**EMPTY, "choices": [spoken("", reasoning=json.dumps(VALUE))]}, True),
]


@pytest.mark.parametrize(("path", "retried", "remembered"), RETRIES)
def test_a_refusal_is_remembered_where_the_client_got_an_answer(
    path: str, retried: Json, httpserver: HTTPServer, *, remembered: bool
) -> None:
    api, there = ("responses", RESPONSES) if path == CHAT else ("chat", CHAT)

    def answer(request: Request) -> Response:
        body = request.get_json()
        if "response_format" in body or "text" in body:
            return Response(json.dumps(REFUSED), 400, content_type="application/json")
        return Response(json.dumps(retried), content_type="application/json")

    httpserver.expect_request(there).respond_with_handler(answer)
    with running(one(httpserver.url_for("/v1"), api=api)) as gateway:
        requests = [told(gateway.post(path, json_request(path, "m")))[1] for _ in range(2)]
    assert requests == ["2", "1" if remembered else "2"]


@pytest.mark.parametrize(("path", "stream"), [(RESPONSES, False), (CHAT, False), (CHAT, True)])
def test_every_send_is_told_though_the_memo_learnt_of_it_meanwhile(
    path: str, *, stream: bool
) -> None:
    events = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks({"content": "{}"}, "stop"))
    sent: list[Json] = []

    def answer(request: Request) -> Response:
        sent.append(request.get_json())
        if "response_format" in sent[-1]:
            if len(sent) == 1:  # another call is faster
                gateway.post(path, json_request(path, "m"))
            return Response(json.dumps(REFUSED), 400, content_type="application/json")
        if sent[-1].get("stream"):
            return Response(events + "data: [DONE]\n\n", content_type="text/event-stream")
        return Response(json.dumps(reply({"content": "{}"})), content_type="application/json")

    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        server.expect_request(CHAT).respond_with_handler(answer)
        with running(one(server.url_for("/v1"), api="chat")) as gateway:
            found = gateway.post(path, json_request(path, "m", stream=stream))
    assert found.status_code == 200, found.text
    assert ["response_format" in body for body in sent] == [True, True, False, False]
    assert told(found)[:2] == ("false", "2")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_refusal_says_what_it_is_with_the_guard_off_too(
    path: str, api: str, httpserver: HTTPServer, *, stream: bool
) -> None:
    there = CHAT if api == "chat" else RESPONSES
    httpserver.expect_request(there).respond_with_json(UNROUTED, 404)
    with running(one(httpserver.url_for("/v1"), api=api)) as gateway:
        answer = gateway.post(
            path, json_request(path, "m", stream=stream), x_structguard_mode="off"
        )
        plain = gateway.post(path, (chat if path == CHAT else response)("m"))
    param = "response_format" if path == CHAT else "text.format"
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert (plain.status_code, plain.json()["error"]["param"]) == (502, None)
    assert len(httpserver.log) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_redirect_is_told_without_where_it_goes(
    path: str, httpserver: HTTPServer, caplog: pytest.LogCaptureFixture, *, stream: bool
) -> None:
    where = {"location": httpserver.url_for("/elsewhere")}
    httpserver.expect_request(CHAT).respond_with_json({"a": 1}, 307, headers=where)
    with running(one(httpserver.url_for("/v1"), api="chat")) as gateway:
        answer = gateway.post(path, json_request(path, "m", stream=stream))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (502, "not_found")
    assert "redirects" in error["message"]
    assert "elsewhere" not in answer.text
    assert where["location"] in caplog.text  # for whoever sets base_url


def test_calls_of_a_chat_upstream_keep_their_order(httpserver: HTTPServer) -> None:
    message = {"content": "Look.", "tool_calls": [call(), call("get_time", "{}", "call_2")]}
    httpserver.expect_request(CHAT).respond_with_json(reply(message, "tool_calls"))
    with running(one(httpserver.url_for("/v1"), api="chat")) as gateway:
        found = check_resource(gateway.post(RESPONSES, response("m")).json())
    assert [item.get("name", item["type"]) for item in found["output"]] == [
        "message",
        "get_weather",
        "get_time",
    ]


AZURE = "/openai/deployments/{model}/chat/completions"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_chat_url_with_a_query_and_the_models_name_is_reached(
    path: str, httpserver: HTTPServer, *, stream: bool
) -> None:
    there = AZURE.format(model="gpt-x")
    httpserver.expect_request(there, query_string="api-version=2").respond_with_json(
        reply({"content": json.dumps(VALUE)})
    )
    with running(one(httpserver.url_for(AZURE) + "?api-version=2")) as gateway:
        answer = gateway.post(path, json_request(path, "gpt-x", stream=stream))
        assert answer.status_code == 200, answer.text
        assert "Bonn" in answer.text
    assert len(httpserver.log) == 1


def test_the_models_of_a_chat_url_are_listed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "m"}]})
    with running(one(httpserver.url_for(CHAT))) as gateway:
        found = gateway.get("/v1/models").json()["data"]
        assert gateway.get("/v1/models/m").json() == {"id": "m"}
        assert gateway.get("/v1/models/up:m").json() == {"id": "up:m"}
        assert gateway.get("/v1/models/other").status_code == 404
    assert [row["id"] for row in found] == ["m"]


def test_a_model_of_an_upstream_that_lists_nothing_can_be_looked_up(
    httpserver: HTTPServer,
) -> None:
    httpserver.expect_request("/v1/models").respond_with_data("not here", 404)
    with running(one(httpserver.url_for("/v1"))) as gateway:
        assert gateway.get("/v1/models/m").json()["owned_by"] == "up"


@pytest.mark.parametrize("kept", ["by the gateway", "by the client", "in short"])
def test_a_chat_models_own_thoughts_come_back_to_it(kept: str, httpserver: HTTPServer) -> None:
    details = [{"type": "reasoning.encrypted", "data": "c2VjcmV0", "id": "r1", "index": 0}]
    message = {"content": "Bonn.", "reasoning_details": details}
    httpserver.expect_request(CHAT).respond_with_json(reply(message))
    user: Json = {"role": "user", "content": "And now?"}
    with running(one(httpserver.url_for("/v1"), api="chat")) as gateway:
        first = check_resource(gateway.post(RESPONSES, response("m")).json())
        more: Json = {"previous_response_id": first["id"], "input": [user]}
        if kept != "by the gateway":
            thought, answer = first["output"]
            if kept == "in short":
                answer = {"role": "assistant", "content": "Bonn."}
            more = {"input": [{"role": "user", "content": "Where?"}, thought, answer, user]}
        assert gateway.post(RESPONSES, response("m", **more)).status_code == 200
    sent = httpserver.log[1][0].get_json()["messages"]
    assert [said["role"] for said in sent] == ["user", "assistant", "user"]
    assert sent[1]["reasoning_details"] == details


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_an_azure_deployment_gets_its_key_in_its_own_header(
    path: str, httpserver: HTTPServer
) -> None:
    there, own = AZURE.format(model="gpt-x"), {"api-key": "az-secret"}
    value = json.dumps(VALUE)
    httpserver.expect_request(there, headers=own).respond_with_json(reply({"content": value}))
    said_there = [{"type": "message", "content": [{"type": "output_text", "text": value}]}]
    httpserver.expect_request("/openai/v1/responses", headers=own).respond_with_json(
        {"id": "r", "object": "response", "status": "completed", "output": said_there}
    )
    up = {
        "base_url": httpserver.url_for(AZURE) + "?api-version=2",
        "responses_url": httpserver.url_for("/openai/v1/responses"),
        "api_key_env": "AZURE",
        "key_header": "api-key",
    }
    with running(settings("", environ={"AZURE": "az-secret"}, providers={"up": up})) as gateway:
        answer = gateway.post(path, json_request(path, "gpt-x"))
    assert "Bonn" in answer.text, answer.text
    request = httpserver.log[0][0]
    assert request.path == (there if path == CHAT else "/openai/v1/responses")
    assert "authorization" not in request.headers


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_an_answer_without_a_value_is_not_called_enforced(path: str, api: str) -> None:
    with (
        RefusingEndpoint("ignore", answer="prose", value="none of it is JSON") as endpoint,
        running(one(endpoint.base_url, api=api)) as gateway,
    ):
        whole = gateway.post(path, json_request(path, "m"))
        stream = gateway.post(path, json_request(path, "m", stream=True))
    assert told(whole) == ("false", "1", None), said(path, whole)
    lines = [line[5:].strip() for line in stream.text.split("\n") if line.startswith("data:")]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    notes = [
        held["metadata"]
        for event in events
        if (held := event if path == CHAT else event.get("response", {})).get("metadata")
    ]
    assert notes[-1]["x-structguard-enforced"] == "false"
    assert "x-structguard-source" not in notes[-1]
