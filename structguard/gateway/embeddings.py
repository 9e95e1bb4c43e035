"""
Embeddings in OpenAI's form: what a body asks of them, and how they are told.

Source: OpenAI API reference, Create embeddings; spec gateway "Endpoints and switches".
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence

from structguard.providers import Embeddings


def embedding_options(body: Mapping[str, object]) -> dict[str, object]:
    """What a body says beside its model and texts, as `embed` takes it."""
    options = {"dimensions": body.get("dimensions"), "user": body.get("user")}
    encoding = body.get("encoding_format")
    found = {key: value for key, value in options.items() if value is not None}
    return found if encoding is None else {**found, "encoding": encoding}


def encode_embeddings(
    found: Embeddings, model: str, body: Mapping[str, object]
) -> Mapping[str, object]:
    """The reply, its vectors in the encoding that the body asked for."""
    used = (found.usage.input if found.usage else None) or 0
    packs = body.get("encoding_format") == "base64"
    return {
        "object": "list",
        "model": model,
        "data": [
            {"object": "embedding", "index": at, "embedding": _packed(vector) if packs else vector}
            for at, vector in enumerate(found.vectors)
        ],
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }


def _packed(vector: Sequence[float]) -> str:
    """Little-endian 32-bit floats: clients that ask for base64 unpack it without another look."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
