"""The request table of the generate_content wire, row by row, with the exact JSON."""

from __future__ import annotations

import copy

import pytest

from structguard.types import (
    File,
    Image,
    JsonObject,
    Message,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
)
from structguard.wire.base import Unencodable, WireOptions
from structguard.wire.generate_content import encode_request, path
from structguard.wire.generate_content.schema import reduced
from tests.wire.samples import (
    CALL,
    FORMAT,
    MEDIA,
    PNG,
    SCHEMA,
    TURNS,
    USER,
    WEATHER,
    ask,
    only,
    thought,
)

HI = {"role": "user", "parts": [{"text": "hi"}]}


def test_a_plain_request_is_its_contents_and_the_model_stands_in_the_path() -> None:
    assert encode_request(ask()) == encode_request(ask(), stream=True) == {"contents": [HI]}
    assert path("gemini-3") == path("models/gemini-3") == "/models/gemini-3:generateContent"
    assert path("g", stream=True) == "/models/g:streamGenerateContent?alt=sse"


def test_system_and_developer_are_the_system_instruction() -> None:
    request = ask(Message(role="system", content="s"), Message(role="developer", content="d"), USER)
    assert encode_request(request) == {
        "contents": [HI],
        "systemInstruction": {"parts": [{"text": "s\n\nd"}]},
    }


def test_text_images_and_files_are_parts() -> None:
    uploaded = Message(
        role="user",
        content=(File(url="https://x/files/1", filename="a.pdf"), File(url="gs://b/file")),
    )
    assert encode_request(ask(MEDIA, uploaded))["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "look"},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}},
                {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x/files/1"}},
                {"fileData": {"fileUri": "gs://b/file"}},
            ],
        }
    ]


def test_the_assistant_is_the_model_and_a_result_names_its_function() -> None:
    assert encode_request(ask(*TURNS))["contents"] == [
        HI,
        {
            "role": "model",
            "parts": [
                {"text": "one moment"},
                {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Oslo"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "call_1",
                        "name": "weather",
                        "response": {"output": "rain"},
                    }
                }
            ],
        },
    ]


def test_an_id_google_did_not_give_is_not_sent_back() -> None:
    call = ToolCall(id="local_r_0", name="weather", arguments="{}")
    result = Message(role="tool", tool_call_id="local_r_0", content="rain")
    assert encode_request(ask(thought(calls=(call,)), result))["contents"] == [
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "weather", "response": {"output": "rain"}}}],
        },
    ]
    named = Message(role="tool", tool_call_id="lost", content="rain", name="weather")
    content = only(encode_request(ask(named))["contents"])
    response = {"id": "lost", "name": "weather", "response": {"output": "rain"}}
    assert content["parts"] == [{"functionResponse": response}]


def test_thought_signatures_go_back_where_they_stood() -> None:
    turn = thought(
        Reasoning(text="hm", signature="S1", raw={"thought": True}),
        Reasoning(signature="S2", raw={"thoughtSignature": "S2"}),
        Reasoning(text="so", raw={"thought": True}, call_id="call_1"),
        text="wait",
        calls=(ToolCall(id="call_1", name="weather", arguments="{}", signature="S3"),),
    )
    content = only(encode_request(ask(turn))["contents"])
    assert content["parts"] == [
        {"text": "hm", "thought": True, "thoughtSignature": "S1"},
        {"text": "wait", "thoughtSignature": "S2"},
        {"text": "so", "thought": True},
        {
            "functionCall": {"id": "call_1", "name": "weather", "args": {}},
            "thoughtSignature": "S3",
        },
    ]
    signs = [Reasoning(signature=s, raw={"thoughtSignature": s}) for s in ("A", "B")]
    content = only(encode_request(ask(thought(*signs)))["contents"])
    assert content["parts"] == [
        {"text": "", "thoughtSignature": "A"},
        {"text": "", "thoughtSignature": "B"},
    ]
    foreign = Reasoning(text="x", signature="claude", raw={"type": "thinking"})
    content = only(encode_request(ask(thought(foreign)))["contents"])
    assert content["parts"] == [{"text": "x", "thought": True}]


def test_tools_are_declarations_with_a_reduced_schema_and_hosted_ones_pass() -> None:
    bare = Tool(name="now", parameters={"type": "object", "properties": {}})
    hosted: dict[str, object] = {"googleSearch": {}}
    assert encode_request(ask(tools=[WEATHER, bare], hosted_tools=[hosted]))["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "weather",
                    "description": "The weather in a city.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
                {"name": "now"},
            ]
        },
        hosted,
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("any", {"mode": "ANY"}),
        ("weather", {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    body = encode_request(ask(tools=[WEATHER], tool_choice=choice))
    assert body["toolConfig"] == {"functionCallingConfig": sent}


def test_caps_sampling_seed_and_stop_are_the_generation_config() -> None:
    request = ask(max_tokens=5, temperature=0.5, top_p=0.9, seed=7, stop=["x"])
    assert encode_request(request)["generationConfig"] == {
        "maxOutputTokens": 5,
        "temperature": 0.5,
        "topP": 0.9,
        "seed": 7,
        "stopSequences": ["x"],
    }
    default = encode_request(ask(), options=WireOptions(max_tokens=9))
    assert default["generationConfig"] == {"maxOutputTokens": 9}


def test_an_effort_is_a_thinking_config() -> None:
    sent = encode_request(ask(effort="medium"), options=WireOptions(max_tokens=9))
    assert sent["generationConfig"] == {
        "thinkingConfig": {"thinkingBudget": 8192, "includeThoughts": True}
    }


def test_the_format_is_a_mime_type_and_the_whole_json_schema() -> None:
    assert encode_request(ask(tools=[WEATHER]), format=FORMAT)["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert encode_request(ask(), format=JsonObject())["generationConfig"] == {
        "responseMimeType": "application/json"
    }


def test_extra_body_goes_last_and_reserved_keys_win() -> None:
    extra = {"contents": [], "model": "x", "generationConfig": {"topK": 5}, "safetySettings": []}
    assert encode_request(ask(max_tokens=5, extra_body=extra)) == {
        "contents": [HI],
        "generationConfig": {"maxOutputTokens": 5, "topK": 5},
        "safetySettings": [],
    }


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (Request(messages=[USER]), "model"),
        (ask(frequency_penalty=0.1), "frequency_penalty"),
        (ask(presence_penalty=0.1), "presence_penalty"),
        (ask(previous_response_id="r"), "previous_response_id"),
        (ask(store=True), "store"),
        (ask(include=["x"]), "include"),
        (ask(tools=[WEATHER], tool_choice="nobody"), "tool_choice"),
        (ask(tools=[{"name": "f", "parameters": SCHEMA, "strict": True}]), "tools"),
        (ask(Message(role="user", content="x", name="ann")), "messages"),
        (ask(Message(role="user", content=(Image(url=PNG, detail="low"),))), "messages"),
        (ask(Message(role="user", content=(File(id="f"),))), "messages"),
        (ask(Message(role="tool", content="x")), "messages"),
        (ask(Message(role="tool", tool_call_id="unknown", content="x")), "messages"),
        (ask(TURNS[1], Message(role="tool", tool_call_id="call_1", content=(Image(url=PNG),))),
         "messages"),
        (ask(thought(Reasoning(encrypted="E"))), "messages"),
        (ask(thought(calls=(ToolCall(id="1", name="f", arguments="{oops"),))), "messages"),
        (ask(effort="low", max_tokens=9), "max_tokens"),
    ],
)  # fmt: skip
def test_what_google_cannot_carry_is_refused_by_name(request_: Request, param: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(request_)
    assert caught.value.param == param


RICH: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "title": "Trip",
    "additionalProperties": False,
    "$defs": {
        "City": {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}},
        "a/b~c": {"type": "integer", "exclusiveMinimum": 0, "minimum": 1},
    },
    "properties": {
        "from": {"$ref": "#/$defs/City", "description": "start"},
        "days": {"$ref": "#/$defs/a~1b~0c"},
        "note": {"type": ["string", "null"]},
        "either": {"type": ["string", "integer"]},
        "kind": {"const": "trip"},
        "level": {"enum": [1, 2], "type": "integer"},
        "mood": {"enum": ["good", "bad"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Maybe"},
        "one": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
        "both": {
            "allOf": [
                {"$ref": "#/$defs/City"},
                {"properties": {"zip": {"type": "string"}}, "required": ["zip"]},
            ],
            "required": ["name", "zip"],
        },
    },
    "required": ["from"],
}


def test_a_schema_is_reduced_to_what_google_takes_and_the_callers_copy_is_untouched() -> None:
    before = copy.deepcopy(RICH)
    name = {"type": "string", "minLength": 1}
    assert reduced(RICH) == {
        "type": "object",
        "title": "Trip",
        "required": ["from"],
        "properties": {
            "from": {"type": "object", "description": "start", "properties": {"name": name}},
            "days": {"type": "integer", "minimum": 1},
            "note": {"type": "string", "nullable": True},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "kind": {"type": "string", "enum": ["trip"]},
            "level": {"type": "integer"},
            "mood": {"type": "string", "enum": ["good", "bad"]},
            "maybe": {"type": "string", "nullable": True, "title": "Maybe"},
            "one": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
            "both": {
                "type": "object",
                "required": ["zip", "name"],
                "properties": {"name": name, "zip": {"type": "string"}},
            },
        },
    }
    assert before == RICH


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "#/$defs/no"}, "leads nowhere"),
        ({"$ref": "https://example.com/schema"}, "another document"),
        ({"properties": {"next": {"$ref": "#"}}}, "refers to itself"),
        (
            {
                "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}},
                "properties": {"a": {"$ref": "#/$defs/A"}},
            },
            "refers to itself",
        ),
        (
            {
                "$defs": {
                    f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)
                }
                | {"d40": {"type": "string"}},
                "properties": {"a": {"$ref": "#/$defs/d0"}},
            },
            "more than 10000 parts",
        ),
    ],
)
def test_a_schema_google_cannot_hold_is_refused(schema: dict[str, object], why: str) -> None:
    with pytest.raises(Unencodable, match=why) as caught:
        reduced(schema)
    assert caught.value.param == "tools"


def test_a_text_signature_is_kept_apart_from_parts() -> None:
    signed = thought(Reasoning(signature="S", raw={"thoughtSignature": "S"}), text="")
    content = only(encode_request(ask(signed))["contents"])
    assert content["parts"] == [{"text": "", "thoughtSignature": "S"}]
    assert encode_request(ask(Message(role="user", content=(Text("a"), Text("b")))))[
        "contents"
    ] == [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]
    assert CALL.signature is None


def test_a_model_that_said_nothing_has_no_content() -> None:
    both = {"role": "user", "parts": [{"text": "hi"}, {"text": "hi"}]}
    assert encode_request(ask(USER, Message(role="assistant"), USER)) == {"contents": [both]}


def test_parameters_that_only_refer_are_not_dropped() -> None:
    shape = {"type": "object", "properties": {"city": {"type": "string"}}}
    for schema in (
        {"$ref": "#/$defs/Place", "$defs": {"Place": shape}},
        {"anyOf": [shape]},
        {"type": "object", "allOf": [shape]},
    ):
        body = encode_request(ask(tools=[Tool(name="f", parameters=schema)]))
        assert body["tools"] == [{"functionDeclarations": [{"name": "f", "parameters": shape}]}]
