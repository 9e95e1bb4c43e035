"""
The seventeen tests of the Open Responses standard's own suite, over upstreams of three wires.

They send what it sends and check what it checks: each reply and event by the document's schemas, and
what it expects of each. Beyond it, the order of events.
Source: github.com/openresponses/openresponses, bin/compliance-test.ts (its tests by their ids).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.gateway.conformance import check, check_event, check_events, check_resource, check_stream
from tests.gateway.support import Running, running, settings
from tests.gateway.wires import PHASES, WIRES, speaking

Json = dict[str, Any]
Step = Json | Callable[[list["Turn"]], Json]
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather of a place",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "A city and its state"}},
        "required": ["location"],
    },
}


@pytest.fixture(scope="module", params=WIRES)
def gateway(request: pytest.FixtureRequest) -> Iterator[Running]:
    """A gateway over an upstream of one wire."""
    with speaking(request.param) as provider:
        made = settings("", environ={"K": "k"}, providers={"up": provider})
        with running(made) as gateway:
            yield gateway


def message(role: str, content: object, **more: object) -> Json:
    """A message item."""
    return {"type": "message", "role": role, "content": content, **more}


def ask(gateway: Running, items: object, **more: object) -> Json:
    """A whole reply that is a resource, has output and is complete."""
    body = {"model": "m", "input": items, "stream": False, **more}
    reply = gateway.post("/v1/responses", body, authorization="Bearer key")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/json"
    resource = check_resource(reply.json())
    assert resource["status"] == "completed"
    assert resource["output"]
    return resource


@dataclass
class Turn:
    """One request over a WebSocket and what came back: a final resource or an error."""

    events: list[Json] = field(default_factory=list)
    final: Json | None = None
    error: Json | None = None

    @property
    def code(self) -> str | None:
        """The error's code, wherever it stands."""
        holder = self.error or self.final or {}
        return (holder.get("error") or {}).get("code")


def session(gateway: Running, *steps: Step, valid: bool = True) -> list[Turn]:
    """A connection with these requests one after another; a terminal event or an error ends a turn."""
    turns: list[Turn] = []
    url = gateway.url.replace("http", "ws") + "/v1/responses"
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    with connect(url, additional_headers=headers, proxy=None) as socket:
        for step in steps:
            body = step(turns) if callable(step) else step
            if valid:
                check("WebSocketResponseCreateEvent", body)
            socket.send(json.dumps(body))
            turn = Turn()
            while turn.final is None and turn.error is None:
                event: Json = json.loads(socket.recv(timeout=10))
                turn.events.append(event)
                if event["type"] == "error":
                    check("WebSocketErrorEvent", event)
                    turn.error = event
                    continue
                check_event(event)
                if event["type"] in {
                    "response.completed",
                    "response.incomplete",
                    "response.failed",
                }:
                    turn.final = event["response"]
            turns.append(turn)
    return turns


def create(items: object, **more: object) -> Json:
    """A client's message on a WebSocket that stores nothing."""
    return {"type": "response.create", "model": "m", "store": False, "input": items, **more}


def after(items: object) -> Callable[[list[Turn]], Json]:
    """A request that goes on from the first turn."""

    def made(turns: list[Turn]) -> Json:
        assert turns[0].final is not None
        return create(items, previous_response_id=turns[0].final["id"])

    return made


def complete(turn: Turn) -> Json:
    """The final resource of a turn that went well, its events in the document's order."""
    assert turn.error is None, turn.error
    final = check_events(turn.events)
    assert final["status"] == "completed"
    assert final["output"]
    return final


def basic(gateway: Running) -> None:
    """A user message."""
    ask(gateway, [message("user", "Greet me in three words.")])


def assistant_phase(gateway: Running) -> None:
    """History whose messages carry their phase."""
    history = [
        message("assistant", "I should say the number I kept.", phase="commentary"),
        message("assistant", "It is four.", phase="final_answer"),
    ]
    ask(gateway, [*history, message("user", "Only the number, please.")])


def output_phase(gateway: Running) -> None:
    """The document knows phases in output; where the upstream labels its messages they stay."""
    resource = ask(gateway, "Work it out.", model="phases")
    phases = {item.get("phase") for item in resource["output"]} - {None}
    assert phases <= set(PHASES)
    labelled = [{**resource["output"][0], "phase": phase} for phase in PHASES]
    check_resource({**resource, "output": labelled})


def streaming(gateway: Running) -> None:
    """The same as events."""
    body = {"model": "m", "input": [message("user", "Count to five.")], "stream": True}
    reply = gateway.post("/v1/responses", body, authorization="Bearer key")
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert check_stream(reply.text)["status"] == "completed"


def system_prompt(gateway: Running) -> None:
    """A system message among the input."""
    ask(gateway, [message("system", "Speak as a pirate does."), message("user", "Say hello.")])


def tool_calling(gateway: Running) -> None:
    """A function is offered and called."""
    asked = [message("user", "How is the weather in San Francisco?")]
    output = ask(gateway, asked, tools=[WEATHER])["output"]
    assert "function_call" in {item["type"] for item in output}


def image_input(gateway: Running) -> None:
    """An image in the user's message."""
    parts = [{"type": "input_text", "text": "What is this?"},
             {"type": "input_image", "image_url": PIXEL}]  # fmt: skip
    ask(gateway, [message("user", parts)])


def multi_turn(gateway: Running) -> None:
    """History in the input."""
    asked = [message("user", "I am Alice."), message("assistant", "Hello Alice!"),
             message("user", "Who am I?")]  # fmt: skip
    ask(gateway, asked)


def compact(gateway: Running) -> None:
    """A conversation is compacted."""
    asked = [message("user", "We launch on Tuesday, and tell support first."),
             message("assistant", "Tuesday, and support knows before.")]  # fmt: skip
    body = {"model": "m", "prompt_cache_key": "compact-test", "input": asked}
    check("CompactResponseMethodPublicBody", body)
    reply = gateway.post("/v1/responses/compact", body)
    assert reply.status_code == 200, reply.text
    check("CompactResource", reply.json())
    assert reply.json()["object"] == "response.compaction"
    assert "compaction" in {item["type"] for item in reply.json()["output"]}


def compact_without_model(gateway: Running) -> None:
    """A compaction without a model is the client's mistake."""
    body = {"input": [message("user", "Compact this.")]}
    assert gateway.post("/v1/responses/compact", body).status_code in {400, 422}


def socket_response(gateway: Running) -> None:
    """One response over a WebSocket."""
    body = create([message("user", "Count to three.")])
    del body["store"]
    [turn] = session(gateway, body)
    complete(turn)


def socket_sequential(gateway: Running) -> None:
    """Two, one after another."""
    for turn in session(gateway, create("Say: first"), create("Say: second")):
        complete(turn)


def socket_continuation(gateway: Running) -> None:
    """The second goes on from the first, which was not stored."""
    turns = session(gateway, create("The word is cobalt."), after("What is the word?"))
    first, second = (complete(turn) for turn in turns)
    assert second["previous_response_id"] == first["id"]


def socket_reconnect(gateway: Running) -> None:
    """What was not stored is gone with its connection; a fresh start works."""
    first = session(gateway, create("The word is copper."))
    complete(first[0])
    anew = create([message("user", "Start anew.")])
    missing, recovered = session(gateway, after("Go on.")(first), anew)
    assert missing.code == "previous_response_not_found"
    complete(recovered)


def socket_missing(gateway: Running) -> None:
    """An id that nobody knows."""
    body = create("This fails.", previous_response_id="resp_that_is_not_here")
    [turn] = session(gateway, body)
    assert turn.code == "previous_response_not_found"


def socket_evicts(gateway: Running) -> None:
    """A turn that fails takes what it referenced with it."""
    output = {"type": "function_call_output", "call_id": "call_nobody_made", "output": "none"}
    first, failed, stale = session(
        gateway, create("The word is ember."), after([output]), after("Go on.")
    )
    complete(first)
    assert failed.error is not None or (failed.final or {})["status"] == "failed"
    assert stale.code == "previous_response_not_found"


def socket_compact(gateway: Running) -> None:
    """A compacted conversation is the start of a new one."""
    asked = [
        message("user", [{"type": "input_text", "text": "The word is slate."}]),
        message("assistant", [{"type": "output_text", "text": "OK."}]),
        message("user", [{"type": "input_text", "text": "Compress this."}]),
    ]
    reply = gateway.post("/v1/responses/compact", {"model": "m", "input": asked})
    assert reply.status_code == 200, reply.text
    body = create([*reply.json()["output"], message("user", "Go on.")], tools=[])
    [turn] = session(gateway, body, valid=False)
    complete(turn)


SUITE: Mapping[str, Callable[[Running], None]] = MappingProxyType(
    {
        "basic-response": basic,
        "assistant-phase": assistant_phase,
        "response-output-phase-schema": output_phase,
        "streaming-response": streaming,
        "websocket-response": socket_response,
        "websocket-sequential-responses": socket_sequential,
        "websocket-continuation": socket_continuation,
        "websocket-reconnect-store-false-recovery": socket_reconnect,
        "websocket-previous-response-not-found": socket_missing,
        "websocket-failed-continuation-evicts-cache": socket_evicts,
        "websocket-compact-new-chain": socket_compact,
        "system-prompt": system_prompt,
        "tool-calling": tool_calling,
        "image-input": image_input,
        "multi-turn": multi_turn,
        "compact-response": compact,
        "compact-missing-model": compact_without_model,
    }
)


@pytest.mark.parametrize("name", SUITE)
def test_the_gateway_passes_a_test_of_the_standards_suite(gateway: Running, name: str) -> None:
    SUITE[name](gateway)


def test_it_passes_them_all_at_once_as_the_suite_runs_them(gateway: Running) -> None:
    with ThreadPoolExecutor(len(SUITE)) as pool:
        for done in [pool.submit(one, gateway) for one in SUITE.values()]:
            done.result()


def test_a_streamed_tool_call_has_all_its_events(gateway: Running) -> None:
    body = {"model": "m", "input": "The weather?", "tools": [WEATHER], "stream": True}
    reply = gateway.post("/v1/responses", body)
    final = check_stream(reply.text)
    assert final["output"][0]["type"] == "function_call"
    for name in ("output_item.added", "function_call_arguments.delta",
                 "function_call_arguments.done", "output_item.done"):  # fmt: skip
        assert f"event: response.{name}\n" in reply.text
