"""A client's body → neutral request, on the two wires that clients speak to a gateway."""

from __future__ import annotations

import pytest

from structguard.types import (
    File,
    Image,
    JsonObject,
    JsonSchema,
    Message,
    Reasoning,
    Text,
    Tool,
    ToolCall,
)
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import Undecodable, Wire
from tests.wire.samples import PDF, PNG, SCHEMA

USER = {"role": "user", "content": "hi"}
FUNCTION = {"name": "f", "parameters": SCHEMA}


def test_chat_takes_every_field_it_writes_and_keeps_the_rest() -> None:
    request = chat.decode_request(
        {
            "model": "m",
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "be brief"}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                        {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "audio": None,
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                            "extra_content": {"google": {"thought_signature": "S"}},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": "out"},
                {"role": "assistant", "content": None, "refusal": "no"},
            ],
            "tools": [{"type": "function", "function": FUNCTION}, {"type": "custom", "name": "x"}],
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "max_tokens": 5,
            "max_completion_tokens": 7,
            "reasoning_effort": "low",
            "temperature": 0,
            "top_p": None,
            "n": 1,
            "seed": 3,
            "stop": "x",
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "P", "schema": SCHEMA, "strict": True},
            },
            "parallel_tool_calls": False,
        }
    )
    call = ToolCall(id="c", name="f", arguments="{}", signature="S")
    assert request.messages == (
        Message(role="developer", content=(Text("be brief"),)),
        Message(
            role="user", content=(Image(url=PNG, detail="low"), File(data=PDF, filename="a.pdf"))
        ),
        Message(
            role="assistant",
            tool_calls=(call,),
            reasoning=(Reasoning(text="hm", raw={"reasoning_content": "hm"}),),
        ),
        Message(role="tool", tool_call_id="c", content="out"),
        Message(role="assistant", content="no"),
    )
    assert request.tools == (Tool(name="f", parameters=SCHEMA),)
    assert request.hosted_tools == ({"type": "custom", "name": "x"},)
    assert (request.model, request.tool_choice, request.max_tokens) == ("m", "f", 7)
    assert (request.effort, request.temperature, request.top_p) == ("low", 0, None)
    assert (request.seed, request.stop) == (3, ("x",))
    assert request.response_format == JsonSchema(schema=SCHEMA, name="P", strict=True)
    assert request.extra_body == {"parallel_tool_calls": False}


@pytest.mark.parametrize(
    ("field", "given", "name", "value"),
    [
        ("tool_choice", "auto", "tool_choice", "auto"),
        ("tool_choice", "required", "tool_choice", "any"),
        ("response_format", {"type": "text"}, "response_format", None),
        ("response_format", {"type": "json_object"}, "response_format", JsonObject()),
        ("reasoning_effort", "none", "extra_body", {"reasoning_effort": "none"}),
        ("max_tokens", 9, "max_tokens", 9),
        ("stop", ["a", "b"], "stop", ("a", "b")),
        ("frequency_penalty", 0.5, "frequency_penalty", 0.5),
        ("user", "u", "extra_body", {"user": "u"}),
    ],
)
def test_chat_fields(field: str, given: object, name: str, value: object) -> None:
    request = chat.decode_request({"model": "m", "messages": [USER], field: given})
    assert getattr(request, name) == value


@pytest.mark.parametrize(
    ("field", "given", "param"),
    [
        ("model", 5, "model"),
        ("messages", "hi", "messages"),
        ("messages", ["hi"], "messages[0]"),
        ("messages", [USER, {"role": "robot"}], "messages[1]"),
        ("messages", [{"role": "user", "content": [{"type": "video"}]}], "messages[0]"),
        ("messages", [{"role": "user", "content": "x", "mood": "good"}], "messages[0]"),
        ("temperature", "hot", "temperature"),
        ("temperature", True, "temperature"),
        ("max_tokens", 1.5, "max_tokens"),
        ("max_tokens", 0, "max_tokens"),
        ("n", 2, "n"),
        ("seed", "x", "seed"),
        ("stop", [1], "stop"),
        ("tools", ["x"], "tools[0]"),
        ("tools", [{"type": "function", "function": {}}], "tools"),
        ("tool_choice", "sometimes", "tool_choice"),
        ("tool_choice", {"type": "allowed_tools"}, "tool_choice"),
        ("response_format", {"type": "json_schema"}, "response_format"),
    ],
)
def test_what_chat_cannot_read_is_named(field: str, given: object, param: str) -> None:
    with pytest.raises(Undecodable) as caught:
        chat.decode_request({"model": "m", "messages": [USER], field: given})
    assert caught.value.param == param
    assert caught.value.message


def test_responses_takes_every_field_it_writes_and_keeps_the_rest() -> None:
    request = responses.decode_request(
        {
            "model": "m",
            "instructions": "be brief",
            "input": [
                {"role": "developer", "content": "and polite"},
                {
                    "type": "message",
                    "id": None,
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "look"},
                        {"type": "input_image", "image_url": PNG, "detail": None},
                        {"type": "input_file", "file_url": "https://x/y.pdf", "file_id": None},
                    ],
                },
                {"type": "reasoning", "id": "rs", "summary": [{"text": "hm"}]},
                {
                    "type": "message",
                    "role": "assistant",
                    "phase": "commentary",
                    "content": [{"type": "output_text", "text": "wait", "annotations": []}],
                },
                {"type": "reasoning", "id": "rs2", "summary": [], "encrypted_content": "E"},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call", "call_id": "d", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "out"},
                {
                    "type": "function_call_output",
                    "call_id": "d",
                    "output": [{"type": "input_image", "image_url": PNG}],
                },
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
                {"role": "assistant", "content": "again"},
            ],
            "tools": [{"type": "function", **FUNCTION, "strict": True}, {"type": "web_search"}],
            "tool_choice": {"type": "function", "name": "f"},
            "max_output_tokens": 7,
            "reasoning": {"effort": "xhigh", "summary": "auto"},
            "text": {
                "format": {"type": "json_schema", "name": "P", "schema": SCHEMA, "strict": None},
                "verbosity": "low",
            },
            "temperature": 1,
            "presence_penalty": 0.5,
            "previous_response_id": "r",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "stream": True,
            "background": False,
            "truncation": "auto",
        }
    )
    first = {"type": "reasoning", "id": "rs", "summary": [{"text": "hm"}]}
    second = {"type": "reasoning", "id": "rs2", "summary": [], "encrypted_content": "E"}
    assert request.messages == (
        Message(role="system", content="be brief"),
        Message(role="developer", content="and polite"),
        Message(role="user", content=(Text("look"), Image(url=PNG), File(url="https://x/y.pdf"))),
        Message(
            role="assistant",
            content="wait",
            tool_calls=(
                ToolCall(id="c", name="f", arguments="{}"),
                ToolCall(id="d", name="f", arguments="{}"),
            ),
            reasoning=(
                Reasoning(text="hm", id="rs", raw=first),
                Reasoning(id="rs2", encrypted="E", raw=second, call_id="c"),
            ),
        ),
        Message(role="tool", tool_call_id="c", content="out"),
        Message(role="tool", tool_call_id="d", content=(Image(url=PNG),)),
        Message(role="assistant", content="no"),
        Message(role="assistant", content="again"),
    )
    assert request.tools == (Tool(name="f", parameters=SCHEMA, strict=True),)
    assert request.hosted_tools == ({"type": "web_search"},)
    assert (request.tool_choice, request.max_tokens, request.effort) == ("f", 7, "xhigh")
    assert (request.temperature, request.presence_penalty) == (1, 0.5)
    assert (request.previous_response_id, request.store) == ("r", False)
    assert request.include == ("reasoning.encrypted_content",)
    assert request.response_format == JsonSchema(schema=SCHEMA, name="P")
    assert request.extra_body == {
        "text": {"verbosity": "low"},
        "reasoning": {"summary": "auto"},
        "truncation": "auto",
    }


def test_responses_takes_a_string_and_leftover_reasoning() -> None:
    assert responses.decode_request({"model": "m", "input": "hi"}).messages == (
        Message(role="user", content="hi"),
    )
    lone = {"type": "reasoning", "id": "rs", "summary": []}
    request = responses.decode_request({"model": "m", "input": [lone, USER, lone]})
    part = Reasoning(id="rs", raw=lone)
    assert request.messages == (
        Message(role="assistant", reasoning=(part,)),
        Message(role="user", content="hi"),
        Message(role="assistant", reasoning=(part,)),
    )


@pytest.mark.parametrize("part", [[{"type": "refusal", "refusal": "no"}], "no"])
def test_a_chat_refusal_that_goes_back_is_text_in_any_form(part: object) -> None:
    named = {"content": None, "refusal": part} if isinstance(part, str) else {"content": part}
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", **named}]
    request = chat.decode_request({"model": "m", "messages": said})
    assert request.conversation[1].text == "no"


@pytest.mark.parametrize(
    ("field", "given", "param"),
    [
        ("input", 5, "input"),
        ("input", [{"type": "item_reference", "id": "x"}], "input[0].id"),
        ("input", [{"type": "compaction"}], "input[0]"),
        ("input", [{"role": "robot", "content": "x"}], "input[0]"),
        ("input", [{"role": "user", "content": [{"type": "input_video"}]}], "input[0]"),
        ("input", [{"role": "user", "content": ["x", 5]}], "input[0]"),
        ("input", [{"type": "function_call", "name": "f"}], "input[0]"),
        ("input", [USER, {"type": "function_call_output", "output": "x"}], "input[1]"),
        ("background", True, "background"),
        ("background", "yes", "background"),
        ("instructions", 5, "instructions"),
        ("text", {"format": {"type": "json_schema"}}, "text.format"),
        ("text", "x", "text"),
        ("reasoning", "high", "reasoning"),
        ("tool_choice", {"type": "web_search"}, "tool_choice"),
        ("tool_choice", "sometimes", "tool_choice"),
        ("store", "no", "store"),
    ],
)
def test_what_responses_cannot_read_is_named(field: str, given: object, param: str) -> None:
    with pytest.raises(Undecodable) as caught:
        responses.decode_request({"model": "m", "input": "hi", field: given})
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("field", "given", "name", "value"),
    [
        ("tool_choice", "required", "tool_choice", "any"),
        ("text", {"format": {"type": "text"}}, "response_format", None),
        ("text", {"format": {"type": "json_object"}}, "response_format", JsonObject()),
        ("reasoning", {"effort": "none"}, "extra_body", {"reasoning": {"effort": "none"}}),
        ("reasoning", {"effort": None}, "extra_body", {}),
    ],
)
def test_responses_fields(field: str, given: object, name: str, value: object) -> None:
    request = responses.decode_request({"model": "m", "input": "hi", field: given})
    assert getattr(request, name) == value


TURN = [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("wire", "body", "param"),
    [
        (messages, {"messages": [{"role": "robot", "content": TURN}]}, "messages[0]"),
        (messages, {"messages": [{"role": "user", "content": [{"type": "x"}]}]}, "messages[0]"),
        (
            messages,
            {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}]}]},
            "messages[0]",
        ),
        (messages, {"messages": [], "output_config": {"effort": "low"}}, "output_config"),
        (messages, {"messages": [], "output_config": {"format": {}}}, "output_config"),
        (converse, {"messages": [{"role": "user", "content": [{"video": 1}]}]}, "messages[0]"),
        (converse, {"messages": [], "outputConfig": {"textFormat": {}}}, "outputConfig"),
        (
            generate_content,
            {"contents": [{"role": "user", "parts": [{"executableCode": 1}]}]},
            "contents[0]",
        ),
        (
            generate_content,
            {"generationConfig": {"responseMimeType": "text/x.enum"}},
            "responseMimeType",
        ),
        (
            generate_content,
            {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["a", "b"]}}},
            "toolConfig",
        ),
    ],
)
def test_what_the_other_wires_cannot_read_is_named(
    wire: Wire, body: dict[str, object], param: str
) -> None:
    with pytest.raises(Undecodable) as caught:
        wire.decode_request({"model": "m", **body})
    assert caught.value.param == param


def test_messages_takes_strings_and_system_blocks() -> None:
    request = messages.decode_request(
        {
            "model": "m",
            "max_tokens": 5,
            "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
            ],
            "thinking": {"type": "enabled", "budget_tokens": 99_999},
            "metadata": {"user_id": "u"},
        }
    )
    assert request.messages == (
        Message(role="system", content="a\n\nb"),
        Message(role="user", content="hi"),
        Message(role="tool", tool_call_id="t"),
    )
    assert (request.effort, request.extra_body) == ("xhigh", {"metadata": {"user_id": "u"}})


def test_google_results_that_are_objects_are_json() -> None:
    request = generate_content.decode_request(
        {
            "contents": [
                {"parts": [{"functionResponse": {"name": "f", "response": {"a": [1]}}}]},
                {"role": "user", "parts": []},
            ]
        }
    )
    assert request.messages == (
        Message(role="tool", tool_call_id="local_f", name="f", content='{"a":[1]}'),
        Message(role="user", content=()),
    )


def test_an_anthropic_document_of_plain_text_is_a_file() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Grüße"}
    message = {"role": "user", "content": [{"type": "document", "source": source}]}
    request = messages.decode_request({"model": "m", "max_tokens": 5, "messages": [message]})
    data = "data:text/plain;base64,R3LDvMOfZQ=="
    assert request.messages == (Message(role="user", content=(File(data=data),)),)


def test_googles_own_tools_are_kept_apart_from_functions() -> None:
    own: dict[str, object] = {"googleSearch": {}}
    request = generate_content.decode_request(
        {"tools": [own, {"functionDeclarations": [{"name": "f"}]}], "contents": []}
    )
    assert request.hosted_tools == (own,)
    assert [tool.name for tool in request.functions] == ["f"]
