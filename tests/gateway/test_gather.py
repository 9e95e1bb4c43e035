"""Blocks leave as soon as they are there, several at once in one write."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from structguard.gateway.gather import ENOUGH, write_all

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


async def test_what_is_there_at_once_is_one_write_and_nothing_waits_for_more() -> None:
    written: list[bytes] = []
    seen: list[list[bytes]] = []

    async def blocks() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"
        await anyio.sleep(0.01)
        seen.append(list(written))
        yield b"c"

    async def write(block: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        written.append(block)

    await write_all(blocks(), write)
    assert seen == [[b"ab"]]
    assert written == [b"ab", b"c"]


async def test_what_came_before_a_failure_is_written() -> None:
    written: list[bytes] = []

    async def blocks() -> AsyncIterator[bytes]:
        yield b"a"
        raise ValueError("broken")

    async def write(block: bytes) -> None:
        written.append(block)

    with pytest.raises(ValueError, match="broken"):
        await write_all(blocks(), write)
    assert written == [b"a"]


async def test_a_write_that_fails_reaches_the_source_which_may_clean_up() -> None:
    cleaned: list[str] = []

    async def blocks() -> AsyncIterator[bytes]:
        yield b"a"
        try:
            await anyio.sleep(10)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            cleaned.append("yes")
        yield b"b"

    async def write(block: bytes) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await write_all(blocks(), write)
    assert cleaned == ["yes"]


async def test_a_cancellation_reaches_the_source() -> None:
    written: list[bytes] = []

    async def blocks() -> AsyncIterator[bytes]:
        yield b"a"
        await anyio.sleep(10)
        yield b"b"

    async def write(block: bytes) -> None:
        written.append(block)

    with anyio.move_on_after(0.02) as scope:
        await write_all(blocks(), write)
    assert scope.cancelled_caught
    assert written == [b"a"]


async def test_no_more_is_gathered_than_enough() -> None:
    written: list[bytes] = []

    async def blocks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * (ENOUGH // 2)

    async def write(block: bytes) -> None:
        written.append(block)

    await write_all(blocks(), write)
    assert [len(block) for block in written] == [ENOUGH, ENOUGH, ENOUGH // 2]
