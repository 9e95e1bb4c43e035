"""Single rules of streams: faults, odd servers, promotion, forced tools."""

from __future__ import annotations

import json

import pytest

from structguard.types import (
    Completion,
    DeclineDelta,
    Failure,
    Finished,
    Kind,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCalled,
)
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import BadReply, StreamDecoder, Wire, WireOptions
from tests.wire.samples import FORMAT

TOOL = WireOptions(structured="tool")


def sse(*events: object, named: bool = False) -> bytes:
    lines: list[str] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
        lines.append(f"{name}data: {data}\n\n")
    return "".join(lines).encode()


def run(decoder: StreamDecoder, *chunks: bytes) -> tuple[list[StreamEvent], Failure | None]:
    """The events, and the failure the stream ended with."""
    events: list[StreamEvent] = []
    for chunk in chunks:
        events += decoder.feed(chunk)
    try:
        return events + decoder.close(), None
    except BadReply as error:
        return events, error.failure


def reply(events: list[StreamEvent]) -> Completion:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.completion


def chunk(delta: object, finish: object = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


SAID = chunk({"content": "hi"})
FAULTS = [
    (chat, sse(SAID, {"error": {"message": "x", "code": 429}}), Kind.RATE_LIMITED, True),
    (chat, sse({"error": {"message": "x", "code": 502}}), Kind.UNAVAILABLE, False),
    (chat, sse(SAID, {"error": {"message": "x"}}), Kind.BAD_RESPONSE, True),
    (chat, sse(SAID, chunk({}, "error")), Kind.UNAVAILABLE, True),
    (
        chat,
        sse(SAID, {"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 504}}]}),
        Kind.TIMEOUT,
        True,
    ),
    (chat, b'event: error\ndata: {"error": {"code": 503, "message": "x"}}\n\n', Kind.UNAVAILABLE,
     False),
    (chat, sse(SAID, "{oops"), Kind.BAD_RESPONSE, True),
    (chat, sse("[1]"), Kind.BAD_RESPONSE, False),
    (chat, sse(SAID, "[DONE]"), Kind.STREAM_TRUNCATED, True),
    (chat, b"", Kind.STREAM_TRUNCATED, False),
    (chat, b"<html>502</html>", Kind.STREAM_TRUNCATED, False),
    (
        responses,
        sse({"type": "error", "code": "server_error", "message": "x", "param": None}, named=True),
        Kind.UNAVAILABLE,
        False,
    ),
    (
        responses,
        sse({"type": "error", "error": {"type": "x", "code": "rate_limit_exceeded"}}),
        Kind.RATE_LIMITED,
        False,
    ),
    (responses, sse({"type": "error"}), Kind.BAD_RESPONSE, False),
    (
        responses,
        sse({"type": "response.failed", "response": {"error": {"code": "server_error"}}}),
        Kind.UNAVAILABLE,
        False,
    ),
    (responses, sse({"error": {"message": "x", "code": 500}}), Kind.UNAVAILABLE, False),
    (
        responses,
        b'event: response.completed\ndata: {"type": "response.created", "response": {}}\n\n',
        Kind.BAD_RESPONSE,
        False,
    ),
    (responses, sse({"type": "response.created"}, "[DONE]"), Kind.STREAM_TRUNCATED, False),
    (
        messages,
        sse({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, named=True),
        Kind.UNAVAILABLE,
        False,
    ),
    (messages, sse({"type": "content_block_stop", "index": 4}), Kind.BAD_RESPONSE, False),
    (
        generate_content,
        sse({"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}),
        Kind.UNAVAILABLE,
        False,
    ),
    (
        generate_content,
        sse({"promptFeedback": {"blockReason": "OTHER"}}),
        Kind.CONTENT_FILTERED,
        False,
    ),
    (converse, b'{"throttlingException": {"message": "slow"}}', Kind.RATE_LIMITED, False),
    (converse, b'{"internalServerException": {"Message": "x"}}', Kind.UNAVAILABLE, False),
    (converse, b'{"modelStreamErrorException": {"message": "x"}}', Kind.UNAVAILABLE, False),
    (converse, b'{"serviceUnavailableException": {}}', Kind.UNAVAILABLE, False),
    (
        converse,
        b'{"validationException": {"message": "Input is too long for requested model."}}',
        Kind.CONTEXT_LENGTH,
        False,
    ),
    (converse, b'{"validationException": {"message": "bad"}}', Kind.INVALID_REQUEST, False),
    (converse, b'{"someNewException": {"message": "x"}}', Kind.BAD_RESPONSE, False),
    (converse, b"{oops", Kind.BAD_RESPONSE, False),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "raw", "kind", "yielded"), FAULTS)
def test_a_fault_ends_the_stream_and_the_events_before_it_are_given(
    wire: Wire, raw: bytes, kind: Kind, *, yielded: bool
) -> None:
    events, failure = run(wire.open_stream(), raw, raw)
    assert failure is not None
    assert wire.classify(failure)[0] is kind
    assert failure.yielded is yielded
    assert bool(events) is yielded
    assert events == ([TextDelta("hi")] if yielded else [])


@pytest.mark.parametrize(
    ("wire", "body", "events"),
    [
        (
            chat,
            {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]},
            [TextDelta("hi")],
        ),
        (
            responses,
            {"output": [{"type": "message", "content": [{"refusal": "no"}]}]},
            [DeclineDelta("no")],
        ),
        (
            messages,
            {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]},
            [ReasoningDelta("hm"), TextDelta("hi")],
        ),
        (
            generate_content,
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]},
            [ToolCalled],
        ),
    ],
)
def test_a_server_that_ignores_stream_is_read_as_a_whole_reply(
    wire: Wire, body: object, events: list[object]
) -> None:
    raw = b"  " + json.dumps(body, indent=1).encode()
    got, failure = run(wire.open_stream(), raw[:9], raw[9:])
    assert failure is None
    assert isinstance(got.pop(), Finished)
    assert [
        type(e) if isinstance(w, type) else e for e, w in zip(got, events, strict=True)
    ] == events


def test_an_error_with_status_200_on_a_stream_is_an_error() -> None:
    raw = json.dumps({"error": {"message": "no", "code": "model_not_found"}}).encode()
    events, failure = run(chat.open_stream(), raw)
    assert events == []
    assert failure is not None
    assert chat.classify(failure)[0] is Kind.NOT_FOUND
    assert failure.body == raw.decode()


def test_a_page_with_status_200_is_kept_for_the_failure_up_to_a_limit() -> None:
    _, failure = run(chat.open_stream(), b"<html>" + b"x" * 70_000, b"more" * 10)
    assert failure is not None
    assert failure.body.startswith("<html>xxx")
    assert len(failure.body) < 71_000


TOLD = {"X-Request-Id": "req_9", "Retry-After": "3", "x-ratelimit-limit-requests": "60"}


@pytest.mark.parametrize("wire", [chat, responses, messages, converse, generate_content])
def test_a_fault_inside_a_200_says_what_the_headers_say(wire: Wire) -> None:
    failures = [run(wire.open_stream(TOLD), b"data: {}\n\n")[1], run(wire.open_stream(TOLD))[1]]
    with pytest.raises(BadReply) as caught:
        wire.decode_reply(b"oops", TOLD)
    for failure in (*failures, caught.value.failure):
        assert failure is not None
        assert (failure.request_id, failure.retry_after) == ("req_9", 3.0)
        assert failure.metadata == {"x-ratelimit-limit-requests": 60}


def test_a_faults_own_request_id_wins() -> None:
    fault = {"type": "error", "error": {"type": "api_error"}, "request_id": "req_own"}
    _, failure = run(messages.open_stream(TOLD), sse(fault))
    assert failure is not None
    assert failure.request_id == "req_own"


def call(index: int | None, **function: object) -> dict[str, object]:
    piece: dict[str, object] = {"function": {k: v for k, v in function.items() if k != "id"}}
    if "id" in function:
        piece["id"] = function["id"]
    if index is not None:
        piece["index"] = index
    return chunk({"tool_calls": [piece]})


def test_calls_of_a_chat_stream_come_at_the_finish_in_the_order_of_their_index() -> None:
    decoder = chat.open_stream()
    pieces = sse(
        call(1, id="b", name="g", arguments="{}"),
        call(0, id="a", name="f", arguments='{"x":'),
        call(0, arguments="1}"),
    )
    assert decoder.feed(pieces) == []
    events = decoder.feed(sse(chunk({}, "tool_calls"), chunk({}, "tool_calls"), "[DONE]"))
    assert [e.call.id for e in events if isinstance(e, ToolCalled)] == ["a", "b"]
    assert reply(events).tool_calls[0].arguments == '{"x":1}'


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    pieces = sse(
        call(None, id="a", name="f", arguments="{"),
        call(None, arguments="}"),
        call(None, id="b", name="g", arguments="{}"),
        chunk({}, "stop"),
        "[DONE]",
    )
    events, _ = run(chat.open_stream(), pieces)
    assert [(c.id, c.name, c.arguments) for c in reply(events).tool_calls] == [
        ("a", "f", "{}"),
        ("b", "g", "{}"),
    ]
    assert reply(events).finish == "tool_calls"


def test_a_signature_on_a_streamed_call_is_kept() -> None:
    signed = chunk(
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "a",
                    "function": {"name": "f", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "S"}},
                }
            ]
        }
    )
    events, _ = run(chat.open_stream(), sse(signed, chunk({}, "tool_calls")))
    assert reply(events).tool_calls[0].signature == "S"


def test_only_the_first_choice_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    events, failure = run(chat.open_stream(), sse(SAID, other))
    assert events == [TextDelta("hi")]
    assert failure is not None
    assert failure.truncated


def test_content_in_parts_is_text_and_thinking() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = chunk({"content": [thinking, {"type": "text", "text": "hi"}]})
    events, _ = run(chat.open_stream(), sse(parts, chunk({}, "stop")))
    assert events[:2] == [ReasoningDelta("hm"), TextDelta("hi")]
    assert [part.text for part in reply(events).reasoning] == ["hm"]


def test_both_names_of_the_same_reasoning_are_told_once() -> None:
    both = chunk({"reasoning": "hm", "reasoning_content": "hm"})
    events, _ = run(chat.open_stream(), sse(both, chunk({"content": "x"}, "stop")))
    assert events[:2] == [ReasoningDelta("hm"), TextDelta("x")]


@pytest.mark.parametrize(
    ("wire", "raw"),
    [
        (chat, sse(chunk({"reasoning_content": '{"city": "Oslo"}'}), chunk({}, "stop"))),
        (
            generate_content,
            sse(
                {
                    "candidates": [
                        {
                            "content": {"parts": [{"text": '{"city": "Oslo"}', "thought": True}]},
                            "finishReason": "STOP",
                        }
                    ]
                }
            ),
        ),
    ],
)
def test_a_promoted_answer_is_told_as_text_before_the_end(wire: Wire, raw: bytes) -> None:
    events, _ = run(wire.open_stream(format=FORMAT), raw)
    assert events[:2] == [ReasoningDelta('{"city": "Oslo"}'), TextDelta('{"city": "Oslo"}')]
    assert reply(events).repairs == ("promoted_from_reasoning",)
    assert reply(events).enforced is True
    plain, _ = run(wire.open_stream(), raw)
    assert plain[:-1] == [ReasoningDelta('{"city": "Oslo"}')]


def block(index: int, content: object, *deltas: object) -> list[object]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_a_forced_tools_input_streams_as_the_answer() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Place", "input": {}}
    pieces = ['{"city":', ' "Oslo"}']
    raw = sse(
        {"type": "message_start", "message": {"id": "m"}},
        *block(0, use, *({"type": "input_json_delta", "partial_json": p} for p in pieces)),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )
    events, _ = run(messages.open_stream(format=FORMAT, options=TOOL), raw)
    assert events[:-1] == [TextDelta(p) for p in pieces]
    assert (reply(events).text, reply(events).finish) == ('{"city": "Oslo"}', "stop")
    decoder = converse.open_stream(format=FORMAT, options=TOOL)
    first, second = ({"contentBlockDelta": {"delta": {"toolUse": {"input": p}}}} for p in pieces)
    told: list[dict[str, object]] = [
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "Place"}}}},
        dict[str, object](first),
        dict[str, object](second),
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {}}},
    ]
    events = [event for one in told for event in decoder.feed_event(one)]
    assert events[:-1] == [TextDelta(p) for p in pieces]
    assert (reply(events).text, reply(events).finish) == ('{"city": "Oslo"}', "stop")


def test_a_block_may_start_with_its_text_and_hosted_blocks_are_kept() -> None:
    hosted = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    raw = sse(
        *block(
            0, {"type": "thinking", "thinking": "h"}, {"type": "thinking_delta", "thinking": "m"}
        ),
        *block(1, {"type": "text", "text": "a"}, {"type": "text_delta", "text": "b"}),
        *block(2, hosted, {"type": "citations_delta", "citation": {}}),
        {"type": "message_stop"},
    )
    events, _ = run(messages.open_stream(), raw)
    assert events[:-1] == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("a"),
        TextDelta("b"),
    ]
    assert (reply(events).text, reply(events).reasoning_text) == ("ab", "hm")
    assert reply(events).metadata == {"items": [hosted]}


def item(index: int, kind: str, **fields: object) -> dict[str, object]:
    return {
        "type": f"response.output_item.{kind}",
        "output_index": index,
        "item": {"type": "function_call", **fields},
    }


def arguments(index: int, text: str, **more: object) -> dict[str, object]:
    return {
        "type": "response.function_call_arguments.done",
        "output_index": index,
        "arguments": text,
        **more,
    }


def completed(*output: object) -> dict[str, object]:
    return {"type": "response.completed", "response": {"status": "completed", "output": output}}


def test_calls_wait_for_those_before_them_and_are_given_once() -> None:
    decoder = responses.open_stream()
    opened = [item(n, "added", call_id=c, name="f") for n, c in ((0, "a"), (1, "b"), (2, "c"))]
    assert decoder.feed(sse(*opened, arguments(2, "{}"), arguments(1, "{}"))) == []
    events = decoder.feed(sse(arguments(0, "{}")))
    assert [e.call.id for e in events if isinstance(e, ToolCalled)] == ["a", "b", "c"]
    again = item(1, "done", call_id="b", name="f", arguments="{}")
    assert decoder.feed(sse(again)) == []
    whole = [
        {"type": "function_call", "call_id": c, "name": "f", "arguments": "{}"} for c in "abcd"
    ]
    events = decoder.feed(sse(completed(*whole)))
    assert [type(e) for e in events] == [ToolCalled, Finished]  # the one nobody had told of
    assert [call.id for call in reply(events).tool_calls] == ["a", "b", "c", "d"]


def test_a_call_whose_name_comes_late_waits_for_its_item() -> None:
    decoder = responses.open_stream()
    grown = {
        "type": "response.function_call_arguments.delta",
        "output_index": 0,
        "delta": "{}",
    }
    assert decoder.feed(sse(grown, arguments(0, "{}"))) == []
    [event] = decoder.feed(sse(item(0, "done", call_id="a", name="f", arguments="{}")))
    assert isinstance(event, ToolCalled)


@pytest.mark.parametrize(
    ("kind", "key", "event"),
    [
        ("output_text", "text", TextDelta("all")),
        ("refusal", "refusal", DeclineDelta("all")),
        ("reasoning_text", "text", ReasoningDelta("all")),
        ("reasoning", "text", ReasoningDelta("all")),
        ("reasoning_summary_text", "text", ReasoningDelta("all")),
    ],
)
def test_a_text_told_only_when_done_is_told_then_and_no_text_twice(
    kind: str, key: str, event: StreamEvent
) -> None:
    done = {"type": f"response.{kind}.done", "output_index": 0, "content_index": 0, key: "all"}
    delta = {
        "type": f"response.{kind}.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": "all",
    }
    assert responses.open_stream().feed(sse(done)) == [event]
    assert responses.open_stream().feed(sse(delta, done)) == [event]


@pytest.mark.parametrize(
    ("part", "event"),
    [
        ({"type": "output_text", "text": "hi"}, TextDelta("hi")),
        ({"type": "refusal", "refusal": "no"}, DeclineDelta("no")),
    ],
)
def test_what_only_the_terminal_event_holds_is_told_before_it(
    part: object, event: StreamEvent
) -> None:
    events, _ = run(responses.open_stream(), sse(completed({"type": "message", "content": [part]})))
    assert events[:-1] == [event]


def test_a_terminal_event_without_output_is_made_whole_from_what_was_told() -> None:
    told = [
        {"type": "response.in_progress", "response": {"id": "r", "model": "m"}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "reasoning", "id": "rs"},
        },
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "hi"},
        {"type": "response.refusal.delta", "output_index": 1, "content_index": 1, "delta": "no"},
        item(2, "added", call_id="a", name="f"),
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{"},
        {"type": "response.incomplete", "response": {"status": "incomplete", "output": []}},
    ]
    events, failure = run(responses.open_stream(), sse(*told))
    assert failure is None
    whole = reply(events)
    assert (whole.id, whole.model, whole.text) == ("r", "m", "hino")
    assert [(part.id, part.text) for part in whole.reasoning] == [("rs", "hm")]
    [cut] = whole.tool_calls
    assert (cut.id, cut.arguments) == ("a", "{")
    assert cut.error


def test_a_cancelled_or_failed_response_without_an_error_is_a_finish() -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "output": []}}
    events, failure = run(responses.open_stream(), sse(failed))
    assert failure is None
    assert reply(events).finish == "error"


def test_google_may_send_chunks_without_candidates_and_thoughts_with_signatures() -> None:
    raw = sse(
        {"usageMetadata": {"promptTokenCount": 3}},
        {"candidates": [{"content": {"parts": [{"text": "a", "thought": True}]}}]},
        {
            "candidates": [
                {"content": {"parts": [{"thought": True, "thoughtSignature": "S"}]}},
            ]
        },
        {"candidates": [{"content": {"parts": [{"text": "b", "thought": True}]}}]},
        {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    )
    events, failure = run(generate_content.open_stream(), raw)
    assert failure is None
    whole = reply(events)
    assert [(part.text, part.signature) for part in whole.reasoning] == [("a", "S"), ("b", None)]
    assert whole.finish == "length"


def test_an_empty_finish_reason_is_none_yet() -> None:
    """Some servers send it with every chunk: what comes after is still part of the reply."""
    piece = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    first, second = chunk({"content": "hi"}, ""), chunk({"tool_calls": [piece]}, "")
    events, fault = run(chat.open_stream(), sse(first, second, chunk({}, "tool_calls"), "[DONE]"))
    assert fault is None
    assert [made.name for made in reply(events).tool_calls] == ["f"]
    events, fault = run(chat.open_stream(), sse(first))
    assert fault
    assert (events, fault.truncated) == ([TextDelta("hi")], True)


def test_an_error_beside_a_finish_reason_of_error_says_what_it_was() -> None:
    """OpenRouter's chunk has both; the text that came with it is not lost either."""
    end = chunk({"content": "!"}, "error", error={"code": 429, "message": "slow down"})
    events, fault = run(chat.open_stream(), sse(SAID, end))
    assert fault
    assert events == [TextDelta("hi"), TextDelta("!")]
    assert (fault.message, chat.classify(fault)[0]) == ("slow down", Kind.RATE_LIMITED)


@pytest.mark.parametrize(
    "odd", ["data: [DONE] ", "data:  [DONE]", "data:\n\ndata: [DONE]", "data: "]
)
def test_spaces_around_done_and_events_of_no_data_are_no_fault(odd: str) -> None:
    raw = sse(SAID, chunk({}, "stop")) + f"{odd}\n\n".encode()
    events, fault = run(chat.open_stream(), f"{odd}\n\n".encode() * ("DONE" not in odd) + raw)
    assert fault is None
    assert reply(events).text == "hi"


@pytest.mark.parametrize(
    "raw",
    [
        b'event: error\ndata: {"type": "rate_limit_error", "message": "slow down"}\n\n',
        b'data: {"object": "error", "type": "rate_limit_error", "message": "slow down"}\n\n',
    ],
)
def test_an_error_without_an_envelope_is_told(raw: bytes) -> None:
    _, fault = run(chat.open_stream(), sse(SAID), raw)
    assert fault
    assert (fault.message, chat.classify(fault)[0]) == ("slow down", Kind.RATE_LIMITED)


def test_a_block_without_its_stop_is_part_of_the_reply() -> None:
    said = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})[:-1]
    events, fault = run(messages.open_stream(), sse(*said, {"type": "message_stop"}))
    assert fault is None
    assert reply(events).text == "hi"


def test_a_block_that_never_began_is_a_fault_and_no_crash() -> None:
    delta = {"type": "input_json_delta", "partial_json": "{}"}
    lost = {"type": "content_block_delta", "index": 0, "delta": delta}
    decoder = messages.open_stream(format=FORMAT, options=TOOL)
    events, fault = run(decoder, sse(lost, {"type": "message_stop"}))
    assert events == []
    assert fault
    assert "never began" in fault.message


@pytest.mark.parametrize(("text", "kept"), [('{"query": "x"}', {"query": "x"}), ('{"qu', '{"qu')])
def test_a_hosted_tools_streamed_input_is_kept(text: str, kept: object) -> None:
    hosted = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    grown = block(0, hosted, {"type": "input_json_delta", "partial_json": text})
    events, _ = run(messages.open_stream(), sse(*grown, {"type": "message_stop"}))
    assert reply(events).metadata == {"items": [{**hosted, "input": kept}]}


@pytest.mark.parametrize("odd", [[], {}, [None], {"a": 1}, 1.5, True])
def test_an_object_where_a_word_belongs_is_no_crash(odd: object) -> None:
    """A whole reply and a stream whose finish is no word end as any other."""
    for wire, body in (
        (responses, {"status": odd, "output": []}),
        (messages, {"content": [], "stop_reason": odd}),
        (converse, {"output": {"message": {"content": []}}, "stopReason": odd}),
        (generate_content, {"candidates": [{"finishReason": odd}]}),
        (chat, {"choices": [{"message": {"content": ""}, "finish_reason": odd}]}),
    ):
        assert wire.decode_reply(json.dumps(body).encode()).finish == "stop"
    for decoder, raw in (
        (responses.open_stream(), sse({"type": odd}, {"type": "response.output_text.delta", "delta":
            "x", "content_index": odd}, completed())),
        (messages.open_stream(), sse(
            {"type": "content_block_start", "index": odd, "content_block": {"type": "text"}},
            {"type": "content_block_delta", "index": odd, "delta": {"type": odd}},
            {"type": "content_block_stop", "index": odd},
            {"type": "message_delta", "delta": {"stop_reason": odd}}, {"type": "message_stop"})),
        (generate_content.open_stream(), sse({"candidates": [{"finishReason": odd}]})),
        (chat.open_stream(), sse(chunk({}, odd or "stop"))),
    ):  # fmt: skip
        events, fault = run(decoder, raw)
        assert fault is None
        assert reply(events).finish == "stop"
    stopped = converse.open_stream()
    stopped.feed_event({"messageStop": {"stopReason": odd}})
    assert reply(stopped.close()).finish == "stop"


def test_a_forced_tools_empty_answer_is_told_as_text_too() -> None:
    empty = block(0, {"type": "tool_use", "id": "t", "name": FORMAT.name, "input": {}})
    decoder = messages.open_stream(format=FORMAT, options=TOOL)
    events, _ = run(decoder, sse(*empty, {"type": "message_stop"}))
    assert events[0] == TextDelta("{}")
    assert reply(events).text == "{}"
    bedrock = converse.open_stream(format=FORMAT, options=TOOL)
    start = {"toolUse": {"toolUseId": "t", "name": FORMAT.name}}
    told = bedrock.feed_event({"contentBlockStart": {"start": start}})
    told += bedrock.feed_event({"contentBlockStop": {}})
    assert told == [TextDelta("{}")]
