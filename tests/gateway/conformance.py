"""
The Open Responses document as a judge: every resource and event against its schemas, and the order
of events as a state machine written from its text.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

Json = dict[str, Any]
_DOCUMENT = Path(__file__).parents[1] / "data" / "openresponses-2026-04-24.json"
_DELTAS = {
    "response.output_text": ("response.content_part", "output_text", "text"),
    "response.refusal": ("response.content_part", "refusal", "refusal"),
    "response.reasoning_summary_text": ("response.reasoning_summary_part", "summary_text", "text"),
}


@cache
def _components() -> Json:
    document: Json = json.loads(_DOCUMENT.read_text())
    made: Json = _as_json_schema(document["components"])
    return made


def _as_json_schema(node: Any) -> Any:
    """OpenAPI's `discriminator` beside `oneOf` says no more than the `enum`s inside."""
    if isinstance(node, dict):
        return {k: _as_json_schema(v) for k, v in node.items() if k != "discriminator"}
    return [_as_json_schema(v) for v in node] if isinstance(node, list) else node


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    schema = {"components": _components(), "$ref": f"#/components/schemas/{name}"}
    return jsonschema_rs.validator_for(schema)


@cache
def _event_schemas() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, schema in _components()["schemas"].items():
        kind = schema.get("properties", {}).get("type", {}).get("enum")
        if name.endswith("StreamingEvent") and kind:
            found[kind[0]] = name
    return found


def check(name: str, value: object) -> None:
    """Fail with the first fault of a value by one of the document's schemas."""
    for error in _validator(name).iter_errors(value):
        raise AssertionError(f"{name}: {error.message[:400]} at {error.instance_path}")


def check_resource(resource: Json) -> Json:
    """A whole response resource."""
    check("ResponseResource", resource)
    for item in resource["output"]:
        check("ItemField", item)
    return resource


def events_of(text: str) -> list[Json]:
    """The events of an SSE body; names agree with types, [DONE] stands at the end, once."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    assert blocks[-1] == "data: [DONE]", blocks[-1]
    events: list[Json] = []
    for block in blocks[:-1]:
        name, data = block.split("\n")
        event: Json = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events


def check_event(event: Json) -> None:
    """One event by its schema."""
    check(_event_schemas()[event["type"]], event)


def check_stream(text: str) -> Json:
    """A whole stream: each event by its schema, and their order. The final resource."""
    return check_events(events_of(text))


def check_events(events: list[Json]) -> Json:
    """The same of events that came another way."""
    for event in events:
        check_event(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return _Order().run(events)


class _Order:
    """The state machine: created, in_progress, items one after another, one terminal event."""

    def __init__(self) -> None:
        self.items: list[Json] = []
        self.item: Json | None = None
        self.part: str | None = None
        self.text = ""
        self.arguments: str | None = None

    def run(self, events: list[Json]) -> Json:
        kinds = [event["type"] for event in events]
        assert kinds[:2] == ["response.created", "response.in_progress"], kinds[:2]
        terminal = events[-1]
        assert terminal["type"] in {
            "response.completed",
            "response.incomplete",
            "response.failed",
        }
        for event in events[2:-1]:
            self.take(event)
        final: Json = terminal["response"]
        assert events[0]["response"]["id"] == final["id"]
        assert f"response.{final['status']}" == terminal["type"]
        if terminal["type"] != "response.failed":
            assert self.item is None, "an item was left open"
            assert final["output"] == self.items, (final["output"], self.items)
            assert "error" not in kinds
        return check_resource(final)

    def take(self, event: Json) -> None:
        kind = event["type"]
        if kind == "response.output_item.added":
            assert self.item is None, "an item is added while another is open"
            assert event["output_index"] == len(self.items)
            self.item = event["item"]
        elif kind == "response.output_item.done":
            assert self.item is not None
            assert self.part is None
            assert event["item"]["id"] == self.item["id"]
            assert event["item"]["type"] == self.item["type"]
            if event["item"]["type"] == "function_call":
                assert event["item"]["arguments"] == self.arguments
            self.items.append(event["item"])
            self.item, self.arguments = None, None
        elif kind != "error":
            assert self.item is not None
            assert event["item_id"] == self.item["id"]
            assert event["output_index"] == len(self.items)
            self._inside(kind, event)

    def _inside(self, kind: str, event: Json) -> None:
        name, _, step = kind.rpartition(".")
        if name.endswith("_part"):
            self._part(step, event)
        elif name == "response.function_call_arguments":
            if step == "done":
                assert event["arguments"] == self.text
                self.arguments, self.text = event["arguments"], ""
            else:
                self.text += event["delta"]
        else:
            _, type_, key = _DELTAS[name]
            assert self.part == type_
            if step == "done":
                assert event[key] == self.text
            else:
                self.text += event["delta"]

    def _part(self, step: str, event: Json) -> None:
        part = event["part"]
        if step == "added":
            assert self.part is None
            self.part, self.text = part["type"], ""
        else:
            assert part["type"] == self.part
            assert part.get("text", part.get("refusal")) == self.text
            self.part, self.text = None, ""
