"""The loopback endpoint does what its table says, over real HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import pytest

from structguard.refusal import detect_refusal
from structguard.testing import BEHAVIOURS, SAYS, Ask, RefusingEndpoint
from structguard.testing.behaviours import schema_in
from structguard.testing.speech import Said
from structguard.types import Finished, Scope
from structguard.wire import chat, responses

Wire: TypeAlias = Literal["chat", "responses"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
          "additionalProperties": False}  # fmt: skip
WIRES = {"chat": chat, "responses": responses}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
REFUSING = {  # behaviour: status, scope
    "refuse400": (400, Scope.CAPABILITY),
    "refuse404": (404, Scope.CAPABILITY),
    "refuse422": (422, Scope.CAPABILITY),
    "refuse405": (405, Scope.CAPABILITY),
    "refuse500": (500, Scope.CAPABILITY),
    "refuse200": (200, Scope.CAPABILITY),
    "refuse_schema": (400, Scope.SCHEMA),
    "refuse_tools": (400, Scope.COMBINATION),
    "unnamed": (400, Scope.UNNAMED),
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RefusingEndpoint]:
    with RefusingEndpoint(delay=0.2) as running:
        yield running


def body(
    model: str,
    *,
    api: Wire = "chat",
    asks: bool = False,
    stream: bool = False,
    **more: object,
) -> dict[str, object]:
    asked: dict[str, object] = {"model": model, "stream": stream, **more}
    inner = {"name": "a", "strict": True, "schema": SCHEMA}
    if api == "chat":
        asked.setdefault("messages", [{"role": "user", "content": "hi"}])
        chosen: dict[str, object] = {"type": "json_schema", "json_schema": inner}
        return {**asked, **({"response_format": chosen} if asks else {})}
    asked.setdefault("input", "hi")
    return {**asked, **({"text": {"format": {"type": "json_schema", **inner}}} if asks else {})}


def post(
    endpoint: RefusingEndpoint,
    asked: Mapping[str, object],
    *,
    api: Wire = "chat",
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    try:
        connection.request("POST", PATHS[api], json.dumps(asked), dict(headers or {}))
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("name", REFUSING)
def test_a_format_is_refused_with_a_body_the_detector_knows(
    endpoint: RefusingEndpoint,
    name: str,
    api: Wire,
    stream: bool,  # noqa: FBT001
) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    more = {"tools": tools} if name == "refuse_tools" else {}
    status, _, raw = post(endpoint, body(name, api=api, asks=True, stream=stream, **more), api=api)
    expected, scope = REFUSING[name]
    assert status == expected
    told = raw.removeprefix(b"data: ") if status == 200 else raw
    refusal = detect_refusal(
        status,
        told,
        sent="json_schema",
        api=api,
        tools=bool(more),
        unnamed=True,
        also_statuses={500},
    )
    assert refusal is not None
    assert refusal.scope is scope


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("name", REFUSING)
def test_without_a_format_the_same_models_answer(
    endpoint: RefusingEndpoint, name: str, api: Wire
) -> None:
    status, headers, raw = post(endpoint, body(name, api=api), api=api)
    assert status == 200
    reply = WIRES[api].decode_reply(raw, headers)
    assert "```json" in reply.text
    assert reply.model == name


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("enforce", ('{"n":1}', "", "stop")),
        ("strict", ('{"n":1}', "", "stop")),
        ("slow", ('{"n":1}', "", "stop")),
        ("refuse_tools", ('{"n":1}', "", "stop")),
        ("empty", ("", "", "stop")),
        ("json_in_reasoning", ("", '{"n":1}', "stop")),
        ("reasoning_only", ("", "The user wants an answer in a certain shape, so first", "length")),
    ],
)  # fmt: skip
def test_what_is_said_is_the_same_whole_and_streamed(
    endpoint: RefusingEndpoint,
    name: str,
    said: tuple[str, str, str],
    stream: bool,  # noqa: FBT001
    api: Wire,
) -> None:
    status, headers, raw = post(endpoint, body(name, api=api, asks=True, stream=stream), api=api)
    assert status == 200
    if stream:
        decoder = WIRES[api].open_stream(headers)
        last = [*decoder.feed(raw), *decoder.close()][-1]
        assert isinstance(last, Finished)
        reply = last.completion
    else:
        reply = WIRES[api].decode_reply(raw, headers)
    assert (reply.text, reply.reasoning_text, reply.finish) == said


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("name", "cue"), [("ignore", "own words"), ("fenced", "```json")])
def test_some_take_the_format_and_do_as_they_like(
    endpoint: RefusingEndpoint, name: str, cue: str, api: Wire
) -> None:
    _, headers, raw = post(endpoint, body(name, api=api, asks=True), api=api)
    assert cue in WIRES[api].decode_reply(raw, headers).text


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["error200", "finish_error"])
def test_an_error_may_hide_in_a_200(
    endpoint: RefusingEndpoint,
    name: str,
    api: Wire,
    stream: bool,  # noqa: FBT001
) -> None:
    for _ in range(2):
        status, _, raw = post(endpoint, body(name, api=api, stream=stream), api=api)
        assert status == 200
        assert b'"code": 502' in raw


def test_a_late_answer_comes_late(endpoint: RefusingEndpoint) -> None:
    start = time.monotonic()
    post(endpoint, body("slow"))
    assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_answer_ends_in_the_middle(endpoint: RefusingEndpoint, stream: bool) -> None:  # noqa: FBT001
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(endpoint, body("cut", asks=True, stream=stream))
    assert caught.value.partial


def test_who_hangs_up_answers_nothing_and_is_kept_with_status_0() -> None:
    with RefusingEndpoint("hang_up") as endpoint:
        with pytest.raises(http.client.RemoteDisconnected):
            post(endpoint, body("m"))
        assert [asked.status for asked in endpoint.requests] == [0]


def test_a_busy_model_is_busy_so_many_times_each() -> None:
    with RefusingEndpoint(failures=2) as endpoint:
        asked = [post(endpoint, body(m)) for m in ["flaky429"] * 3 + ["x/flaky429"]]
        assert [status for status, _, _ in asked] == [429, 429, 200, 429]
        assert asked[0][1]["retry-after"] == "0"
        endpoint.clear()
        assert endpoint.requests == []
        assert post(endpoint, body("flaky429"))[0] == 429


def test_strict_takes_closed_schemas_only(endpoint: RefusingEndpoint) -> None:
    open_schema = {k: v for k, v in SCHEMA.items() if k != "additionalProperties"}
    chosen = {"type": "json_schema", "json_schema": {"name": "a", "schema": open_schema}}
    assert post(endpoint, body("strict", response_format=chosen))[0] == 400
    assert post(endpoint, body("strict", asks=True))[0] == 200


def test_requests_are_kept_without_credentials() -> None:
    with RefusingEndpoint("enforce") as endpoint:
        secret = {"Authorization": "Bearer sk-secret", "api-key": "secret", "X-Trace": "7"}
        post(endpoint, body("vendor/m", asks=True), headers=secret)
        (asked,) = endpoint.requests
    assert (asked.path, asked.model, asked.sent) == (PATHS["chat"], "vendor/m", "json_schema")
    assert asked.body == body("vendor/m", asks=True)
    assert asked.headers["x-trace"] == "7"
    assert "secret" not in repr(asked)
    assert '{\\"n\\":1}' in asked.reply


def test_counts_by_model_and_status(endpoint: RefusingEndpoint) -> None:
    endpoint.clear()
    for model, asks in [("refuse400", True), ("refuse400", False), ("enforce", True)]:
        post(endpoint, body(model, asks=asks))
    assert endpoint.count() == 3
    assert endpoint.count("refuse400") == 2
    assert endpoint.count("refuse400", status=400) == 1
    assert endpoint.count(status=200) == 2


def test_the_value_comes_from_the_prompt_when_the_format_is_gone(
    endpoint: RefusingEndpoint,
) -> None:
    said = [
        {
            "role": "system",
            "content": [{"type": "text", "text": f"Answer {{so}}: {json.dumps(SCHEMA)}"}],
        }
    ]
    _, _, raw = post(endpoint, body("refuse400+bare", messages=said))
    assert json.loads(raw)["choices"][0]["message"]["content"] == '{"n":1}'
    _, _, raw = post(
        endpoint,
        body("refuse400+bare", api="responses", instructions=json.dumps(SCHEMA)),
        api="responses",
    )
    assert json.loads(raw)["output"][0]["content"][0]["text"] == '{"n":1}'


def test_a_text_without_a_schema_has_none() -> None:
    texts = ['{"a": 1}', "{ {broken", "no braces", '[{"x": "type"}]']
    assert all(schema_in({"messages": [{"content": text}]}) is None for text in texts)


def test_value_and_answer_can_be_given() -> None:
    from structguard.testing.speech import Said  # noqa: PLC0415

    with RefusingEndpoint("refuse404", value={"n": 7}, answer="bare") as endpoint:
        _, _, raw = post(endpoint, body("m"))
        assert json.loads(raw)["choices"][0]["message"]["content"] == '{"n":7}'
    with RefusingEndpoint(answer=lambda ask: Said(text=f"I am {ask.model}")) as endpoint:
        assert b"I am m" in post(endpoint, body("m"))[2]


def test_an_answer_can_be_named_in_the_model(endpoint: RefusingEndpoint) -> None:
    assert post(endpoint, body("a/refuse404+empty", asks=True))[0] == 404
    _, headers, raw = post(endpoint, body("a/refuse404+empty"))
    assert chat.decode_reply(raw, headers).text == ""
    status, _, raw = post(endpoint, body("refuse404+nonsense"))
    assert (status, b"an answer is one of" in raw) == (400, True)


def test_a_broken_schema_in_the_format_does_not_break_the_endpoint(
    endpoint: RefusingEndpoint,
) -> None:
    chosen = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "strin"}}}
    assert post(endpoint, body("enforce", response_format=chosen))[0] == 200


def test_usage_is_streamed_when_asked(endpoint: RefusingEndpoint) -> None:
    asked = body("enforce", stream=True, stream_options={"include_usage": True})
    assert b'"total_tokens": 16' in post(endpoint, asked)[2]
    assert b'"total_tokens"' not in post(endpoint, body("enforce", stream=True))[2]


def test_models_are_listed_and_other_paths_are_not_there(endpoint: RefusingEndpoint) -> None:
    connection = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    found: list[tuple[int, Any]] = []
    for method, path, content in [
        ("GET", "/v1/models", None),
        ("GET", "/v1/nothing", None),
        ("POST", "/v1/embeddings", "{}"),
        ("POST", "/v1/chat/completions", "[1]"),
        ("POST", "/v1/chat/completions", "{"),
        ("POST", "/v1/chat/completions", "[" * 100_000),
    ]:
        connection.request(method, path, content)
        response = connection.getresponse()
        found.append((response.status, json.loads(response.read())))
    connection.close()
    assert [status for status, _ in found] == [200, 404, 404, 400, 400, 400]
    assert [row["id"] for row in found[0][1]["data"]] == list(BEHAVIOURS)


def test_a_body_without_a_length_is_refused(endpoint: RefusingEndpoint) -> None:
    connection = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    connection.putrequest("POST", PATHS["chat"])
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


def test_a_connection_is_kept_alive(endpoint: RefusingEndpoint) -> None:
    connection = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    for stream in (False, True, False):
        connection.request("POST", PATHS["chat"], json.dumps(body("enforce", stream=stream)))
        response = connection.getresponse()
        response.read()
        assert not response.will_close
    connection.close()


def test_many_clients_at_once_lose_nothing(endpoint: RefusingEndpoint) -> None:
    endpoint.clear()
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: post(endpoint, body("refuse400"))[0], range(64)))
    assert statuses == [200] * 64
    assert endpoint.count("refuse400") == 64


def test_stopping_ends_every_thread_even_of_idle_and_slow_clients() -> None:
    before = set(threading.enumerate())
    endpoint = RefusingEndpoint("slow", delay=30.0).start()
    idle = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    idle.connect()
    waiting = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=10)
    waiting.request("POST", PATHS["chat"], json.dumps(body("m")))
    while endpoint.count() < 1:
        time.sleep(0.01)  # noqa: TID251  a thread, no clock to inject
    start = time.monotonic()
    endpoint.stop()
    endpoint.stop()
    assert time.monotonic() - start < 5.0
    idle.close()
    waiting.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(2.0)
    assert set(threading.enumerate()) <= before


def test_it_can_run_again_and_says_when_it_does_not() -> None:
    endpoint = RefusingEndpoint()
    with pytest.raises(RuntimeError, match="not running"):
        _ = endpoint.base_url
    with endpoint, pytest.raises(RuntimeError, match="running already"):
        endpoint.start()
    with endpoint:
        assert post(endpoint, body("m"))[0] == 200


@pytest.mark.parametrize("wrong", [{"behaviour": "refuse999"}, {"answer": "song"}])
def test_unknown_names_are_refused_with_the_known_ones(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"one of .*refuse400|one of .*fenced"):
        RefusingEndpoint(**wrong)  # type: ignore[arg-type]


def test_an_accepted_format_is_answered_as_the_test_likes() -> None:
    def cut(ask: Ask) -> Said:
        return Said(text=json.dumps(ask.value)[:3], finish="error", error={"code": 502})

    with RefusingEndpoint("accept", answer=cut) as endpoint:
        reply = json.loads(post(endpoint, body("m", asks=True))[2])["choices"][0]
    assert (reply["message"]["content"], reply["finish_reason"]) == ('{"n', "error")
    assert reply["error"] == {"code": 502}


def test_every_row_says_what_it_is_about() -> None:
    assert all(row.about for row in BEHAVIOURS.values())
    assert all(say.__doc__ for say in SAYS.values())
