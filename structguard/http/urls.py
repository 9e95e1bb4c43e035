"""
Base URLs and what follows them: base paths, trailing slashes and queries survive a join.

Source: RFC 3986; spec api-choice, row "endpoint".
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from urllib.parse import urlsplit, urlunsplit

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_PROXY = "http, https or socks5, a host and a port, such as http://proxy:3128"
_SOCKS = frozenset({"socks5", "socks5h"})


def checked(url: str, name: str = "base_url") -> str:
    """
    The URL, if it can be a base URL: http or https, a host, no credentials, no fragment.

    Raises:
        ValueError: what is wrong with it; a credential in it is never repeated.
    """
    if _CONTROL.search(url):
        raise ValueError(f"{name} contains spaces or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{name} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise ValueError(
            f"{name} must be an http or https URL with a host, such as https://host/v1"
        )
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{name} must not contain user:password@; pass the credential separately")
    return urlunsplit(parts._replace(fragment=""))


def checked_proxy(proxy: str | None, *, socks: bool) -> str | None:
    """
    A proxy's address, credentials allowed; `socks`: socks5 and socks5h too, where socksio is there.

    Raises:
        ValueError: it is none that can be used; nothing of it is repeated.
    """
    if proxy is None:
        return None
    try:
        parts = urlsplit(proxy)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        raise ValueError(f"proxy is not a URL: {_PROXY}") from None
    if _CONTROL.search(proxy) or not host or parts.scheme not in {"http", "https", *_SOCKS}:
        raise ValueError(f"proxy must be the URL of a proxy: {_PROXY}")
    if parts.scheme in _SOCKS and not (socks and find_spec("socksio")):
        raise ValueError(
            "a SOCKS proxy needs transport='httpx2' and the package socksio (pip install socksio);"
            " give an http or https proxy, or proxy=None"
        )
    return proxy


def join(base: str, path: str) -> str:
    """
    `path` after the base's own path; the base's query stays, a query in `path` is added to it.

    `https://host/v1/?api-version=1` and `/models` give `https://host/v1/models?api-version=1`.
    """
    parts = urlsplit(base)
    tail, _, query = path.partition("?")
    joined = parts.path.rstrip("/") + "/" + tail.lstrip("/")
    queries = "&".join(part for part in (parts.query, query) if part)
    return urlunsplit(parts._replace(path=joined, query=queries))


def sibling(url: str, old: str, new: str) -> str | None:
    """The URL whose path ends in `new` instead of `old`; None when it does not end in `old`."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not path.endswith(old):
        return None
    return urlunsplit(parts._replace(path=path.removesuffix(old) + new))


def placeholders(url: str) -> tuple[str, ...]:
    """What stands in braces in a URL, such as `{model}`."""
    return tuple(_PLACEHOLDER.findall(url))
