"""
An upstream process that answers with the marker of the prompt, so that every reply names its request.

`python -m tests.gateway.load.echo [PORT]` prints its port. What it does is the last part of the model's
name: see `BEHAVIOURS`. `GET /stats` tells what it saw, markers with their counts included.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import count

import anyio
import anyio.abc

from structguard.testing.speech import (
    Said,
    chat_events,
    chat_reply,
    response_events,
    response_reply,
)

Json = dict[str, object]
MARKER = re.compile(rb"<<([\w-]{1,80})>>")
BEHAVIOURS = (
    "echo",  # answers; under a format with JSON
    "refuse",  # refuses every format with a 400; without one, JSON in a code fence
    "cut",  # half of the reply, then the connection is closed
    "fail",  # 500
    "busy",  # 429 with Retry-After
    "slow",  # an event every 20 ms
    "slower",  # every 100 ms
    "hang",  # half of the events, then silence until the reader leaves
    "silent",  # no reply at all until the reader leaves
    "flood",  # 32 MiB of events
)
FLOOD, PIECE = 32 * 1024 * 1024, 32 * 1024  # bytes


def text_of(marker: str) -> str:
    """What is said where no format is asked for."""
    return f"I have read <<{marker}>> and this is all that I say about it."


def value_of(marker: str) -> Json:
    """The value where a format is, or was, asked for."""
    return {"city": marker, "n": 3}


class Echo:
    """What it saw, and what it says."""

    def __init__(self) -> None:
        self.open = 0
        self.busy = 0
        self.markers: Counter[str] = (
            Counter()
        )  # with the behaviour, and whether a format came along
        self.left = 0  # replies whose reader went away before their end
        self.numbers = count(1)

    def stats(self) -> Json:
        """The sums; what came more than once is named."""
        twice = [marker for marker, times in self.markers.items() if times > 1]
        return {
            "open": self.open - 1,  # but for this one
            "busy": self.busy - 1,
            "seen": sum(self.markers.values()),
            "twice": twice[:20],
            "left": self.left,
            "last": list(self.markers)[-2000:],
        }

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """One connection."""
        self.open += 1
        try:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
                async with stream:
                    await Connection(self, stream).run()
        finally:
            self.open -= 1


class Connection:
    """One client's connection, kept alive until somebody closes it."""

    def __init__(self, home: Echo, stream: anyio.abc.SocketStream) -> None:
        self.home = home
        self.stream = stream
        self.held = b""

    async def run(self) -> None:
        """Answer until told to close."""
        while True:
            head = await self._until_head()
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            body = await self._exactly(int(length[1]) if length else 0)
            self.home.busy += 1
            try:
                await self._answer(head.split(b" ", 2)[1].decode(), body)
            except BaseException:
                self.home.left += 1
                raise
            finally:
                self.home.busy -= 1

    async def _until_head(self) -> bytes:
        while b"\r\n\r\n" not in self.held:
            self.held += await self.stream.receive()
        head, _, self.held = self.held.partition(b"\r\n\r\n")
        return head

    async def _exactly(self, size: int) -> bytes:
        pieces, have = [self.held], len(self.held)
        while have < size:
            pieces.append(await self.stream.receive())
            have += len(pieces[-1])
        whole = b"".join(pieces)
        self.held = whole[size:]
        return whole[:size]

    async def _answer(self, path: str, raw: bytes) -> None:
        if not raw:
            data: object = {"object": "list", "data": [{"id": "echo", "object": "model"}]}
            await self._whole(200, self.home.stats() if path.endswith("/stats") else data)
            return
        body: Json = json.loads(raw)
        found = MARKER.findall(raw)
        marker = found[-1].decode() if found else "none"
        formatted = b"json_schema" in raw
        behaviour = str(body.get("model")).rpartition("/")[2]
        self.home.markers[f"{marker} {behaviour} {formatted}"] += 1
        if path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            await self._whole(200, _vectors(len(texts)))  # type: ignore[arg-type]
            return
        match behaviour:
            case "fail":
                await self._whole(500, _error("the model broke"))
            case "busy":
                await self._whole(429, _error("slow down"), "retry-after: 1\r\n")
            case "silent":
                await self.stream.receive()
                raise anyio.EndOfStream
            case "refuse" if formatted:
                await self._whole(400, _error("response_format json_schema is not supported"))
            case _:
                await self._speak(path, body, behaviour, _said(marker, raw, behaviour))

    async def _speak(self, path: str, body: Json, behaviour: str, said: Said) -> None:
        number, model = next(self.home.numbers), str(body["model"])
        is_chat = path.endswith("/chat/completions")
        if not body.get("stream"):
            await self._whole(200, (chat_reply if is_chat else response_reply)(said, model, number),
                              cut=behaviour == "cut")  # fmt: skip
        else:
            made = (chat_events if is_chat else response_events)(said, model, number)
            await self._events(list(made), behaviour)

    async def _whole(
        self, status: int, value: object, more: str = "", *, cut: bool = False
    ) -> None:
        raw = json.dumps(value).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}"
        head += f"content-length: {len(raw)}\r\n\r\n"
        await self.stream.send(head.encode() + (raw[: len(raw) // 2] if cut else raw))
        if cut:
            raise anyio.EndOfStream

    async def _events(self, events: list[str], behaviour: str) -> None:
        await self.stream.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        match behaviour:
            case "slow" | "slower":
                for event in events:
                    await self._chunk([event])
                    await anyio.sleep(0.02 if behaviour == "slow" else 0.1)
            case "hang":
                await self._chunk(events[: len(events) // 2])
                await self.stream.receive()  # until the reader leaves
                raise anyio.EndOfStream
            case "cut":
                await self._chunk(events[: len(events) // 2])
                raise anyio.EndOfStream
            case "flood":
                await self._chunk(events[:-2])
                filling = f": {'x' * PIECE}\n\n"
                for _ in range(FLOOD // PIECE):
                    await self._chunk([filling])
                await self._chunk(events[-2:])
            case _:
                await self._chunk(events)
        await self.stream.send(b"0\r\n\r\n")

    async def _chunk(self, events: Iterable[str]) -> None:
        raw = "".join(events).encode()
        await self.stream.send(b"%x\r\n%b\r\n" % (len(raw), raw))


def _said(marker: str, raw: bytes, behaviour: str) -> Said:
    if b"json_schema" in raw:
        return Said(text=json.dumps(value_of(marker)))
    if behaviour == "refuse":
        return Said(text=f"Here:\n```json\n{json.dumps(value_of(marker))}\n```\n")
    return Said(text=text_of(marker))


def _vectors(number: int) -> Json:
    rows = [{"object": "embedding", "index": at, "embedding": [0.5, 0.25]} for at in range(number)]
    return {"object": "list", "model": "m", "data": rows, "usage": {"prompt_tokens": 1}}


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "x", "param": None, "code": None}}


async def main(port: int) -> None:
    """Serve until terminated."""
    home = Echo()
    listener = await anyio.create_tcp_listener(
        local_host="127.0.0.1", local_port=port, backlog=4096
    )
    listening = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  no database
    sys.stdout.write(f"{listening}\n")
    sys.stdout.flush()
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, home.serve)
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(
        main, int(sys.argv[1]) if len(sys.argv) > 1 else 0, backend_options={"use_uvloop": True}
    )
