"""
Embeddings: an endpoint of its own, in OpenAI's shape and in Google's.

Source: OpenAI API reference, Embeddings; Gemini API reference, batchEmbedContents; spec wire.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from structguard.types import Usage, as_mapping, as_sequence, as_text
from structguard.wire.base import NO_HEADERS, BadReply, Body, Headers, Unencodable
from structguard.wire.faults import error_in
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps, present, with_extra
from structguard.wire.reply import bad, json_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """One vector for each input, in the order of the inputs."""

    vectors: tuple[tuple[float, ...], ...] = field(repr=False)
    model: str | None = None
    usage: Usage | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])


PATH = "/embeddings"


def encode_openai(
    inputs: str | Sequence[str],
    *,
    model: str | None,
    encoding: Literal["float", "base64"] = "float",
    dimensions: int | None = None,
    user: str | None = None,
    extra_body: Mapping[str, object] | None = None,
) -> Body:
    """
    The body of POST /embeddings.

    Raises:
        Unencodable: no model or no input.
    """
    texts = _texts(inputs)
    if not model:
        raise Unencodable("no model is named for the embeddings", param="model")
    body = present(
        model=model, input=texts, encoding_format=encoding, dimensions=dimensions, user=user
    )
    return with_extra(body, extra_body or {}, reserved=("model", "input"))


def decode_openai(body: bytes, headers: Headers = NO_HEADERS) -> Embeddings:
    """
    The vectors, in the order their index gives; base64 vectors are read too.

    Raises:
        BadReply: an error object, no data, or data that is no vector.
    """
    given = json_object(body)
    _raise_error(given)
    entries = [as_mapping(entry) or {} for entry in as_sequence(given.get("data")) or ()]
    if not entries:
        raise bad("the reply has no embeddings", body)
    ordered = sorted(enumerate(entries), key=lambda pair: _index(pair[1], pair[0]))
    vectors = tuple(_vector(entry.get("embedding"), body) for _, entry in ordered)
    usage = as_mapping(given.get("usage"))
    return Embeddings(
        vectors=vectors,
        model=as_text(given.get("model")),
        usage=None
        if usage is None
        else Usage(input=count(usage.get("prompt_tokens")), total=count(usage.get("total_tokens"))),
        metadata=metadata(headers),
    )


def google_path(model: str) -> str:
    """What follows the base URL for a batch of texts."""
    return f"/models/{quote(model.removeprefix('models/'), safe='')}:batchEmbedContents"


def encode_google(
    inputs: str | Sequence[str], *, model: str | None, dimensions: int | None = None
) -> Body:
    """
    The body of POST models/{model}:batchEmbedContents.

    Raises:
        Unencodable: no model or no input.
    """
    texts = _texts(inputs)
    if not model:
        raise Unencodable("no model is named for the embeddings", param="model")
    name = f"models/{model.removeprefix('models/')}"
    size = present(outputDimensionality=dimensions)
    return {
        "requests": [
            {"model": name, "content": {"parts": [{"text": text}]}, **size} for text in texts
        ]
    }


def decode_google(body: bytes, headers: Headers = NO_HEADERS) -> Embeddings:
    """
    The vectors, in the order of the inputs.

    Raises:
        BadReply: an error object, no embeddings, or one that is no vector.
    """
    given = json_object(body)
    _raise_error(given)
    entries = as_sequence(given.get("embeddings")) or ()
    if not entries:
        raise bad("the reply has no embeddings", body)
    return Embeddings(
        vectors=tuple(_vector((as_mapping(e) or {}).get("values"), body) for e in entries),
        metadata=metadata(headers),
    )


def _texts(inputs: str | Sequence[str]) -> list[str]:
    texts = [inputs] if isinstance(inputs, str) else list(inputs)
    if not texts:
        raise Unencodable("there is nothing to embed: the input is empty", param="input")
    return texts


def _raise_error(given: Mapping[str, object]) -> None:
    failure = error_in(given, dumps(given) if given.get("error") else "")
    if failure is not None:
        raise BadReply(failure)


def _index(entry: Mapping[str, object], position: int) -> int:
    index = count(entry.get("index"))
    return position if index is None else index


def _vector(given: object, body: bytes) -> tuple[float, ...]:
    """Numbers, or base64 of little-endian 32-bit floats."""
    if isinstance(given, str):
        try:
            raw = base64.b64decode(given, validate=True)
            return struct.unpack(f"<{len(raw) // 4}f", raw)
        except (binascii.Error, struct.error) as error:
            raise bad(f"an embedding is not base64 of floats: {error}", body) from error
    numbers = as_sequence(given)
    if not numbers:
        raise bad("an embedding is not a list of numbers", body)
    return tuple(_number(number, body) for number in numbers)


def _number(given: object, body: bytes) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise bad("an embedding holds something that is no number", body)
    return float(given)
