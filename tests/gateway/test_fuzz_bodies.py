"""
Bodies made of the schemas that they are checked by, sound or with a fault or two, to a gateway process.

Never a 500, never a traceback, a reply that is what it claims to be; and the next request is served.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from structguard.gateway import schema_chat, schema_embeddings, schema_responses
from structguard.gateway.resource import REQUIRED
from tests.gateway.load.process import Process, echo, gateway
from tests.gateway.load.size import patient, size

Json = Any
MODELS = ("up:x/echo", "chat:x/echo", "up:x/refuse", "chat:x/refuse", "chain", "up:x/fail")
SCHEMAS: dict[str, Json] = {
    "/v1/chat/completions": schema_chat.SCHEMA,
    "/v1/responses": schema_responses.SCHEMA,
    "/v1/responses/compact": schema_responses.SCHEMA,
    "/v1/embeddings": schema_embeddings.SCHEMA,
}
WORDS = st.sampled_from(
    ["user", "assistant", "tool", "message", "function", "function_call", "function_call_output",
     "reasoning", "compaction", "item_reference", "input_text", "output_text", "text", "image_url",
     "input_image", "json_schema", "auto", "none", "call_1", "resp_1", "low", "data:,x", ""]
)  # fmt: skip
texts = WORDS | st.text(max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def simple(kind: str, schema: Json) -> st.SearchStrategy[Json]:
    """A value that is no container."""
    least, most = schema.get("minimum", 0), schema.get("maximum", 10_000)
    match kind:
        case "string":
            return texts.filter(bool) if schema.get("minLength") else texts
        case "integer":
            return st.integers(least, most)
        case "number":
            return st.floats(least, most)
        case "boolean":
            return st.booleans()
        case _:
            return st.none()


@st.composite
def of(draw: st.DrawFn, schema: Json, depth: int = 0) -> Json:
    """A value that fits a schema, mostly."""
    if "anyOf" in schema:
        chosen = draw(st.sampled_from(schema["anyOf"]))
        fields = {**schema.get("properties", {}), **chosen.get("properties", {})}
        schema = {**schema, **chosen, "properties": fields}
        del schema["anyOf"]
        schema.setdefault("type", "object")
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema.get("type", "string")
    kind = draw(st.sampled_from([kinds] if isinstance(kinds, str) else kinds))
    if kind == "array":
        items = of(schema.get("items", {}), depth + 1)
        least = schema.get("minItems", 0)
        return draw(st.lists(items, min_size=least, max_size=max(least, 3 - depth)))
    if kind == "object":
        return draw(objects(schema, depth))
    return draw(simple(kind, schema))


@st.composite
def objects(draw: st.DrawFn, schema: Json, depth: int) -> Json:
    fields: dict[str, Json] = schema.get("properties", {})
    if not fields:
        return draw(st.dictionaries(texts, anything, max_size=3))
    names = {name for name in schema.get("required", ()) if name in fields}
    optional = sorted(set(fields) - names)
    if optional:
        names |= set(draw(st.lists(st.sampled_from(optional), max_size=4)))
    return {name: draw(of(fields[name], depth + 1)) for name in sorted(names)}


def spoilt(draw: st.DrawFn, value: Json) -> Json:
    """The same with one place changed, somewhere inside."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: spoilt(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], spoilt(draw, value[at]), *value[at + 1 :]]
    return draw(anything)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Json]:
    """A path and a body."""
    path = draw(st.sampled_from(sorted(SCHEMAS)))
    body = draw(of(SCHEMAS[path]))
    if "input" in SCHEMAS[path]["properties"] and draw(st.integers(0, 9)) < 9:
        body["input"] = body.get("input") or draw(of(SCHEMAS[path]["properties"]["input"])) or "x"
        body["previous_response_id"] = None
    if draw(st.integers(0, 99)) < 95:
        body["model"] = draw(st.sampled_from(MODELS))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        body = spoilt(draw, body)
    return path, body


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with echo() as upstream, gateway(tmp_path_factory.mktemp("gateway"), upstream.url) as made:
        yield made


@pytest.fixture(scope="module")
def client(served: Process) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served.url, timeout=20) as made:
        yield made
    log = served.written()
    assert "Traceback" not in log, log[-3000:]


@patient
@given(asked=requests())
@settings(
    max_examples=size(120, 4000), suppress_health_check=list(HealthCheck), derandomize=not size(0, 1)
)  # fmt: skip
def test_any_body_is_answered_in_form_and_never_with_a_500(
    client: httpx2.Client, asked: tuple[str, Json]
) -> None:
    path, body = asked
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    reply = client.post(path, content=content, headers={"content-type": "application/json"})
    event(f"{path} {reply.status_code}")
    told = (content[:2000], reply.text[:2000])
    assert reply.status_code in {200, 400, 404, 429, 502, 503}, told
    assert "Traceback" not in reply.text, told
    if reply.status_code != 200:
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}, told
    elif reply.headers["content-type"].startswith("text/event-stream"):
        assert reply.text.endswith("data: [DONE]\n\n") or '"error"' in reply.text, told
    elif path == "/v1/responses":
        assert reply.json().keys() >= REQUIRED, told
    elif path == "/v1/chat/completions":
        assert reply.json()["choices"], told
