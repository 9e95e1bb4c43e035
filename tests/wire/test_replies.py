"""The reply table of spec wire, on every wire that can show the row."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from structguard.types import (
    Completion,
    Finish,
    Format,
    JsonObject,
    JsonSchema,
    Kind,
    Reasoning,
    ToolCall,
    Usage,
)
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import BadReply, Wire, WireOptions
from tests.wire.samples import FORMAT, SCHEMA

HEADERS = {
    "X-Request-Id": "req_1",
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-requests": "6m0s",
    "anthropic-ratelimit-tokens-reset": "2026-01-27T12:00:00Z",
    "content-type": "application/json",
}
NOTED = {
    "request_id": "req_1",
    "x-ratelimit-limit-requests": 60,
    "x-ratelimit-remaining-tokens": 149984,
    "x-ratelimit-reset-requests": 360.0,
    "anthropic-ratelimit-tokens-reset": "2026-01-27T12:00:00Z",
}
TOOL = WireOptions(structured="tool")


def decode(
    wire: Wire, body: object, wanted: Format | None = None, **options: Mapping[str, str]
) -> Completion:
    return wire.decode_reply(json.dumps(body).encode(), options.get("headers", {}), format=wanted)


def chat_body(message: object, finish: object = "stop", **more: object) -> dict[str, object]:
    return {
        "id": "c1",
        "model": "m1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }


def response(*output: object, status: str = "completed", **more: object) -> dict[str, object]:
    return {"id": "r1", "model": "m1", "status": status, "output": list(output), **more}


def said(*content: object) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": list(content)}


def message(*content: object, stop: str = "end_turn", **more: object) -> dict[str, object]:
    return {"id": "msg", "model": "m1", "content": list(content), "stop_reason": stop, **more}


def turn(*content: object, stop: str = "end_turn", **more: object) -> dict[str, object]:
    answer = {"role": "assistant", "content": list(content)}
    return {"output": {"message": answer}, "stopReason": stop, **more}


def candidate(*parts: object, finish: str = "STOP", **more: object) -> dict[str, object]:
    content = {"role": "model", "parts": list(parts)}
    return {
        "candidates": [{"content": content, "finishReason": finish}],
        "responseId": "g1",
        "modelVersion": "m1",
        **more,
    }


OUT = {"type": "output_text", "text": "hi", "annotations": []}
TEXT = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("wire", "body", "id_", "model"),
    [
        (chat, chat_body({"role": "assistant", "content": "hi"}), "c1", "m1"),
        (responses, response(said(OUT)), "r1", "m1"),
        (messages, message(TEXT), "msg", "m1"),
        (converse, turn({"text": "hi"}), None, None),
        (generate_content, candidate({"text": "hi"}), "g1", "m1"),
    ],
)
def test_text_id_model_and_metadata(
    wire: Wire, body: object, id_: str | None, model: str | None
) -> None:
    assert decode(wire, body, headers=HEADERS) == Completion(
        text="hi", id=id_, model=model, metadata=NOTED
    )
    assert decode(wire, body, FORMAT).enforced is True


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (chat, chat_body({"content": [{"type": "text", "text": "a"}, {"text": "b"}]})),
        (responses, response(said({"text": "a"}), said({"text": "b"}))),
        (responses, response({"type": "message", "content": "ab"})),
        (messages, message({"type": "text", "text": "a"}, {"type": "text", "text": "b"})),
        (converse, turn({"text": "a"}, {"text": "b"})),
        (generate_content, candidate({"text": "a"}, {"text": "b"})),
    ],
)
def test_text_parts_are_concatenated_in_order(wire: Wire, body: object) -> None:
    assert decode(wire, body).text == "ab"


@pytest.mark.parametrize("raw", [b"<html>busy</html>", b"", b"[1]", b'"x"', b'{"a":'])
@pytest.mark.parametrize("wire", [chat, responses, messages, converse, generate_content])
def test_a_body_that_is_no_json_object_is_a_bad_response(wire: Wire, raw: bytes) -> None:
    with pytest.raises(BadReply) as caught:
        wire.decode_reply(raw)
    assert wire.classify(caught.value.failure)[0] is Kind.BAD_RESPONSE
    assert caught.value.failure.body == raw.decode()


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (chat, {"choices": []}),
        (chat, {"id": "x"}),
        (chat, {"choices": [None]}),
        (chat, {"choices": [{"finish_reason": "stop"}]}),
        (responses, {"id": "x", "status": "completed"}),
        (responses, {"output": None}),
        (messages, {"id": "x"}),
        (converse, {"output": {}}),
        (converse, {"output": {"message": {}}}),
        (generate_content, {"candidates": []}),
        (generate_content, {}),
    ],
)
def test_a_reply_without_output_is_a_bad_response(wire: Wire, body: object) -> None:
    with pytest.raises(BadReply) as caught:
        decode(wire, body)
    failure = caught.value.failure
    assert wire.classify(failure)[0] is Kind.BAD_RESPONSE
    assert (failure.status, failure.body) == (200, json.dumps(body))


@pytest.mark.parametrize(
    ("wire", "body", "kind"),
    [
        (chat, {"error": {"message": "busy", "code": 429}}, Kind.RATE_LIMITED),
        (chat, {"error": {"message": "down", "code": 502}, "choices": []}, Kind.UNAVAILABLE),
        (chat, {"error": {"message": "?", "code": None}}, Kind.BAD_RESPONSE),
        (chat, {"error": "out of luck"}, Kind.BAD_RESPONSE),
        (chat, {"choices": [{"error": {"code": 503, "message": "x"}}]}, Kind.UNAVAILABLE),
        (chat, chat_body({"content": ""}, "error"), Kind.UNAVAILABLE),
        (
            responses,
            response(status="failed", error={"code": "server_error", "message": "x"}),
            Kind.UNAVAILABLE,
        ),
        (
            responses,
            response(status="failed", error={"code": "rate_limit_exceeded", "message": "x"}),
            Kind.RATE_LIMITED,
        ),
        (
            messages,
            {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
            Kind.UNAVAILABLE,
        ),
        (
            generate_content,
            {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"}},
            Kind.RATE_LIMITED,
        ),
        (
            generate_content,
            {"promptFeedback": {"blockReason": "SAFETY"}},
            Kind.CONTENT_FILTERED,
        ),
    ],
)
def test_an_error_inside_a_200_is_judged_by_its_code(wire: Wire, body: object, kind: Kind) -> None:
    with pytest.raises(BadReply) as caught:
        decode(wire, body)
    assert wire.classify(caught.value.failure)[0] is kind


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (chat, chat_body({"content": None, "refusal": "I won't."})),
        (responses, response(said({"type": "refusal", "refusal": "I won't."}))),
        (messages, message({"type": "text", "text": "I won't."}, stop="refusal")),
        (converse, turn({"text": "I won't."}, stop="refusal")),
    ],
)
def test_a_decline_is_kept_with_its_words(wire: Wire, body: object) -> None:
    completion = decode(wire, body)
    assert (completion.text, completion.finish) == ("I won't.", "declined")
    assert completion.answered


ARGUMENTS = ["{oops", "", "[1]", "null", '{"a": 1} trailing']


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments_that_are_no_json_object_keep_their_text_and_say_why(arguments: str) -> None:
    function = {"name": "f", "arguments": arguments}
    for completion in (
        decode(
            chat, chat_body({"content": None, "tool_calls": [{"id": "1", "function": function}]})
        ),
        decode(responses, response({"type": "function_call", "call_id": "1", **function})),
    ):
        [call] = completion.tool_calls
        assert (call.id, call.name, call.arguments) == ("1", "f", arguments)
        assert call.error
        assert completion.finish == "tool_calls"


def test_a_call_without_an_id_or_with_an_object_for_arguments_is_a_call() -> None:
    calls = [{"function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "g"}}]
    completion = decode(chat, chat_body({"content": None, "tool_calls": calls}))
    assert completion.tool_calls == (
        ToolCall(id="call_0", name="f", arguments='{"a":1}'),
        ToolCall(
            id="call_1",
            name="g",
            arguments="",
            error="the arguments are not JSON: EOF while parsing a value at line 1 column 0",
        ),
    )
    bare = decode(generate_content, candidate({"functionCall": {"name": "f"}}))
    assert bare.tool_calls == (ToolCall(id="local_g1_0", name="f", arguments="{}"),)


ITEM_A = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "a"}],
    "encrypted_content": "E1",
}
ITEM_B = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "E2"}


@pytest.mark.parametrize(
    ("wire", "body", "parts"),
    [
        (
            responses,
            response(
                ITEM_A,
                said(OUT),
                ITEM_B,
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            ),
            (
                Reasoning(text="a", id="rs_1", encrypted="E1", raw=ITEM_A),
                Reasoning(id="rs_2", encrypted="E2", raw=ITEM_B, call_id="c"),
            ),
        ),
        (
            messages,
            message(
                {"type": "thinking", "thinking": "a", "signature": "S"},
                {"type": "redacted_thinking", "data": "E"},
                {"type": "text", "text": "hi"},
                {"type": "thinking", "thinking": "b", "signature": "S2"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                stop="tool_use",
            ),
            (
                Reasoning(
                    text="a",
                    signature="S",
                    raw={"type": "thinking", "thinking": "a", "signature": "S"},
                ),
                Reasoning(encrypted="E", raw={"type": "redacted_thinking", "data": "E"}),
                Reasoning(
                    text="b",
                    signature="S2",
                    raw={"type": "thinking", "thinking": "b", "signature": "S2"},
                    call_id="c",
                ),
            ),
        ),
        (
            converse,
            turn(
                {"reasoningContent": {"reasoningText": {"text": "a", "signature": "S"}}},
                {"reasoningContent": {"redactedContent": "E"}},
                {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}},
                stop="tool_use",
            ),
            (
                Reasoning(
                    text="a",
                    signature="S",
                    raw={"reasoningText": {"text": "a", "signature": "S"}},
                    call_id="c",
                ),
                Reasoning(encrypted="E", raw={"redactedContent": "E"}, call_id="c"),
            ),
        ),
        (
            generate_content,
            candidate(
                {"text": "a", "thought": True, "thoughtSignature": "S"},
                {"text": "hi", "thoughtSignature": "S2"},
                {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "S3"},
            ),
            (
                Reasoning(text="a", signature="S", raw={"thought": True}),
                Reasoning(signature="S2", raw={"thoughtSignature": "S2"}),
            ),
        ),
        (
            chat,
            chat_body(
                {
                    "content": "hi",
                    "reasoning": "ab",
                    "reasoning_details": [
                        {"type": "reasoning.summary", "summary": "ab", "id": "d"},
                        {"type": "reasoning.encrypted", "data": "E"},
                    ],
                }
            ),
            (
                Reasoning(
                    text="ab",
                    id="d",
                    raw={"type": "reasoning.summary", "summary": "ab", "id": "d"},
                ),
                Reasoning(encrypted="E", raw={"type": "reasoning.encrypted", "data": "E"}),
            ),
        ),
        (
            chat,
            chat_body({"content": "hi", "reasoning_content": "ab"}),
            (Reasoning(text="ab", raw={"reasoning_content": "ab"}),),
        ),
        (
            chat,
            chat_body(
                {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
                        {"type": "text", "text": "hi"},
                    ]
                }
            ),
            (Reasoning(text="ab", raw={"thinking": [{"type": "text", "text": "ab"}]}),),
        ),
    ],
)
def test_reasoning_is_kept_in_order_and_tied_to_the_call_it_led_to(
    wire: Wire, body: object, parts: tuple[Reasoning, ...]
) -> None:
    completion = decode(wire, body)
    assert completion.reasoning == parts
    assert [part.raw for part in completion.reasoning] == [part.raw for part in parts]


def test_a_thought_signature_stays_on_its_call() -> None:
    part = {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}, "thoughtSignature": "S"}
    [call] = decode(generate_content, candidate(part)).tool_calls
    assert call == ToolCall(id="c", name="f", arguments='{"a":1}', signature="S")
    signed = {
        "id": "c",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "S"}},
    }
    [call] = decode(chat, chat_body({"tool_calls": [signed]})).tool_calls
    assert call.signature == "S"


NAMELESS = JsonSchema(schema={"required": ["city"]})
PROMOTION = [
    ('{"city": "Oslo"}', FORMAT, True),
    (' {"city": "Oslo"}\n', FORMAT, True),
    ('{"city": 1}', FORMAT, False),
    ('{"town": "Oslo"}', FORMAT, False),
    ("[1]", FORMAT, False),
    ('The city is {"city": "Oslo"}', FORMAT, False),
    ("", FORMAT, False),
    ('{"any": 1}', JsonObject(), True),
    ("[1]", JsonObject(), False),
    ('{"city": "Oslo"}', NAMELESS, True),
    ('{"city": "Oslo"}', JsonSchema(schema={"type": "strange"}), False),
    ('{"city": "Oslo"}', None, False),
]


@pytest.mark.parametrize(("thought", "format_", "promoted"), PROMOTION)
def test_json_found_only_in_the_reasoning_is_promoted_and_marked(
    thought: str, format_: Format | None, *, promoted: bool
) -> None:
    for wire, body in (
        (chat, chat_body({"content": "", "reasoning_content": thought})),
        (
            responses,
            response({"type": "reasoning", "summary": [{"text": thought}]}),
        ),
        (messages, message({"type": "thinking", "thinking": thought, "signature": "S"})),
        (converse, turn({"reasoningContent": {"reasoningText": {"text": thought}}})),
        (generate_content, candidate({"text": thought, "thought": True})),
    ):
        completion = decode(wire, body, format_)
        assert completion.text == (thought.strip() if promoted else "")
        assert completion.repairs == (("promoted_from_reasoning",) if promoted else ())
        assert completion.reasoning_text == thought


def test_nothing_is_promoted_beside_text_or_a_call() -> None:
    thought = '{"city": "Oslo"}'
    spoken = decode(chat, chat_body({"content": "x", "reasoning_content": thought}), FORMAT)
    assert (spoken.text, spoken.repairs) == ("x", ())
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    called = decode(
        chat, chat_body({"content": "", "reasoning_content": thought, "tool_calls": calls}), FORMAT
    )
    assert (called.text, called.repairs) == ("", ())


CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
FINISHES: list[tuple[Wire, object, Finish]] = [
    (chat, chat_body({"content": "x"}, "length"), "length"),
    (chat, chat_body({"content": "x"}, "content_filter"), "filtered"),
    (chat, chat_body({"content": "x"}, "tool_calls"), "tool_calls"),
    (chat, chat_body({"content": "x"}, "function_call"), "tool_calls"),
    (chat, chat_body({"content": "x"}, "eos"), "stop"),
    (chat, chat_body({"content": "x"}, None), "stop"),
    (chat, chat_body({"content": "x", "refusal": "no"}, "content_filter"), "filtered"),
    (
        chat,
        chat_body({"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}),
        "tool_calls",
    ),
    (
        chat,
        chat_body(
            {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{"}}]}, "length"
        ),
        "length",
    ),
    (
        responses,
        response(CALLED, status="incomplete", incomplete_details={"reason": "content_filter"}),
        "filtered",
    ),
    (
        responses,
        response(CALLED, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "length",
    ),
    (responses, response(CALLED, status="incomplete", incomplete_details=None), "length"),
    (responses, response(CALLED, status="failed", error=None), "error"),
    (responses, response(CALLED, status="cancelled"), "error"),
    (responses, response(CALLED), "tool_calls"),
    (responses, response(said(OUT)), "stop"),
    (messages, message(TEXT, stop="stop_sequence"), "stop"),
    (messages, message(TEXT, stop="max_tokens"), "length"),
    (messages, message(TEXT, stop="model_context_window_exceeded"), "length"),
    (messages, message(TEXT, stop="pause_turn"), "stop"),
    (
        messages,
        message({"type": "tool_use", "id": "c", "name": "f", "input": {}}, stop="tool_use"),
        "tool_calls",
    ),
    (converse, turn({"text": "x"}, stop="guardrail_intervened"), "filtered"),
    (converse, turn({"text": "x"}, stop="content_filtered"), "filtered"),
    (converse, turn({"text": "x"}, stop="max_tokens"), "length"),
    (converse, turn({"text": "x"}, stop="malformed_tool_use"), "error"),
    (generate_content, candidate({"text": "x"}, finish="MAX_TOKENS"), "length"),
    (generate_content, candidate({"text": "x"}, finish="SAFETY"), "filtered"),
    (generate_content, candidate({"text": "x"}, finish="RECITATION"), "filtered"),
    (generate_content, candidate(finish="MALFORMED_FUNCTION_CALL"), "error"),
    (generate_content, candidate({"functionCall": {"name": "f", "args": {}}}), "tool_calls"),
]


@pytest.mark.parametrize(("wire", "body", "finish"), FINISHES)
def test_the_finish_is_the_first_that_fits(wire: Wire, body: object, finish: Finish) -> None:
    assert decode(wire, body).finish == finish


@pytest.mark.parametrize(
    ("wire", "body", "usage"),
    [
        (chat, chat_body({"content": "x"}, usage=None), None),
        (chat, chat_body({"content": "x"}), None),
        (
            chat,
            chat_body(
                {"content": "x"},
                usage={
                    "prompt_tokens": 9,
                    "completion_tokens": 5,
                    "total_tokens": 14,
                    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                    "completion_tokens_details": {"reasoning_tokens": 3},
                },
            ),
            Usage(input=9, output=5, total=14, reasoning=3, cached_read=4, cached_write=2),
        ),
        (
            chat,
            chat_body({"content": "x"}, usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}),
            Usage(input=9, cached_read=8),
        ),
        (responses, response(said(OUT), usage=None), None),
        (
            responses,
            response(
                said(OUT),
                usage={
                    "input_tokens": 9,
                    "output_tokens": 5,
                    "total_tokens": 14,
                    "input_tokens_details": {"cached_tokens": 4},
                    "output_tokens_details": {"reasoning_tokens": 3},
                },
            ),
            Usage(input=9, output=5, total=14, reasoning=3, cached_read=4),
        ),
        (messages, message(TEXT), None),
        (
            messages,
            message(
                TEXT,
                usage={
                    "input_tokens": 9,
                    "output_tokens": 5,
                    "cache_read_input_tokens": 4,
                    "cache_creation_input_tokens": 2,
                },
            ),
            Usage(input=9, output=5, cached_read=4, cached_write=2),
        ),
        (converse, turn({"text": "x"}), None),
        (
            converse,
            turn(
                {"text": "x"},
                usage={
                    "inputTokens": 9,
                    "outputTokens": 5,
                    "totalTokens": 14,
                    "cacheReadInputTokens": 4,
                    "cacheWriteInputTokens": 2,
                },
            ),
            Usage(input=9, output=5, total=14, cached_read=4, cached_write=2),
        ),
        (generate_content, candidate({"text": "x"}), None),
        (
            generate_content,
            candidate(
                {"text": "x"},
                usageMetadata={
                    "promptTokenCount": 9,
                    "candidatesTokenCount": 5,
                    "totalTokenCount": 17,
                    "thoughtsTokenCount": 3,
                    "cachedContentTokenCount": 4,
                },
            ),
            Usage(input=9, output=5, total=17, reasoning=3, cached_read=4),
        ),
    ],
)
def test_usage_counts_cache_and_reasoning(wire: Wire, body: object, usage: Usage | None) -> None:
    assert decode(wire, body).usage == usage


HOSTED = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
SERVER = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
CODE = {"executableCode": {"code": "1"}}


@pytest.mark.parametrize(
    ("wire", "body", "noted"),
    [
        (responses, response(HOSTED, HOSTED, said(OUT)), {"items": [HOSTED, HOSTED]}),
        (responses, response(said(OUT), service_tier="flex"), {"service_tier": "flex"}),
        (messages, message(SERVER, TEXT), {"items": [SERVER]}),
        (
            messages,
            message(TEXT, stop="stop_sequence", stop_sequence="X", usage={"service_tier": "batch"}),
            {"stop_reason": "stop_sequence", "stop_sequence": "X", "service_tier": "batch"},
        ),
        (
            converse,
            turn({"text": "x"}, {"video": {}}, serviceTier={"type": "flex"}, trace={"a": 1}),
            {"service_tier": "flex", "trace": {"a": 1}, "items": [{"video": {}}]},
        ),
        (generate_content, candidate(CODE), {"items": [CODE]}),
        (
            generate_content,
            candidate({"text": "x"}, finish="SAFETY"),
            {"finish_reason": "SAFETY"},
        ),
        (
            chat,
            chat_body(
                {"content": "x", "annotations": [{"type": "url_citation"}]},
                service_tier="default",
                system_fingerprint="fp",
            ),
            {
                "service_tier": "default",
                "system_fingerprint": "fp",
                "annotations": [{"type": "url_citation"}],
            },
        ),
    ],
)
def test_what_is_said_beside_the_answer_is_kept(
    wire: Wire, body: object, noted: dict[str, object]
) -> None:
    assert decode(wire, body).metadata == noted


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (
            messages,
            message(
                {"type": "tool_use", "id": "c", "name": "Place", "input": {"city": "Oslo"}},
                stop="tool_use",
            ),
        ),
        (
            converse,
            turn(
                {"toolUse": {"toolUseId": "c", "name": "Place", "input": {"city": "Oslo"}}},
                stop="tool_use",
            ),
        ),
    ],
)
def test_the_forced_tools_input_is_the_answer(wire: Wire, body: object) -> None:
    raw = json.dumps(body).encode()
    answer = wire.decode_reply(raw, format=FORMAT, options=TOOL)
    assert (answer.text, answer.tool_calls, answer.finish) == ('{"city":"Oslo"}', (), "stop")
    assert answer.enforced is True
    native = wire.decode_reply(raw, format=FORMAT)
    assert [call.name for call in native.tool_calls] == ["Place"]


def test_odd_json_that_servers_send_is_read() -> None:
    raw = b'{"choices": [{"message": {"content": "a\\ud83d b\xff\n"}}]}'
    assert chat.decode_reply(raw).text == "a\ud83d b\ufffd\n"


def test_a_call_can_go_back_as_it_came() -> None:
    completion = decode(responses, response(ITEM_A, said(OUT), CALLED))
    back = completion.message
    assert (back.role, back.content) == ("assistant", "hi")
    assert (back.reasoning, back.tool_calls) == (completion.reasoning, completion.tool_calls)
    assert SCHEMA["type"] == "object"


COUNTED = [
    ("openai", Usage(input=10, output=5, total=15, reasoning=2, cached_read=8), (10, 5, 15)),
    ("anthropic", Usage(input=10, output=5, cached_read=80, cached_write=7), (97, 5, 102)),
    ("bedrock", Usage(input=10, output=5, total=95, cached_read=80), (90, 5, 95)),
    ("bedrock, input alone", Usage(input=10, output=5, total=15, cached_read=80), (90, 5, 95)),
    ("google", Usage(input=10, output=5, total=22, reasoning=7, cached_read=4), (10, 12, 22)),
    ("google, with tools' prompts", Usage(input=10, output=5, total=25, reasoning=7), (10, 12, 25)),
    ("nothing", Usage(), (0, 0, 0)),
    ("less than its parts", Usage(input=10, output=5, total=3, reasoning=7), (10, 5, 3)),
]


@pytest.mark.parametrize(
    ("usage", "counts"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED]
)
def test_counts_are_spoken_as_openai_counts(usage: Usage, counts: tuple[int, int, int]) -> None:
    reply = Completion(text="x", usage=usage)
    said = chat.encode_reply(reply, id="c", model="m", created=1)["usage"]
    told = responses.encode_reply(reply, id="r", model="m", created=1)["usage"]
    assert tuple(said[f"{name}_tokens"] for name in ("prompt", "completion", "total")) == counts  # type: ignore[index]
    assert tuple(told[f"{name}_tokens"] for name in ("input", "output", "total")) == counts  # type: ignore[index]
