"""
An upstream's stream up to the first sign of an answer: an error before it is told with a status.

Source: spec gateway "Replies", row "Stream"; spec guard §2, row "streaming".
"""

from __future__ import annotations

from structguard.clients.replies import is_answer
from structguard.clients.signs import gives_answer
from structguard.gateway.blocks import Blocks, is_bare, is_opening, object_of, raw_events
from structguard.gateway.flowing import RawStream
from structguard.gateway.unstreamed import told
from structguard.gateway.whole import read
from structguard.http import Response
from structguard.types import Api
from structguard.wire.base import Wire


async def opened(response: Response, wire: Wire, *, confirm: bool) -> RawStream:
    """
    A stream that has begun to answer and holds no error yet; `confirm`: with a sign of an answer.

    Only the events up to there are decoded.

    Raises:
        BadReply: an error in the first events, or an end without any. ExchangeFailed: it broke.
    """
    api: Api = "chat" if wire.API == "chat" else "responses"
    blocks, head = Blocks(response, api), list[bytes]()
    stream = RawStream(response, blocks, api)
    decoder = wire.open_stream(response.headers)
    begun = False
    async for block in blocks:
        head.append(block)
        for raw in raw_events(block):
            if is_opening(raw):
                continue
            begun = bool(decoder.feed(raw)) or begun
            if confirm or not begun:
                stream.answered = stream.answered or gives_answer(object_of(raw), api)
                begun = begun or stream.answered
            if decoder.done or (stream.answered if confirm else begun):
                break
        else:
            continue
        break
    if decoder.done or not begun:
        decoder.close()
    _give_back(stream, blocks, b"" if begun else b"".join(head), head)
    return stream


def _give_back(stream: RawStream, blocks: Blocks, unread: bytes, head: list[bytes]) -> None:
    """What was looked at goes out after all; a body that is no stream, and was read, as one."""
    if unread.lstrip().startswith(b"{"):
        reply = read(unread).parsed
        stream.answered = is_answer(reply, stream.api)
        blocks.give(told(reply, stream.api))
        return
    blocks.put_back(head)
    if stream.api == "responses":
        named = (raw for block in head for raw in raw_events(block) if b'"type"' in raw)
        stream.bare = is_bare(next(named, b""))
