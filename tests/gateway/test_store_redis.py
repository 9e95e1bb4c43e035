"""A real redis-server: stopped, restarted, full, and shared."""

from __future__ import annotations

import sys
from contextlib import aclosing

import anyio
import pytest

from structguard.errors import MissingExtra
from structguard.gateway import store_redis
from structguard.gateway.store import StoreTrouble, open_store
from tests.gateway.redis_server import RedisServer
from tests.gateway.test_store import DAY, MIB, turn


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # the client needs it


async def test_a_stopped_server_is_a_clear_error_and_a_restarted_one_serves_again(
    redis_server: RedisServer,
) -> None:
    store = open_store(redis_server.url, expiry=DAY, limit_bytes=MIB)
    await store.put("a", "x", turn())
    redis_server.stop()
    for ask in (store.get("a", "x"), store.put("a", "y", turn()), store.delete("a", "x")):
        with pytest.raises(StoreTrouble, match=r"redis://127.0.0.1:\d+/0 failed: "):
            await ask
    redis_server.start()
    await store.put("a", "y", turn())
    assert await store.get("a", "y") == turn()
    assert await store.get("a", "x") is None  # this server kept nothing
    await store.aclose()


async def test_connections_cut_by_a_quick_restart_cost_no_error(redis_server: RedisServer) -> None:
    store = open_store(redis_server.url, expiry=DAY, limit_bytes=MIB)
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(store.put, "a", str(number), turn())
    redis_server.stop()
    redis_server.start()
    for number in range(20):
        await store.put("a", str(number), turn())
    await store.aclose()


async def test_a_server_that_hangs_is_a_clear_error_in_bounded_time(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_redis, "TIMEOUT", 0.2)
    store = open_store(redis_server.url, expiry=DAY, limit_bytes=MIB)
    await store.put("a", "x", turn())
    redis_server.freeze(frozen=True)
    try:
        before = anyio.current_time()
        with pytest.raises(StoreTrouble, match=r"(?i)timeout"):
            await store.get("a", "x")
        assert anyio.current_time() - before < 0.39  # asked once
    finally:
        redis_server.freeze(frozen=False)
    assert await store.get("a", "x") == turn()
    await store.aclose()


async def test_a_restart_under_load_loses_no_call_and_hangs_none(redis_server: RedisServer) -> None:
    store = open_store(redis_server.url, expiry=DAY, limit_bytes=MIB)
    served, failed = set[str](), set[str]()

    async def call(name: str) -> None:
        try:
            await store.put("a", name, turn(name))
            assert await store.get("a", name) in (turn(name), None)  # gone with the old server
            served.add(name)
        except StoreTrouble:
            failed.add(name)

    async def caller(number: int) -> None:
        for turn_number in range(40):
            await call(f"{number}-{turn_number}")
            await anyio.sleep(0.01)

    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            for number in range(40):  # more than there are connections
                tasks.start_soon(caller, number)
            await anyio.sleep(0.1)
            redis_server.stop()
            await anyio.sleep(0.2)
            redis_server.start()
    assert len(served) + len(failed) == 1600
    assert failed
    await call("after")
    assert "after" in served
    await store.aclose()


async def test_a_turn_leaves_the_server_after_its_expiry(redis_server: RedisServer) -> None:
    store = open_store(redis_server.url, expiry=0.2, limit_bytes=MIB)
    await store.put("a", "x", turn())
    assert await store.get("a", "x")
    await anyio.sleep(0.3)
    assert await store.get("a", "x") is None
    await store.aclose()


async def test_the_books_forget_what_expired(redis_server: RedisServer) -> None:
    import redis.asyncio as library  # noqa: PLC0415

    store = open_store(redis_server.url, expiry=0.2, limit_bytes=MIB)
    for number in range(10):
        await store.put("a", str(number), turn())
    await anyio.sleep(0.3)
    await store.put("a", "last", turn())
    client = library.Redis(port=redis_server.port)
    assert await client.zcard("{structguard}:responses:since") == 1
    assert await client.hlen("{structguard}:responses:size") == 1
    size = await client.hvals("{structguard}:responses:size")
    assert await client.get("{structguard}:responses:bytes") == size[0]
    await client.aclose()
    await store.aclose()


async def test_a_full_server_is_a_clear_error(redis_server: RedisServer) -> None:
    redis_server.stop()
    redis_server.start("--maxmemory", "1024", "--maxmemory-policy", "noeviction")
    async with aclosing(open_store(redis_server.url, expiry=DAY, limit_bytes=MIB)) as store:
        with pytest.raises(StoreTrouble, match=r"OOM|maxmemory"):
            await store.put("a", "x", turn())


async def test_a_password_in_the_url_appears_nowhere(redis_server: RedisServer) -> None:
    url = redis_server.url.replace("redis://", "redis://user:hunter22secret@")
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    assert "hunter22secret" not in store.name + repr(store)
    with pytest.raises(StoreTrouble) as caught:
        await store.put("a", "x", turn())
    assert "hunter22secret" not in str(caught.value)
    await store.aclose()


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(MissingExtra, match=r"structguard\[redis\]"):
        open_store("redis://127.0.0.1:1/0", expiry=DAY, limit_bytes=MIB)


async def test_a_connection_closed_under_a_write_is_trouble_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What uvloop says of a write to a transport whose handle is gone."""
    pytest.importorskip("redis")
    store = store_redis.RedisStore("redis://127.0.0.1:1/0", expiry=DAY, limit_bytes=MIB)

    async def closed(_: object) -> bytes:
        raise RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed")

    monkeypatch.setattr(store._client, "get", closed)
    with pytest.raises(StoreTrouble, match="the handler is closed"):
        await store.get("a", "x")
    await store.aclose()
