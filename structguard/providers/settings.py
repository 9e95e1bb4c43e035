"""What every provider's constructor checks, and how the environment is read by `from_env()`."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict
from urllib.parse import urlsplit

import anyio

from structguard.events import Observer
from structguard.http import Limits, Transport, TransportName, transport_for
from structguard.http.urls import checked
from structguard.observe import careful, log_events
from structguard.options import RetryOptions
from structguard.providers.call import Outgoing, Unauthorised
from structguard.providers.credentials import printable
from structguard.providers.engine import Engine, feed_of
from structguard.providers.seams import Authorise, Feed, Router
from structguard.service import Clock
from structguard.wire.base import DEFAULTS, StreamDecoder, WireOptions

Environ: TypeAlias = Mapping[str, str]
TIMEOUT = 600.0  # seconds


def environ() -> Environ:
    """The process's environment; only `from_env()` asks for it."""
    return os.environ


def read(env: Environ, *names: str) -> str | None:
    """The first of these variables that is set; an empty one, or one of spaces, is not."""
    return next((value for name in names if (value := env.get(name, "").strip())), None)


def read_seconds(env: Environ, name: str, default: float) -> float:
    """
    A number of seconds.

    Raises:
        ValueError: the variable holds something else.
    """
    text = read(env, name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number of seconds, got {text!r}") from None
    return checked_timeout(seconds, name)


def read_network(common: Common, url: str) -> None:
    """
    The proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name for a URL, unless the caller
    has said something about proxy or transport. A bare `host:port` is an http proxy, as curl has it.
    """
    if "proxy" in common or not isinstance(common.get("transport", ""), str):
        return
    from urllib.request import getproxies_environment, proxy_bypass  # noqa: PLC0415  costs 30 ms

    parts = urlsplit(url)
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not proxy_bypass(parts.netloc):
        common["proxy"] = proxy if "://" in proxy else f"http://{proxy}"


def checked_timeout(seconds: float, name: str = "timeout") -> float:
    """
    Seconds a call may take.

    Raises:
        ValueError: not more than 0, or not finite. TypeError: no number.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name} must be a number of seconds, got {seconds!r}")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{name} must be more than 0 seconds and finite, got {seconds!r}")
    return float(seconds)


def checked_key(key: str | None, name: str = "api_key") -> str | None:
    """
    A key without the spaces around it; an empty one is none.

    Raises:
        ValueError: it cannot stand in a header; the key is not repeated.
    """
    if key is None or not key.strip():
        return None
    if not printable(key.strip()):
        raise ValueError(
            f"{name} contains a line break or a character that is not allowed in an HTTP header"
        )
    return key.strip()


def checked_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """
    The caller's own headers, names in lower case.

    Raises:
        ValueError: a value that no header can carry; it is not repeated.
    """
    lowered = {name.lower(): value for name, value in (headers or {}).items()}
    for name, value in lowered.items():
        if not printable(name) or not printable(value):
            raise ValueError(
                f"header {name!r} contains a character that is not allowed in an HTTP header"
            )
    return lowered


def checked_base(url: str | None, name: str = "base_url") -> str:
    """
    A base URL.

    Raises:
        ValueError: none, or none that can be used.
    """
    if url is None or not url.strip():
        raise ValueError(f"{name} is required, such as https://host/v1")
    return checked(url.strip(), name)


def bearer(token: str) -> Mapping[str, str]:
    """The header of RFC 6750."""
    return {"authorization": f"Bearer {token}"}


class Common(TypedDict, total=False):
    """
    What every provider takes beside its own arguments.

    `id` names it in memo, events and errors (default: its base URL's host[:port][/path]). `timeout`
    is a call's budget in seconds when the request names none. `headers` go on every request.
    `transport` is "httpx2", "aiohttp" or the caller's own, which the caller closes; `limits` and
    `proxy` are for the first two. `options` is the endpoint's dialect. `clock`, `sleep` and `jitter` are there for tests.
    """

    id: str
    timeout: float
    headers: Mapping[str, str]
    retry: RetryOptions
    transport: TransportName | Transport
    limits: Limits
    proxy: str | None
    options: WireOptions
    observer: Observer
    clock: Clock
    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`Common`, checked; an unknown name is a TypeError."""

    id: str | None = None
    timeout: float = TIMEOUT
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    retry: RetryOptions = field(default_factory=RetryOptions)
    transport: TransportName | Transport = "httpx2"
    limits: Limits | None = None
    proxy: str | None = field(default=None, repr=False)
    options: WireOptions = DEFAULTS
    observer: Observer = log_events
    clock: Clock = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        checked_timeout(self.timeout)
        object.__setattr__(self, "headers", checked_headers(self.headers))
        object.__setattr__(self, "observer", careful(self.observer))
        if self.id is not None and not self.id.strip():
            raise ValueError("id must not be empty; leave it out for the base URL's host and path")

    def engine(
        self,
        name: str,
        router: Router,
        authorise: Authorise | None,
        secret: Mapping[str, str] | None = None,
        *,
        feed: Callable[[StreamDecoder], Feed] = feed_of,
        stream_accept: str = "text/event-stream",
    ) -> Engine:
        """The machinery; `secret` are the headers of a credential that never changes."""
        return Engine(
            id=self.id or name,
            transport=transport_for(self.transport, limits=self.limits, proxy=self.proxy),
            router=router,
            authorise=authorise,
            timeout=self.timeout,
            retry=self.retry,
            headers={**(secret or {}), **self.headers},
            observer=self.observer,
            feed=feed,
            stream_accept=stream_accept,
            owns_transport=isinstance(self.transport, str),
            clock=self.clock,
            sleep=self.sleep,
            jitter=self.jitter,
        )


def checked_common(provider: type, common: Common) -> Settings:
    """
    What a provider was given beside its own arguments.

    Raises:
        TypeError: an argument that the provider has not, with the nearest one that it has.
        ValueError: a value that cannot be used.
    """
    unknown = [name for name in common if name not in Settings.__slots__]
    if not unknown:
        return Settings(**common)
    from difflib import get_close_matches  # noqa: PLC0415  on the way to an error only
    from inspect import signature  # noqa: PLC0415

    known = [*signature(provider).parameters, *Settings.__slots__]
    known.remove("common")
    nearest = get_close_matches(unknown[0], known, 1, 0.5)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else f"; it has {', '.join(sorted(known))}"
    raise TypeError(f"{provider.__name__} has no argument {unknown[0]!r}{hint}")


def missing(what: str) -> Authorise:
    """No credential: every call ends in an authentication error before anything is sent."""

    async def authorise(
        outgoing: Outgoing, /, *, rejected: Mapping[str, str] | None = None
    ) -> Mapping[str, str] | None:
        del outgoing, rejected
        raise Unauthorised(what)

    return authorise
