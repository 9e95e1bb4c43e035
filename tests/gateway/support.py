"""A gateway on a real port: uvicorn in a thread of the test, ended with the context."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import uvicorn

from structguard.gateway.app import Gateway, create_app
from structguard.gateway.config import Config, embedded
from structguard.gateway.config_file import config_from
from structguard.gateway.server import server_config

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
VALUE = {"city": "Bonn", "n": 3}
CHAT_FORMAT: dict[str, object] = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
}
TEXT_FORMAT: dict[str, object] = {
    "type": "json_schema",
    "name": "answer",
    "strict": True,
    "schema": SCHEMA,
}
BOTH = {"responses": {"enabled": True}, "chat_completions": {"enabled": True}}


def chat(model: str, **fields: object) -> dict[str, object]:
    """A chat body."""
    return {"model": model, "messages": [{"role": "user", "content": "Where?"}], **fields}


def response(model: str, **fields: object) -> dict[str, object]:
    """A responses body."""
    return {"model": model, "input": "Where?", **fields}


def json_request(path: str, model: str, **fields: object) -> dict[str, object]:
    """A body for an endpoint's path that asks for JSON."""
    if path.endswith("/chat/completions"):
        return chat(model, response_format=CHAT_FORMAT, **fields)
    return response(model, text={"format": TEXT_FORMAT}, **fields)


@dataclass(frozen=True)
class Running:
    """A gateway that answers, and a client for it."""

    url: str
    client: httpx2.Client
    app: Gateway

    def post(self, path: str, body: object, **headers: str) -> httpx2.Response:
        """A JSON request; header names with `_` for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, json=body, headers=named)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """A GET."""
        return self.client.get(path, headers=headers)


@contextmanager
def running(config: Config) -> Iterator[Running]:
    """The gateway of a configuration."""
    app = create_app(config)
    made = server_config(config, app)
    made.timeout_graceful_shutdown = 2
    server = uvicorn.Server(made)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        while not server.started:
            time.sleep(0.005)  # noqa: TID251  another thread's start
            assert thread.is_alive()
        with httpx2.Client(base_url=url, timeout=20.0) as client:
            yield Running(url, client, app)
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def settings(
    base_url: str,
    *,
    memo: str = "memory:",
    environ: Mapping[str, str] | None = None,
    **tables: object,
) -> Config:
    """A configuration with one provider `up` unless tables say otherwise."""
    table: dict[str, object] = {
        "providers": {"up": {"base_url": base_url, "attempts": 1}},
        "endpoints": BOTH,
        "guard": {"memo": memo},
        "store": {"url": "memory:"},
        **tables,
    }
    return config_from(table, environ or {})


def embedded_config(base_url: str) -> Config:
    """The embedded default, but all it keeps in memory."""
    from dataclasses import replace  # noqa: PLC0415

    config = embedded(base_url)
    return replace(
        config,
        guard=replace(config.guard, memo="memory:"),
        store=replace(config.store, url="memory:"),
    )
