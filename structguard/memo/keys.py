"""
How endpoints, routers and calls are named in the memo, without anything secret.

Source: spec guard §3 "Look-up", RFC 3986 §3.2.
"""

from __future__ import annotations

import hashlib
import json
from typing import Protocol
from urllib.parse import parse_qs, quote, urlsplit

from structguard.types import MemoKey, Place

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Call(Protocol):
    """
    What a look-up needs to know of a call.

    `pair` is asked for on every look-up, `place` when the pair has entries, `key` when one of them
    asks for more: a call which nothing is known about never pays for a schema digest.
    """

    @property
    def pair(self) -> tuple[str, str]: ...
    @property
    def place(self) -> Place: ...
    @property
    def key(self) -> MemoKey: ...


def endpoint_id(url: str) -> str:
    """
    An endpoint's address as `host[:port][/path][?api-version=…]`.

    No scheme, user, password, fragment or other query; host in lower case, the scheme's own port
    left out. Giving the result in again gives the same result.

    Raises:
        ValueError: no address of a host can be read from it (the text itself is not repeated: it
            may hold a credential).
    """
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError("the base URL is not valid: its host or port is malformed") from error
    if not host:
        raise ValueError("the base URL is not valid: it has no host")
    if ":" in host:
        host = f"[{host}]"
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    versions = parse_qs(parts.query).get("api-version", [])
    query = f"?api-version={quote(versions[0], safe='')}" if versions else ""
    return f"{host}{parts.path.rstrip('/')}{query}"


def provider_id(given: str) -> str:
    """
    The name a provider goes by: a base URL's endpoint, any other name as it is.

    Raises:
        ValueError: a base URL of which no host can be read.
    """
    return endpoint_id(given) if "://" in given else given


def routing_digest(provider: object) -> str:
    """
    16 hex characters that name a router's `provider` object (OpenRouter); "" for none.

    Equal objects give equal digests whatever the order of their keys.
    """
    if not provider:
        return ""
    text = json.dumps(provider, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
