"""The processes of the gateway's benchmark on a core of their own, and bursts of requests to them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEY = "sk-bench"
Burst = Mapping[str, float]


@dataclass(frozen=True)
class Server:
    """One gateway process; `boot` are the seconds of CPU until it first answered."""

    port: int
    pid: int
    boot: float = 0.0
    headers: Sequence[str] = ()

    def cpu(self) -> float:
        """Seconds on the CPU so far, all threads."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks) / 1e9

    def memory(self) -> float:
        """Resident megabytes."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in text.splitlines() if "VmRSS" in line)


@contextmanager
def started(
    command: Sequence[str],
    port: int,
    probe: tuple[str, bytes],
    *,
    headers: Sequence[str] = (),
    patience: float = 60.0,
    env: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """A server on core 1 that answers; `probe` is a path and a body, `headers` go with every request."""
    process = subprocess.Popen(  # noqa: S603  our own commands
        ["taskset", "-c", "1", *command],  # noqa: S607
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        named = dict(header.split(": ", 1) for header in headers)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{probe[0]}",
            probe[1],
            {"content-type": "application/json", "authorization": f"Bearer {KEY}", **named},
        )
        _await(request, process, patience)
        server = Server(port, process.pid, headers=headers)
        yield Server(port, process.pid, server.cpu(), headers)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _await(
    request: urllib.request.Request, process: subprocess.Popen[bytes], patience: float
) -> None:
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=20):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # noqa: TID251  before anything runs
    raise SystemExit(f"{process.args} did not come up")


def burst(
    tool: Path, server: Server, path: str, body: Path, connections: int, seconds: float
) -> Burst:
    """
    Requests for a while; the generator's figures and the gateway's CPU in µs a request.

    Raises:
        ValueError: a request failed.
    """
    before = server.cpu()
    done = subprocess.run(  # noqa: S603
        ["taskset", "-c", "0", tool, f"127.0.0.1:{server.port}", path, body,  # noqa: S607
         str(connections), str(seconds), "0", *server.headers],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    if found["4xx"] or found["5xx"] or found["errors"]:
        raise ValueError(f"{path} {body.name}: {done.stdout}")
    found["cpu"] = (server.cpu() - before) / found["n"] * 1e6
    return found


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
