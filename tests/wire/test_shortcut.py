"""Text events taken by their bytes say what they say the long way, however odd their neighbours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from structguard.types import StreamEvent, TextDelta
from structguard.wire import chat, responses
from structguard.wire.base import BadReply
from structguard.wire.shortcut import Shortcut
from structguard.wire.stream import SseDecoder

Json = dict[str, Any]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(['"', "\\", '\\"', '","content":"', "\n\n", "data: ", "", "é❄😀", "[DONE]"]),
)
CHAT: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"text": TEXTS},
    optional={
        "role": st.just("assistant"),
        "finish": st.sampled_from(["stop", "length"]),
        "usage": st.just({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
        "index": st.integers(0, 1),
        "reasoning_content": TEXTS,
        "created": st.integers(1, 3),
        "obfuscation": st.text("xy", max_size=3),
        "error": st.just({"message": "down"}),
    },
)
KIND: st.SearchStrategy[Any] = st.sampled_from(["output_text", "output_text", "refusal"])
RESPONSES: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"text": TEXTS, "kind": KIND},
    optional={
        "item": st.integers(0, 1),
        "content": st.integers(0, 1),
        "number": st.integers(0, 10**6),
        "obfuscation": st.text("xy", max_size=3),
    },
)


def chunk(given_: Json) -> Json:
    delta: Json = {key: given_[key] for key in ("role", "reasoning_content") if key in given_}
    delta["content"] = given_["text"]
    choice = {"index": given_.get("index", 0), "delta": delta,
              "logprobs": None, "finish_reason": given_.get("finish")}  # fmt: skip
    beside: Json = {key: given_[key] for key in ("obfuscation", "error") if key in given_}
    return {"id": "c", "object": "chat.completion.chunk", "created": given_.get("created", 1),
            "model": "m", "choices": [choice], "usage": given_.get("usage"), **beside}  # fmt: skip


def delta(at: int, given_: Json) -> Json:
    beside: Json = {"obfuscation": given_["obfuscation"]} if "obfuscation" in given_ else {}
    return {"type": f"response.{given_['kind']}.delta", "sequence_number": given_.get("number", at),
            "item_id": "msg", "output_index": given_.get("item", 0),
            "content_index": given_.get("content", 0), "delta": given_["text"], **beside}  # fmt: skip


def written(event: Json, *, ascii_only: bool, name: bool) -> bytes:
    data = json.dumps(event, ensure_ascii=ascii_only, separators=(",", ":"))
    head = f"event: {event['type']}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()


def read(decoder: SseDecoder, events: list[bytes], per_read: int) -> tuple[list[StreamEvent], str]:
    """All events, and the fault at the end if there is one."""
    got: list[StreamEvent] = []
    for at in range(0, len(events), per_read):
        got += decoder.feed(b"".join(events[at : at + per_read]))
    try:
        got += decoder.close()
    except BadReply as error:
        return got, error.failure.message
    return got, ""


def the_long_way(decoder: SseDecoder) -> SseDecoder:
    decoder._shortcut = None
    return decoder


@settings(max_examples=300, deadline=None)
@given(given_=st.lists(CHAT, max_size=12), per_read=st.integers(1, 4), ascii_only=st.booleans())
@example(
    given_=[{"text": "a"}] * 3 + [{"text": "b", "finish": "stop"}], per_read=2, ascii_only=True
)
def test_chat_chunks_read_alike_both_ways(
    given_: list[Json], per_read: int, *, ascii_only: bool
) -> None:
    events = [written(chunk(one), ascii_only=ascii_only, name=False) for one in given_]
    events.append(b"data: [DONE]\n\n")
    quick = read(chat.open_stream(), events, per_read)
    assert quick == read(the_long_way(chat.open_stream()), events, per_read)


@settings(max_examples=300, deadline=None)
@given(
    given_=st.lists(RESPONSES, max_size=12),
    per_read=st.integers(1, 4),
    ascii_only=st.booleans(),
    named=st.booleans(),
)
def test_responses_events_read_alike_both_ways(
    given_: list[Json], per_read: int, *, ascii_only: bool, named: bool
) -> None:
    events = [
        written(delta(at, one), ascii_only=ascii_only, name=named) for at, one in enumerate(given_)
    ]
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
    events.append(written(end, ascii_only=True, name=named))
    quick = read(responses.open_stream(), events, per_read)
    assert quick == read(the_long_way(responses.open_stream()), events, per_read)


def test_the_shortcut_is_taken_from_the_second_event_on() -> None:
    taken: list[str] = []

    class Counting(Shortcut):
        def take(self, name: str, data: bytes) -> str | None:
            text = super().take(name, data)
            if text is not None:
                taken.append(text)
            return text

    pieces: list[str] = []

    def plain(event: Mapping[str, object]) -> list[str]:
        pieces.append(str(event["delta"]))
        return pieces

    shortcut = Counting(b'"delta":"', plain, b'"sequence_number":')
    for number, text in enumerate(("one", "t\\wo", 'th"ree')):
        event = {"sequence_number": number, "delta": text, "logprobs": []}
        data = json.dumps(event, separators=(",", ":")).encode()
        if shortcut.take("x", data) is None:
            shortcut.learn("x", data, event)
    assert taken == ["t\\wo", 'th"ree']
    assert pieces == ["one", *taken]


@pytest.mark.parametrize(
    "data",
    [
        b'{"n":2,"delta":"a"b","end":1}',
        b'{"n":2,"delta":"a","delta":"b","end":1}',
        b'{"n":x,"delta":"a","end":1}',
        b'{"n":,"delta":"a","end":1}',
        b'{"n":2,"delta":"\\ud800","end":1}',
        b'{"n":2,"delta":"","end":1}',
        b'{"n":2,"delta":"a\\","end":1}',
        b'{"n":2,"delta":"\n","end":1}',
        b'{"n":2,"delta":"\xff","end":1}',
        b'{"n":2,"delta":"a","end":2}',
        b'{"n":1,"delta":","end":1}',
        b'"end":1}',
    ],
)
def test_what_only_looks_alike_goes_the_long_way(data: bytes) -> None:
    pieces = ["a"]
    shortcut = Shortcut(b'"delta":"', lambda _: pieces, b'"n":')
    shortcut.learn("", b'{"n":1,"delta":"a","end":1}', {})
    assert shortcut.take("", b'{"n":12,"delta":"z","end":1}') == "z"
    assert shortcut.take("other", b'{"n":12,"delta":"z","end":1}') is None
    assert shortcut.take("", data) is None
    assert pieces == ["a", "z"]


def test_a_stream_whose_events_never_look_alike_is_left_alone() -> None:
    asked: list[bytes] = []

    def plain(event: Mapping[str, object]) -> list[str]:
        asked.append(b"")
        return ["a"]

    shortcut = Shortcut(b'"delta":"', plain)
    for number in range(100):
        shortcut.learn("", b'{"pad":"%d","delta":"a"}' % number, {})
    assert len(asked) == 8


def test_deltas_are_still_events_of_their_own() -> None:
    decoder = chat.open_stream()
    events = [written(chunk({"text": text}), ascii_only=True, name=False) for text in "abcd"]
    assert decoder.feed(b"".join(events)) == [TextDelta(text) for text in "abcd"]
