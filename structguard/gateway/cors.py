"""
What a browser asks before it calls, and what it may read of a reply: CORS, for the API and nothing else.

Source: the Fetch standard, HTTP-network-or-cache fetch; spec gateway "Config".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from structguard.gateway.asgi import Exchange

_EXPOSED = (
    b"x-request-id, retry-after, x-structguard-enforced, x-structguard-source,"
    b" x-structguard-requests, x-structguard-provider, x-structguard-warning"
)
_ALLOWED = "authorization, content-type, x-structguard-mode, x-request-timeout"
_NAMES = re.compile(r"[\w-]+(\s*,\s*[\w-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cors:
    """The origins that may call; none, and nothing is ever said."""

    origins: tuple[str, ...]

    async def answers(self, exchange: Exchange) -> bool:
        """Add what a browser must see to whatever reply comes; True where it only asked beforehand."""
        if not self.origins or not exchange.scope["path"].startswith("/v1/"):
            return False
        if "*" not in self.origins:
            exchange.more.append((b"vary", b"origin"))
        origin = exchange.header(b"origin")
        if origin is None or not ({"*", origin} & set(self.origins)):
            return False
        shown = b"*" if "*" in self.origins else origin.encode("latin-1")
        exchange.more += [
            (b"access-control-allow-origin", shown),
            (b"access-control-expose-headers", _EXPOSED),
        ]
        asked = exchange.header(b"access-control-request-method")
        if exchange.scope["method"] != "OPTIONS" or asked is None:
            return False
        names = exchange.header(b"access-control-request-headers") or ""
        await exchange.reply(
            204,
            b"",
            {
                "access-control-allow-methods": "GET, POST, DELETE",
                "access-control-allow-headers": names if _NAMES.fullmatch(names) else _ALLOWED,
                "access-control-max-age": "600",
            },
        )
        return True
