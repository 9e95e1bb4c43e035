"""
Base URLs and what follows them: base paths, trailing slashes and queries survive a join.

Source: RFC 3986; spec api-choice, row "endpoint".
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


def checked(url: str, name: str = "base_url") -> str:
    """
    The URL, if it can be a base URL: http or https, a host, no credentials, no fragment.

    Raises:
        ValueError: what is wrong with it; a credential in it is never repeated.
    """
    if _CONTROL.search(url):
        raise ValueError(f"{name} holds spaces or control characters")
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
        raise ValueError(
            f"{name} must not hold user:password@; hand the credential over separately"
        )
    return urlunsplit(parts._replace(fragment=""))


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
