"""
A faulty upstream that echoes: each request holds a unique marker, and so does its answer.

The model's name says what it does with a format (`refuse-…`, `ignore-…`, else it enforces), the
marker's number which fault its first request meets; later requests of that marker are served. It counts whole answers per
marker: more than one is a call that was answered twice. `python -m benchmarks.soak.upstream PORT`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

MARKER = re.compile(rb"mk-(\d+)-\d+")
CYCLE = 25
FAULTS: Mapping[int, str] = {0: "503", 1: "cut", 2: "slow", 3: "reset", 4: "429"}
"""By the marker's number modulo CYCLE: a fifth of all calls meets one."""
SLOW = 0.25  # seconds
REFUSAL = {"error": {"message": "response_format json_schema is not supported with this model"}}


def fault_of(number: int) -> str:
    """The fault that the first request of this marker meets, or ""."""
    return FAULTS.get(number % CYCLE, "")


@dataclass(slots=True)
class Upstream:
    """What was asked and answered; `asked` and `answered` by marker."""

    asked: Counter[bytes] = field(default_factory=Counter[bytes])
    answered: Counter[bytes] = field(default_factory=Counter[bytes])
    faults: Counter[str] = field(default_factory=Counter[str])
    refused: int = 0
    waiting: float = 0.0  # seconds every answer is held back, for capacity

    async def handle(self, stream: ByteStream) -> None:
        """One connection, kept alive until a fault ends it."""
        async with stream:
            reader = BufferedByteReceiveStream(stream)
            try:
                while True:
                    head = await reader.receive_until(b"\r\n\r\n", 65_536)
                    length = re.search(rb"(?i)content-length: *(\d+)", head)
                    body = await reader.receive_exactly(int(length[1])) if length else b""
                    if not await self.reply(stream, head, body):
                        return
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return  # the client went away

    async def reply(self, stream: ByteStream, head: bytes, body: bytes) -> bool:
        """Answer one request; False when the connection is to be closed."""
        found = MARKER.search(body)
        if found is None:
            if head.startswith(b"GET /wait/"):
                self.waiting = float(head.split(b"/wait/", 1)[1].split(b" ", 1)[0])
            await stream.send(_response(200, json.dumps(self.report()).encode()))
            return True
        marker, fault = found[0], ""
        self.asked[marker] += 1
        if self.asked[marker] == 1:
            fault = fault_of(int(found[1]))
            self.faults[fault] += bool(fault)
        if self.waiting or fault == "slow":
            await anyio.sleep(self.waiting or SLOW)
        return await self.answer(stream, json.loads(body), marker, fault)

    async def answer(
        self, stream: ByteStream, asked: Mapping[str, Any], marker: bytes, fault: str
    ) -> bool:
        if fault == "reset":
            return False
        if fault in ("503", "429"):
            error = json.dumps({"error": {"message": "try again", "code": fault}}).encode()
            await stream.send(_response(int(fault), error, b"retry-after: 0\r\n"))
            return True
        wants = "response_format" in asked
        if wants and asked["model"].startswith("refuse"):
            self.refused += 1
            await stream.send(_response(400, json.dumps(REFUSAL).encode()))
            return True
        bare = json.dumps({"marker": marker.decode(), "n": 1})
        enforced = wants and not asked["model"].startswith("ignore")
        text = bare if enforced else f"Here it is:\n```json\n{bare}\n```"
        whole = _streamed(text) if asked.get("stream") else _response(200, _chat(text))
        if fault == "cut":
            await stream.send(whole[: len(whole) * 2 // 3])
            return False
        self.answered[marker] += 1
        await stream.send(whole)
        return True

    def report(self) -> dict[str, object]:
        """What the soak wants to know at the end."""
        return {
            "markers": len(self.asked),
            "requests": self.asked.total(),
            "answered": len(self.answered),
            "doubled": [marker.decode() for marker, n in self.answered.items() if n > 1],
            "refused": self.refused,
            "faults": dict(self.faults),
        }


def _response(status: int, body: bytes, headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b" % (
        status,
        headers,
        len(body),
        body,
    )


def _chat(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
         "usage": usage}
    ).encode()  # fmt: skip


def _streamed(text: str) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant"}, None)]
    deltas += [({"content": text[at : at + 16]}, None) for at in range(0, len(text), 16)]
    parts = [head]
    for delta, finish in (*deltas, ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                 "choices": [choice]}  # fmt: skip
        parts.append(_chunk(f"data: {json.dumps(event)}\n\n".encode()))
    return b"".join([*parts, _chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"])


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def main(port: int) -> None:
    """Serve until killed."""
    upstream = Upstream()
    listener = await anyio.create_tcp_listener(
        local_host="127.0.0.1", local_port=port, backlog=1024
    )
    await listener.serve(upstream.handle)


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), backend_options={"use_uvloop": True})
