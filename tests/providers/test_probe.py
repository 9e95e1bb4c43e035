"""`structguard probe` asks at most ten small requests and tells what came of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.cli import main
from structguard.memo import Entry, endpoint_id, open_memo
from structguard.types import Scope
from tests.providers.payloads import CHAT, REFUSED, RESPONSE, WRONG_API, chat_chunk, sse

FITS = '{"greeting": "hello", "number": 7}'
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"word": "hello"}'},
}
Reply = Callable[[Mapping[str, object]], Answer]


def as_json(body: Mapping[str, object], status: int = 200) -> Answer:
    return Answer(json.dumps(body), status, content_type="application/json")


def chat(body: Mapping[str, object], *, text: str = "Hello!") -> Answer:
    """A chat endpoint that does what it is asked, with this text where no format is."""
    said = FITS if "response_format" in body else text
    if body.get("stream"):
        parts = sse(chat_chunk({"content": said}), chat_chunk({}, "stop"), "[DONE]")
        return Answer(parts, content_type="text/event-stream")
    message: dict[str, object] = {"role": "assistant", "content": said}
    if "tools" in body:
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return as_json({**CHAT, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


def serve(server: HTTPServer, chats: Reply | None, responses: Reply | None) -> None:
    def handler(reply: Reply) -> Callable[[Received], Answer]:
        return lambda request: reply(json.loads(request.get_data()))

    for path, reply in (("/v1/chat/completions", chats), ("/v1/responses", responses)):
        if reply is not None:
            server.expect_request(path, method="POST").respond_with_handler(handler(reply))


def verdicts(told: str) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in json.loads(told)["results"]}


def test_an_able_endpoint_is_told_as_one(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(httpserver, chat, None)
    url = httpserver.url_for("/v1")
    assert main(["probe", url, "--model", "m", "--json"]) == 0
    told = capsys.readouterr()
    found = verdicts(told.out)
    assert found.pop("responses") == "error"
    assert set(found.values()) == {"yes"}
    assert len(found) == 8
    loaded = json.loads(told.out)
    assert (loaded["endpoint"], loaded["model"]) == (endpoint_id(url), "m")
    assert loaded["cost"]["requests"] == len(httpserver.log) == 9
    assert loaded["cost"]["input_tokens"] > 0
    assert "asking 9: stream and json_schema" in told.err


def test_at_most_ten_requests_are_made(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(httpserver, chat, lambda _: as_json(RESPONSE))
    assert main(["probe", httpserver.url_for("/v1"), "--model", "m", "--json"]) == 0
    assert len(httpserver.log) == 10
    assert verdicts(capsys.readouterr().out)["json_schema on responses"] == "ignored"


def test_a_refusal_is_told_and_remembered(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    def refusing(body: Mapping[str, object]) -> Answer:
        kind = body.get("response_format")
        if isinstance(kind, dict) and kind["type"] == "json_schema":
            return as_json(REFUSED, 400)
        return chat(body)

    serve(httpserver, refusing, None)
    url = httpserver.url_for("/v1")
    memo = f"disk:{tmp_path}/memo"
    arguments = ["probe", url, "--model", "m", "--remember", "--memo", memo, "--json"]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert verdicts(told)["json_schema"] == "refused"
    assert verdicts(told)["json_object"] == "yes"
    assert json.loads(told)["remembered"] == 1
    with open_memo(memo) as opened:
        (entry,) = opened.entries()
    assert (entry.verdict, entry.scope) == ("refused", Scope.CAPABILITY)
    assert (entry.format, entry.provider) == ("json_schema", endpoint_id(url))


def test_a_model_served_on_responses_only_is_remembered_so(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    serve(httpserver, lambda _: as_json(WRONG_API, 400), lambda _: as_json(RESPONSE))
    memo = f"disk:{tmp_path}/memo"
    url = httpserver.url_for("/v1")
    assert main(["probe", url, "--model", "m", "--remember", "--memo", memo]) == 0
    told = capsys.readouterr().out
    assert "refused" in told
    assert "2 new entries in the memo" in told  # the API, and a format that it ignores
    with open_memo(memo) as opened:
        kept: dict[str, Entry] = {entry.verdict: entry for entry in opened.entries()}
    assert (kept["use_api"].api, kept["use_api"].model) == ("responses", "m")
    assert kept["ignored"].api == "responses"


def test_prose_is_ignored_and_a_tool_nobody_calls_too(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(httpserver, lambda _: as_json(CHAT), None)
    assert main(["probe", httpserver.url_for("/v1"), "--model", "m", "--json"]) == 0
    found = verdicts(capsys.readouterr().out)
    assert (found["json_schema"], found["tools"], found["json_object"]) == (
        "ignored",
        "ignored",
        "yes",
    )


def test_a_refused_key_ends_the_questions(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROBE_KEY", "sk-topsecret-123456789012")
    error = {"error": {"message": "bad key sk-topsecret-123456789012"}}
    serve(httpserver, lambda _: as_json(error, 401), chat)
    url = httpserver.url_for("/v1")
    assert main(["probe", url, "--model", "m", "--api-key-env", "PROBE_KEY"]) == 1
    told = capsys.readouterr()
    assert "not asked" in told.out
    assert "topsecret" not in told.out + told.err
    (request, _) = httpserver.log[0]
    assert request.headers["Authorization"] == "Bearer sk-topsecret-123456789012"
    assert len(httpserver.log) == 1


def test_nobody_there_is_a_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "http://127.0.0.1:9/v1", "--model", "m", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["cost"]["requests"] == 1


def test_one_api_can_be_named(httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]) -> None:
    serve(httpserver, None, lambda _: as_json(RESPONSE))
    url = httpserver.url_for("/v1")
    assert main(["probe", url, "--model", "m", "--api", "responses", "--json"]) == 0
    assert {one["api"] for one in json.loads(capsys.readouterr().out)["results"]} == {"responses"}
    assert len(httpserver.log) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["not-a-url", "--model", "m"], "http or https"),
        (["http://h.invalid", "--model", "m", "--api-key-env", "NO_SUCH"], "NO_SUCH is not set"),
        (["http://h.invalid", "--model", "m", "--timeout", "0"], "timeout"),
        (["http://h.invalid", "--model", "m", "--remember", "--memo", "x:"], "memo URL"),
        (["http://h.invalid"], "--model"),
        (["http://h.invalid", "--model", ""], "--model is empty"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    assert main(["probe", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_an_empty_answer_is_an_error(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(httpserver, lambda body: chat(body, text=" "), None)
    assert main(["probe", httpserver.url_for("/v1"), "--model", "m", "--json"]) == 1
    assert verdicts(capsys.readouterr().out)["chat"] == "error"
