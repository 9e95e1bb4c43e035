"""
Where responses are kept for `previous_response_id` and GET: by URL, scoped to a credential.

Source: spec gateway "Requests", "Scale and faults".
"""

from __future__ import annotations

import time
from pathlib import Path

from structguard.errors import redact
from structguard.gateway.store_memory import MemoryStore
from structguard.gateway.stored import ResponseStore, Stored, StoreTrouble
from structguard.memo import default_directory
from structguard.service import Clock

__all__ = ["ResponseStore", "StoreTrouble", "Stored", "open_store"]

_ACCEPTED = (
    "'disk:PATH', 'disk:' (the user's cache directory), 'redis://HOST:PORT/DB', 'rediss://…'"
    " or 'memory:'"
)


def open_store(
    url: str, *, expiry: float, limit_bytes: int, wall: Clock = time.time
) -> ResponseStore:
    """
    The store at a URL; opening does no I/O.

    `expiry` in seconds, `limit_bytes` of stored JSON in all.

    Raises:
        ValueError: a URL of another form, or a bound that is not positive.
        MissingExtra: `redis://` without the extra `redis`.
    """
    if not expiry > 0 or limit_bytes < 1:
        raise ValueError(
            f"a store needs a positive expiry and limit, got {expiry!r} s and {limit_bytes!r} bytes"
        )
    scheme, colon, rest = url.partition(":")
    match scheme, colon, rest:
        case "memory", ":", "":
            return MemoryStore(expiry=expiry, limit_bytes=limit_bytes, wall=wall)
        case "disk", ":", _:
            from structguard.gateway.store_disk import DiskStore  # noqa: PLC0415  loads diskcache

            path = Path(rest).expanduser().absolute() if rest else _default_directory()
            return DiskStore(path, expiry=expiry, limit_bytes=limit_bytes, wall=wall)
        case (("redis" | "rediss"), ":", _) if rest.startswith("//"):
            from structguard.gateway.store_redis import RedisStore  # noqa: PLC0415  loads redis

            return RedisStore(url, expiry=expiry, limit_bytes=limit_bytes, wall=wall)
        case _:
            raise ValueError(f"a store URL is {_ACCEPTED}, got {redact(url)!r}")


def _default_directory() -> Path:
    """Where `disk:` keeps it: beside the memo's, for a store wants a directory of its own."""
    memo = default_directory()
    return memo.with_name(f"{memo.name}-responses")
