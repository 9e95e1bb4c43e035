"""Where the format stands in each API's body, the body without it, and the instruction."""

from __future__ import annotations

import copy
import json
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from structguard.clients.bodies import (
    api_of,
    carries_schema,
    format_of,
    has_format,
    with_instruction,
    without_format,
)
from structguard.flow.prompt import instruction
from structguard.types import Api, JsonObject, JsonSchema

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"é": {"type": "string"}}}
TEXT = {"type": "text", "text": "more"}

WITH_FORMAT: dict[Api, dict[str, Any]] = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "converse": {
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"schema": json.dumps(SCHEMA), "name": "a"}},
            }
        }
    },
    "generate_content": {
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        }
    },
}


@pytest.mark.parametrize("api", get_args(Api))
def test_the_format_is_found_and_taken_out_whole(api: Api) -> None:
    body = {"model": "m", "x": 1, **WITH_FORMAT[api]}
    kept = copy.deepcopy(body)
    assert has_format(body, api)
    found = format_of(body, api)
    assert isinstance(found, JsonSchema)
    assert found.schema == SCHEMA
    assert without_format(body, api) == {"model": "m", "x": 1}
    assert body == kept
    assert not has_format(without_format(body, api), api)


def test_a_parent_that_holds_more_stays() -> None:
    body = {"text": {"verbosity": "low", "format": {"type": "json_object"}}}
    assert without_format(body, "responses") == {"text": {"verbosity": "low"}}
    config = {"generationConfig": {"temperature": 1, "responseMimeType": "application/json"}}
    assert without_format(config, "generate_content") == {"generationConfig": {"temperature": 1}}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("chat", {}),
        ("chat", {"response_format": None}),
        ("chat", {"response_format": {"type": "text"}}),
        ("responses", {"text": {"format": {"type": "text"}}}),
        ("responses", {"text": {}}),
        ("messages", {"output_config": {"effort": "low"}}),
        ("converse", {}),
        ("generate_content", {"generationConfig": {"responseMimeType": "text/plain"}}),
    ],
)
def test_no_format_is_no_format(api: Api, body: dict[str, Any]) -> None:
    assert not has_format(body, api)
    assert format_of(body, api) is None


def test_googles_own_schema_dialect_becomes_json_schema() -> None:
    own = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}
    body = {"generation_config": {"response_schema": own}}
    found = format_of(body, "generate_content")
    assert isinstance(found, JsonSchema)
    assert found.schema == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
    }
    mime = {"generationConfig": {"responseMimeType": "application/json"}}
    assert format_of(mime, "generate_content") == JsonObject()


@pytest.mark.parametrize(
    ("api", "body", "wanted"),
    [
        ("chat", {}, {"messages": [{"role": "system", "content": "SAY"}]}),
        (
            "chat",
            {"messages": [{"role": "developer", "content": "Be brief."}]},
            {"messages": [{"role": "developer", "content": "Be brief.\n\nSAY"}]},
        ),
        (
            "chat",
            {"messages": [{"role": "system", "content": [TEXT]}]},
            {"messages": [{"role": "system", "content": [TEXT, {"type": "text", "text": "SAY"}]}]},
        ),
        ("responses", {"instructions": "A"}, {"instructions": "A\n\nSAY"}),
        ("responses", {"instructions": None}, {"instructions": "SAY"}),
        ("messages", {"system": [TEXT]}, {"system": [TEXT, {"type": "text", "text": "SAY"}]}),
        ("messages", {}, {"system": "SAY"}),
        ("converse", {"system": [{"text": "A"}]}, {"system": [{"text": "A"}, {"text": "SAY"}]}),
        ("generate_content", {}, {"systemInstruction": {"parts": [{"text": "SAY"}]}}),
        (
            "generate_content",
            {"system_instruction": {"parts": [{"text": "A"}]}},
            {"system_instruction": {"parts": [{"text": "A"}, {"text": "SAY"}]}},
        ),
    ],
)
def test_the_instruction_joins_the_system_text(
    api: Api, body: dict[str, Any], wanted: dict[str, Any]
) -> None:
    kept = copy.deepcopy(body)
    assert with_instruction(body, api, "SAY") == wanted
    assert body == kept


@pytest.mark.parametrize("dump", [{}, {"indent": 2}, {"sort_keys": True}, {"ensure_ascii": False}])
def test_a_schema_that_the_prompt_shows_is_seen(dump: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": json.dumps(SCHEMA, **dump)}]}]}
    assert carries_schema(body, JsonSchema(schema=SCHEMA))
    assert not carries_schema({"messages": []}, JsonSchema(schema=SCHEMA))
    assert carries_schema({"input": "as JSON please"}, JsonObject())
    assert not carries_schema({"input": "please"}, JsonObject())


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAjSoNAA"}}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": [{"role": "user", "content": [TEXT, IMAGE]}]}, False),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "json"}]}]}, False),
        ({"input": [{"content": [{"file_data": "json", "text": "A"}]}]}, False),
        ({"input": [{"type": "function_call_output", "output": "a JSON"}]}, True),
        ({"instructions": "as json", "input": "A"}, True),
        ({"messages": [{"content": [{"source": {"data": "json"}}]}]}, False),
        ({"system": [{"type": "text", "text": "json"}]}, True),
        ({"contents": [{"parts": [{"inlineData": {"data": "json"}}]}]}, False),
        ({"systemInstruction": {"parts": [{"text": "json"}]}}, True),
    ],
)
def test_only_texts_of_the_prompt_say_json(body: dict[str, Any], *, says: bool) -> None:
    """An image in Base64 holds the four letters by chance, an id or an address by habit."""
    assert carries_schema(body, JsonObject()) is says


def test_the_instruction_names_the_schema() -> None:
    assert '"é"' in instruction(JsonSchema(schema=SCHEMA))
    assert "JSON object" in instruction(JsonObject())


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/chat/completions", "chat"),
        ("/openai/deployments/x/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/messages", "messages"),
        ("/v1beta/models/g:generateContent", "generate_content"),
        ("/v1beta/models/g:streamGenerateContent", "generate_content"),
        ("/model/x/converse", "converse"),
        ("/model/x/converse-stream", "converse"),
        ("/v1/embeddings", None),
        ("/v1/responses/resp_1", None),
    ],
)
def test_the_path_tells_the_api(path: str, api: Api | None) -> None:
    assert api_of(path) == api


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.sampled_from(get_args(Api)))
def test_a_body_without_a_format_comes_back_equal(body: dict[str, Any], api: Api) -> None:
    stripped = without_format(body, api)
    if not has_format(body, api) and not {"text", "output_config", "output_format"} & set(body):
        assert {k: v for k, v in stripped.items() if k in body} == stripped
    assert without_format(stripped, api) == stripped
