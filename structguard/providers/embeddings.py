"""
Embeddings: OpenAI's endpoint and its compatible ones.

Source: OpenAI API reference, Embeddings; spec wire, last sentence of "Reply".
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import jiter

from structguard.providers.engine import Engine
from structguard.types import Failure, Request, Usage, as_mapping, as_sequence
from structguard.wire.base import BadReply, Wire

Encoding: TypeAlias = Literal["float", "base64"]
Vector: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """One vector a text, in the order of the texts; `requests` counts what the call cost."""

    vectors: tuple[Vector, ...] = field(repr=False)
    model: str | None = None
    usage: Usage | None = None
    provider: str | None = None
    requests: int = 1


async def embed(
    engine: Engine,
    wire: Wire,
    url: str,
    content: Mapping[str, object],
    decode: Callable[[bytes], Embeddings],
    *,
    count: int,
    model: str,
    timeout: float | None,  # noqa: ASYNC109  the call's budget, as in Request
    user: str | None = None,
) -> Embeddings:
    """The call every provider's `embed` is; `count` texts went out, so many vectors must come."""

    def matched(raw: bytes) -> Embeddings:
        reply = decode(raw)
        if len(reply.vectors) != count:
            raise bad(raw, f"the reply holds {len(reply.vectors)} embeddings for {count} texts")
        return reply

    request = Request(messages=(), model=model, timeout=timeout, user=user)
    reply, requests = await engine.post("embed", request, wire, url, content, matched)
    return replace(reply, provider=engine.id, requests=requests)


async def openai_embed(
    engine: Engine,
    wire: Wire,
    url: str,
    given: str | Sequence[str],
    *,
    model: str,
    dimensions: int | None,
    user: str | None,
    encoding: Encoding,
    timeout: float | None,  # noqa: ASYNC109  the call's budget, as in Request
    extra_body: Mapping[str, object] | None = None,
) -> Embeddings:
    """`embed` over OpenAI's endpoint; optional fields are only in the body when set."""
    inputs = texts(given)
    optional = {"dimensions": dimensions, "user": user}
    body = {
        **(extra_body or {}),
        "model": model,
        "input": inputs,
        "encoding_format": encoding,
        **{name: value for name, value in optional.items() if value is not None},
    }
    return await embed(
        engine,
        wire,
        url,
        body,
        _openai_reply,
        count=len(inputs),
        model=model,
        timeout=timeout,
        user=user,
    )


def texts(given: str | Sequence[str]) -> list[str]:
    """
    The texts to embed.

    Raises:
        ValueError: none at all.
    """
    result = [given] if isinstance(given, str) else list(given)
    if not result:
        raise ValueError("nothing to embed: give a text or a list of texts")
    return result


def _openai_reply(raw: bytes) -> Embeddings:
    """
    The vectors, ordered by their index.

    Raises:
        BadReply: no data, or a vector that is none.
    """
    body = mapping_of(raw)
    items = [as_mapping(item) for item in as_sequence(body.get("data")) or ()]
    if not items or None in items:
        raise bad(raw, "the reply holds no embeddings")
    ordered = sorted(
        (_index(item, position), vector_of(item.get("embedding"), raw))
        for position, item in enumerate(items)
        if item is not None
    )
    usage = as_mapping(body.get("usage"))
    model = body.get("model")
    return Embeddings(
        vectors=tuple(vector for _, vector in ordered),
        model=model if isinstance(model, str) else None,
        usage=None if usage is None else _usage(usage),
    )


def mapping_of(raw: bytes) -> Mapping[str, object]:
    """
    The JSON object in a reply.

    Raises:
        BadReply: there is none, or it is an error.
    """
    try:
        body = as_mapping(jiter.from_json(raw))
    except ValueError as error:
        raise bad(raw, "the reply is not JSON") from error
    if body is None:
        raise bad(raw, "the reply is not a JSON object")
    if body.get("error"):
        raise bad(raw, "the reply is an error with status 200")
    return body


def vector_of(given: object, raw: bytes) -> Vector:
    """
    A vector from a list of numbers, or from base64 of little-endian 32-bit floats.

    Raises:
        BadReply: neither.
    """
    if isinstance(given, str):
        try:
            packed = base64.b64decode(given, validate=True)
            return struct.unpack(f"<{len(packed) // 4}f", packed)
        except (binascii.Error, struct.error) as error:
            raise bad(raw, "an embedding is not base64 of 32-bit floats") from error
    numbers = as_sequence(given)
    if not numbers:
        raise bad(raw, "an embedding is empty")
    vector = tuple(float(n) for n in numbers if isinstance(n, int | float))
    if len(vector) != len(numbers):
        raise bad(raw, "an embedding holds something else than numbers")
    return vector


def bad(raw: bytes, message: str) -> BadReply:
    """A reply that cannot be used."""
    return BadReply(Failure(status=200, body=raw.decode("utf-8", "replace"), message=message))


def _index(item: Mapping[str, object], position: int) -> int:
    index = item.get("index")
    return index if isinstance(index, int) else position


def _usage(usage: Mapping[str, object]) -> Usage:
    count, total = usage.get("prompt_tokens"), usage.get("total_tokens")
    return Usage(
        input=count if isinstance(count, int) else None,
        total=total if isinstance(total, int) else None,
    )
