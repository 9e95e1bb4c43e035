"""Many at once: wrong tokens, sockets that say nothing, idle WebSockets; others are served meanwhile."""

from __future__ import annotations

import hashlib
import json
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.load.hostile import UPGRADE, ask, crowd, error_in, is_served, opened, post
from tests.gateway.load.mix import CHAT, RESPONSES
from tests.gateway.load.process import CONFIG, Process, echo, gateway
from tests.gateway.load.size import FULL, anyio_backend, patient, size
from tests.gateway.load.wire import Connection
from tests.gateway.support import running, settings

__all__ = ["anyio_backend"]

IDLE = size(400, 10_000)
RIGHT = "a-token-that-is-right"
AUTH = f"""
[auth]
token_hashes = ["{hashlib.sha256(RIGHT.encode()).hexdigest()}"]
"""


@pytest.fixture(scope="module", autouse=True)
def descriptors() -> Iterator[None]:
    """As many as the system allows: each idle socket is one here and one there."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    if FULL and before[1] < IDLE + 500:
        pytest.skip(f"the system allows {before[1]} open files")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Process]:
    with echo() as made:
        yield made


async def test_a_thousand_wrong_tokens_are_turned_away_and_a_known_client_is_served(
    tmp_path: Path, upstream: Process
) -> None:
    body = {"model": "up:x/echo", "messages": [{"role": "user", "content": "<<m-1>>"}]}
    right = {"authorization": f"Bearer {RIGHT}"}
    with gateway(tmp_path, upstream.url, config=CONFIG + AUTH) as served:
        good, bad = Connection(served.port), Connection(served.port)
        assert (await good.ask("POST", CHAT, body, right)).status == 200
        found, waits = Counter[int](), set[str]()
        for number in range(1000):
            wrong = {"authorization": f"Bearer {RIGHT}{number}"}
            if number % 2:
                got = await bad.ask("POST", CHAT, body, wrong)
            else:
                got = await bad.ask("GET", "/v1/models", headers=wrong)
            assert set(got.json()["error"]) == {"message", "type", "param", "code"}  # type: ignore[call-overload]
            found[got.status] += 1
            waits.add(got.headers.get("retry-after", ""))
            if number % 100 == 0:
                assert (await good.ask("POST", CHAT, body, right)).status == 200
        assert found == {401: 10, 429: 990}
        assert all(0 < int(wait) <= 60 for wait in waits - {""})
        refused, _ = ask(served.port, UPGRADE.format(path=RESPONSES, headers="").encode())
        assert refused == 429
        for one in (good, bad):
            await one.aclose()
        assert RIGHT not in served.written()


@pytest.fixture(scope=size("module", "function"))
def served(upstream: Process, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    seconds = size("2.0", "30.0")
    bounds = f"\n[limits]\nhead_seconds = {seconds}\nconcurrent = 20000\nconnections = 20000\n"
    home = tmp_path_factory.mktemp("gateway")
    with gateway(home, upstream.url, config=CONFIG + bounds) as made:
        yield made


@patient
async def test_sockets_that_say_nothing_cost_little_and_are_closed(served: Process) -> None:
    await is_served(served.port)
    before = served.memory("RssAnon")
    with crowd(served.port, IDLE) as idle:
        await is_served(served.port)
        cost = (served.memory("RssAnon") - before) * 1024 / IDLE
        assert all(one.recv(1) == b"" for one in idle)  # closed by the gateway
    await is_served(served.port)
    assert cost < 24, f"{cost:.1f} kB a socket"


@patient
async def test_idle_websockets_cost_bounded_memory_and_still_answer(served: Process) -> None:
    await is_served(served.port)
    before = served.memory("RssAnon")
    upgrade = UPGRADE.format(path=RESPONSES, headers="").encode()
    with crowd(served.port, IDLE, upgrade) as idle:
        for one in idle:
            assert one.recv(1024).startswith(b"HTTP/1.1 101 ")
        await is_served(served.port)
        cost = (served.memory("RssAnon") - before) * 1024 / IDLE
        body = {"type": "response.create", "model": "up:x/echo", "input": "<<m-9>>"}
        idle[-1].sendall(text_frame(json.dumps(body)))
        came = b""
        while b"response.completed" not in came:
            came += idle[-1].recv(65536)
        assert b"m-9" in came
    assert cost < 64, f"{cost:.1f} kB a WebSocket"


@patient
async def test_idle_streams_cost_little_and_others_are_served(served: Process) -> None:
    """Their upstream is silent; each client may leave, and takes its call with it."""
    number = size(150, 6000)
    body = {"model": "up:x/hang", "stream": True, "input": "<<m>>", "store": False}
    data = post(json.dumps(body).encode(), path=RESPONSES)
    await is_served(served.port)
    before = served.memory("RssAnon")
    with crowd(served.port, number, data) as waiting:
        for one in waiting:
            assert one.recv(1024).startswith(b"HTTP/1.1 200 ")
        await is_served(served.port)
        cost = (served.memory("RssAnon") - before) * 1024 / number
    assert cost < 128, f"{cost:.1f} kB a stream"


def test_more_websockets_than_allowed_are_a_429() -> None:
    upgrade = UPGRADE.format(path=RESPONSES, headers="").encode()
    with running(settings("http://127.0.0.1:9/v1", limits={"sockets": 5})) as gateway:
        port = int(gateway.url.rpartition(":")[2])
        with crowd(port, 5, upgrade) as idle:
            for one in idle:
                assert one.recv(1024).startswith(b"HTTP/1.1 101 ")
            status, came = ask(port, upgrade)
            assert (status, error_in(came)["type"]) == (429, "rate_limit_error")
            assert b"\r\nretry-after: 1\r\n" in came.lower()
            assert gateway.get("/healthz").status_code == 200
        for _ in range(200):  # there is room again, once they are gone
            with opened(port) as again:
                again.sendall(upgrade)
                if again.recv(1024).startswith(b"HTTP/1.1 101 "):
                    break
        else:
            pytest.fail("there is no room for a WebSocket any more")


def text_frame(text: str) -> bytes:
    """One masked text frame (RFC 6455)."""
    raw = text.encode()
    assert 125 < len(raw) < 65536 or len(raw) < 126
    size_ = bytes([0x80 | len(raw)]) if len(raw) < 126 else b"\xfe" + len(raw).to_bytes(2)
    return b"\x81" + size_ + b"\0\0\0\0" + raw
