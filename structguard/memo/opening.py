"""
Memos by URL: `disk:PATH`, `disk:` (the user's cache directory), `redis://…`, `memory:`.

Opening touches no disk; a store that cannot be made is a MemoTrouble later, never an exception.
Source: spec guard §3 "API".
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from structguard.errors import redact
from structguard.events import Observer, ignore
from structguard.memo.memo import Memo
from structguard.memo.store import MemoryStore, Store
from structguard.service import Clock

_ACCEPTED = (
    "'disk:PATH', 'disk:' (the user's cache directory), 'redis://HOST[:PORT][/DB]', 'rediss://…'"
    " or 'memory:'"
)

_opened: WeakValueDictionary[tuple[object, ...], Memo] = WeakValueDictionary()
_opening = Lock()

if hasattr(os, "register_at_fork"):  # a child must find it free, whatever another thread opens
    os.register_at_fork(
        before=_opening.acquire,
        after_in_parent=_opening.release,
        after_in_child=_opening.release,
    )


def open_memo(
    url: str | Memo | None,
    *,
    observer: Observer = ignore,
    wall: Clock = time.time,
    clock: Clock = time.monotonic,
) -> Memo:
    """
    The memo at a URL; None is `disk:`, a Memo is handed back as it is.

    One directory opened twice in a process (with the same clocks) is one memo: what one client
    learned the other knows at once, and both observers hear of trouble.

    Raises:
        ValueError: a URL of another form.
        MissingExtra: `redis://` without the extra `redis`.
    """
    if isinstance(url, Memo):
        return url
    scheme, colon, rest = ("disk:" if url is None else str(url)).partition(":")
    match scheme, colon, rest:
        case "memory", ":", "":
            return Memo(MemoryStore(), observer=observer, wall=wall, clock=clock)
        case "disk", ":", _:
            return _open_disk(rest, observer, wall, clock)
        case (("redis" | "rediss"), ":", _) if rest.startswith("//"):
            from structguard.memo.redis import RedisStore  # noqa: PLC0415

            return _shared(str(url), lambda: RedisStore(str(url)), observer, wall, clock)
        case _:
            raise ValueError(f"a memo URL is {_ACCEPTED}, got {redact(str(url))!r}{_meant(url)}")


def _meant(url: object) -> str:
    """What to write instead, where a bare path was given."""
    path = str(url)
    is_path = isinstance(url, os.PathLike) or (":" not in path and path.startswith(("/", "~", ".")))
    return f"; did you mean 'disk:{path}'?" if is_path else ""


def default_directory() -> Path:
    """Where `disk:` keeps its store: the user's cache directory, by the platform's custom."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _expanded(base) / "structguard"


def _expanded(path: str) -> Path:
    """The path without ~ and $; still with ~ where there is no home."""
    path = os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111  Path's raises without a home
    return Path(path) if path.startswith("~") else Path(os.path.abspath(path))  # noqa: PTH100


def _identity(clock: Clock) -> tuple[object, ...]:
    """What tells clocks apart, hashable or not; a bound method is a new object each time."""
    owner = getattr(clock, "__self__", None)
    return (id(clock),) if owner is None else (id(owner), clock.__name__)


def _open_disk(directory: str, observer: Observer, wall: Clock, clock: Clock) -> Memo:
    from structguard.memo.disk import DiskStore  # noqa: PLC0415

    path = _expanded(directory) if directory else default_directory()
    return _shared(str(path), lambda: DiskStore(path), observer, wall, clock)


def _shared(
    address: str, make: Callable[[], Store], observer: Observer, wall: Clock, clock: Clock
) -> Memo:
    """The memo that is already open there, or a new one."""
    key = (address, *_identity(wall), *_identity(clock))
    with _opening:
        memo = _opened.get(key)
        if memo is None:
            memo = Memo(make(), observer=observer, wall=wall, clock=clock)
            _opened[key] = memo
        else:
            memo.add_observer(observer)
        return memo
