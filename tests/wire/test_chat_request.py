"""The request table of the chat wire, row by row, with the exact JSON."""

from __future__ import annotations

import json

import pytest

from structguard.types import (
    File,
    Finished,
    Image,
    JsonObject,
    JsonSchema,
    Message,
    Reasoning,
    Request,
    Text,
)
from structguard.wire.base import Unencodable, WireOptions
from structguard.wire.chat import decode_reply, encode_request, open_stream, path
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

HI = {"role": "user", "content": "hi"}


def test_a_plain_request_is_model_and_messages() -> None:
    assert encode_request(ask()) == {"model": "m", "messages": [HI]}
    assert path("m") == path("m", stream=True) == "/chat/completions"


def test_system_stays_system_and_developer_becomes_system_unless_the_endpoint_takes_it() -> None:
    request = ask(Message(role="system", content="s"), Message(role="developer", content="d"), USER)
    plain = encode_request(request)["messages"]
    assert plain == [
        {"role": "system", "content": "s"},
        {"role": "system", "content": "d"},
        HI,
    ]
    kept = encode_request(request, options=WireOptions(developer_role=True))["messages"]
    assert kept == [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, HI]


def test_user_text_images_and_files_are_parts() -> None:
    assert encode_request(ask(MEDIA))["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "image_url", "image_url": {"url": PNG}},
                {"type": "file", "file": {"file_data": PDF, "filename": "paper.pdf"}},
            ],
        }
    ]
    message = Message(
        role="user", content=(Image(url=PNG, detail="low"), File(id="file-1")), name="ann"
    )
    assert encode_request(ask(message))["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
            "name": "ann",
        }
    ]


def test_an_assistant_turn_is_text_with_its_calls_and_results_follow() -> None:
    assert encode_request(ask(*TURNS))["messages"] == [
        HI,
        {
            "role": "assistant",
            "content": "one moment",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
    ]
    parts = Message(role="assistant", content=(Text("a"), Text("b")))
    assert encode_request(ask(parts))["messages"] == [{"role": "assistant", "content": "ab"}]


def test_reasoning_goes_back_in_the_field_it_came_in() -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "signature": "S", "index": 0},
        {"type": "reasoning.encrypted", "data": "E", "index": 1},
    ]
    kept = thought(*(Reasoning(raw=raw) for raw in details), calls=(CALL,))
    message = encode_request(ask(kept))["messages"]
    assert isinstance(message, list)
    assert message[0]["reasoning_details"] == details
    for name in ("reasoning_content", "reasoning"):
        part = Reasoning(text="hm", raw={name: "hm"})
        sent = only(encode_request(ask(thought(part, text="x")))["messages"])
        assert sent == {"role": "assistant", "content": "x", name: "hm"}
    sent = only(encode_request(ask(thought(Reasoning(text="a"), Reasoning(text="b"))))["messages"])
    assert sent == {"role": "assistant", "content": "", "reasoning_content": "ab"}


def test_tools_are_nested_and_say_strict_only_when_they_are() -> None:
    function = {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    assert encode_request(ask(tools=[WEATHER]))["tools"] == [
        {"type": "function", "function": function}
    ]
    strict = {"name": "f", "parameters": SCHEMA, "strict": True}
    assert encode_request(ask(tools=[strict]))["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("any", "required"),
        ("weather", {"type": "function", "function": {"name": "weather"}}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    assert encode_request(ask(tools=[WEATHER], tool_choice=choice))["tool_choice"] == sent


def test_max_tokens_has_another_name_for_reasoning_requests_and_their_default_is_not_sent() -> None:
    assert encode_request(ask(max_tokens=5))["max_tokens"] == 5
    reasoning = encode_request(ask(max_tokens=5, effort="low"))
    assert reasoning["max_completion_tokens"] == 5
    assert "max_tokens" not in reasoning
    default = WireOptions(max_tokens=9)
    assert encode_request(ask(), options=default)["max_tokens"] == 9
    silent = encode_request(ask(), options=WireOptions(max_tokens=9, reasoning=True))
    assert silent == {"model": "m", "messages": [HI]}


@pytest.mark.parametrize(
    ("effort", "word"),
    [
        (-5, "minimal"), (0, "minimal"), (1, "low"), (24, "low"), (25, "medium"), (59, "medium"),
        (60, "high"), (89, "high"), (90, "xhigh"), (100, "xhigh"),
        ("minimal", "minimal"), ("xhigh", "xhigh"),
    ],
)  # fmt: skip
def test_an_effort_is_a_word(effort: int | str, word: str) -> None:
    assert encode_request(ask(effort=effort))["reasoning_effort"] == word


def test_temperature_and_top_p_are_not_sent_with_reasoning_requests() -> None:
    plain = encode_request(ask(temperature=0.5, top_p=0.9))
    assert (plain["temperature"], plain["top_p"]) == (0.5, 0.9)
    for body in (
        encode_request(ask(temperature=0.5, top_p=0.9, effort="low")),
        encode_request(ask(temperature=0.5, top_p=0.9), options=WireOptions(reasoning=True)),
    ):
        assert not {"temperature", "top_p"} & set(body)


def test_penalties_seed_and_stop_are_sent() -> None:
    sent = encode_request(ask(frequency_penalty=0.1, presence_penalty=0.2, seed=7, stop=["x"]))
    assert sent == {
        "model": "m",
        "messages": [HI],
        "frequency_penalty": 0.1,
        "presence_penalty": 0.2,
        "seed": 7,
        "stop": ["x"],
    }


def test_the_format_is_a_named_json_schema() -> None:
    spec = {"name": "Place", "schema": SCHEMA, "strict": True}
    assert encode_request(ask(), format=FORMAT)["response_format"] == {
        "type": "json_schema",
        "json_schema": spec,
    }
    unnamed = encode_request(ask(), format=JsonSchema(schema=SCHEMA))["response_format"]
    assert unnamed == {
        "type": "json_schema",
        "json_schema": {"name": "schema_5f118feb63f080e5", "schema": SCHEMA},
    }
    odd = JsonSchema(schema=SCHEMA, name="list[Städte]" + "x" * 90, description="d")
    sent = encode_request(ask(), format=odd)["response_format"]
    assert isinstance(sent, dict)
    assert sent["json_schema"]["name"] == ("list_St_dte_" + "x" * 90)[:64]
    assert sent["json_schema"]["description"] == "d"


def test_the_word_json_is_added_to_the_system_text_and_goes_with_the_format() -> None:
    system = Message(role="system", content="Be brief.")
    with_word = encode_request(ask(system, USER), format=JsonObject())
    assert with_word["response_format"] == {"type": "json_object"}
    assert with_word["messages"] == [
        {"role": "system", "content": "Be brief.\n\nAnswer with JSON only."},
        HI,
    ]
    assert encode_request(ask(), format=JsonObject())["messages"] == [
        {"role": "system", "content": "Answer with JSON only."},
        HI,
    ]
    assert encode_request(ask(system, USER))["messages"] == [
        {"role": "system", "content": "Be brief."},
        HI,
    ]
    there = Message(role="user", content="as jSoN please")
    assert encode_request(ask(there), format=JsonObject())["messages"] == [
        {"role": "user", "content": "as jSoN please"}
    ]
    assert encode_request(ask(), format=FORMAT)["messages"] == [HI]
    needed = encode_request(ask(), format=FORMAT, options=WireOptions(needs_json_word=True))
    assert needed["messages"] == [{"role": "system", "content": "Answer with JSON only."}, HI]


def test_a_stream_asks_for_its_usage_unless_the_endpoint_cannot() -> None:
    assert encode_request(ask(), stream=True) == {
        "model": "m",
        "messages": [HI],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    quiet = encode_request(ask(), stream=True, options=WireOptions(stream_usage=False))
    assert quiet == {"model": "m", "messages": [HI], "stream": True}


def test_extra_body_goes_last_and_reserved_keys_win() -> None:
    extra = {
        "model": "other",
        "messages": [],
        "stream": True,
        "tools": [{"type": "web_search"}],
        "temperature": 2,
        "provider": {"order": ["a"]},
    }
    sent = encode_request(ask(temperature=1.0, tools=[WEATHER], extra_body=extra))
    assert (sent["model"], sent["messages"], sent["temperature"]) == ("m", [HI], 2)
    assert sent["provider"] == {"order": ["a"]}
    assert "stream" not in sent
    assert sent["tools"] == encode_request(ask(tools=[WEATHER]))["tools"]
    assert encode_request(ask(extra_body=extra))["tools"] == [{"type": "web_search"}]


def test_extra_body_grows_an_object_and_leaves_the_rest_of_it() -> None:
    extra = {"response_format": {"json_schema": {"strict": False}}}
    sent = encode_request(ask(extra_body=extra), format=FORMAT)
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Place", "schema": SCHEMA, "strict": False},
    }


def test_the_caller_owns_what_was_given() -> None:
    given = dict(SCHEMA)
    body = encode_request(ask(tools=[{"name": "f", "parameters": given}]), format=FORMAT)
    tools = body["tools"]
    assert isinstance(tools, list)
    tools[0]["function"]["parameters"]["type"] = "changed"
    assert given == SCHEMA


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (Request(messages=[USER]), "model"),
        (ask(previous_response_id="r"), "previous_response_id"),
        (ask(store=False), "store"),
        (ask(include=["x"]), "include"),
        (ask(hosted_tools=[{"type": "web_search"}]), "hosted_tools"),
        (ask(tools=[WEATHER], tool_choice="nobody"), "tool_choice"),
        (ask(Message(role="user", content=(File(url="https://x/y.pdf"),))), "messages"),
        (ask(Message(role="system", content=(Image(url=PNG),))), "messages"),
        (ask(Message(role="assistant", content=(Image(url=PNG),))), "messages"),
        (ask(Message(role="tool", content="x")), "messages"),
        (ask(Message(role="tool", tool_call_id="1", content=(Image(url=PNG),))), "messages"),
        (ask(thought(Reasoning(encrypted="E"))), "messages"),
    ],
)
def test_what_chat_cannot_carry_is_refused_by_name(request_: Request, param: str) -> None:
    with pytest.raises(Unencodable) as caught:
        encode_request(request_)
    assert caught.value.param == param
    assert caught.value.message


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_that_came_as_a_part_of_the_content_goes_back_as_one(streamed: bool) -> None:  # noqa: FBT001
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    content = [thinking, {"type": "text", "text": "hi"}]
    if streamed:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": "stop"}
        decoder = open_stream()
        events = decoder.feed(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        *_, last = events + decoder.close()
        assert isinstance(last, Finished)
        reply = last.completion
    else:
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        reply = decode_reply(json.dumps({"choices": [choice]}).encode())
    sent = encode_request(ask(USER, reply.message))
    assert sent["messages"] == [HI, {"role": "assistant", "content": content}]
