"""The request table of the converse wire, row by row, with the exact JSON."""

from __future__ import annotations

import pytest

from structguard.types import File, Image, JsonObject, Message, Reasoning, Request, Text, ToolCall
from structguard.wire.base import Unencodable, WireOptions
from structguard.wire.converse import encode_request, path
from tests.wire.samples import (
    CALL,
    FORMAT,
    MEDIA,
    PDF,
    PNG,
    SCHEMA,
    TURNS,
    USER,
    WEATHER,
    ask,
    only,
    thought,
)

HI = {"role": "user", "content": [{"text": "hi"}]}
TOOL = WireOptions(structured="tool")
USE = {"toolUse": {"toolUseId": "call_1", "name": "weather", "input": {"city": "Oslo"}}}
PICTURE = {"image": {"format": "png", "source": {"bytes": "aGk="}}}


def test_a_plain_request_is_its_messages_and_the_model_stands_in_the_path() -> None:
    assert encode_request(ask()) == encode_request(ask(), stream=True) == {"messages": [HI]}
    arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.m-v1:0"
    quoted = "arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.m-v1%3A0"
    assert path(arn) == f"/model/{quoted}/converse"
    assert path(arn, stream=True) == f"/model/{quoted}/converse-stream"


def test_system_and_developer_are_system() -> None:
    request = ask(Message(role="system", content="s"), Message(role="developer", content="d"), USER)
    assert encode_request(request) == {"messages": [HI], "system": [{"text": "s\n\nd"}]}


def test_text_images_and_documents() -> None:
    told = Message(
        role="user",
        content=(
            Text("look"),
            Image(url=PNG),
            Image(url="s3://bucket/b.jpg"),
            File(data=PDF, filename="paper_v1.pdf"),
            File(data=PDF),
            File(url="s3://bucket/a.csv", filename="a.csv"),
        ),
    )
    assert encode_request(ask(told))["messages"] == [
        {
            "role": "user",
            "content": [
                {"text": "look"},
                PICTURE,
                {
                    "image": {
                        "format": "jpeg",
                        "source": {"s3Location": {"uri": "s3://bucket/b.jpg"}},
                    }
                },
                {
                    "document": {
                        "format": "pdf",
                        "source": {"bytes": "aGk="},
                        "name": "paper v1",
                    }
                },
                {
                    "document": {
                        "format": "pdf",
                        "source": {"bytes": "aGk="},
                        "name": "document",
                    }
                },
                {
                    "document": {
                        "format": "csv",
                        "source": {"s3Location": {"uri": "s3://bucket/a.csv"}},
                        "name": "a",
                    }
                },
            ],
        }
    ]


def test_what_one_side_says_in_a_row_is_one_turn() -> None:
    seen = Message(role="tool", tool_call_id="call_2", content=(Text("see"), Image(url=PNG)))
    assert encode_request(ask(*TURNS, seen, USER))["messages"] == [
        HI,
        {"role": "assistant", "content": [{"text": "one moment"}, USE]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "call_1", "content": [{"text": "rain"}]}},
                {"toolResult": {"toolUseId": "call_2", "content": [{"text": "see"}, PICTURE]}},
                {"text": "hi"},
            ],
        },
    ]


def test_reasoning_goes_back_signed_before_what_it_led_to() -> None:
    first = {"reasoningText": {"text": "a", "signature": "S1"}}
    turn = thought(
        Reasoning(text="a", signature="S1", raw=first),
        Reasoning(encrypted="E", raw={"redactedContent": "E"}),
        Reasoning(text="b", signature="S2", call_id="call_1"),
        text="wait",
        calls=(CALL,),
    )
    sent = only(encode_request(ask(turn))["messages"])
    assert sent["content"] == [
        {"reasoningContent": first},
        {"reasoningContent": {"redactedContent": "E"}},
        {"text": "wait"},
        {"reasoningContent": {"reasoningText": {"text": "b", "signature": "S2"}}},
        USE,
    ]
    others = thought(
        Reasoning(text="claude", signature="S", raw={"type": "thinking"}),
        Reasoning(text="google", signature="G", raw={"thought": True}),
        Reasoning(text="open"),
    )
    sent = only(encode_request(ask(others))["messages"])
    assert sent["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "claude", "signature": "S"}}},
        {"reasoningContent": {"reasoningText": {"text": "google"}}},
        {"reasoningContent": {"reasoningText": {"text": "open"}}},
    ]


def test_tools_are_specs() -> None:
    strict = {"name": "f", "parameters": SCHEMA, "strict": True}
    assert encode_request(ask(tools=[WEATHER, strict]))["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "weather",
                    "description": "The weather in a city.",
                    "inputSchema": {
                        "json": {"type": "object", "properties": {"city": {"type": "string"}}}
                    },
                }
            },
            {"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}, "strict": True}},
        ]
    }


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("auto", {"auto": {}}), ("any", {"any": {}}), ("weather", {"tool": {"name": "weather"}})],
)
def test_tool_choice(choice: str, sent: object) -> None:
    config = encode_request(ask(tools=[WEATHER], tool_choice=choice))["toolConfig"]
    assert isinstance(config, dict)
    assert config["toolChoice"] == sent


def test_caps_sampling_and_stop_are_the_inference_config() -> None:
    request = ask(max_tokens=5, temperature=0.5, top_p=0.9, stop=["x"])
    assert encode_request(request)["inferenceConfig"] == {
        "maxTokens": 5,
        "temperature": 0.5,
        "topP": 0.9,
        "stopSequences": ["x"],
    }
    default = encode_request(ask(), options=WireOptions(max_tokens=9))
    assert default["inferenceConfig"] == {"maxTokens": 9}


def test_an_effort_is_a_thinking_budget() -> None:
    sent = encode_request(ask(effort="low"), options=WireOptions(max_tokens=9))
    assert sent["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 2048}
    }
    assert "inferenceConfig" not in sent
    bounded = encode_request(ask(effort="low", max_tokens=2000))
    assert bounded["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 1999}
    }


def test_the_format_is_a_text_format_with_its_schema_as_text() -> None:
    text = (
        '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],'
        '"additionalProperties":false}'
    )
    sent = encode_request(ask(tools=[WEATHER]), format=FORMAT)
    assert sent["outputConfig"] == {
        "textFormat": {
            "type": "json_schema",
            "structure": {"jsonSchema": {"schema": text, "name": "Place"}},
        }
    }


def test_the_format_can_be_a_forced_tool() -> None:
    sent = encode_request(ask(), format=FORMAT, options=TOOL)
    assert sent == {
        "messages": [HI],
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "Place",
                        "description": "Give the answer by calling this tool.",
                        "inputSchema": {"json": SCHEMA},
                        "strict": True,
                    }
                }
            ],
            "toolChoice": {"tool": {"name": "Place"}},
        },
    }


def test_extra_body_goes_last_and_reserved_keys_win() -> None:
    extra = {
        "modelId": "x",
        "messages": [],
        "toolConfig": {"tools": []},
        "additionalModelRequestFields": {"top_k": 5},
    }
    sent = encode_request(ask(effort="minimal", tools=[WEATHER], extra_body=extra))
    assert sent["messages"] == [HI]
    assert "modelId" not in sent
    assert sent["toolConfig"] == encode_request(ask(tools=[WEATHER]))["toolConfig"]
    assert sent["additionalModelRequestFields"] == {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "top_k": 5,
    }


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (Request(messages=[USER]), "model"),
        (ask(frequency_penalty=0.1), "frequency_penalty"),
        (ask(presence_penalty=0.1), "presence_penalty"),
        (ask(seed=1), "seed"),
        (ask(previous_response_id="r"), "previous_response_id"),
        (ask(store=True), "store"),
        (ask(include=["x"]), "include"),
        (ask(hosted_tools=[{"type": "x"}]), "hosted_tools"),
        (ask(tools=[WEATHER], tool_choice="none"), "tool_choice"),
        (ask(tools=[WEATHER], tool_choice="nobody"), "tool_choice"),
        (ask(MEDIA), "messages"),
        (ask(Message(role="user", content="x", name="ann")), "messages"),
        (ask(Message(role="user", content=(Image(url="s3://b/unknown"),))), "messages"),
        (ask(Message(role="user", content=(Image(url=PNG, detail="low"),))), "messages"),
        (ask(Message(role="user", content=(File(id="f"),))), "messages"),
        (ask(Message(role="tool", content="x")), "messages"),
        (ask(thought(Reasoning(encrypted="E"))), "messages"),
        (ask(thought(calls=(ToolCall(id="1", name="f", arguments="{oops"),))), "messages"),
        (ask(effort="low", max_tokens=9), "max_tokens"),
    ],
)
def test_what_converse_cannot_carry_is_refused_by_name(request_: Request, param: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(request_)
    assert caught.value.param == param


def test_json_object_mode_needs_a_forced_tool() -> None:
    with pytest.raises(Unencodable, match="structured='tool'"):
        encode_request(ask(), format=JsonObject())
    forced = encode_request(ask(), format=JsonObject(), options=TOOL)["toolConfig"]
    assert isinstance(forced, dict)
    assert forced["toolChoice"] == {"tool": {"name": "json_object"}}


@pytest.mark.parametrize("fields", [{"tools": [WEATHER]}, {"effort": "low"}])
def test_a_forced_tool_goes_neither_with_tools_nor_with_an_effort(
    fields: dict[str, object],
) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(ask(**fields), format=FORMAT, options=TOOL)
    assert caught.value.param == "response_format"


def test_an_assistant_that_said_nothing_has_no_turn() -> None:
    both = {"role": "user", "content": [{"text": "hi"}, {"text": "hi"}]}
    assert encode_request(ask(USER, Message(role="assistant"), USER)) == {"messages": [both]}


@pytest.mark.parametrize("choice", ["any", "weather"])
def test_a_choice_without_tools_is_not_dropped(choice: str) -> None:
    with pytest.raises(Unencodable, match="without tools"):
        encode_request(ask(tool_choice=choice))
    assert "toolConfig" not in encode_request(ask(tool_choice="auto"))
