"""The request table of the responses wire, row by row, with the exact JSON."""

from __future__ import annotations

import pytest

from structguard.types import File, Image, JsonObject, JsonSchema, Message, Reasoning, Request, Text
from structguard.wire.base import Unencodable, WireOptions
from structguard.wire.responses import encode_request, path
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
    thought,
)

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
CALLED = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": '{"city":"Oslo"}',
}


def test_a_plain_request_is_model_and_input_without_instructions() -> None:
    assert encode_request(ask()) == {"model": "m", "input": [HI]}
    assert path("m") == path("m", stream=True) == "/responses"


def test_system_and_developer_are_joined_into_instructions() -> None:
    request = ask(Message(role="system", content="s"), USER, Message(role="developer", content="d"))
    assert encode_request(request) == {"model": "m", "instructions": "s\n\nd", "input": [HI]}


def test_user_text_images_and_files_are_input_parts() -> None:
    by_place = Message(
        role="user",
        content=(File(url="https://x/y.pdf"), File(id="f"), Image(url=PNG, detail="high")),
    )
    assert encode_request(ask(MEDIA, by_place))["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": "https://example.com/a.png"},
                {"type": "input_image", "image_url": PNG},
                {"type": "input_file", "file_data": PDF, "filename": "paper.pdf"},
            ],
        },
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_file", "file_url": "https://x/y.pdf"},
                {"type": "input_file", "file_id": "f"},
                {"type": "input_image", "image_url": PNG, "detail": "high"},
            ],
        },
    ]


def test_an_assistant_turn_is_a_message_item_and_call_items_and_empty_text_is_left_out() -> None:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "one moment"}],
    }
    result = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
    assert encode_request(ask(*TURNS))["input"] == [HI, said, CALLED, result]
    silent = Message(role="assistant", tool_calls=(CALL,))
    assert encode_request(ask(silent))["input"] == [CALLED]
    assert encode_request(ask(Message(role="assistant")))["input"] == []


def test_a_tool_result_with_an_image_is_a_list_of_parts() -> None:
    seen = Message(role="tool", tool_call_id="c", content=(Text("see"), Image(url=PNG)))
    read = Message(role="tool", tool_call_id="d", content=(Text("a"), Text("b")), name="weather")
    assert encode_request(ask(seen, read))["input"] == [
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": PNG},
            ],
        },
        {"type": "function_call_output", "call_id": "d", "output": "ab"},
    ]


def test_reasoning_items_go_once_in_order_before_what_they_led_to() -> None:
    first = Reasoning(
        text="a",
        id="rs_1",
        encrypted="E1",
        raw={
            "type": "reasoning",
            "id": "rs_1",
            "status": None,
            "summary": [{"type": "summary_text", "text": "a"}],
            "encrypted_content": "E1",
        },
    )
    second = Reasoning(text="b", id="rs_2", encrypted="E2", call_id="call_1")
    turn = thought(first, second, text="one moment", calls=(CALL,))
    again = thought(first, text="done")
    assert encode_request(ask(turn, again))["input"] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "a"}],
            "encrypted_content": "E1",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "one moment"}],
        },
        {
            "type": "reasoning",
            "id": "rs_2",
            "summary": [{"type": "summary_text", "text": "b"}],
            "encrypted_content": "E2",
        },
        CALLED,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done"}],
        },
    ]


def test_open_weights_keep_their_reasoning_content() -> None:
    raw = {
        "type": "reasoning",
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    assert encode_request(ask(thought(Reasoning(text="hm", raw=raw))))["input"] == [raw]
    bare = thought(Reasoning(text="hm"), Reasoning(encrypted="E"))
    assert encode_request(ask(bare))["input"] == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "E"},
    ]


def test_tools_are_flat_and_not_strict_by_default_and_hosted_ones_pass() -> None:
    hosted = {"type": "web_search"}
    assert encode_request(ask(tools=[WEATHER], hosted_tools=[hosted]))["tools"] == [
        {
            "type": "function",
            "name": "weather",
            "description": "The weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            "strict": False,
        },
        hosted,
    ]
    strict = {"name": "f", "parameters": SCHEMA, "strict": True}
    assert encode_request(ask(tools=[strict]))["tools"] == [
        {"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("any", "required"),
        ("weather", {"type": "function", "name": "weather"}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    assert encode_request(ask(tools=[WEATHER], tool_choice=choice))["tool_choice"] == sent


def test_caps_effort_and_sampling() -> None:
    plain = encode_request(ask(max_tokens=5, temperature=0.5, top_p=0.9))
    assert plain == {
        "model": "m",
        "input": [HI],
        "max_output_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
    }
    thinking = encode_request(ask(max_tokens=5, temperature=0.5, top_p=0.9, effort=95))
    assert thinking == {
        "model": "m",
        "input": [HI],
        "reasoning": {"effort": "xhigh"},
        "max_output_tokens": 5,
    }
    default = WireOptions(max_tokens=9, reasoning=True)
    assert encode_request(ask(temperature=0.5), options=default) == {"model": "m", "input": [HI]}
    assert encode_request(ask(), options=WireOptions(max_tokens=9))["max_output_tokens"] == 9


def test_the_format_is_a_text_format() -> None:
    assert encode_request(ask(), format=FORMAT)["text"] == {
        "format": {"type": "json_schema", "name": "Place", "schema": SCHEMA, "strict": True}
    }
    loose = JsonSchema(schema=SCHEMA, name="P", strict=False, description="d")
    assert encode_request(ask(), format=loose)["text"] == {
        "format": {
            "type": "json_schema",
            "name": "P",
            "description": "d",
            "schema": SCHEMA,
            "strict": False,
        }
    }


def test_the_word_json_is_added_to_the_instructions_and_goes_with_the_format() -> None:
    system = Message(role="system", content="Be brief.")
    sent = encode_request(ask(system, USER), format=JsonObject())
    assert sent == {
        "model": "m",
        "instructions": "Be brief.\n\nAnswer with JSON only.",
        "input": [HI],
        "text": {"format": {"type": "json_object"}},
    }
    assert encode_request(ask(), format=JsonObject())["instructions"] == "Answer with JSON only."
    assert encode_request(ask(system, USER))["instructions"] == "Be brief."
    there = ask(Message(role="system", content="Give JSON."), USER)
    assert encode_request(there, format=JsonObject())["instructions"] == "Give JSON."
    needed = encode_request(ask(), format=FORMAT, options=WireOptions(needs_json_word=True))
    assert needed["instructions"] == "Answer with JSON only."


def test_state_and_include_are_sent() -> None:
    include = "reasoning.encrypted_content"
    sent = encode_request(ask(previous_response_id="r_1", store=False, include=[include]))
    assert sent == {
        "model": "m",
        "input": [HI],
        "previous_response_id": "r_1",
        "store": False,
        "include": [include],
    }


def test_stream_and_extra_body() -> None:
    extra = {"model": "x", "input": "x", "stream": False, "text": {"verbosity": "low"}}
    assert encode_request(ask(extra_body=extra), format=FORMAT, stream=True) == {
        "model": "m",
        "input": [HI],
        "text": {
            "format": {"type": "json_schema", "name": "Place", "schema": SCHEMA, "strict": True},
            "verbosity": "low",
        },
        "stream": True,
    }


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (Request(messages=[USER]), "model"),
        (ask(frequency_penalty=0.0), "frequency_penalty"),
        (ask(presence_penalty=0.1), "presence_penalty"),
        (ask(seed=0), "seed"),
        (ask(stop=["x"]), "stop"),
        (ask(tools=[WEATHER], tool_choice="nobody"), "tool_choice"),
        (ask(Message(role="user", content="x", name="ann")), "messages"),
        (ask(Message(role="developer", content=(Image(url=PNG),))), "messages"),
        (ask(Message(role="assistant", content=(Image(url=PNG),))), "messages"),
        (ask(Message(role="tool", content="x")), "messages"),
        (ask(thought(Reasoning(signature="S"))), "messages"),
    ],
)
def test_what_responses_cannot_carry_is_refused_by_name(request_: Request, param: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(request_)
    assert caught.value.param == param


@pytest.mark.parametrize(
    "raw", [{"type": "redacted_thinking", "data": "x"}, {"redactedContent": "x"}]
)
def test_another_vendors_opaque_reasoning_is_not_passed_off_as_its_own(
    raw: dict[str, object],
) -> None:
    opaque = Reasoning(encrypted="x", raw=raw)
    with pytest.raises(Unencodable, match="another API's opaque"):
        encode_request(ask(Message(role="assistant", content="a", reasoning=(opaque,))))
    routed = Reasoning(encrypted="x", id="rs", raw={"type": "reasoning.encrypted", "data": "x"})
    body = encode_request(ask(Message(role="assistant", reasoning=(routed,))))
    assert body["input"] == [
        {"type": "reasoning", "summary": [], "id": "rs", "encrypted_content": "x"}
    ]
