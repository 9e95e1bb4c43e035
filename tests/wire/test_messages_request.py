"""The request table of the messages wire, row by row, with the exact JSON."""

from __future__ import annotations

import pytest

from structguard.types import File, Image, JsonObject, Message, Reasoning, Request, Text, ToolCall
from structguard.wire.base import Unencodable, WireOptions
from structguard.wire.messages import encode_request, path
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

HI = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
TOOL = WireOptions(structured="tool")
USE = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}


def test_a_plain_request_names_its_required_cap() -> None:
    assert encode_request(ask()) == {"model": "m", "max_tokens": 4096, "messages": [HI]}
    assert encode_request(ask(max_tokens=5))["max_tokens"] == 5
    assert encode_request(ask(), options=WireOptions(max_tokens=9))["max_tokens"] == 9
    assert path("m") == path("m", stream=True) == "/v1/messages"


def test_system_and_developer_are_system() -> None:
    request = ask(Message(role="system", content="s"), Message(role="developer", content="d"), USER)
    sent = encode_request(request)
    assert (sent["system"], sent["messages"]) == ("s\n\nd", [HI])


def test_text_images_and_documents_are_blocks() -> None:
    more = Message(
        role="user",
        content=(
            File(data="data:text/plain;base64,aMOp"),
            File(url="https://x/y.pdf"),
            File(id="file_1"),
        ),
    )
    assert encode_request(ask(MEDIA, more))["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                },
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                    "title": "paper.pdf",
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "hé"},
                },
                {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            ],
        },
    ]


def test_turns_are_blocks_and_results_in_a_row_are_one_user_turn() -> None:
    second = ToolCall(id="call_2", name="weather", arguments="{}")
    turn = Message(role="assistant", content="wait", tool_calls=(CALL, second))
    seen = Message(role="tool", tool_call_id="call_2", content=(Text("see"), Image(url=PNG)))
    image = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert encode_request(ask(USER, turn, TURNS[2], seen, USER))["messages"] == [
        HI,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "wait"},
                USE,
                {"type": "tool_use", "id": "call_2", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image", "source": image},
                    ],
                },
            ],
        },
        HI,
    ]
    assert encode_request(ask(TURNS[2]))["messages"] == [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}],
        }
    ]


def test_thinking_goes_back_signed_before_what_it_led_to() -> None:
    first = {"type": "thinking", "thinking": "a", "signature": "S1"}
    redacted = {"type": "redacted_thinking", "data": "E"}
    turn = thought(
        Reasoning(text="a", signature="S1", raw=first),
        Reasoning(encrypted="E", raw=redacted),
        Reasoning(text="b", signature="S2", call_id="call_1"),
        text="wait",
        calls=(CALL,),
    )
    sent = only(encode_request(ask(turn))["messages"])
    assert sent == {
        "role": "assistant",
        "content": [
            first,
            redacted,
            {"type": "text", "text": "wait"},
            {"type": "thinking", "thinking": "b", "signature": "S2"},
            USE,
        ],
    }
    bedrock = Reasoning(text="a", signature="S", raw={"reasoningText": {"text": "a"}})
    sent = only(encode_request(ask(thought(bedrock)))["messages"])
    assert sent["content"] == [{"type": "thinking", "thinking": "a", "signature": "S"}]


def test_tools_have_an_input_schema_and_hosted_ones_pass() -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    strict = {"name": "f", "parameters": SCHEMA, "strict": True}
    assert encode_request(ask(tools=[WEATHER, strict], hosted_tools=[hosted]))["tools"] == [
        {
            "name": "weather",
            "description": "The weather in a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
        {"name": "f", "input_schema": SCHEMA, "strict": True},
        hosted,
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("any", {"type": "any"}),
        ("weather", {"type": "tool", "name": "weather"}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    assert encode_request(ask(tools=[WEATHER], tool_choice=choice))["tool_choice"] == sent


@pytest.mark.parametrize(
    ("effort", "budget"),
    [("minimal", 1024), ("low", 2048), ("medium", 8192), ("high", 16384), ("xhigh", 32768)],
)
def test_an_effort_is_a_thinking_budget_with_room_for_the_answer(effort: str, budget: int) -> None:
    sent = encode_request(ask(effort=effort))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert sent["max_tokens"] == 4096 + budget


def test_an_explicit_cap_bounds_the_budget() -> None:
    sent = encode_request(ask(effort="high", max_tokens=5000))
    assert (sent["max_tokens"], sent["thinking"]) == (
        5000,
        {"type": "enabled", "budget_tokens": 4999},
    )
    with pytest.raises(Unencodable, match="1024") as caught:
        encode_request(ask(effort="high", max_tokens=1024))
    assert caught.value.param == "max_tokens"


def test_temperature_top_p_and_stop_are_sent() -> None:
    assert encode_request(ask(temperature=0.5, top_p=0.9, stop=["x"])) == {
        "model": "m",
        "max_tokens": 4096,
        "messages": [HI],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["x"],
    }


def test_the_format_is_native_and_goes_together_with_tools() -> None:
    sent = encode_request(ask(tools=[WEATHER]), format=FORMAT)
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert "tool_choice" not in sent


def test_the_format_can_be_a_forced_tool() -> None:
    sent = encode_request(ask(), format=FORMAT, options=TOOL)
    assert sent["tools"] == [
        {
            "name": "Place",
            "description": "Give the answer by calling this tool.",
            "input_schema": SCHEMA,
            "strict": True,
        }
    ]
    assert sent["tool_choice"] == {"type": "tool", "name": "Place"}
    assert "output_config" not in sent
    loose = encode_request(ask(), format=JsonObject(), options=TOOL)
    assert loose["tool_choice"] == {"type": "tool", "name": "json_object"}
    assert encode_request(ask(tools=[WEATHER]), options=TOOL)["tools"] == [
        {
            "name": "weather",
            "description": "The weather in a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
        }
    ]


def test_stream_and_extra_body() -> None:
    extra = {"model": "x", "messages": [], "stream": False, "metadata": {"user_id": "u"}}
    assert encode_request(ask(extra_body=extra), stream=True) == {
        "model": "m",
        "max_tokens": 4096,
        "messages": [HI],
        "stream": True,
        "metadata": {"user_id": "u"},
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
        (ask(tools=[WEATHER], tool_choice="nobody"), "tool_choice"),
        (ask(Message(role="user", content="x", name="ann")), "messages"),
        (ask(Message(role="user", content=(Image(url=PNG, detail="low"),))), "messages"),
        (ask(Message(role="user", content=(Image(url="data:image/png,x"),))), "messages"),
        (ask(Message(role="user", content=(File(data="data:audio/wav;base64,aGk="),))), "messages"),
        (ask(Message(role="user", content=(File(),))), "messages"),
        (ask(Message(role="tool", content="x")), "messages"),
        (ask(thought(Reasoning(text="unsigned"))), "messages"),
        (ask(thought(Reasoning(text="x", signature="G", raw={"thought": True}))), "messages"),
        (ask(thought(calls=(ToolCall(id="1", name="f", arguments="{oops"),))), "messages"),
        (ask(thought(calls=(ToolCall(id="1", name="f", arguments="[1]"),))), "messages"),
    ],
)
def test_what_messages_cannot_carry_is_refused_by_name(request_: Request, param: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(request_)
    assert caught.value.param == param


def test_json_object_mode_needs_a_forced_tool() -> None:
    with pytest.raises(Unencodable, match="structured='tool'"):
        encode_request(ask(), format=JsonObject())


@pytest.mark.parametrize("fields", [{"tools": [WEATHER]}, {"effort": "low"}])
def test_a_forced_tool_goes_neither_with_tools_nor_with_an_effort(
    fields: dict[str, object],
) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(ask(**fields), format=FORMAT, options=TOOL)
    assert caught.value.param == "response_format"
    with pytest.raises(Unencodable):
        encode_request(ask(tools_first=True, **fields), format=FORMAT, options=TOOL)


def test_an_assistant_that_said_nothing_has_no_turn() -> None:
    silent = Message(role="assistant")
    assert encode_request(ask(USER, silent, USER))["messages"] == [HI, HI]
