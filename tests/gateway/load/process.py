"""The processes of a load: a gateway, an upstream that echoes; what they hold open and in memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx2

CONFIG = """\
[providers.up]
base_url = "{url}"
attempts = 1
[providers.chat]
base_url = "{url}"
api = "chat"
attempts = 1
[models]
chain = ["up:x/fail", "chat:echo"]
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "{memo}"
[store]
url = "{store}"
limit_bytes = 2000000
[log]
access = false
level = "warning"
"""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@dataclass
class Process:
    """A process of ours on a port of the loopback; `log` is what it wrote to stderr."""

    port: int
    popen: subprocess.Popen[bytes]
    log: IO[bytes] = field(repr=False)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def written(self) -> str:
        """What it logged so far."""
        self.log.seek(0)
        return self.log.read().decode()

    @property
    def pids(self) -> list[int]:
        """Itself and the workers under it."""
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children").read_text()
        return [self.popen.pid, *map(int, children.split())]

    def memory(self, what: str = "VmRSS") -> float:
        """
        Megabytes of all workers: `VmRSS` with mapped files, `RssAnon` without (SQLite maps its own).
        """
        return sum(_memory(pid, what) for pid in self.pids)

    def sockets_to(self, port: int) -> int:
        """How many connections to a port of the loopback it holds open."""
        found = 0
        for pid in self.pids:
            ours = _descriptors(pid)
            for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
                fields = row.split()
                far, inode = int(fields[2].partition(":")[2], 16), fields[9]
                found += far == port and f"socket:[{inode}]" in ours
        return found

    def stop(self, seconds: float = 30.0) -> int:
        """SIGTERM; its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise

    def kill(self) -> None:
        """SIGKILL."""
        self.popen.kill()
        self.popen.wait()


def _memory(pid: int, what: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def _descriptors(pid: int) -> set[str]:
    """What its descriptors are, such as `socket:[INODE]`."""
    found = set[str]()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            found.add(str(fd.readlink()))
    return found


@contextmanager
def echo(port: int = 0) -> Iterator[Process]:
    """An upstream process."""
    process = start_echo(port)
    try:
        yield process
    finally:
        process.kill()
        process.log.close()


def start_echo(port: int = 0) -> Process:
    """An upstream process, left running."""
    log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
    popen = subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, "-m", "tests.gateway.load.echo", str(port)],
        stdout=subprocess.PIPE,
        stderr=log,
    )
    assert popen.stdout is not None
    with popen.stdout:
        found = popen.stdout.readline()
    process = Process(int(found or 0), popen, log)
    assert found, process.written()
    return process


@contextmanager
def gateway(
    directory: Path,
    upstream: str,
    *arguments: str,
    config: str = CONFIG,
    memo: str = "memory:",
    store: str = "memory:",
    environ: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
) -> Iterator[Process]:
    """`structguard serve` on a free port, once it answers."""
    file = directory / "gateway.toml"
    file.write_text(config.format(url=f"{upstream}/v1", memo=memo, store=store))
    process = _serve(
        ["--config", str(file), *arguments],
        {**os.environ, "XDG_CACHE_HOME": str(directory), **(environ or {})},
        prepare,
    )
    try:
        yield process
    finally:
        process.stop()
        process.log.close()


def _serve(
    arguments: Sequence[str], environ: Mapping[str, str], prepare: Callable[[], None] | None
) -> Process:
    log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
    port = free_port()
    popen = subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, "-m", "structguard", "serve", *arguments, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=log,
        env=environ,
        preexec_fn=prepare,  # noqa: PLW1509  pins it to a core; no thread runs yet
    )
    process = Process(port, popen, log)
    for _ in range(600):
        assert popen.poll() is None, process.written()
        with suppress(httpx2.HTTPError):
            httpx2.get(f"{process.url}/healthz", timeout=2)
            return process
        time.sleep(0.05)  # noqa: TID251  another process' start
    raise AssertionError("the gateway does not answer")
