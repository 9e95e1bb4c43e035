"""How uvicorn serves the app: the loop, the protocols with their bounds, nothing that a peer may claim."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast

from uvicorn import Config as ServerConfig

from structguard.gateway.config import Config
from structguard.gateway.protocol import HttpConnection, SocketConnection

WORKER = "structguard.gateway.worker:app"
CUT = 2.0  # seconds for which what outlasts `limits.drain` may tell its client so
_REST = 3.0  # seconds after which uvicorn cancels what is left


def server_config(
    config: Config,
    app: Callable[..., Any] | str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    workers: int = 1,
) -> ServerConfig:
    """The settings of one server; `app` as a name is made anew in every worker."""
    return ServerConfig(
        cast("Any", app),
        factory=isinstance(app, str),
        host=host,
        port=port,
        workers=workers,
        loop="uvloop" if find_spec("uvloop") else "auto",
        http=HttpConnection,
        ws=SocketConnection,
        ws_max_size=config.limits.body,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever stands in front is the peer: nothing here trusts a header
        timeout_keep_alive=max(1, round(config.limits.idle_seconds)),
        timeout_graceful_shutdown=max(1, round(config.limits.drain + CUT + _REST)),
    )
