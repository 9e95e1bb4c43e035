"""
What the guard adds to a call: CPU over a stub `request()`, and end to end over loopback HTTP.

    python -m benchmarks.overhead

The stub hands back one ChatCompletion made beforehand, so what is measured is the guard alone.
Short batches of the plain and the guarded client run in shuffled turns; what is added is the
median of the differences within a turn, so what else the machine does slows both alike. A loop of
known work runs in every turn too: its cost says how fast the machine was while it was measured.
"""

from __future__ import annotations

import json
import random
import statistics
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletion

import structguard as sg
from structguard.memo import Memo, open_memo

ROUNDS, BATCH = 600, 12
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "score": {"type": "number"},
    },
    "required": ["name", "tags", "score"],
    "additionalProperties": False,
}
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
}
CONTENT = json.dumps({"name": "a name of some length", "tags": ["x" * 20] * 9, "score": 0.5})
MESSAGES: Any = [{"role": "user", "content": "Where is it, and how good is it?"}]
REPLY = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}
    ],
}


def stubbed(reply: ChatCompletion) -> OpenAI:
    """A client whose `request` is a stub: no HTTP, no parsing."""
    client = OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1")
    vars(client)["request"] = lambda cast_to, options, *, stream=False, stream_cls=None: reply
    return client


def refused_memo(client: OpenAI) -> Memo:
    memo = open_memo("memory:")
    memo.add(str(client.base_url), "m")
    return memo


def batch(call: Callable[[], object]) -> float:
    """Microseconds of CPU a call."""
    start = time.process_time()
    for _ in range(BATCH):
        call()
    return 1e6 * (time.process_time() - start) / BATCH


def counting() -> float:
    """Nanoseconds of CPU one step of a plain counting loop takes: the machine's speed just now."""
    start, total = time.process_time_ns(), 0
    for step in range(20_000):
        total += step
    return (time.process_time_ns() - start) / 20_000


def compare(title: str, cases: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> None:
    samples: dict[str, list[float]] = {name: [] for name in cases}
    speeds: list[float] = []
    names = list(cases)
    for turn in range(rounds + 2):
        random.shuffle(names)
        values = {name: batch(cases[name]) for name in names}
        if turn >= 2:
            speeds.append(counting())
            for name, value in values.items():
                samples[name].append(value)
    base = next(iter(samples.values()))
    print(f"\n{title}")
    print(f"(a step of a counting loop took {statistics.median(speeds):.0f} ns; {rounds} turns)")
    print(f"{'case':44} {'median µs':>10} {'added':>8} {'quartiles':>16} {'ratio':>7}")
    for name, values in samples.items():
        added = [one - other for one, other in zip(values, base, strict=True)]
        low, middle, high = statistics.quantiles(added, n=4)
        ratio = statistics.median(one / other for one, other in zip(values, base, strict=True))
        print(
            f"{name:44} {statistics.median(values):10.1f} {middle:8.1f}"
            f" {low:7.1f} {high:8.1f} {ratio:7.3f}"
        )


def create(client: OpenAI) -> Callable[[], object]:
    def call() -> object:
        return client.chat.completions.create(model="m", messages=MESSAGES, response_format=FORMAT)

    return call


def over_stub() -> None:
    reply = ChatCompletion.model_validate(REPLY)
    hit = stubbed(reply)
    sg.wrap(hit, memo=refused_memo(hit), policy=sg.Policy(prompt="never"))
    told = stubbed(reply)
    sg.wrap(told, memo=refused_memo(told))
    compare(
        "wrap over a stub request(), CPU a call",
        {
            "plain client": create(stubbed(reply)),
            "guarded, happy path": create(sg.wrap(stubbed(reply), memo="memory:")),
            "guarded, memo hit, prompt unchanged": create(hit),
            "guarded, memo hit, schema put in the prompt": create(told),
        },
    )


class Handler(BaseHTTPRequestHandler):
    """Answers every POST with the reply."""

    protocol_version = "HTTP/1.1"
    body = json.dumps(REPLY).encode()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def over_http() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    plain = OpenAI(api_key="k", base_url=url)
    guarded = sg.wrap(OpenAI(api_key="k", base_url=url), memo="memory:")
    try:
        compare(
            "end to end over loopback HTTP, CPU a call (the server's share included)",
            {"plain client": create(plain), "guarded, happy path": create(guarded)},
            rounds=60,
        )
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    over_stub()
    over_http()
