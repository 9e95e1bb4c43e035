"""WebSockets under load, hostile ones, and a stop while their responses are under way."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.gateway.load.echo import text_of
from tests.gateway.load.hostile import is_served
from tests.gateway.load.mix import CHAT, RESPONSES, Kind
from tests.gateway.load.process import CONFIG, Process, echo, gateway
from tests.gateway.load.run import Load, quiet, stats
from tests.gateway.load.size import anyio_backend, patient, size
from tests.gateway.support import running, settings

__all__ = ["anyio_backend"]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Process]:
    with echo() as made:
        yield made


@pytest.fixture(scope="module")
def served(upstream: Process, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with gateway(tmp_path_factory.mktemp("gateway"), upstream.url) as made:
        yield made
        assert "Traceback" not in made.written()


def link(url: str) -> connect:
    return connect(f"{url.replace('http', 'ws')}/v1/responses", max_size=None, proxy=None)


def create(marker: str, model: str = "up:x/echo", **fields: object) -> str:
    body = {"type": "response.create", "model": model, "input": f"Please read <<{marker}>>."}
    return json.dumps({**body, **fields})


async def say(socket: ClientConnection, text: str) -> object:
    """What comes for a message; a connection may be closed while it is sent, or after."""
    await socket.send(text)
    return json.loads(await socket.recv())


async def turn(socket: ClientConnection) -> tuple[str, dict[str, Any]]:
    """The text of one response and its last event."""
    text = ""
    while True:
        event = json.loads(await socket.recv())
        if event["type"] == "response.output_text.delta":
            text += event["delta"]
        if event["type"] in {"response.completed", "response.failed", "error"}:
            return text, event


@patient
async def test_each_connection_gets_its_own_responses_in_order(
    served: Process, upstream: Process
) -> None:
    done: list[str] = []

    async def client(number: int) -> None:
        async with link(served.url) as socket:
            previous = None
            for at in range(size(4, 40)):
                marker = f"ws-{number}-{at}"
                model = ("up:x/echo", "chat:x/slow", "up:x/cut", "chat:x/echo")[at % 4]
                await socket.send(create(marker, model, previous_response_id=previous))
                text, event = await turn(socket)
                if "cut" in model:
                    assert event["type"] == "response.failed"
                    previous = None
                else:
                    assert text == text_of(marker)
                    previous = event["response"]["id"]
                done.append(marker)

    async with anyio.create_task_group() as group:
        for number in range(size(16, 64)):
            group.start_soon(client, number)
    assert len(set(done)) == len(done) == size(16 * 4, 64 * 40)
    seen = await quiet(upstream)
    assert (seen["busy"], seen["twice"]) == (0, [])


async def test_an_idle_connection_outlives_the_time_that_a_head_may_take(
    upstream: Process,
) -> None:
    limits = {"head_seconds": 0.3, "idle_seconds": 1.0}
    with running(settings(f"{upstream.url}/v1", limits=limits)) as gateway:
        async with link(gateway.url) as socket:
            await anyio.sleep(1.5)
            await socket.send(create("later", "x/echo"))
            assert (await turn(socket))[0] == text_of("later")


async def test_clients_that_leave_in_the_middle_leave_nothing_behind(
    served: Process, upstream: Process
) -> None:
    for at in range(size(10, 100)):
        async with link(served.url) as socket:
            await socket.send(create(f"gone-{at}", "up:x/flood" if at % 2 else "up:x/hang"))
            await socket.recv()
            if at % 3:
                socket.transport.abort()
    assert (await quiet(upstream))["busy"] == 0
    await is_served(served.port, 1)


async def test_what_is_no_message_is_told_or_closes_the_connection(served: Process) -> None:
    async with link(served.url) as socket:
        for sent, code in (
            ("{", "invalid_json"),
            ("[]", "invalid_json"),
            ("\ud7ff", "invalid_json"),
            (b"\xff\xfe", "invalid_json"),
            (create("m", type="response.stop"), "invalid_request_error"),
            (create("m", background=True), "invalid_request_error"),
            ('{"type": "response.create", "x": ' + "[" * 500 + "]" * 500 + "}", "invalid_json"),
        ):  # fmt: skip
            await socket.send(sent)
            event = json.loads(await socket.recv())
            assert (event["type"], event["error"]["code"]) == ("error", code), sent
        await socket.send(create("still"))
        assert (await turn(socket))[0] == text_of("still")
    async with link(served.url) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            await say(socket, "x" * (21 * 1024 * 1024))
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
    await is_served(served.port, 1)


@patient
@pytest.mark.parametrize("workers", size([1], [1, 2]))
async def test_a_stop_ends_each_connection_after_the_response_under_way(
    tmp_path: Path, upstream: Process, workers: int
) -> None:
    texts: list[str] = []
    codes: list[int] = []
    begun = anyio.Event()

    async def client(number: int, *, idle: bool) -> None:
        async with link(other.url) as socket:
            if not idle:
                await socket.send(create(f"stop-{number}", "up:x/slower"))
                await socket.recv()
                begun.set()
                texts.append((await turn(socket))[0])
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            assert closed.value.rcvd is not None
            codes.append(closed.value.rcvd.code)

    with gateway(tmp_path, upstream.url, "--workers", str(workers)) as other:
        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(lambda n: client(n, idle=n % 3 == 0), number)
            await begun.wait()
            await anyio.sleep(0.2)
            other.popen.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(other.popen.wait, 30) == 0
        log = other.written()
    assert sorted(texts) == sorted(text_of(f"stop-{n}") for n in range(12) if n % 3)
    assert codes == [1012] * 12
    assert "Traceback" not in log


@patient
async def test_what_outlasts_the_drain_ends_with_an_error_of_its_own_kind(
    tmp_path: Path, upstream: Process
) -> None:
    """A stop never waits for ever, and nobody is left with half an answer and no word."""
    kinds = [
        Kind(name="stream", path=CHAT, model="up:x/hang", stream=True, wants="failed"),
        Kind(name="responses", path=RESPONSES, model="up:x/hang", stream=True, wants="failed"),
        Kind(name="over chat", path=RESPONSES, model="chat:x/hang", stream=True, wants="failed"),
        Kind(name="whole", path=CHAT, model="up:x/silent", wants="failed"),
    ]
    config = CONFIG + "\n[limits]\ndrain = 1.0\n"
    with gateway(tmp_path, upstream.url, config=config) as served:
        load = Load(served.port, kinds=kinds, connections=8, seconds=20.0)

        async def stop() -> None:
            for _ in range(200):
                if (await stats(upstream))["busy"] == 8:
                    break
                await anyio.sleep(0.05)
            load.stopping = True
            served.popen.send_signal(signal.SIGTERM)

        async with anyio.create_task_group() as group:
            group.start_soon(load.run)
            group.start_soon(stop)
        code = await anyio.to_thread.run_sync(served.popen.wait, 30)
        log = served.written()
    assert code == 0, log
    assert not load.sums.unexpected, load.sums.odd
    assert load.sums.of == {"failed": 8}
    assert (await quiet(upstream))["busy"] == 0
    assert "Traceback" not in log
