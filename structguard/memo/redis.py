"""
A Redis or Valkey server that processes on many machines share.

Whoever changes something also counts a generation up, so that a look for others' writes is one GET.
Leases use the server's own clock. A server that is away is asked again later: nothing is lasting.
Source: spec guard §3, gateway "Scale and faults".
"""

# pyright: basic
# The client is typed one way in one version and another in the next.
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from structguard.errors import MissingExtra, redact
from structguard.memo.keys import endpoint_id
from structguard.memo.record import VERSION
from structguard.memo.store import MAX_LEASE, StoreFailure

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")

LIMIT = 10_000  # entries
TIMEOUT = 1.0  # seconds, to connect and for each answer

_PREFIX = f"{{structguard:memo:v{VERSION}}}"  # in braces: all keys on one node of a cluster
_ENTRIES, _ORDER, _GENERATION = (f"{_PREFIX}:{name}" for name in ("entries", "order", "generation"))
_LEASE = f"{_PREFIX}:lease:"

_SWAP = """
local found = redis.call('HGET', KEYS[1], ARGV[1])
if (found or '') == ARGV[2] then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  redis.call('SET', KEYS[3], ARGV[5], 'NX')
  redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[3]), ARGV[1])
  local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[4])
  if over > 0 then
    local oldest = redis.call('ZPOPMIN', KEYS[2], over)
    for i = 1, #oldest, 2 do redis.call('HDEL', KEYS[1], oldest[i]) end
  end
end
return found
"""


def _anywhere() -> str:
    """Where a new server's generations begin: a restarted one must not come to an old number."""
    return str(random.getrandbits(50))


def _named(url: str) -> str:
    try:
        return f"{url.partition(':')[0]}://{endpoint_id(url)}"
    except ValueError as error:  # the text is not repeated: it may hold a password
        raise ValueError(
            "a memo URL of Redis is redis://HOST[:PORT][/DB] or rediss://…; this one has no host or an"
            " invalid port"
        ) from error


class RedisStore:
    """Opened when first asked something. `url` is `redis://…` or `rediss://…`."""

    blocking = True

    def __init__(self, url: str, *, limit: int = LIMIT) -> None:
        try:
            import redis  # noqa: PLC0415  an extra
        except ImportError as error:
            raise MissingExtra("a memo in Redis", "redis") from error
        self.name: str = _named(url)
        self._limit = limit
        self._client: Redis = redis.Redis.from_url(
            url, decode_responses=True, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT
        )
        self._errors: tuple[type[Exception], ...] = (redis.RedisError, OSError)
        self._generation: object = None

    def stamp(self) -> object:
        """Always another: only the server knows, and it is asked by `read`, off the call path."""
        return object()

    def read(self) -> Mapping[str, str] | None:
        """All entries by key; None while the generation stands."""
        now = self._ask(lambda client: client.get(_GENERATION))
        if now is not None and now == self._generation:
            return None
        pipeline = self._client.pipeline(transaction=True)
        pipeline.get(_GENERATION)
        pipeline.hgetall(_ENTRIES)
        self._generation, texts = cast(
            "tuple[object, Mapping[str, str]]", self._ask(lambda _: pipeline.execute())
        )
        return texts

    def swap(self, key: str, old: str | None, new: str) -> str | None:
        """Put `new` where `old` stands, and keep the number of entries within bounds."""
        keys = (_ENTRIES, _ORDER, _GENERATION)
        given = (key, old or "", new, str(self._limit), _anywhere())
        return cast(
            "str | None", self._ask(lambda client: client.eval(_SWAP, len(keys), *keys, *given))
        )

    def drop(self, keys: Iterable[str]) -> int:
        """Remove entries and their leases, all in one step."""
        names = tuple(keys)
        pipeline = self._client.pipeline(transaction=True)
        pipeline.hdel(_ENTRIES, *names)
        pipeline.zrem(_ORDER, *names)
        pipeline.delete(*(_LEASE + key for key in names))
        pipeline.set(_GENERATION, _anywhere(), nx=True)
        pipeline.incr(_GENERATION)
        dropped, *_ = cast("list[int]", self._ask(lambda _: pipeline.execute()))
        return dropped

    def lease(self, key: str, seconds: float, now: float) -> float:  # noqa: ARG002  its own clock
        """Take the key's lease, or the seconds somebody still holds it."""
        milliseconds = max(1, round(min(seconds, MAX_LEASE) * 1000))
        name = _LEASE + key
        if self._ask(lambda client: client.set(name, "held", nx=True, px=milliseconds)):
            return 0.0
        return max(int(self._ask(lambda client: client.pttl(name))), 1) / 1000

    def release(self, key: str) -> None:
        """End the key's lease."""
        self._ask(lambda client: client.delete(_LEASE + key))

    def close(self) -> None:
        """Close the connections."""
        self._ask(lambda client: client.close())

    def _ask(self, work: Callable[[Redis], T]) -> T:
        try:
            return work(self._client)
        except self._errors as error:
            raise StoreFailure(
                f"it does not answer: {redact(str(error))}", lasting=False
            ) from error
