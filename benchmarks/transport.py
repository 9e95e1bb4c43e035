"""
What the guarded transport adds to a call of any httpx2 client.

    python -m benchmarks.transport

The transport below answers from memory, so what is measured is httpx2 and the guard alone. Batches of the
plain and the guarded client run in shuffled turns; medians of CPU a call.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import httpx2

import structguard as sg
from structguard.memo import open_memo

ROUNDS, BATCH = 30, 30
URL = "http://127.0.0.1:9/v1/chat/completions"
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "score": {"type": "number"}},
    "required": ["name", "score"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
MESSAGES = [{"role": "user", "content": "Where is it, and how good is it?"}]
CONTENT = json.dumps({"name": "a name of some length " * 20, "score": 0.5})
ASKED: dict[str, Any] = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}


def reply(content: str) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode()


def stream(pieces: list[str]) -> bytes:
    chunks: list[Any] = [
        {"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)


class Still(httpx2.BaseTransport):
    """Answers from memory, a stream in one read an event."""

    def __init__(self, body: bytes, kind: str) -> None:
        self.body, self.headers = body, {"content-type": kind}
        self.reads = [event + b"\n\n" for event in body.split(b"\n\n")[:-1]]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        del request  # whatever is asked
        content = iter(self.reads) if "event" in self.headers["content-type"] else self.body
        return httpx2.Response(200, headers=self.headers, content=content)


def call(client: httpx2.Client, asked: dict[str, Any]) -> Callable[[], None]:
    def run() -> None:
        with client.stream("POST", URL, json=asked) as response:
            for _ in response.iter_bytes():
                pass

    return run


def cpu(work: Callable[[], None]) -> float:
    """Seconds of CPU a call."""
    start = time.process_time()
    for _ in range(BATCH):
        work()
    return (time.process_time() - start) / BATCH


def measure(title: str, below: httpx2.BaseTransport, asked: dict[str, Any]) -> None:
    with sg.Guard(memo=open_memo("memory:")) as guard:
        works = {
            "plain": call(httpx2.Client(transport=below), asked),
            "guarded": call(httpx2.Client(transport=guard.transport(below)), asked),
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name in random.sample(list(works), len(works)):
                times[name].append(cpu(works[name]))
    plain, guarded = (statistics.median(times[name]) * 1e6 for name in works)
    print(f"{title:34} {plain:8.0f} {guarded:8.0f} {guarded - plain:+8.0f} {guarded / plain:6.2f}")


def main() -> None:
    print(f"{'CPU a call in µs, medians':34} {'plain':>8} {'guarded':>8} {'adds':>8} {'ratio':>6}")
    size = max(len(CONTENT) // 200, 1)
    pieces = [CONTENT[at : at + size] for at in range(0, len(CONTENT), size)]
    whole, events = "application/json", "text/event-stream"
    streamed = {**ASKED, "stream": True}
    measure("no format", Still(reply("Hello."), whole), {"model": "m", "messages": MESSAGES})
    measure("whole reply, strict JSON", Still(reply(CONTENT), whole), ASKED)
    fenced = f"```json\n{CONTENT}\n```"
    measure("whole reply, in a fence", Still(reply(fenced), whole), ASKED)
    measure(f"{len(pieces)} deltas of strict JSON", Still(stream(pieces), events), streamed)
    pieces = ["```json\n", *pieces, "\n```"]
    measure(f"{len(pieces)} deltas, in a fence", Still(stream(pieces), events), streamed)


if __name__ == "__main__":
    main()
