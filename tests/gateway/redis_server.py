"""A real redis-server on a free loopback port, that a test can stop and start again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")


class RedisServer:
    """Keeps nothing on disk: what it held is gone when it is stopped."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self, *options: str) -> None:
        assert PROGRAM is not None
        self._process = subprocess.Popen(  # noqa: S603
            [PROGRAM, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "no", "--dir", str(self._directory), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as asked:
                    asked.sendall(b"PING\r\n")
                    if asked.recv(16):
                        return
            except OSError:
                time.sleep(0.02)  # noqa: TID251  a real program starts in real time
        raise AssertionError("redis-server does not answer")

    def freeze(self, *, frozen: bool) -> None:
        """It keeps its connections and answers nothing; or goes on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    if PROGRAM is None:
        pytest.skip("redis-server is not installed")
    pytest.importorskip("redis", reason="the package redis is not installed")
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()
