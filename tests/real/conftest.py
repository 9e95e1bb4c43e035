"""A real llama.cpp server on the loopback, with a tiny model that is built on the spot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_NEEDED = ("xllamacpp", "gguf", "numpy")


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's base URL; skipped by name where a wheel is missing."""
    for name in _NEEDED:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    model = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    _run([str(HERE / "mk_tiny_gguf.py"), str(model)])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(  # noqa: S603  our own interpreter on our own file
        [sys.executable, str(HERE / "run_llama.py"), str(model), str(port), "tiny"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        _await(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(10)


def _run(arguments: list[str]) -> None:
    subprocess.run(  # noqa: S603  our own interpreter on our own file
        [sys.executable, *arguments], check=True, capture_output=True
    )


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        assert server.poll() is None, "the llama.cpp server ended"
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310  our own loopback
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)  # noqa: TID251  before the tests begin
    pytest.fail("the llama.cpp server did not come up")
