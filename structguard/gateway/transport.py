"""
The pool of upstream connections, with what of the client's headers may go upstream.

Nothing else of the client's headers is forwarded. Source: spec gateway "Scale and faults".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from structguard.gateway.turn import CLIENT
from structguard.http import Response, Transport

SAFE = frozenset(
    {b"traceparent", b"tracestate", b"baggage", b"openai-organization", b"openai-project"}
)
"""Headers of a client that go upstream; `authorization` only where a provider asks for it."""


@dataclass(frozen=True, slots=True)
class ClientTransport:
    """
    Sends as `inner` does, with the current client's safe headers; `credential`: its key too.

    `told` hears of each exchange: the status (None: no answer) and the seconds to its head.
    """

    inner: Transport
    credential: bool
    told: Callable[[int | None, float], None]

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        budget: float | None = None,
        stream: bool = False,
    ) -> Response:
        """See `seam.Transport.send`."""
        client = CLIENT.get()
        if client:
            own = self.credential
            added = {k: v for k, v in client.items() if own or k != "authorization"}
            headers = {**headers, **added}
        started, status = time.perf_counter(), None
        try:
            reply = await self.inner.send(
                method, url, headers=headers, body=body, budget=budget, stream=stream
            )
            status = reply.status
        finally:
            self.told(status, time.perf_counter() - started)
        return reply

    async def aclose(self) -> None:
        """See `seam.Transport.aclose`."""
        await self.inner.aclose()
