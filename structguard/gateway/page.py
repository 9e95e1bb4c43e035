"""
The status page: HTML made on the server, without script, under a policy that allows none.

The app fills a Snapshot and sends what `render` gives with `HEADERS`; the stylesheet is served at
`STYLE_PATH`. Whatever a provider or a model has said is only ever text here. Source: spec gateway,
issue "a status page"; CSP Level 3.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from types import MappingProxyType

from structguard.gateway import page_parts as parts
from structguard.gateway.html import tag
from structguard.gateway.page_parts import FORGET_PATH
from structguard.gateway.page_style import STYLE_PATH, STYLESHEET
from structguard.gateway.snapshot import ChainRow, ProviderRow, Snapshot

__all__ = [
    "FORGET_PATH", "HEADERS", "STYLESHEET", "STYLE_PATH", "ChainRow", "Csrf", "ProviderRow",
    "Snapshot", "render",
]  # fmt: skip

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:;"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
)


class Csrf:
    """
    Tokens that tie a form to who was shown it, so that no other site can post it for them.

    `secret` is the same in all workers, and lives as long as the page's forms should.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise ValueError("a secret for forms needs at least 16 bytes")
        self._secret = secret

    def token(self, scope: str) -> str:
        """The token of a caller's scope."""
        text = b"structguard form\0" + scope.encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()

    def check(self, scope: str, token: str) -> bool:
        """Whether the token was made for this scope; in constant time."""
        given = token.encode("utf-8", "surrogatepass")
        return hmac.compare_digest(self.token(scope).encode(), given)


def render(snapshot: Snapshot) -> str:
    """The whole page."""
    head = tag(
        "head",
        "",
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("title", "", "structguard status"),
        tag("link", {"rel": "icon", "href": "data:,"}),
        tag("link", {"rel": "stylesheet", "href": STYLE_PATH}),
    )
    main = tag(
        "main",
        "",
        tag("p", {"class": "note", "role": "status"}, snapshot.message) if snapshot.message else "",
        parts.tiles(snapshot.numbers),
        parts.charts(snapshot.numbers),
        parts.chains(snapshot.chains),
        parts.memo(snapshot),
        parts.providers(snapshot.providers),
    )
    body = tag("body", "", parts.header(snapshot), main, parts.footer(snapshot))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'
