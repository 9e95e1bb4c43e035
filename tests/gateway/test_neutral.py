"""Neutral events on their way: together what came together; a held answer grows, and is never prose."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from structguard.clients.growing import AnswerChanged
from structguard.gateway.neutral import Batch, TextHealer, batches
from structguard.types import (
    Completion,
    Finished,
    Format,
    JsonObject,
    JsonSchema,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
)
from tests.gateway.conformance import check_stream, events_of
from tests.gateway.support import SCHEMA, TEXT_FORMAT, VALUE, chat, response, running, settings
from tests.gateway.upstream import upstream
from tests.http.raw import Play, chunked, raw_server

ANSWER = json.dumps(VALUE, separators=(",", ":"))
FENCED = f"Here it is:\n```json\n{json.dumps(VALUE, indent=1)}\n```\nAnything else?"


def healed(
    text: str, *, degraded: bool, size: int = 3, format_: Format | None = None, finish: str = "stop"
) -> tuple[list[str], Completion, TextHealer]:
    """The deltas that come out for a text in pieces, the reply at the end, and the healer."""
    healer = TextHealer(format_ or JsonSchema(schema=SCHEMA), degraded)
    out: Batch = []
    for at in range(0, len(text), size):
        healer.feed(TextDelta(text[at : at + size]), out)
    healer.feed(Finished(Completion(text=text, finish=finish)), out)  # type: ignore[arg-type]
    end = out.pop()
    assert isinstance(end, Finished)
    assert all(isinstance(event, TextDelta) for event in out)
    return [event.text for event in out if isinstance(event, TextDelta)], end.completion, healer


@pytest.mark.parametrize("degraded", [False, True])
def test_a_held_answer_is_shown_as_it_grows(*, degraded: bool) -> None:
    deltas, reply, healer = healed(FENCED, degraded=degraded)
    assert len(deltas) > 2
    assert "".join(deltas) == ANSWER == reply.text
    assert healer.source == "fenced"


def test_what_is_json_from_its_first_character_on_passes_as_it_comes() -> None:
    deltas, reply, healer = healed(" " + ANSWER, degraded=False)
    assert deltas[0] == " " + ANSWER[:2]
    assert "".join(deltas) == reply.text == " " + ANSWER
    assert healer.source == "json"


def test_white_space_alone_says_nothing_yet() -> None:
    deltas, _, _ = healed("   \n  " + ANSWER, degraded=False, size=2)
    assert "".join(deltas).strip() == ANSWER
    assert deltas[0].strip()


def test_a_text_without_a_value_comes_out_whole_at_the_end() -> None:
    deltas, reply, healer = healed("I cannot say.", degraded=True)
    assert deltas == ["I cannot say."]
    assert (reply.text, healer.source) == ("I cannot say.", None)


def test_a_value_that_the_token_limit_cuts_is_not_closed() -> None:
    """Closed, a list that lacks its end would pass for all of it."""
    text = 'Here: {"numbers": [1, 2, 3'
    deltas, reply, healer = healed(text, degraded=True, format_=JsonObject(), finish="length")
    assert "".join(deltas) == reply.text == '{"numbers":[1,2'
    assert healer.source is None
    out: Batch = []
    TextHealer(JsonObject(), True).feed(Finished(Completion(text=text, finish="length")), out)
    assert out[0] == TextDelta(text), "no delta told it"


def test_a_text_that_no_delta_told_is_healed_at_the_end() -> None:
    healer = TextHealer(JsonObject(), True)
    out: Batch = []
    healer.feed(Finished(Completion(text=FENCED)), out)
    assert out == [TextDelta(ANSWER), Finished(Completion(text=ANSWER))]


@pytest.mark.parametrize("completion", [Completion(text="no", finish="declined"), Completion()])
def test_a_decline_and_an_empty_reply_are_left_alone(completion: Completion) -> None:
    healer = TextHealer(JsonSchema(schema=SCHEMA), True)
    out: Batch = []
    healer.feed(Finished(completion), out)
    assert out == [Finished(completion)]


def test_a_text_that_is_held_stands_before_the_calls_after_it() -> None:
    healer = TextHealer(JsonSchema(schema=SCHEMA), True)
    out: Batch = []
    healer.feed(TextDelta("Let me see. "), out)
    assert out == []
    healer.feed(CALL, out)
    assert out == [TextDelta("Let me see. "), CALL]
    end = Finished(Completion(text="Let me see. ", tool_calls=(CALL.call,)))
    healer.feed(end, out)
    assert out[2:] == [end]


def test_a_value_that_was_begun_and_dropped_is_an_error() -> None:
    begun = '```json\n{"city": "Bonn", "n": "many"}\n```\nNo, wait: '
    with pytest.raises(AnswerChanged):
        healed(begun + '```json\n{"city": "Oslo", "n": 4}\n```', degraded=True, size=1)


CALL = ToolCalled(ToolCall(id="c", name="f", arguments="{}"))


class Read:
    """Events as a provider reads them: two, then four at once, then one."""

    def __init__(self) -> None:
        a, b, c, d, e = (TextDelta(text) for text in "abcde")
        self.ready: list[Batch] = [[a, b], [c, d, CALL, e], [CALL]]
        self.now: Batch = []

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        if not self.now and not self.ready:
            raise StopAsyncIteration
        self.now = self.now or self.ready.pop(0)
        return self.now.pop(0)

    def waiting(self) -> list[StreamEvent]:
        now, self.now = self.now, []
        return now


async def test_what_waits_comes_with_what_was_awaited_and_neighbouring_texts_are_one() -> None:
    async def one_by_one() -> AsyncIterator[StreamEvent]:
        for text in "xy":
            yield TextDelta(text)

    read = Read()
    first = await anext(read)
    got = [batch async for batch in batches(first, read)]
    assert got == [[TextDelta("ab")], [TextDelta("cd"), CALL, TextDelta("e")], [CALL]]
    assert [batch async for batch in batches(None, one_by_one())] == [
        [TextDelta("x")],
        [TextDelta("y")],
    ]


def test_a_translated_answer_in_prose_grows_on_its_way_to_the_client() -> None:
    steps: list[bytes | float] = [chunked(end=False)]
    for at in range(0, len(FENCED), 9):
        choice = {"index": 0, "delta": {"content": FENCED[at : at + 9]}, "finish_reason": None}
        event = f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()
        steps += [b"%x\r\n%b\r\n" % (len(event), event), 0.03]
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    event = f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
    play = Play([*steps, b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)])
    with raw_server(play) as server:
        up = {"base_url": f"{server.url}/v1", "api": "chat", "attempts": 1}
        with running(settings("", providers={"up": up})) as gateway:
            body = response("m", text={"format": TEXT_FORMAT}, stream=True)
            text = gateway.post("/v1/responses", body).text
    check_stream(text)
    deltas = [
        event["delta"] for event in events_of(text) if event["type"] == "response.output_text.delta"
    ]
    assert len(deltas) > 1
    assert json.loads("".join(deltas)) == VALUE


def test_a_stream_that_breaks_keeps_its_beginning() -> None:
    """What was begun is told before the error, on both endpoints."""
    with upstream() as server, running(settings(server.base_url)) as gateway:
        told = gateway.post("/v1/responses", response("breaks", stream=True)).text
        raw = gateway.post("/v1/chat/completions", chat("breaks", stream=True)).text
    assert told.index("response.created") < told.index("response.failed")
    assert '"content"' in raw
    assert raw.index('"content"') < raw.index('"error"')
