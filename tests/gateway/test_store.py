"""Every store of responses keeps the same promises, whatever it is made of."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings, strategies as st

from structguard.gateway.store import ResponseStore, Stored, StoreTrouble, open_store
from structguard.gateway.stored import decode, encode, key_of
from tests.gateway.redis_server import RedisServer

Open = Callable[..., ResponseStore]
DAY, MIB = 86400.0, 2**20


class Wall:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


def turn(text: str = "hello", created: float = 1.0) -> Stored:
    return Stored(
        input=[{"type": "message", "role": "user", "content": text}],
        output=[{"type": "message", "role": "assistant", "content": [{"text": text}]}],
        response={"id": "resp_1", "model": "m", "usage": {"total_tokens": 3}, "error": None},
        created=created,
    )


@pytest.fixture(
    params=["memory", "disk", "redis"],
)
def url(request: pytest.FixtureRequest, tmp_path: Path, anyio_backend_name: str) -> str:
    if request.param == "memory":
        return "memory:"
    if request.param == "disk":
        return f"disk:{tmp_path / 'responses'}"
    if anyio_backend_name != "asyncio":
        pytest.skip("the redis client needs asyncio")
    server = request.getfixturevalue("redis_server")
    assert isinstance(server, RedisServer)
    return server.url


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_what_was_put_is_found_again_within_its_scope(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    assert await store.get("alice", "resp_1") is None
    await store.put("alice", "resp_1", turn("naïve ✓ \x00"))
    assert await store.get("alice", "resp_1") == turn("naïve ✓ \x00")
    await store.aclose()


async def test_another_scope_never_sees_an_id(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    await store.put("alice", "resp_1", turn())
    assert await store.get("bob", "resp_1") is None
    assert await store.get("", "resp_1") is None
    assert not await store.delete("bob", "resp_1")
    assert await store.get("alice", "resp_1") is not None
    await store.aclose()


async def test_a_second_put_replaces_the_first(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    await store.put("a", "x", turn("first"))
    await store.put("a", "x", turn("second"))
    assert await store.get("a", "x") == turn("second")
    assert await store.delete("a", "x")
    assert await store.get("a", "x") is None
    await store.aclose()


async def test_delete_says_whether_there_was_anything(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    await store.put("a", "x", turn())
    assert await store.delete("a", "x")
    assert not await store.delete("a", "x")
    await store.aclose()


async def test_the_oldest_make_room_once_the_limit_is_reached(url: str) -> None:
    size = len(encode(turn("0" * 1000)))
    wall = Wall()
    store = open_store(url, expiry=DAY, limit_bytes=3 * size, wall=wall)
    for number in range(5):
        wall.now += 1
        await store.put("a", str(number), turn(str(number) * 1000))
    kept = [number for number in range(5) if await store.get("a", str(number))]
    assert kept == [2, 3, 4]
    await store.aclose()


async def test_replacing_and_deleting_give_their_bytes_back(url: str) -> None:
    size = len(encode(turn("0" * 1000)))
    store = open_store(url, expiry=DAY, limit_bytes=2 * size)
    await store.put("a", "keep", turn("k" * 1000))
    for _ in range(4):
        await store.put("a", "again", turn("a" * 1000))
    await store.delete("a", "again")
    await store.put("a", "other", turn("o" * 1000))
    assert await store.get("a", "keep")
    assert await store.get("a", "other")
    await store.aclose()


async def test_a_turn_larger_than_the_whole_store_is_a_clear_error(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=2000)
    await store.put("a", "small", turn())
    with pytest.raises(StoreTrouble, match=r"larger than the whole store .* store: false"):
        await store.put("a", "large", turn("x" * 2000))
    assert await store.get("a", "small") is not None
    await store.aclose()


async def test_many_at_once_are_all_kept(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(store.put, "a", str(number), turn(str(number)))
    found = [await store.get("a", str(number)) for number in range(50)]
    assert found == [turn(str(number)) for number in range(50)]
    await store.aclose()


async def test_two_stores_on_one_place_behave_as_one(url: str) -> None:
    if url == "memory:":
        pytest.skip("memory is one process's own")
    one, other = (open_store(url, expiry=DAY, limit_bytes=MIB) for _ in range(2))
    await one.put("a", "x", turn())
    assert await other.get("a", "x") == turn()
    assert await other.delete("a", "x")
    assert await one.get("a", "x") is None
    await one.aclose()
    await other.aclose()


async def test_a_closed_store_opens_again_when_it_is_asked(url: str) -> None:
    store = open_store(url, expiry=DAY, limit_bytes=MIB)
    await store.put("a", "x", turn())
    await store.aclose()
    assert await store.get("a", "x") == (None if url == "memory:" else turn())
    await store.aclose()


async def test_a_write_that_has_begun_outlives_a_cancelled_caller(tmp_path: Path) -> None:
    store = open_store(f"disk:{tmp_path}", expiry=DAY, limit_bytes=MIB)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.put("a", "x", turn())
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert await store.get("a", "x") == turn()
    await store.aclose()


@pytest.mark.parametrize("place", ["memory:", "disk:"])
async def test_a_turn_is_gone_after_its_expiry(place: str, tmp_path: Path) -> None:
    wall = Wall()
    where = place if place == "memory:" else f"disk:{tmp_path}"
    store = open_store(where, expiry=60.0, limit_bytes=MIB, wall=wall)
    await store.put("a", "x", turn())
    wall.now += 59.0
    assert await store.get("a", "x")
    wall.now += 2.0
    assert await store.get("a", "x") is None
    assert not await store.delete("a", "x")
    await store.aclose()


@pytest.mark.parametrize("wrong", ["", "memory", "memory:x", "redis:", "http://x", "redis:host"])
def test_a_url_of_another_form_is_refused_with_what_is_accepted(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"a store URL is 'disk:PATH', 'disk:' .*'redis:"):
        open_store(wrong, expiry=DAY, limit_bytes=MIB)


@pytest.mark.parametrize(("expiry", "limit"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_bounds_must_be_positive(expiry: float, limit: int) -> None:
    with pytest.raises(ValueError, match="positive expiry and limit"):
        open_store("memory:", expiry=expiry, limit_bytes=limit)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_any_json_comes_back_equal(items: list[object], response: dict[str, object]) -> None:
    stored = Stored(input=items, output=items[:1], response=response, created=1.5)
    assert decode(encode(stored)) == stored
    assert decode(encode(stored).decode()) == stored


MEMORY = """
import anyio
from structguard.gateway.store import Stored, open_store

def held():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024

async def main():
    store = open_store("memory:", expiry=3600.0, limit_bytes=8 * 2**20)
    before = held()
    for number in range(8000):
        response = {"id": str(number), "output": ["x" * 50] * 40}
        output = response["output"]
        await store.put("s", str(number),
                        Stored(input=[], output=output, response=response, created=1.0))
    print((held() - before) / (8 * 2**20))

anyio.run(main)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_holds_little_more_than_the_limit_says() -> None:
    done = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 2.0


@pytest.mark.parametrize("said", ["hello", "\ud800"])
def test_a_resource_that_was_written_already_is_kept_as_it_was(said: str) -> None:
    response = {"id": "resp_1", "output": [{"text": "Bonn"}], "usage": {"total_tokens": 3}}
    stored = Stored(
        input=[said],
        output=response["output"],  # type: ignore[arg-type]
        response=response,
        created=1.0,
        text=b'{"id": "resp_1", "output": [{"text": "Bonn"}], "usage": {"total_tokens": 3}}',
    )
    assert decode(encode(stored)) == stored
    assert encode(stored).count(b"Bonn") == 1


@pytest.mark.parametrize(
    "response", [{"number": 2**70}, {"text": "\ud800"}, {"deep": {"text": "a\udfffb"}}]
)
def test_what_only_the_standard_codec_can_hold_is_held(response: dict[str, object]) -> None:
    stored = Stored(input=[], output=[], response=response, created=1.0)
    assert decode(encode(stored)) == stored


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b" {",
        b"[]",
        b"null",
        b'{"v":2,"created":1,"input":[],"output":[],"response":{}}',
        b'{"v":1,"created":"1","input":[],"output":[],"response":{}}',
        b'{"v":1,"created":true,"input":[],"output":[],"response":{}}',
        b'{"v":1,"created":1,"input":{},"output":[],"response":{}}',
        b'{"v":1,"created":1,"input":[],"output":[],"response":[]}',
        b" " + b"[" * 100_000,
    ],
)
def test_a_text_that_is_no_turn_reads_as_absent(text: bytes) -> None:
    assert decode(text) is None


@given(st.text(st.characters()), st.text(st.characters()), st.text(), st.text())
def test_different_scopes_or_ids_never_share_a_key(a: str, b: str, c: str, d: str) -> None:
    assert (key_of(a, b) == key_of(c, d)) is ((a, b) == (c, d))


def test_moving_text_between_scope_and_id_changes_the_key() -> None:
    assert len({key_of("ab", "c"), key_of("a", "bc"), key_of("", "abc"), key_of("1:a", "")}) == 4
