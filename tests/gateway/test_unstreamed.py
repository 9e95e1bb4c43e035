"""An upstream of the client's own wire that ignores `stream`: the client gets the stream it asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.gateway.conformance import check_stream
from tests.gateway.support import (
    CHAT_FORMAT,
    TEXT_FORMAT,
    VALUE,
    Running,
    chat,
    response,
    running,
    settings,
)
from tests.gateway.upstream import call, reply

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
FENCED = f"Here:\n```json\n{json.dumps(VALUE)}\n```"


def message(text: str, **more: object) -> Json:
    """A message item."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **more,
    }


THOUGHT: Json = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
}
CALL: Json = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
              "arguments": '{"city":"Bonn"}', "status": "completed"}  # fmt: skip
REFUSAL = message("", content=[{"type": "refusal", "refusal": "I would rather not."}])


def resource(*output: Json, **more: object) -> Json:
    """A bare response."""
    usage = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    made = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "served"}
    return {**made, "status": "completed", "output": [*output], "usage": usage, **more}


def served(httpserver: HTTPServer, path: str, answer: Json, *, refuses: bool = False) -> str:
    """The base URL of an upstream that answers every request of this path with one JSON object."""

    def handle(request: Request) -> Response:
        body = json.loads(request.get_data())
        if refuses and ("response_format" in body or "format" in (body.get("text") or {})):
            word = "response_format" if path == CHAT else "text.format"
            error = {"message": f"{word} json_schema is not supported", "param": word}
            return Response(json.dumps({"error": error}), 400, content_type="application/json")
        return Response(json.dumps(answer), content_type="application/json")

    httpserver.expect_request(path, method="POST").respond_with_handler(handle)
    return httpserver.url_for("/v1")


def over(base_url: str, path: str) -> Any:
    """Settings with that upstream, over that wire alone."""
    api = "chat" if path == CHAT else "responses"
    return settings("", providers={"up": {"base_url": base_url, "api": api, "attempts": 1}})


def chunks(text: str) -> list[Json]:
    """The chunks of a chat stream, which ends with [DONE]."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize(
    "output",
    [
        [message("Good morning.")],
        [THOUGHT, message("Bonn.")],
        [
            message("Let me look."),
            CALL,
            {**CALL, "id": "fc_2", "call_id": "call_2", "arguments": ""},
        ],
        [REFUSAL],
        [],
    ],
)
def test_a_whole_response_is_told_as_its_events(httpserver: HTTPServer, output: list[Json]) -> None:
    with running(over(served(httpserver, RESPONSES, resource(*output)), RESPONSES)) as gateway:
        answer = gateway.post(RESPONSES, response("m", stream=True))
        assert answer.headers["content-type"].startswith("text/event-stream")
        final = check_stream(answer.text)
        assert final["output"] == output
        assert final["usage"]["total_tokens"] == 12
        assert gateway.get(f"{RESPONSES}/{final['id']}").json()["output"] == output


def test_a_bare_item_gets_what_an_event_needs(httpserver: HTTPServer) -> None:
    bare = {"type": "message", "role": "assistant", "content": "Good morning."}
    made = {"output": [bare]}
    with running(over(served(httpserver, RESPONSES, made), RESPONSES)) as gateway:
        final = check_stream(gateway.post(RESPONSES, response("m", stream=True)).text)
    assert final["output"][0]["content"][0]["text"] == "Good morning."


def test_a_response_that_was_cut_off_ends_as_such(httpserver: HTTPServer) -> None:
    cut = resource(
        message("and so on", status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    with running(over(served(httpserver, RESPONSES, cut), RESPONSES)) as gateway:
        final = check_stream(gateway.post(RESPONSES, response("m", stream=True)).text)
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_whole_completion_is_told_as_chunks(httpserver: HTTPServer) -> None:
    said = {"content": "Let me look.", "tool_calls": [call(), call("get_time", "{}", "call_2")]}
    with running(over(served(httpserver, CHAT, reply(said, "tool_calls")), CHAT)) as gateway:
        answer = gateway.post(CHAT, chat("m", stream=True))
    made = chunks(answer.text)
    assert {chunk["object"] for chunk in made} == {"chat.completion.chunk"}
    delta = made[0]["choices"][0]["delta"]
    assert delta["content"] == "Let me look."
    assert [one["index"] for one in delta["tool_calls"]] == [0, 1]
    assert made[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert made[-1]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_its_text_is_healed_and_a_refusal_is_handled(
    httpserver: HTTPServer, path: str, *, refuses: bool
) -> None:
    answer = reply({"content": FENCED}) if path == CHAT else resource(message(FENCED))
    url = served(httpserver, path, answer, refuses=refuses)
    asked = (
        chat("m", stream=True, response_format=CHAT_FORMAT)
        if path == CHAT
        else response("m", stream=True, text={"format": TEXT_FORMAT})
    )
    with running(over(url, path)) as gateway:
        told = gateway.post(path, asked)
    assert told.headers["x-structguard-requests"] == ("2" if refuses else "1")
    assert told.headers["x-structguard-enforced"] == ("false" if refuses else "true")
    if path == RESPONSES:
        final = check_stream(told.text)
        assert json.loads(final["output"][0]["content"][0]["text"]) == VALUE
    else:
        text = "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks(told.text))
        assert json.loads(text) == VALUE


@pytest.mark.parametrize("to", [CHAT, RESPONSES])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_what_the_token_limit_cuts_is_not_closed(
    httpserver: HTTPServer, path: str, to: str
) -> None:
    """Closed, a list that lacks its end would pass for all of it; translated or not."""
    text = '{"numbers": [1, 2, 3'
    limit = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    cut = (
        reply({"content": text}, "length")
        if to == CHAT
        else resource(message(text, status="incomplete"), **limit)
    )
    with running(over(served(httpserver, to, cut), to)) as gateway:
        if path == CHAT:
            told = gateway.post(path, chat("m", response_format={"type": "json_object"}))
            assert told.json()["choices"][0]["message"]["content"] == text
        else:
            told = gateway.post(path, response("m", text={"format": {"type": "json_object"}}))
            assert told.json()["output"][0]["content"][0]["text"] == text


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_an_error_in_such_a_reply_is_an_error(httpserver: HTTPServer, path: str) -> None:
    error = {"error": {"message": "boom", "type": "server_error"}}
    with running(over(served(httpserver, path, error), path)) as gateway:
        assert ask(gateway, path) == 502


def ask(gateway: Running, path: str) -> int:
    """The status of a stream."""
    made = chat("m", stream=True) if path == CHAT else response("m", stream=True)
    return gateway.post(path, made).status_code
