"""
CPU of the pure wires: a request encoded, a reply decoded, a stream of 200 deltas decoded.

The floor beside each is jiter parsing the same bytes. `python -m benchmarks.wires`
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial

import jiter

from structguard.types import JsonSchema, Request
from structguard.wire.base import Wire
from structguard.wire.table import WIRES

ROUNDS, REPEAT = 9, 20
HEADERS = {
    "content-type": "text/event-stream",
    "x-request-id": "req_1",
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-reset-requests": "6m0s",
}
FORMAT = JsonSchema(schema={"type": "object", "properties": {"a": {"type": "string"}}}, name="A")
REQUEST = Request(
    model="m",
    messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}],
    max_tokens=500,
)
WORDS = [f" word{n}" for n in range(200)]


def events(api: str) -> list[object]:
    """200 deltas and an end, as the vendor sends them."""
    match api:
        case "chat":
            told = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            deltas: list[tuple[object, object]] = [({"content": word}, None) for word in WORDS]
            deltas.append(({}, "stop"))
            return [
                {**told, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                for delta, finish in deltas
            ]
        case "responses":
            kind, end = "response.output_text.delta", "response.completed"
            place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
            return [
                *({"type": kind, "sequence_number": 1, **place, "delta": word} for word in WORDS),
                {"type": end, "response": {"status": "completed", "output": []}},
            ]
        case "messages":
            return [
                {"type": "message_start", "message": {"id": "m"}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
                *(
                    {
                        "type": "content_block_delta",
                        "index": 0,
                        "delta": {"type": "text_delta", "text": word},
                    }
                    for word in WORDS
                ),
                {"type": "content_block_stop", "index": 0},
                {"type": "message_stop"},
            ]
        case "converse":
            return [
                *({"contentBlockDelta": {"delta": {"text": word}}} for word in WORDS),
                {"messageStop": {"stopReason": "end_turn"}},
                {"metadata": {}},
            ]
        case _:
            parts = [{"content": {"parts": [{"text": word}]}} for word in WORDS]
            return [*({"candidates": [part]} for part in parts), *ENDED]


ENDED: list[object] = [{"candidates": [{"finishReason": "STOP"}]}]
TEXT = "x" * 800
REPLIES: dict[str, object] = {
    "chat": {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]},
    "responses": {"output": [{"type": "message", "content": [{"text": TEXT}]}]},
    "messages": {"content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"},
    "converse": {"output": {"message": {"content": [{"text": TEXT}]}}},
    "generate_content": {"candidates": [{"content": {"parts": [{"text": TEXT}]}}]},
}


def median(work: Callable[[], object]) -> float:
    """Microseconds of CPU for one call: the median of rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(REPEAT):
            work()
        rounds.append((time.process_time() - start) / REPEAT)
    return statistics.median(rounds) * 1e6


def stream(wire: Wire, chunks: list[bytes]) -> None:
    """All of a stream, one read an event."""
    decoder = wire.open_stream(HEADERS)
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.close()


def parse(datas: list[bytes]) -> None:
    """The floor: the same JSON, and nothing done with it."""
    for data in datas:
        jiter.from_json(data)


def main() -> None:
    """Print one line a wire."""
    print(f"{'wire':18}{'encode µs':>11}{'reply µs':>11}{'200 deltas µs':>15}{'of jiter':>10}")
    for api, wire in WIRES.items():
        datas = [json.dumps(event).encode() for event in events(api)]
        bare = api == "converse"
        chunks = datas if bare else [b"data: " + data + b"\n\n" for data in datas]
        reply = json.dumps(REPLIES[api]).encode()
        floor = median(partial(parse, datas))
        whole = median(partial(stream, wire, chunks))
        encode = median(partial(wire.encode_request, REQUEST, format=FORMAT))
        decode = median(partial(wire.decode_reply, reply, HEADERS))
        print(f"{api:18}{encode:11.1f}{decode:11.1f}{whole:15.0f}{whole / floor:9.1f}x")


if __name__ == "__main__":
    main()
