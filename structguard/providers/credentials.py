"""
Credentials that expire: an async callable, asked once for all who wait, kept until it runs out.

Source: spec api-choice, row "auth" and the last sentence.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from structguard.errors import ProviderError
from structguard.http.loops import PerLoop
from structguard.providers.call import Outgoing, Unauthorised
from structguard.service import Clock

Headers: TypeAlias = Mapping[str, str]
_EARLY = 30.0  # seconds before its expiry a credential is no longer handed out


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """
    What a credentials callable returns: a token, further headers, and the lifetime in seconds.

    `expires_in` None means that it is used until the endpoint rejects it.
    """

    token: str | None = field(default=None, repr=False)
    headers: Headers = field(default_factory=dict[str, str], repr=False)
    expires_in: float | None = None  # seconds

    def __post_init__(self) -> None:
        for value in (self.token or "", *self.headers.values()):
            if not printable(value):
                raise ValueError("a credential contains a line break or another control character")


CredentialsCallable: TypeAlias = Callable[[], Awaitable[Credential | str]]


def printable(secret: str) -> bool:
    """Whether a text can stand in an HTTP header."""
    return secret.isascii() and secret.isprintable()


class Credentials:
    """
    Asks a callable for a credential and keeps it; `scheme` makes the token a header.

    Whoever comes while one is being fetched waits for it and shares what came of it, a failure too.
    """

    def __init__(
        self,
        fetch: CredentialsCallable,
        *,
        scheme: Callable[[str], Headers],
        clock: Clock = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._scheme = scheme
        self._clock = clock
        self._locks = PerLoop(anyio.Lock)
        self._round = 0
        self._headers: Headers | None = None
        self._good_until = 0.0
        self._failure: Exception | None = None

    async def __call__(
        self, outgoing: Outgoing, /, *, rejected: Headers | None = None
    ) -> Headers | None:
        """The headers with the credential; see `engine.Authorise`."""
        return {**outgoing.headers, **await self._current(rejected)}

    async def _current(self, rejected: Headers | None) -> Headers:
        round_ = self._round
        if self._fresh(rejected):
            return self._headers or {}
        async with self._locks.get():
            if self._round != round_ and self._failure is not None:
                raise Unauthorised(str(self._failure)) from self._failure
            if not self._fresh(rejected):
                await self._renew()
        return self._headers or {}

    def _fresh(self, rejected: Headers | None) -> bool:
        """Whether the held credential may be used: not run out, and not the one just turned down."""
        headers = self._headers
        if headers is None or self._clock() >= self._good_until:
            return False
        return rejected is None or any(rejected.get(name) != headers[name] for name in headers)

    async def _renew(self) -> None:
        self._failure = None
        try:
            fetched = await self._fetch()
        except ProviderError:
            raise
        except Exception as error:
            self._failure = Unauthorised(f"the credentials callable failed: {type(error).__name__}")
            raise self._failure from error
        finally:
            self._round += 1
        credential = Credential(token=fetched) if isinstance(fetched, str) else fetched
        scheme: Headers = self._scheme(credential.token) if credential.token else {}
        self._headers = {**scheme, **credential.headers}
        life = credential.expires_in
        early = 0.0 if life is None else min(_EARLY, life / 2)
        self._good_until = float("inf") if life is None else self._clock() + life - early


def digest(headers: Headers) -> str:
    """16 hex characters that tell two credentials apart and give neither away."""
    ordered = sorted((name.lower(), value) for name, value in headers.items())
    return hashlib.sha256(repr(ordered).encode()).hexdigest()[:16]
