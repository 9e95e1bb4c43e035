"""
Responses in Redis or Valkey, which many machines share.

Each turn is one key with an expiry; beside them a sorted set tells the oldest, a hash the sizes and
a counter their sum, changed together with the turn by one script. All keys carry one hash tag, so
that a cluster keeps them in one place. Needs asyncio. Source: spec gateway "Requests", "Scale and
faults".
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from structguard.errors import MissingExtra, redact
from structguard.gateway.stored import Stored, StoreTrouble, decode, encode, fits, key_of
from structguard.service import Clock

T = TypeVar("T")

TIMEOUT = 2.0  # seconds for a connection, for an answer, and for a free connection
CONNECTIONS = 32

_PREFIX = "{structguard}:response:"
_BOOKS = ("{structguard}:responses:since", "{structguard}:responses:size", "{structguard}:responses:bytes")  # fmt: skip

_DROP = """
local function drop(member)
  local size = redis.call('HGET', KEYS[2], member)
  if size then redis.call('DECRBY', KEYS[3], size) end
  redis.call('HDEL', KEYS[2], member)
  redis.call('ZREM', KEYS[1], member)
  return redis.call('DEL', member)
end
"""
_PUT = (
    _DROP
    + """
local key, text, now, expiry, size, limit = KEYS[4], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
redis.call('INCRBY', KEYS[3], size)  -- first: a full server refuses it, and no later write
drop(key)
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - expiry, 'LIMIT', 0, 100)
for _, member in ipairs(old) do drop(member) end
local bytes = tonumber(redis.call('GET', KEYS[3]))
while bytes > tonumber(limit) do
  local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if not first then break end
  drop(first)
  bytes = tonumber(redis.call('GET', KEYS[3]))
end
redis.call('SET', key, text, 'PX', math.ceil(expiry * 1000))
redis.call('ZADD', KEYS[1], now, key)
redis.call('HSET', KEYS[2], key, size)
return 1
"""
)
_DELETE = _DROP + "return drop(KEYS[4])"


class RedisStore:
    """One pool of connections; a server that comes back is used again at once."""

    def __init__(
        self, url: str, *, expiry: float, limit_bytes: int, wall: Clock = time.time
    ) -> None:
        self.name: str = redact(url)
        self._expiry = expiry
        self._limit = limit_bytes
        self._wall = wall
        try:
            import redis.asyncio as library  # noqa: PLC0415  an extra
            from redis.asyncio.retry import Retry  # noqa: PLC0415
            from redis.backoff import NoBackoff  # noqa: PLC0415
            from redis.exceptions import ConnectionError as RedisConnectionError  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("a response store in Redis", "redis") from error
        pool = library.BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
            url,
            max_connections=CONNECTIONS,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            # a connection that a restart cut is made anew; what took too long is not asked twice
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
            retry_on_error=[RedisConnectionError],
        )
        self._client = library.Redis.from_pool(pool)
        self._put = self._client.register_script(_PUT)
        self._delete = self._client.register_script(_DELETE)

    async def get(self, scope: str, id: str, /) -> Stored | None:  # noqa: A002
        """The turn, if it is there and has not expired."""
        key = _PREFIX + key_of(scope, id)
        text = await self._ask(lambda: self._client.get(key))
        return decode(text) if isinstance(text, bytes) else None

    async def put(self, scope: str, id: str, stored: Stored, /) -> None:  # noqa: A002
        """Keep a turn; the oldest make room."""
        text = encode(stored)
        fits(len(text), self._limit, self.name)
        keys = [*_BOOKS, _PREFIX + key_of(scope, id)]
        args: list[str | bytes | float] = [text, self._wall(), self._expiry, len(text), self._limit]
        await self._ask(lambda: cast("Awaitable[object]", self._put(keys=keys, args=args)))

    async def delete(self, scope: str, id: str, /) -> bool:  # noqa: A002
        """Whether there was such a turn."""
        keys = [*_BOOKS, _PREFIX + key_of(scope, id)]
        return await self._ask(lambda: cast("Awaitable[object]", self._delete(keys=keys))) == 1

    async def aclose(self) -> None:
        """Close the connections; asked again, it opens new ones."""
        await self._client.aclose()
        await self._client.connection_pool.disconnect()

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        from redis.exceptions import RedisError  # noqa: PLC0415  an extra

        try:
            return await ask()
        # uvloop answers a write to a connection that has just been closed with a RuntimeError
        except (RedisError, OSError, RuntimeError) as error:
            reason = redact(str(error)).rstrip(".") or type(error).__name__
            raise StoreTrouble(f"the response store {self.name} failed: {reason}") from error
