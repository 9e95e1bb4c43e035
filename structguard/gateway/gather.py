"""
Blocks that are there at once leave in one write; nothing ever waits for a later one.

An upstream's network read often holds many events. To know where one ends, the next block is begun:
if it would have to wait, what was gathered is written first, and only then is it waited for.
"""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Awaitable, Callable, Generator

ENOUGH = 64 * 1024  # bytes; more is not gathered
Write = Callable[[bytes], Awaitable[None]]


async def write_all(blocks: AsyncIterator[bytes], write: Write) -> None:
    """
    Write every block, in order, each as soon as those before it are out.

    Raises:
        Exception: what `blocks` or `write` raise; what came before it has been written.
    """
    gathered: list[bytes] = []
    size = 0

    async def flush() -> None:
        nonlocal size
        if size:
            whole = b"".join(gathered)
            gathered.clear()
            size = 0
            await write(whole)

    try:
        while (block := await _flushing(_next(blocks), flush)) is not None:
            gathered.append(block)
            size += len(block)
            if size >= ENOUGH:
                await flush()
    finally:
        await flush()


async def _next(blocks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(blocks, None)


@types.coroutine
def _flushing(
    work: Awaitable[bytes | None], flush: Callable[[], Awaitable[None]]
) -> Generator[object, object, bytes | None]:
    """The work's result; `flush` runs first if the work has to wait."""
    steps = work.__await__()
    try:
        waiting = next(steps)
    except StopIteration as done:
        result: bytes | None = done.value
        return result
    try:
        try:
            yield from flush().__await__()
        except BaseException as error:  # noqa: BLE001  it goes where the work waits, and on from there
            waiting = steps.throw(error)
        while True:
            try:
                sent = yield waiting
            except BaseException as error:  # noqa: BLE001  a cancellation is the work's to see
                waiting = steps.throw(error)
            else:
                waiting = steps.send(sent)
    except StopIteration as done:
        result = done.value
        return result
