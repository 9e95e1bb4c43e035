"""The guarded transport over real HTTP: what passes, what is rescued, what is handed on instead."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from pytest_httpserver import HTTPServer

import structguard as sg
from structguard.clients.http_reply import INFO, REFUSED
from structguard.clients.transport import GuardedTransport
from structguard.events import RefusalObserved
from structguard.memo import Memo
from tests.clients.endpoint import (
    FENCED,
    FORMAT,
    MESSAGES,
    REFUSED as NO_FORMAT,
    SCHEMA,
    TEXT_FORMAT,
    VALUE,
    Json,
    chat,
    chat_chunks,
    response,
    sse,
)
from tests.clients.vendors import CONVERSE_PATH, Vendor, converse
from tests.doubles import ManualClock
from tests.http.raw import Play, raw_server

CHAT = "/v1/chat/completions"
EVENTS = "text/event-stream"
ASKED: Json = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
CONVERSE: Json = {
    "messages": [{"role": "user", "content": [{"text": "Where?"}]}],
    "outputConfig": {
        "textFormat": {
            "type": "json_schema",
            "structure": {"jsonSchema": {"name": "a", "schema": json.dumps(SCHEMA)}},
        }
    },
}
NO_TEXT_FORMAT: Json = {"message": "outputConfig: structured output is not supported by the model"}


@dataclass
class Kept(httpx2.BaseTransport):
    """The real transport; keeps what went through it."""

    inner: httpx2.HTTPTransport = field(default_factory=httpx2.HTTPTransport)
    requests: list[httpx2.Request] = field(default_factory=list[httpx2.Request])
    responses: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    closed: bool = False

    @property
    def busy(self) -> int:
        """How many connections wait for somebody to read or close a reply."""
        connections: Any = vars(self.inner)["_pool"].connections
        return sum(not (one.is_idle() or one.is_closed()) for one in connections)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        response = self.inner.handle_request(request)
        self.responses.append(response)
        return response

    def close(self) -> None:
        self.closed = True
        self.inner.close()


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0.0)


def client_of(
    vendor: Vendor, memo: Memo, kept: Kept, policy: sg.Policy | None = None, **more: Any
) -> httpx2.Client:
    transport = sg.Guard(memo=memo, policy=policy, **more).transport(kept)
    return httpx2.Client(transport=transport, base_url=vendor.host_url)


@pytest.fixture
def client(vendor: Vendor, memo: Memo, kept: Kept, clock: ManualClock) -> Iterator[httpx2.Client]:
    with client_of(vendor, memo, kept, clock=clock) as made:
        yield made


def content_of(reply: httpx2.Response) -> object:
    return reply.json()["choices"][0]["message"]["content"]


# What is not a wire's call, or asks for no JSON


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("GET", CHAT, None),
        ("POST", "/v1/embeddings", json.dumps(ASKED).encode()),
        ("POST", CHAT, b"{not json"),
        ("POST", CHAT, b"[]"),
        ("POST", CHAT, gzip.compress(json.dumps(ASKED).encode())),
        ("POST", "/chat/completions:cancel", b"{}"),
    ],
)
def test_other_requests_pass_untouched_and_untold(
    client: httpx2.Client,
    httpserver: HTTPServer,
    kept: Kept,
    method: str,
    path: str,
    content: bytes | None,
) -> None:
    httpserver.expect_request(path).respond_with_json(NO_FORMAT, status=400)
    with sg.watch() as calls:
        request = client.build_request(method, path, content=content)
        reply = client.send(request)
    assert (reply.status_code, calls) == (400, [])
    assert kept.requests == [request]
    assert INFO not in reply.extensions


def test_a_streamed_request_body_is_never_read(
    client: httpx2.Client, vendor: Vendor, kept: Kept
) -> None:
    vendor.answers((400, NO_FORMAT))
    body = json.dumps(ASKED).encode()
    reply = client.post(CHAT, content=iter([body[:9], body[9:]]))
    assert (reply.status_code, len(kept.requests)) == (400, 1)


def test_a_call_without_a_format_is_one_send_and_told(
    client: httpx2.Client, vendor: Vendor, kept: Kept
) -> None:
    vendor.answers(chat(FENCED))
    with sg.watch() as calls:
        reply = client.post(CHAT, json={"model": "m", "messages": MESSAGES})
    assert content_of(reply) == FENCED
    assert [(told.enforced, told.requests) for told in calls] == [(None, 1)]
    vendor.answers((500, {}))
    with sg.watch() as calls:
        client.post(CHAT, json={"model": "m", "messages": MESSAGES})
    assert calls == []


# Replies


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_strict_json_is_handed_on_byte_for_byte(
    client: httpx2.Client, httpserver: HTTPServer, *, packed: bool
) -> None:
    raw = json.dumps(chat(f" {VALUE}\n"), indent=3).encode() + b" \n"
    sent = gzip.compress(raw) if packed else raw
    headers = {"content-type": "application/json", "x-request-id": "r7"}
    if packed:
        headers["content-encoding"] = "gzip"
    httpserver.expect_request(CHAT).respond_with_data(sent, headers=headers)
    with client.stream("POST", CHAT, json=ASKED) as reply:
        assert b"".join(reply.iter_raw()) == sent
    again = client.post(CHAT, json=ASKED)
    assert again.content == raw
    assert again.headers["content-length"] == str(len(sent))
    assert again.headers["x-request-id"] == "r7"


def test_a_healed_reply_tells_the_truth_about_its_body(
    client: httpx2.Client, httpserver: HTTPServer
) -> None:
    raw = gzip.compress(json.dumps(chat(FENCED)).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip", "x-request-id": "r"}
    httpserver.expect_request(CHAT).respond_with_data(raw, headers=headers)
    reply = client.post(CHAT, json=ASKED)
    assert reply.json() == chat(VALUE)
    assert "content-encoding" not in reply.headers
    assert reply.headers["content-length"] == str(len(reply.content))
    assert reply.headers["x-request-id"] == "r"
    assert reply.extensions[INFO].source == "fenced"


def test_what_the_token_limit_cuts_is_handed_on_as_it_came(
    client: httpx2.Client, httpserver: HTTPServer
) -> None:
    text = '{"numbers": [1, 2, 3'
    cut = chat(text, finish="length")
    httpserver.expect_request(CHAT).respond_with_json(cut)
    reply = client.post(CHAT, json={**ASKED, "response_format": {"type": "json_object"}})
    assert reply.json() == cut


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"[1]", b'"text"', b""])
def test_a_200_that_is_no_reply_is_the_clients_to_judge(
    client: httpx2.Client, httpserver: HTTPServer, body: bytes
) -> None:
    httpserver.expect_request(CHAT).respond_with_data(body)
    reply = client.post(CHAT, json=ASKED)
    assert (reply.status_code, reply.content) == (200, body)


def test_a_body_that_cannot_be_decoded_is_the_clients_to_judge(
    client: httpx2.Client, httpserver: HTTPServer
) -> None:
    httpserver.expect_request(CHAT).respond_with_data(b"junk", headers={"content-encoding": "gzip"})
    with pytest.raises(httpx2.DecodingError):
        client.post(CHAT, json=ASKED)


# A refusal


def test_the_second_request_is_the_first_minus_the_format(
    client: httpx2.Client, vendor: Vendor, kept: Kept, memo: Memo
) -> None:
    vendor.refuses(NO_FORMAT, chat(FENCED))
    with sg.watch() as calls:
        reply = client.post(CHAT, json={**ASKED, "seed": 3}, headers={"x-own": "1"})
    assert content_of(reply) == VALUE
    first, second = vendor.bodies
    assert second.pop("messages")[1:] == MESSAGES[1:]
    assert second == {"model": "m", "seed": 3}
    assert first["response_format"] == FORMAT
    one, two = vendor.headers
    assert one.pop("content-length") != two.pop("content-length")
    assert one == two
    assert [(told.enforced, told.requests, told.source) for told in calls] == [(False, 2, "fenced")]
    assert reply.extensions[INFO] == calls[0]
    assert len(memo.entries()) == 1
    assert (len(kept.responses), kept.busy) == (2, 0)
    client.post(CHAT, json=ASKED)
    assert len(vendor.bodies) == 3


def test_the_schema_is_not_said_twice(client: httpx2.Client, vendor: Vendor) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    messages = [{"role": "user", "content": f"Fit this: {json.dumps(SCHEMA)}"}]
    client.post(CHAT, json={**ASKED, "messages": messages})
    assert vendor.bodies[1]["messages"] == messages


def test_the_responses_api_is_rescued_too(client: httpx2.Client, vendor: Vendor) -> None:
    vendor.refuses(NO_FORMAT, response(FENCED))
    body = {"model": "m", "input": "Where?", "text": {"format": TEXT_FORMAT, "verbosity": "low"}}
    reply = client.post("/v1/responses", json=body)
    assert reply.json()["output"][0]["content"][0]["text"] == VALUE
    assert vendor.bodies[1]["text"] == {"verbosity": "low"}


@pytest.mark.parametrize("answer", [chat(""), chat(VALUE, finish="length"), "<html>"])
def test_a_retry_without_an_answer_is_not_remembered(
    client: httpx2.Client, vendor: Vendor, memo: Memo, answer: Json | str
) -> None:
    vendor.refuses(NO_FORMAT, answer)
    with sg.watch() as calls:
        client.post(CHAT, json=ASKED)
    assert [told.enforced for told in calls] == [False]
    assert memo.entries() == []


def test_a_failed_retry_gives_its_own_response_and_keeps_the_first(
    client: httpx2.Client, vendor: Vendor, memo: Memo
) -> None:
    later = {"error": {"message": "later"}}
    vendor.plays(lambda body: (400, NO_FORMAT) if "response_format" in body else (503, later))
    with sg.watch() as calls:
        reply = client.post(CHAT, json=ASKED)
    assert (reply.status_code, reply.json()) == (503, later)
    assert reply.extensions[REFUSED].json() == NO_FORMAT
    assert (calls, memo.entries()) == ([], [])


def test_a_retry_that_breaks_has_the_refusal_as_its_cause(
    vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    class Breaking(Kept):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if self.requests:
                raise httpx2.ConnectError("gone", request=request)
            return super().handle_request(request)

    vendor.refuses(NO_FORMAT, chat(VALUE))
    with (
        client_of(vendor, memo, Breaking()) as client,
        pytest.raises(httpx2.ConnectError, match="gone") as caught,
    ):
        client.post(CHAT, json=ASKED)
    cause = caught.value.__cause__
    assert cause is not None
    assert sg.is_refusal(cause)
    assert memo.entries() == []


@pytest.mark.parametrize(
    "policy",
    [sg.Policy(require_enforced=True), sg.Policy(mode="observe"), sg.Policy(mode="off")],
    ids=["enforced", "observe", "off"],
)
def test_a_policy_that_sends_once_hands_the_refusal_on(
    vendor: Vendor, memo: Memo, kept: Kept, policy: sg.Policy
) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    with client_of(vendor, memo, kept, policy) as client:
        reply = client.post(CHAT, json=ASKED)
    assert (reply.status_code, reply.json()) == (400, NO_FORMAT)
    assert len(vendor.bodies) == 1


@pytest.mark.parametrize("mode", ["off", "observe"])
@pytest.mark.parametrize(
    "answer",
    [chat(FENCED), {"error": {"message": "busy"}}, sse(chat_chunks([FENCED[:20], FENCED[20:]]))],
    ids=["fenced", "error", "stream"],
)
def test_the_modes_that_only_look_hand_on_what_came(
    vendor: Vendor, memo: Memo, kept: Kept, mode: Any, answer: Json | str
) -> None:
    vendor.answers(answer)
    with (
        client_of(vendor, memo, kept, sg.Policy(mode=mode)) as client,
        sg.watch() as calls,
    ):
        reply = client.post(CHAT, json={**ASKED, "stream": isinstance(answer, str)})
    assert reply.status_code == 200
    assert (reply.text if isinstance(answer, str) else reply.json()) == answer
    assert [(told.enforced, told.requests, told.source) for told in calls] == [(True, 1, None)]


def test_a_format_that_holds_no_schema_is_the_endpoints_to_refuse(
    client: httpx2.Client, vendor: Vendor, memo: Memo
) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    body = {**ASKED, "response_format": {"type": "json_schema"}}
    for _ in range(2):  # the second time the pair has an entry
        count = len(vendor.bodies)
        reply = client.post(CHAT, json=body)
        assert (reply.status_code, reply.json()) == (400, NO_FORMAT)
        assert len(vendor.bodies) == count + 1
        client.post(CHAT, json=ASKED)
        assert len(memo.entries()) == 1
    vendor.answers(chat(FENCED))
    with sg.watch() as calls:
        reply = client.post(CHAT, json={**body, "model": "accepts it"})
    assert content_of(reply) == VALUE
    assert [told.enforced for told in calls] == [True]


def test_prose_under_an_accepted_format_is_counted(vendor: Vendor, memo: Memo, kept: Kept) -> None:
    vendor.answers(chat("Bonn, I think."))
    with client_of(vendor, memo, kept, sg.Policy(ignored_after=2)) as client:
        for _ in range(3):
            client.post(CHAT, json=ASKED)
    assert [entry.verdict for entry in memo.entries()] == ["ignored"]
    assert "JSON Schema" in vendor.bodies[2]["messages"][0]["content"]
    assert vendor.bodies[2]["response_format"] == FORMAT


def test_what_is_said_before_a_call_is_no_answer_in_prose(
    vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    remark = chat("Let me look.", finish="tool_calls")
    remark["choices"][0]["message"]["tool_calls"] = [call]
    vendor.answers(remark)
    with client_of(vendor, memo, kept, sg.Policy(ignored_after=1)) as client:
        client.post(CHAT, json=ASKED)
    assert memo.entries() == []


# Errors inside a 200


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"error": {"message": "quota", "code": 429}}, 429),
        ({"error": {"message": "later", "code": "503"}}, 503),
        ({"error": {"message": "the model is overloaded"}}, 502),
        ({"error": {"message": "bad", "code": "invalid_api_key"}}, 401),
        (chat(None, finish="error"), 502),
    ],
)
def test_an_error_inside_a_200_gets_the_status_it_should_have_had(
    client: httpx2.Client, vendor: Vendor, reply: Json, status: int
) -> None:
    vendor.answers(reply)
    with sg.watch() as calls:
        got = client.post(CHAT, json=ASKED)
    assert (got.status_code, calls) == (status, [])
    assert got.json()["error"]["message"]
    assert got.headers["content-length"] == str(len(got.content))


def test_a_refusal_inside_a_200_is_rescued(
    client: httpx2.Client, vendor: Vendor, memo: Memo
) -> None:
    inside = {"error": {**NO_FORMAT["error"], "code": 400}}
    vendor.plays(lambda body: (200, inside if "response_format" in body else chat(VALUE)))
    assert content_of(client.post(CHAT, json=ASKED)) == VALUE
    assert len(memo.entries()) == 1


# Time


def test_one_number_is_the_budget_of_both_sends(
    vendor: Vendor, memo: Memo, kept: Kept, clock: ManualClock
) -> None:
    def reply(body: Json) -> tuple[int, Json]:
        clock.now += 4.0
        return (400, NO_FORMAT) if "response_format" in body else (200, chat(VALUE))

    vendor.plays(reply)
    with client_of(vendor, memo, kept, clock=clock) as client:
        client.post(CHAT, json=ASKED, timeout=10.0)
    first, second = (request.extensions["timeout"] for request in kept.requests)
    assert set(first.values()) == {10.0}
    assert second == dict.fromkeys(("connect", "read", "write", "pool"), 6.0)


def test_a_timeout_set_per_phase_stays_per_phase(
    client: httpx2.Client, vendor: Vendor, kept: Kept, clock: ManualClock
) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    client.post(CHAT, json=ASKED, timeout=httpx2.Timeout(10.0, connect=3.0))
    first, second = (request.extensions["timeout"] for request in kept.requests)
    assert first == second


def test_without_time_for_a_second_send_the_refusal_itself_is_handed_on(
    vendor: Vendor, memo: Memo, kept: Kept, clock: ManualClock
) -> None:
    def reply(_: Json) -> tuple[int, Json]:
        clock.now += 9.9
        return 400, NO_FORMAT

    vendor.plays(reply)
    with client_of(vendor, memo, kept, clock=clock) as client:
        got = client.post(CHAT, json=ASKED, timeout=10.0)
    assert (got.status_code, len(vendor.bodies), memo.entries()) == (400, 1, [])


# Converse, and signatures


def test_an_unsigned_converse_call_is_rescued(client: httpx2.Client, vendor: Vendor) -> None:
    vendor.refuses(NO_TEXT_FORMAT, converse(FENCED))
    with sg.watch() as calls:
        reply = client.post(CONVERSE_PATH, json=CONVERSE, headers={"authorization": "Bearer k"})
    assert reply.json() == converse(VALUE)
    assert "outputConfig" not in vendor.bodies[1]
    assert [(told.provider, told.model, told.requests) for told in calls] == [
        (vendor.host, "claude", 2)
    ]


@pytest.mark.parametrize(
    "signed",
    [
        {"authorization": "AWS4-HMAC-SHA256 Credential=…".encode()},
        {"x-amz-content-sha256": "00"},
        {"content-digest": "sha-256=:00:"},
        {"digest": "sha-256=00"},
        {"repr-digest": "sha-256=:00:"},
    ],
)
def test_a_signed_request_is_never_changed_its_refusal_only_told(
    vendor: Vendor, memo: Memo, kept: Kept, signed: dict[str, Any]
) -> None:
    told: list[object] = []
    vendor.refuses(NO_TEXT_FORMAT, converse(FENCED))
    with client_of(vendor, memo, kept, observer=told.append) as client:
        reply = client.post(CONVERSE_PATH, json=CONVERSE, headers=signed)
    assert (reply.status_code, len(vendor.bodies), memo.entries()) == (400, 1, [])
    assert [type(event) for event in told] == [RefusalObserved]


def test_the_reply_to_a_signed_request_is_read_all_the_same(
    client: httpx2.Client, vendor: Vendor
) -> None:
    vendor.plays(lambda _: (200, converse(FENCED)))
    reply = client.post(CONVERSE_PATH, json=CONVERSE, headers={"x-amz-content-sha256": "00"})
    assert reply.json() == converse(VALUE)


# Streams


def deltas(reply: httpx2.Response) -> list[str]:
    events = [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: {")]
    found = [choice["delta"].get("content") for event in events for choice in event["choices"]]
    return [text for text in found if text]


def test_a_refused_stream_is_opened_again(
    client: httpx2.Client, vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    vendor.refuses(NO_FORMAT, sse(chat_chunks([FENCED[:20], FENCED[20:]])))
    with (
        sg.watch() as calls,
        client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply,
    ):
        assert [told.source for told in calls] == [None]
        assert "".join(deltas(reply)) == VALUE
        assert reply.extensions[INFO].source == "fenced"
    assert [(told.enforced, told.requests, told.source) for told in calls] == [(False, 2, "fenced")]
    assert len(memo.entries()) == 1
    assert (len(kept.responses), kept.busy) == (2, 0)


def test_a_stream_of_strict_json_is_the_endpoints_own_bytes(
    client: httpx2.Client, vendor: Vendor
) -> None:
    whole = ": hello\n\n" + sse(chat_chunks([VALUE[:5], VALUE[5:]]))
    vendor.answers(whole)
    with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        assert b"".join(reply.iter_raw()) == whole.encode()


def test_a_packed_stream_is_unpacked_once(client: httpx2.Client, httpserver: HTTPServer) -> None:
    packed = gzip.compress(sse(chat_chunks([FENCED])).encode())
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    httpserver.expect_request(CHAT).respond_with_data(packed, headers=headers)
    with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        assert "".join(deltas(reply)) == VALUE


def test_an_error_as_the_first_event_is_a_status_and_its_stream_is_closed(
    client: httpx2.Client, vendor: Vendor, kept: Kept
) -> None:
    event = {"error": {"message": "overloaded", "code": 503}}
    vendor.answers(sse([event]))
    reply = client.post(CHAT, json={**ASKED, "stream": True})
    assert (reply.status_code, reply.json()) == (503, event)
    assert reply.headers["content-type"] == "application/json"
    assert kept.busy == 0


def test_a_refusal_as_the_first_event_is_rescued(
    client: httpx2.Client, vendor: Vendor, memo: Memo
) -> None:
    refusal = sse([{"error": {**NO_FORMAT["error"], "code": 400}}])
    answer = sse(chat_chunks([FENCED]))
    vendor.plays(lambda body: (200, refusal if "response_format" in body else answer))
    with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        assert "".join(deltas(reply)) == VALUE
    assert len(memo.entries()) == 1


def test_after_the_first_event_nothing_is_sent_again(client: httpx2.Client, vendor: Vendor) -> None:
    broken = [*chat_chunks(["{"], finish=None), {"error": {"message": "x", "code": 503}}]
    vendor.answers(sse(broken, done=False))
    with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        lines = [line for line in reply.iter_lines() if line]
    assert (reply.status_code, len(lines), len(vendor.bodies)) == (200, 3, 1)


def test_a_stream_that_breaks_gives_what_it_held_and_its_error(client: httpx2.Client) -> None:
    body = sse(chat_chunks(["Sure: "], finish=None), done=False).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body) + 9}"
    got: list[str] = []
    with (
        raw_server(Play([head.encode() + b"\r\n\r\n", body])) as server,
        pytest.raises(httpx2.RemoteProtocolError),
        client.stream("POST", server.url + CHAT, json={**ASKED, "stream": True}) as reply,
    ):
        got.extend(reply.iter_text())
    assert "Sure: " in "".join(got)


def test_a_stream_that_breaks_before_its_first_event_is_an_error_of_the_call(
    client: httpx2.Client,
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\n"
    with (
        raw_server(Play([head, b": hi"])) as server,
        sg.watch() as calls,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        client.post(server.url + CHAT, json={**ASKED, "stream": True})
    assert calls == []


def pieces_of(text: list[str]) -> list[bytes | float]:
    """A stream whose events arrive one by one, and its end when the connection ends."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    events = sse(chat_chunks(text)).encode().split(b"\n\n")[:-1]
    return [head, *(item for event in events for item in (0.05, event + b"\n\n"))]


def test_pieces_of_strict_json_are_handed_on_as_they_come(client: httpx2.Client) -> None:
    with (
        raw_server(Play(pieces_of([VALUE[:4], VALUE[4:9], VALUE[9:]]))) as server,
        client.stream("POST", server.url + CHAT, json={**ASKED, "stream": True}) as reply,
    ):
        parts = [part for part in reply.iter_raw() if part]
    assert [part.count(b"data: ") for part in parts] == [1] * 6


def test_pieces_of_prose_are_held_until_the_end(client: httpx2.Client) -> None:
    with (
        raw_server(Play(pieces_of([FENCED[:9], FENCED[9:]]))) as server,
        client.stream("POST", server.url + CHAT, json={**ASKED, "stream": True}) as reply,
    ):
        assert "".join(deltas(reply)) == VALUE


def test_a_stream_without_any_event_is_handed_on(client: httpx2.Client, vendor: Vendor) -> None:
    vendor.answers(": nothing to say\n\n")
    reply = client.post(CHAT, json={**ASKED, "stream": True})
    assert (reply.status_code, reply.text) == (200, ": nothing to say\n\n")


def test_a_stream_left_early_is_closed(client: httpx2.Client, vendor: Vendor, kept: Kept) -> None:
    vendor.answers(sse(chat_chunks([VALUE] * 20000)))
    with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        pieces = reply.iter_bytes()
        next(pieces)
        assert kept.busy == 1
    assert kept.busy == 0


def test_a_stream_that_came_as_one_json_reply_is_healed(
    client: httpx2.Client, vendor: Vendor
) -> None:
    vendor.answers(chat(FENCED))
    assert content_of(client.post(CHAT, json={**ASKED, "stream": True})) == VALUE


def test_a_stream_in_other_clothes_is_handed_on_unread(
    client: httpx2.Client, httpserver: HTTPServer, kept: Kept
) -> None:
    path = "/model/claude/converse-stream"
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    httpserver.expect_request(path).respond_with_data(b"\0\1", headers=headers)
    with sg.watch() as calls, client.stream("POST", path, json=CONVERSE) as reply:
        assert not kept.responses[0].is_stream_consumed
        assert reply.read() == b"\0\1"
    assert [told.requests for told in calls] == [1]


def test_events_that_nobody_asked_for_are_handed_on_unread(
    client: httpx2.Client, vendor: Vendor
) -> None:
    vendor.answers(sse(chat_chunks([FENCED])))
    assert client.post(CHAT, json=ASKED).text == sse(chat_chunks([FENCED]))


# The transport itself


def test_a_redirect_is_no_answer(client: httpx2.Client, httpserver: HTTPServer) -> None:
    httpserver.expect_request(CHAT).respond_with_data(
        "", status=307, headers={"location": "/v2/chat/completions"}
    )
    httpserver.expect_request("/v2/chat/completions").respond_with_json(chat(FENCED))
    with sg.watch() as calls:
        reply = client.post(CHAT, json=ASKED, follow_redirects=True)
    assert content_of(reply) == VALUE
    assert [told.provider.endswith("/v2") for told in calls] == [True]


def test_closing_closes_the_transport_below_and_not_the_memo(
    vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    with client_of(vendor, memo, kept) as client:
        client.post(CHAT, json=ASKED)
    assert kept.closed
    assert len(memo.entries()) == 1
    bare = sg.Guard(memo=memo).transport()
    assert isinstance(bare, GuardedTransport)
    bare.close()


def test_what_fails_before_a_reply_is_raised_unchanged(
    client: httpx2.Client, vendor: Vendor, memo: Memo
) -> None:
    with pytest.raises(httpx2.ConnectError) as caught:
        client.post(f"http://127.0.0.1:1{CHAT}", json=ASKED)
    assert caught.value.__cause__ is None or not sg.is_refusal(caught.value.__cause__)
    assert (vendor.bodies, memo.entries()) == ([], [])


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_transport_that_answers_from_memory_is_guarded_too(memo: Memo, *, packed: bool) -> None:
    """Caches and recordings hand on replies that are read already."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        if "response_format" in asked:
            return httpx2.Response(400, json=NO_FORMAT)
        if asked.get("stream"):
            events = sse(chat_chunks([FENCED])).encode()
            return httpx2.Response(200, content=events, headers=[("content-type", EVENTS)])
        raw = json.dumps(chat(FENCED)).encode()
        if packed:
            return httpx2.Response(
                200, content=gzip.compress(raw), headers=[("content-encoding", "gzip")]
            )
        return httpx2.Response(200, content=raw)

    transport = sg.Guard(memo=memo).transport(httpx2.MockTransport(answer))
    with httpx2.Client(transport=transport, base_url="http://host") as client:
        assert content_of(client.post(CHAT, json=ASKED)) == VALUE
        with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
            assert "".join(deltas(reply)) == VALUE


def test_a_fault_of_the_transport_below_is_raised_as_it_is(vendor: Vendor, memo: Memo) -> None:
    class Faulty(Kept):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            raise ValueError("a bug")

    with client_of(vendor, memo, Faulty()) as client, pytest.raises(ValueError, match="a bug"):
        client.post(CHAT, json=ASKED)
