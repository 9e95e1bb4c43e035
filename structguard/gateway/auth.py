"""
Who may call the gateway: bearer tokens kept as SHA-256 digests, and a limit on wrong ones.

Every token is compared, always and in constant time. A peer with too many failures in a window is
turned away until the window is over, except with a token that it has used with success before: one
wrong client behind a shared address does not lock out the others. Source: spec gateway "Config",
RFC 6750, RFC 7617.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from structguard.errors import StructguardError
from structguard.service import Clock

MAX_AUTHORIZATION = 8192  # characters of an Authorization header that are looked at
_KNOWN = 32  # tokens a peer that are remembered as good

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Unauthorized(StructguardError):
    """401: no token, or none that is known. `challenge` is the WWW-Authenticate value."""

    def __init__(self, message: str, challenge: str) -> None:
        super().__init__(message)
        self.challenge = challenge


class TooManyFailures(StructguardError):
    """429: too many wrong tokens from one peer; try again after `retry_after` whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many failed attempts to authenticate: wait {retry_after} s")
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Token:
    """One bearer token by the lower-case hex SHA-256 of its UTF-8 text; `id` names it in logs."""

    id: str
    sha256: str = field(repr=False)

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError(
                f"token {self.id!r} must be given as 64 lower-case hex digits, the SHA-256 of the"
                " token (printf %s TOKEN | sha256sum), or by the name of an environment variable"
            )

    @classmethod
    def of_secret(cls, id: str, secret: str) -> Token:  # noqa: A002  the field's word
        """
        The token of a secret in clear text.

        Raises:
            ValueError: an empty secret, or one with white space, which no header can carry.
        """
        if not secret or any(mark.isspace() for mark in secret):
            raise ValueError(f"token {id!r} must be a text without white space")
        return cls(id, _digest(secret))


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the token's id ("" in open mode), and the scope of what it stores."""

    id: str
    scope: str = field(repr=False)


@dataclass(slots=True)
class _Peer:
    """What one peer has done: failures in the window, and tokens that were right (digests)."""

    until: float = 0.0
    failures: int = 0
    known: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])


class Auth:
    """
    Checks Authorization headers. Not thread-safe: one event loop asks.

    `failures` wrong tokens within `window` seconds close a peer out until that window is over; the
    `peers` last seen are remembered, IPv6 addresses by their /64. Without tokens everybody is let
    in, and what is presented is the scope.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        *,
        failures: int = 10,
        window: float = 60.0,
        peers: int = 10_000,
        clock: Clock = time.monotonic,
    ) -> None:
        if failures < 1 or peers < 1 or not window > 0:
            raise ValueError("failures, peers and window must be positive")
        self._tokens = tuple((token.id, token.sha256.encode()) for token in tokens)
        self._failures = failures
        self._window = window
        self._limit = peers
        self._clock = clock
        self._peers: OrderedDict[str, _Peer] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Auth {len(self._tokens)} tokens, {len(self._peers)} peers>"

    @property
    def open(self) -> bool:
        """Whether everybody is let in."""
        return not self._tokens

    def form_secret(self) -> bytes | None:
        """A secret that all gateways with these tokens share; None in open mode."""
        if self.open:
            return None
        known = b"".join(sorted(known for _, known in self._tokens))
        return hashlib.sha256(b"structguard forms" + known).digest()

    def check(self, authorization: str | None, peer: str, *, basic: bool = False) -> Caller:
        """
        Who an Authorization header speaks for.

        `peer` is the client's address; `basic` also takes `Basic` with the token as the password,
        which browsers can send.

        Raises:
            Unauthorized: no token, or none that is known.
            TooManyFailures: the peer has tried too many wrong ones.
        """
        if self.open:
            return Caller("", "" if authorization is None else _scope(_digest(authorization)))
        secret = _presented(authorization, basic=basic)
        digest = "" if secret is None else _digest(secret)
        found = self._find(digest)
        seen = self._seen(peer)
        if seen.failures >= self._failures and (found is None or digest not in seen.known):
            raise TooManyFailures(max(1, round(seen.until - self._clock() + 0.5)))
        if found is None:
            self._refuse(seen, presented=secret is not None, basic=basic)
        seen.known[digest] = None
        if len(seen.known) > _KNOWN:
            seen.known.popitem(last=False)
        return Caller(found or "", _scope(digest))

    def _find(self, digest: str) -> str | None:
        """The id of the token; every token is compared, whichever fits."""
        given, found = digest.encode(), None
        for name, known in self._tokens:
            if hmac.compare_digest(given, known):
                found = name
        return found

    def _seen(self, peer: str) -> _Peer:
        """What is known of a peer now; it becomes the last to be forgotten."""
        key = _network(peer)
        seen = self._peers.get(key)
        if seen is None:
            seen = self._peers[key] = _Peer()
            if len(self._peers) > self._limit:
                self._peers.popitem(last=False)
        self._peers.move_to_end(key)
        if seen.failures and self._clock() >= seen.until:
            seen.failures = 0
        return seen

    def _refuse(self, seen: _Peer, *, presented: bool, basic: bool) -> None:
        """401; only a wrong token counts, so that a browser may ask first."""
        if presented:
            if not seen.failures:
                seen.until = self._clock() + self._window
            seen.failures += 1
        raise Unauthorized(
            "the token is not known to this gateway"
            if presented
            else "a token is needed: send Authorization: Bearer TOKEN",
            'Basic realm="structguard", charset="UTF-8"'
            if basic
            else 'Bearer realm="structguard"' + (', error="invalid_token"' if presented else ""),
        )


def _presented(authorization: str | None, *, basic: bool) -> str | None:
    """The token in a header; None where there is none, "" where it cannot be read."""
    if authorization is None or not authorization.strip():
        return None
    if len(authorization) > MAX_AUTHORIZATION:
        return ""
    scheme, _, rest = authorization.strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic" if basic:
            return _password(rest.strip())
        case _:
            return ""


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=1024)
def _scope(digest: str) -> str:
    """What stands for a credential in stores: not the digest by which it is known."""
    return hashlib.sha256(f"structguard scope {digest}".encode()).hexdigest()[:32]


def _network(peer: str) -> str:
    """The peer's address; for IPv6 its /64, which is one customer."""
    if ":" not in peer:
        return peer
    try:
        address = ipaddress.IPv6Address(peer.partition("%")[0])
    except ValueError:
        return peer
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
