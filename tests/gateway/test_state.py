"""What came before: stored responses, references, compaction, the WebSocket's own turns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin
from werkzeug import Request, Response

from structguard.gateway.resource import Started
from tests.gateway.conformance import check, check_events, check_resource, check_stream
from tests.gateway.support import Running, response, running, settings
from tests.gateway.upstream import Upstream

Json = dict[str, Any]


@pytest.fixture(scope="module")
def gateway(chat_upstream: Upstream) -> Iterator[Running]:
    with running(settings(chat_upstream.base_url)) as made:
        yield made


def said(chat_upstream: Upstream) -> list[tuple[str, object]]:
    """Role and content of each message the upstream was last asked with."""
    return [(m["role"], m["content"]) for m in chat_upstream.asked[-1]["messages"]]


@pytest.mark.parametrize("stream", [False, True])
def test_a_previous_response_brings_its_conversation(
    gateway: Running, chat_upstream: Upstream, *, stream: bool
) -> None:
    reply = gateway.post("/v1/responses", response("text", input="One?", stream=stream))
    first = check_stream(reply.text) if stream else reply.json()
    body = response("text", input="Two?", previous_response_id=first["id"])
    second = check_resource(gateway.post("/v1/responses", body).json())
    assert second["previous_response_id"] == first["id"]
    body = response("text", input="Three?", previous_response_id=second["id"])
    gateway.post("/v1/responses", body)
    morning = ("assistant", "Good morning.")
    assert said(chat_upstream) == [
        ("user", "One?"), morning, ("user", "Two?"), morning, ("user", "Three?")
    ]  # fmt: skip


def test_a_stored_response_can_be_read_listed_and_deleted(gateway: Running) -> None:
    made = gateway.post("/v1/responses", response("text", input="One?")).json()
    where = f"/v1/responses/{made['id']}"
    assert gateway.get(where).json() == made
    items = gateway.get(f"{where}/input_items").json()
    assert items["data"][0]["content"] == [{"type": "input_text", "text": "One?"}]
    assert items["has_more"] is False
    check("ItemField", items["data"][0])
    assert gateway.client.delete(where).json()["deleted"] is True
    for reply in (gateway.get(where), gateway.client.delete(where)):
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "response_not_found")


def test_store_false_keeps_nothing_and_says_so(gateway: Running) -> None:
    made = gateway.post("/v1/responses", response("text", store=False)).json()
    assert made["store"] is False
    body = response("text", previous_response_id=made["id"])
    reply = gateway.post("/v1/responses", body)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (400, "previous_response_not_found")
    assert error["param"] == "previous_response_id"


def test_another_credential_does_not_find_a_response(gateway: Running) -> None:
    made = gateway.post("/v1/responses", response("text"), authorization="Bearer one").json()
    where = f"/v1/responses/{made['id']}"
    assert gateway.get(where, authorization="Bearer two").status_code == 404
    assert gateway.get(where, authorization="Bearer one").status_code == 200


def test_an_item_is_found_by_its_reference(gateway: Running, chat_upstream: Upstream) -> None:
    first = gateway.post("/v1/responses", response("text", input="One?")).json()
    item = {"type": "item_reference", "id": first["output"][0]["id"]}
    body = response("text", previous_response_id=first["id"])
    body["input"] = [item, {"role": "user", "content": "Two?"}]
    assert gateway.post("/v1/responses", body).status_code == 200
    assert said(chat_upstream)[-2:] == [("assistant", "Good morning."), ("user", "Two?")]
    body["input"] = [{"type": "item_reference", "id": "msg_unknown"}]
    reply = gateway.post("/v1/responses", body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "input[0].id")


def test_a_stored_response_is_not_streamed_again(gateway: Running) -> None:
    made = gateway.post("/v1/responses", response("text")).json()
    where = f"/v1/responses/{made['id']}"
    reply = gateway.get(f"{where}?stream=true")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "stream")
    assert gateway.get(f"{where}?stream=false").json()["id"] == made["id"]


def test_a_compaction_says_who_served_it(gateway: Running) -> None:
    body = {"model": "text", "input": "One?"}
    told = gateway.post("/v1/responses/compact", body).headers
    assert (told["x-structguard-provider"], told["x-structguard-requests"]) == ("up", "1")


def test_items_are_found_by_their_references_alone(
    gateway: Running, chat_upstream: Upstream
) -> None:
    """AI SDK sends what it was told as references, without the response they came from."""
    first = gateway.post("/v1/responses", response("both", input="One?")).json()
    second = gateway.post("/v1/responses", response("thinks", input="Two?")).json()
    output = {"type": "function_call_output", "output": "4"}
    body = response("text")
    body["input"] = [
        {"role": "user", "content": "One?"},
        *({"type": "item_reference", "id": item["id"]} for item in first["output"]),
        {**output, "call_id": "call_1"},
        {**output, "call_id": "call_2"},
        *({"id": item["id"]} for item in second["output"]),
        {"role": "user", "content": "Three?"},
    ]
    assert gateway.post("/v1/responses", body).status_code == 200
    asked = chat_upstream.asked[-1]["messages"]
    assert [one["role"] for one in asked] == [
        "user", "assistant", "tool", "tool", "assistant", "user"
    ]  # fmt: skip
    assert asked[1]["content"] == "Let me look."
    assert [one["id"] for one in asked[1]["tool_calls"]] == ["call_1", "call_2"]
    assert (asked[4]["content"], asked[4]["reasoning_content"]) == ("Bonn.", "They ask where.")


def test_another_credentials_items_are_not_found_by_reference(gateway: Running) -> None:
    made = gateway.post("/v1/responses", response("text"), authorization="Bearer one").json()
    body = response("text")
    body["input"] = [{"type": "item_reference", "id": made["output"][0]["id"]}]
    assert gateway.post("/v1/responses", body, authorization="Bearer one").status_code == 200
    assert gateway.post("/v1/responses", body, authorization="Bearer two").status_code == 400


def test_a_reference_that_is_not_ours_goes_to_an_upstream_that_takes_it(
    chat_upstream: Upstream, httpserver: HTTPServer
) -> None:
    item = {"type": "item_reference", "id": "rs_the_upstreams_own"}
    output = {"type": "function_call_output", "call_id": "call_of_its_own", "output": "4"}
    whole = {"id": "resp_1", "output": [{"type": "message", "role": "assistant", "content": "Hi"}]}
    httpserver.expect_request("/v1/responses").respond_with_json(whole)
    up = {"base_url": httpserver.url_for("/v1"), "api": "responses"}
    down = {"base_url": chat_upstream.base_url, "api": "chat"}
    with running(settings("", providers={"up": up, "down": down})) as gateway:
        body = response("up:text")
        body["input"] = [item, output]
        assert gateway.post("/v1/responses", body).status_code == 200
        assert httpserver.log[0][0].json["input"] == [item, output]
        reply = gateway.post("/v1/responses", {**body, "model": "down:text"})
    told = reply.json()["error"]
    assert (reply.status_code, told["param"], told["code"]) == (
        400,
        "input[0].id",
        "item_not_found",
    )


def test_a_fault_is_told_at_its_place_in_the_clients_own_input(gateway: Running) -> None:
    first = gateway.post("/v1/responses", response("text", input="One?")).json()
    body = response("text", previous_response_id=first["id"])
    body["input"] = [
        {"role": "user", "content": "Two?"},
        {"role": "user", "content": [{"type": "input_video", "video_url": "http://h/v.mp4"}]},
    ]
    told = gateway.post("/v1/responses", body).json()["error"]
    assert told["param"] == "input[1]"
    assert told["message"].startswith("input[1]: unknown content part")


def test_a_compacted_conversation_goes_on_from_its_summary(
    gateway: Running, chat_upstream: Upstream
) -> None:
    conversation = [
        {"role": "user", "content": "One?"},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "An answer."}]},
        {"role": "user", "content": "Two?"},
    ]  # fmt: skip
    body = {"model": "text", "input": conversation}
    compact = gateway.post("/v1/responses/compact", body).json()
    check("CompactResource", compact)
    kinds = [item["type"] for item in compact["output"]]
    assert kinds == ["message", "message", "compaction"]
    assert "Good morning." not in json.dumps(compact)
    body = {"model": "text", "input": [*compact["output"], {"role": "user", "content": "Go on."}]}
    assert gateway.post("/v1/responses", body).status_code == 200
    told = [content for role, content in said(chat_upstream) if role == "system"]
    assert told == ["Summary of the conversation so far:\nGood morning."]
    body["input"] = [{"type": "compaction", "encrypted_content": "sgc1.!!!"}]
    assert gateway.post("/v1/responses", body).status_code == 400


def test_an_output_of_a_call_nobody_made_is_a_400(gateway: Running) -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
    reply = gateway.post("/v1/responses", response("text", input=[output]))
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "tool_call_not_found")
    first = gateway.post("/v1/responses", response("tools")).json()
    body = response("text", input=[output], previous_response_id=first["id"])
    assert gateway.post("/v1/responses", body).status_code == 200


@pytest.fixture
def socket(gateway: Running) -> Iterator[ClientConnection]:
    url = gateway.url.replace("http", "ws") + "/v1/responses"
    with connect(url, proxy=None) as connection:
        yield connection


def turn(socket: ClientConnection, **body: object) -> list[Json]:
    """The events of one response, or the one error."""
    socket.send(json.dumps({"type": "response.create", **body}))
    events: list[Json] = []
    while True:
        event: Json = json.loads(socket.recv(timeout=10))
        events.append(event)
        if event["type"].partition(".")[2] in {"completed", "failed", "incomplete"} or (
            event["type"] == "error" and "status" in event
        ):
            return events


def test_a_socket_serves_turns_one_after_another_and_keeps_its_own(
    socket: ClientConnection, gateway: Running, chat_upstream: Upstream
) -> None:
    first = turn(socket, model="text", input="One?", store=False)
    final = check_resource(first[-1]["response"])
    assert [event["sequence_number"] for event in first] == list(range(len(first)))
    second = turn(socket, model="text", input="Two?", previous_response_id=final["id"])
    assert second[-1]["type"] == "response.completed"
    assert said(chat_upstream)[0] == ("user", "One?")
    assert gateway.get(f"/v1/responses/{final['id']}").status_code == 404


def test_a_failed_turn_evicts_what_it_referenced(
    socket: ClientConnection, chat_upstream: Upstream
) -> None:
    chat_upstream.errors["down"] = (500, {"error": {"message": "oops"}}, {})
    final = turn(socket, model="text", input="One?", store=False)[-1]["response"]
    failed = turn(socket, model="down", input="Two?", previous_response_id=final["id"])[-1]
    assert (failed["type"], failed["status"]) == ("error", 502)
    check("WebSocketErrorEvent", failed)
    again = turn(socket, model="text", input="Two?", previous_response_id=final["id"])[-1]
    assert again["error"]["code"] == "previous_response_not_found"


def test_a_turn_that_breaks_on_its_way_ends_once(
    socket: ClientConnection, gateway: Running
) -> None:
    first = turn(socket, model="text", input="One?", store=False)[-1]["response"]
    events = turn(socket, model="breaks", input="Two?", previous_response_id=first["id"])
    assert "error" not in {event["type"] for event in events}
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert check_resource(events[-1]["response"])["error"]["message"]
    stale = turn(socket, model="text", input="Three?", previous_response_id=first["id"])
    assert stale[-1]["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("https://app.example", 101), ("", 101)],
)
def test_a_page_of_another_site_gets_no_socket_and_no_reply_without_a_token(
    chat_upstream: Upstream, origin: str, status: int
) -> None:
    cors, before = {"origins": ["https://app.example"]}, len(chat_upstream.asked)
    with running(settings(chat_upstream.base_url, cors=cors)) as gateway:
        blind = {"origin": origin or gateway.url, "content-type": "text/plain"}
        sent = gateway.client.post(
            "/v1/responses", content=json.dumps(response("text")), headers=blind
        )
        assert sent.status_code == {101: 200}.get(status, status)
        assert (len(chat_upstream.asked) > before) is (status == 101)
        url, got = gateway.url.replace("http", "ws") + "/v1/responses", 101
        try:
            with connect(url, proxy=None, origin=Origin(origin or gateway.url)):
                pass
        except InvalidStatus as error:
            got = error.response.status_code
    assert got == status


def test_a_prewarmed_turn_asks_no_model_and_can_be_built_on(
    socket: ClientConnection, chat_upstream: Upstream
) -> None:
    before = len(chat_upstream.asked)
    warm = turn(socket, model="text", input="Context.", generate=False)
    assert check_events(warm)["output"] == []
    assert len(chat_upstream.asked) == before
    turn(socket, model="text", input="One?", previous_response_id=warm[-1]["response"]["id"])
    assert said(chat_upstream) == [("user", "Context."), ("user", "One?")]
    assert warm[-1]["response"]["store"] is False  # for this connection alone
    (odd,) = turn(socket, model="text", input="One?", generate="no")
    assert (odd["status"], odd["error"]["param"]) == (400, "generate")


@pytest.mark.parametrize(
    ("text", "status", "param"),
    [
        ("{", 400, None),
        ('{"type": "other"}', 400, "type"),
        ('{"type": "response.create", "model": "text"}', 400, "input"),
        ('{"type": "response.create", "model": "text", "input": "x", "background": true}',
         400, "background"),
    ],
)  # fmt: skip
def test_a_message_that_is_wrong_is_an_error_and_the_socket_lives(
    socket: ClientConnection, text: str, status: int, param: str | None
) -> None:
    socket.send(text)
    error = json.loads(socket.recv(timeout=5))
    check("WebSocketErrorEvent", error)
    assert (error["status"], error["error"]["param"]) == (status, param)
    assert turn(socket, model="text", input="One?")[-1]["type"] == "response.completed"


def test_turns_on_disk_are_shared_between_gateways(
    chat_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url = f"disk:{tmp_path_factory.mktemp('store')}"
    with (
        running(settings(chat_upstream.base_url, store={"url": url})) as one,
        running(settings(chat_upstream.base_url, store={"url": url})) as two,
    ):
        first = one.post("/v1/responses", response("text", input="One?")).json()
        body = response("text", input="Two?", previous_response_id=first["id"])
        assert two.post("/v1/responses", body).status_code == 200
    assert said(chat_upstream)[0] == ("user", "One?")


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_that_gives_every_response_one_id_mixes_no_conversations(
    httpserver: HTTPServer, *, stream: bool, bare: bool
) -> None:
    required = {} if bare else Started({}, "m").whole()
    asked: list[Json] = []

    def answer(request: Request) -> Response:
        body: Json = json.loads(request.data)
        asked.append(body)
        part = {"type": "output_text", "text": '{"said": "resp_1"}', "annotations": []}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                   "content": [part]}  # fmt: skip
        made: Json = {**required, "id": "resp_1", "object": "response", "status": "completed",
                      "output": [message]}  # fmt: skip
        if not body.get("stream"):
            return Response(json.dumps(made), content_type="application/json")
        events = [
            {"type": "response.created", "response": {**made, "status": "in_progress"}},
            {"type": "response.completed", "response": made},
        ]
        text = "".join(
            f"event: {e['type']}\ndata: {json.dumps({**e, 'sequence_number': at})}\n\n"
            for at, e in enumerate(events)
        )
        return Response(text, content_type="text/event-stream")

    httpserver.expect_request("/v1/responses").respond_with_handler(answer)
    up = {"base_url": httpserver.url_for("/v1"), "api": "responses", "attempts": 1}
    with running(settings("", providers={"up": up})) as gateway:

        def ask(text: str, **fields: object) -> Json:
            body = response("m", input=text, stream=stream, **fields)
            reply = gateway.post("/v1/responses", body)
            if not stream:
                return check_resource(reply.json())
            events = [
                json.loads(line[6:]) for line in reply.text.splitlines() if "sequence" in line
            ]
            assert len({event["response"]["id"] for event in events}) == 1
            last: Json = events[-1]["response"]
            return last

        first, other = ask("of A"), ask("of B")
        assert first["id"] != other["id"]
        assert ask("never kept", store=False)["id"] == "resp_1"  # nobody can ask for it
        ask("A again", previous_response_id=first["id"])
        users = [item["content"] for item in asked[-1]["input"] if item["role"] == "user"]
        assert users[0] == [{"type": "input_text", "text": "of A"}]
        assert gateway.get(f"/v1/responses/{first['id']}").json()["id"] == first["id"]
        assert gateway.get("/v1/responses/resp_1").status_code == 404
