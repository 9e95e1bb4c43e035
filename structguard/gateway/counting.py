"""What is noted of a request: its metrics, and one line in the access log; never a body, never a key."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from structguard.gateway.core import Core
from structguard.gateway.page import FORGET_PATH, STYLE_PATH
from structguard.gateway.turn import Served

access: logging.Logger = logging.getLogger("structguard.access")
_COUNTED = frozenset({"/v1/models", "/v1/embeddings", "/v1/responses/compact", "/openapi.json"})
_UNCOUNTED = frozenset({"/healthz", "/readyz", "/metrics", "/", FORGET_PATH, STYLE_PATH})


def route_of(path: str) -> str | None:
    """The route of a path, for metrics; None for what operators ask."""
    if path in _COUNTED:
        return path
    if path in _UNCOUNTED:
        return None
    if path.startswith("/v1/responses/"):
        inputs = path.endswith("/input_items")
        return "/v1/responses/{id}" + ("/input_items" if inputs else "")
    return "/v1/models/{id}" if path.startswith("/v1/models/") else "other"


@dataclass(slots=True)
class Counted:
    """
    One request under way. `route` is one of ours, never a path that a client made up; `line` is what
    the log shows.
    """

    core: Core
    route: str
    line: str
    since: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.core.metrics.started(self.route)
        self.core.busy += 1

    def over(self, id_: str, status: int, began: float, served: Served | None) -> None:
        """It is answered; `status` 0: its client left before; `began`: when a stream's head went out."""
        core, seconds = self.core, time.perf_counter() - self.since
        core.busy -= 1
        core.metrics.finished(
            endpoint=self.route,
            status=status or 499,
            seconds=seconds,
            first_byte=began - self.since if began else None,
            enforced=served.enforced if served else None,
            source=served.source if served else None,
        )
        if core.config.log.access and access.isEnabledFor(logging.INFO):
            access.info("%s %s %d %.1f ms", id_, self.line, status or 499, seconds * 1000)
