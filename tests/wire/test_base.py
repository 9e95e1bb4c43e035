"""What all wires share: the protocol, the table, what to send and what is left out."""

from __future__ import annotations

import pytest

from structguard.types import Completion, Reasoning, ToolCall, Usage
from structguard.wire import chat, responses
from structguard.wire.base import Unencodable, WireOptions, left_out, sendable_format
from structguard.wire.encoding import JSON_SENTENCE
from structguard.wire.media import extension, media_type
from structguard.wire.payload import embedded, loads, merged
from structguard.wire.table import WIRES
from tests.wire.samples import FORMAT, WEATHER, ask


def test_every_wire_is_found_under_its_name() -> None:
    for api, wire in WIRES.items():
        assert api == wire.API
    assert set(WIRES) == {"chat", "responses", "messages", "converse", "generate_content"}


APART = WireOptions(format_with_tools=False)
TOOL = WireOptions(structured="tool")


def test_format_and_tools_go_together_unless_the_endpoint_cannot() -> None:
    both = ask(tools=[WEATHER])
    first = ask(tools=[WEATHER], tools_first=True)
    assert sendable_format(both, FORMAT) is FORMAT
    assert sendable_format(first, FORMAT) is FORMAT
    assert sendable_format(both, None, APART) is None
    for options in (APART, TOOL):
        assert sendable_format(ask(), FORMAT, options) is FORMAT
        assert sendable_format(first, FORMAT, options) is None
        with pytest.raises(Unencodable, match="tools_first=True") as caught:
            sendable_format(both, FORMAT, options)
        assert caught.value.param == "response_format"


def test_what_a_reasoning_request_leaves_out_is_named() -> None:
    warm = ask(temperature=0.5, top_p=0.9)
    assert left_out(warm) == ()
    assert left_out(warm, WireOptions(reasoning=True)) == ("temperature", "top_p")
    assert left_out(ask(temperature=0.5, effort=0)) == ("temperature",)


def test_the_sentence_holds_the_word() -> None:
    assert "json" in JSON_SENTENCE.lower()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.PDF", "application/pdf"),
        ("https://x/y.jpg?size=1#z", "image/jpeg"),
        ("https://x.png/y", None),
        ("noending", None),
        ("", None),
    ],
)
def test_media_types_are_read_from_the_end_of_the_path(name: str, kind: str | None) -> None:
    assert media_type(name) == kind


def test_a_media_type_has_a_short_name() -> None:
    assert extension("image/jpeg") == "jpeg"
    assert extension("application/x-thing+json") == "x-thing"


def test_objects_are_merged_and_never_changed() -> None:
    ours = {"a": {"b": 1, "c": {"d": 1}}, "e": 1}
    assert merged(ours, {"a": {"c": {"x": 2}}, "e": {"f": 2}, "g": 3}) == {
        "a": {"b": 1, "c": {"d": 1, "x": 2}},
        "e": {"f": 2},
        "g": 3,
    }
    assert ours == {"a": {"b": 1, "c": {"d": 1}}, "e": 1}


def test_json_inside_a_text_is_found() -> None:
    assert embedded('x [oops {"a": 1} y') == {"a": 1}
    assert embedded("nothing") is None
    assert embedded("{ [") is None
    with pytest.raises(ValueError, match="deep"):
        loads(b"[" * 200_000)


CALL = ToolCall(id="c", name="f", arguments="{}")
DETAIL: dict[str, object] = {"type": "reasoning.encrypted", "data": "E"}
FULL = Completion(
    text="hi",
    tool_calls=(CALL,),
    finish="tool_calls",
    reasoning=(
        Reasoning(text="a", id="rs_1", encrypted="E1"),
        Reasoning(encrypted="E", raw=DETAIL),
        Reasoning(text="b", call_id="c"),
    ),
    usage=Usage(input=3, output=4),
)


def test_a_chat_client_reads_the_reply() -> None:
    assert chat.encode_reply(FULL, id="x", model="m", created=7) == {
        "id": "x",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "hi",
                    "refusal": None,
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                    "reasoning_content": "ab",
                    "reasoning_details": [DETAIL],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }
    declined = Completion(text="no", finish="declined")
    body = chat.encode_reply(declined, id="x", model="m", created=7)
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "refusal": "no"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert "usage" not in body


def test_a_responses_client_reads_the_reply() -> None:
    body = responses.encode_reply(FULL, id="resp_9", model="m", created=7)
    assert body == {
        "id": "resp_9",
        "object": "response",
        "created_at": 7,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "output": [
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "a"}],
                "id": "rs_1",
                "encrypted_content": "E1",
            },
            {"type": "reasoning", "summary": [], "encrypted_content": "E", "id": "rs_9_1"},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}
                ],
                "id": "msg_9_2",
                "status": "completed",
            },
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "b"}],
                "id": "rs_9_3",
            },
            {
                "type": "function_call",
                "call_id": "c",
                "name": "f",
                "arguments": "{}",
                "id": "fc_9_4",
                "status": "completed",
            },
        ],
        "usage": {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 7,
        },
    }


@pytest.mark.parametrize(
    ("completion", "status", "reason"),
    [
        (Completion(text="x", finish="length"), "incomplete", "max_output_tokens"),
        (Completion(text="x", finish="filtered"), "incomplete", "content_filter"),
        (Completion(text="x", finish="error"), "failed", None),
        (Completion(text="x", finish="declined"), "completed", None),
    ],
)
def test_a_finish_is_a_status(completion: Completion, status: str, reason: str | None) -> None:
    body = responses.encode_reply(completion, id="r", model="m", created=7)
    assert body["status"] == status
    assert body["incomplete_details"] == ({"reason": reason} if reason else None)
    assert body["usage"] is None
