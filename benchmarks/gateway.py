"""
The gateway beside a bare proxy on one loopback upstream: CPU a request, and what it adds in time.

Gateways run on core 1, upstream and load generator on core 0; cells take turns, so that a ratio is
of one moment. `python -m benchmarks.gateway [ROUNDS] [SECONDS]`; needs a C compiler and taskset.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.upstream import HERE, Upstream, serve

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
CONFIG = """\
[providers.up]
base_url = "{url}/v1"
api = "{api}"
credential = "client"
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "memory:"
[store]
url = "memory:"
limit_bytes = 8388608
[log]
access = false
level = "error"
"""


@dataclass(frozen=True)
class Cell:
    """One question: the same request to two gateways. `bar` is the ratio that is wanted."""

    name: str
    gateway: str
    path: str
    body: str
    connections: int
    bar: float
    base: tuple[str, str, str] = ("reference", "", "")  # gateway, path, body; "": the same


CELLS = (
    Cell("chat, guard on", "guard", CHAT, "req_chat", 16, 1.3),
    Cell("responses, guard on", "guard", RESPONSES, "req_responses", 16, 1.3),
    Cell("chat stream, no format", "guard", CHAT, "req_plain_stream", 16, 1.3),
    Cell("chat stream, format", "guard", CHAT, "req_chat_stream", 16, 1.3),
    Cell("responses stream, format", "guard", RESPONSES, "req_responses_stream", 16, 1.3),
    Cell("a remembered refusal", "guard", CHAT, "req_chat_refuse400", 16, 1.1,
         ("guard", CHAT, "req_chat")),
    Cell("responses over chat", "chat", RESPONSES, "req_responses", 16, 2.0,
         ("reference", CHAT, "req_chat")),
    Cell("responses over chat, stream", "chat", RESPONSES, "req_responses_stream", 16, 2.0,
         ("reference", CHAT, "req_chat_stream")),
    Cell("chat over responses", "responses", CHAT, "req_chat", 16, 2.0,
         ("reference", RESPONSES, "req_responses")),
    Cell("chat, one connection", "guard", CHAT, "req_chat", 1, 1.3),
)  # fmt: skip


@dataclass(frozen=True)
class Server:
    """One gateway process."""

    port: int
    pid: int

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
    command: list[str], port: int, probe: tuple[str, bytes], **env: str
) -> Iterator[Server]:
    """A server on core 1 that answers."""
    process = subprocess.Popen(  # noqa: S603  our own commands
        ["taskset", "-c", "1", *command],  # noqa: S607
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{probe[0]}",
            probe[1],
            {"content-type": "application/json", "authorization": "Bearer sk-bench"},
        )
        for _ in range(400):
            try:
                with urllib.request.urlopen(request, timeout=5):  # noqa: S310
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)  # noqa: TID251  before anything runs
        else:
            raise SystemExit(f"{command} did not come up")
        yield Server(port, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def load(tool: Path, server: Server, path: str, body: Path, connections: int, seconds: float) -> Mapping[str, float]:  # fmt: skip
    """One burst of requests; the generator's figures and the gateway's CPU in µs a request."""
    before = server.cpu()
    done = subprocess.run(  # noqa: S603
        ["taskset", "-c", "0", tool, f"127.0.0.1:{server.port}", path, body,  # noqa: S607
         str(connections), str(seconds)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    if found["4xx"] or found["5xx"] or found["errors"]:
        raise SystemExit(f"{path} {body.name}: {done.stdout}")
    found["cpu"] = (server.cpu() - before) / found["n"] * 1e6
    return found


def main(rounds: int = 5, seconds: float = 0.7) -> None:
    """Print the table."""
    for needed in ("cc", "taskset"):
        if shutil.which(needed) is None:
            raise SystemExit(f"this benchmark needs {needed}")
    os.sched_setaffinity(0, {0})  # the upstream inherits it
    with tempfile.TemporaryDirectory() as place, serve() as upstream, ExitStack() as stack:
        tool = Path(place) / "loadgen"
        subprocess.run(["cc", "-O2", "-o", tool, HERE / "loadgen.c"], check=True)  # noqa: S603, S607
        plain = {
            k: v for k, v in upstream.request("req_chat_stream").items() if k != "response_format"
        }
        (upstream.payloads / "req_plain_stream.json").write_text(json.dumps(plain))
        servers = _servers(stack, Path(place), upstream)
        rows = _measured(tool, servers, upstream.payloads, rounds, seconds)
        _print(rows, servers)


def _servers(stack: ExitStack, place: Path, upstream: Upstream) -> Mapping[str, Server]:
    probe = (CHAT, (upstream.payloads / "req_chat.json").read_bytes())
    made: dict[str, Server] = {}
    port = _free()
    reference = [sys.executable, "-m", "uvicorn", "--no-access-log", "--log-level", "critical",
                 "--loop", "uvloop", "--http", "httptools", "--port", str(port),
                 "benchmarks.upstream.reference:app"]  # fmt: skip
    made["reference"] = stack.enter_context(started(reference, port, probe, UPSTREAM=upstream.url))
    for name, api in (("guard", ""), ("chat", "chat"), ("responses", "responses")):
        file = place / f"{name}.toml"
        file.write_text(CONFIG.format(url=upstream.url, api=api))
        port = _free()
        command = [sys.executable, "-m", "structguard", "serve", "--config", str(file),
                   "--port", str(port)]  # fmt: skip
        made[name] = stack.enter_context(started(command, port, probe))
    return made


def _measured(
    tool: Path, servers: Mapping[str, Server], payloads: Path, rounds: int, seconds: float
) -> list[tuple[Cell, list[Mapping[str, float]], list[Mapping[str, float]]]]:
    rows: list[tuple[Cell, list[Mapping[str, float]], list[Mapping[str, float]]]] = [
        (cell, [], []) for cell in CELLS
    ]
    for at in range(rounds + 1):
        for cell, base, ours in rows:
            name, path, body = cell.base
            runs = [
                (base, servers[name], path or cell.path, body or cell.body),
                (ours, servers[cell.gateway], cell.path, cell.body),
            ]
            for kept, server, where, what in runs if at % 2 else reversed(runs):
                asked = payloads / f"{what}.json"
                found = load(tool, server, where, asked, cell.connections, seconds)
                if at:  # the first round warms up
                    kept.append(found)
    return rows


def _print(
    rows: list[tuple[Cell, list[Mapping[str, float]], list[Mapping[str, float]]]],
    servers: Mapping[str, Server],
) -> None:
    print(f"{'':30}{'req/s':>8}{'base':>8}{'CPU µs':>9}{'base':>8}{'ratio':>8}{'wanted':>8}"
          f"{'first byte +µs':>16}")  # fmt: skip
    for cell, base, ours in rows:
        ratios = [b["cpu"] / a["cpu"] for a, b in zip(base, ours, strict=True)]
        print(
            f"{cell.name:30}{_mid(ours, 'rps'):8.0f}{_mid(base, 'rps'):8.0f}"
            f"{_mid(ours, 'cpu'):9.0f}{_mid(base, 'cpu'):8.0f}"
            f"{statistics.median(ratios):8.2f}{cell.bar:8.1f}"
            f"{_mid(ours, 'ttfb50') - _mid(base, 'ttfb50'):16.0f}"
        )
    print()
    for name, server in servers.items():
        print(f"{name:12} {server.memory():5.0f} MB")


def _mid(runs: list[Mapping[str, float]], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
