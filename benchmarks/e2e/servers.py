"""The real servers, each a process of its own on a free port, ended with its context."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT / "tests" / "real"
PROXY_PYTHON = ROOT / ".venv-litellm" / "bin" / "python"
KEY = f"sk-{secrets.token_hex(24)}"
"""What the proxy and the gateway are asked with."""

_PROXY = """\
model_list:
  - model_name: refusing
    litellm_params: {{model: volcengine/tiny, api_base: "{url}", api_key: none}}
  - model_name: dropping
    litellm_params: {{model: volcengine/tiny, api_base: "{url}", api_key: none, drop_params: true}}
litellm_settings: {{telemetry: false, num_retries: 0}}
general_settings: {{master_key: {key}}}
"""
_GATEWAY = """\
[providers.up]
base_url = "{url}"
api_key_env = "E2E_KEY"
attempts = 1
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "memory:"
[log]
access = false
level = "error"
"""


@contextmanager
def llama(place: Path) -> Iterator[str]:
    """The llama.cpp server with the tiny model that is built on the spot; its base URL."""
    model = place / "tiny.gguf"
    subprocess.run(  # noqa: S603  our own interpreter on our own file
        [sys.executable, str(REAL / "mk_tiny_gguf.py"), str(model)], check=True, capture_output=True
    )
    port = free_port()
    command = [sys.executable, str(REAL / "run_llama.py"), str(model), str(port), "tiny"]
    with _process(command, f"http://127.0.0.1:{port}/health", OMP_NUM_THREADS="1"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def proxy(place: Path, upstream: str) -> Iterator[str]:
    """A litellm proxy in front of `upstream`; its base URL. It takes half a minute to start."""
    config, port = place / "proxy.yaml", free_port()
    config.write_text(_PROXY.format(url=upstream, key=KEY))
    command = [
        str(PROXY_PYTHON.with_name("litellm")), "--config", str(config),
        "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False",
    ]  # fmt: skip
    probe = f"http://127.0.0.1:{port}/health/liveliness"
    with _process(command, probe, LITELLM_LOCAL_MODEL_COST_MAP="True"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def gateway(place: Path, upstream: str) -> Iterator[str]:
    """`structguard serve` in front of `upstream`; its base URL."""
    port = free_port()
    config = place / f"gateway-{port}.toml"
    config.write_text(_GATEWAY.format(url=upstream))
    command = [
        sys.executable, "-m", "structguard", "serve", "--config", str(config), "--port", str(port)
    ]  # fmt: skip
    with _process(command, f"http://127.0.0.1:{port}/healthz", E2E_KEY=KEY):
        yield f"http://127.0.0.1:{port}/v1"


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextmanager
def _process(command: Sequence[str], probe: str, **env: str) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S603  our own commands
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(probe, process)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310  our own loopback
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)  # noqa: TID251  before anything runs
    raise SystemExit(f"{process.args!r} did not answer")
