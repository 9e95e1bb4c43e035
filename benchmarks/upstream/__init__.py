"""A loopback upstream in C with canned replies: `serve()` compiles it, starts it and ends it."""

from __future__ import annotations

import json
import runpy
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Upstream:
    """Where it listens, and the canned requests and replies."""

    url: str
    payloads: Path

    def request(self, name: str) -> Mapping[str, object]:
        """One canned request body."""
        loaded: Mapping[str, object] = json.loads((self.payloads / f"{name}.json").read_text())
        return loaded

    def stats(self) -> Mapping[str, int]:
        """How often it was asked since the last reset."""
        return _get(f"{self.url}/__stats")

    def reset(self) -> None:
        """Count from zero."""
        _get(f"{self.url}/__reset")


@contextmanager
def serve() -> Iterator[Upstream]:
    """The upstream on a free port of the loopback."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("this benchmark needs a C compiler (cc) for its upstream")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        shutil.copy(HERE / "make_payloads.py", place)
        runpy.run_path(str(place / "make_payloads.py"))
        binary = place / "mock"
        subprocess.run([compiler, "-O2", "-o", binary, HERE / "mock.c"], check=True)  # noqa: S603  our own file
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen([binary, str(port), place / "payloads"])  # noqa: S603  our own file
        try:
            upstream = Upstream(f"http://127.0.0.1:{port}", place / "payloads")
            _await(upstream)
            yield upstream
        finally:
            server.terminate()
            server.wait()


def _await(upstream: Upstream) -> None:
    for _ in range(100):
        try:
            upstream.reset()
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)  # noqa: TID251  before anything runs
        else:
            return
    raise SystemExit("the upstream did not come up")


def _get(url: str) -> Mapping[str, int]:
    with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  our own loopback
        loaded: Mapping[str, int] = json.load(reply)
        return loaded
