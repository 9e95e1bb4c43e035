"""
Embeddings in OpenAI's form: what a body asks of them, and how they are told.

Source: OpenAI API reference, Create embeddings; spec gateway "Endpoints and switches".
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence

from structguard.errors import ProviderError
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError
from structguard.gateway.turn import header_text
from structguard.providers import Embeddings
from structguard.types import as_sequence

_READ = frozenset({"model", "input", "dimensions", "encoding_format", "user"})
_FORWARDS = frozenset({"openai", "openai_compat"})
"""Kinds of upstream that have a place for what a body says besides."""


async def embedded(
    core: Core,
    body: Mapping[str, object],
    timeout: float | None,  # noqa: ASYNC109  the client's deadline in seconds
) -> tuple[Mapping[str, object], str]:
    """
    The reply of the first link that gives vectors, and what was left out of the request.

    Raises:
        ApiError, ProviderError: there is none.
    """
    content, model = body["input"], str(body["model"])
    texts = [content] if isinstance(content, str) else list(as_sequence(content) or ())
    extra = {key: value for key, value in body.items() if key not in _READ and value is not None}
    links = core.upstreams.links(model)
    core.check_room()
    for at, (name, upstream_model) in enumerate(links):
        embed = getattr(core.upstreams.providers[name], "embed", None)
        if embed is None:
            continue
        forwards = core.config.providers[name].kind in _FORWARDS
        options = {**_options(body), **({"extra_body": extra} if forwards else {})}
        try:
            result: Embeddings = await embed(
                [str(text) for text in texts], model=upstream_model, timeout=timeout, **options
            )
        except ProviderError as error:
            if at + 1 == len(links) or not error.rule.advance:
                raise
        else:
            left = "" if forwards else "; ".join(f"{key} left out" for key in extra)
            return encode_embeddings(result, model, body), header_text(left)
    raise ApiError(400, f"model {model!r} offers no embeddings", param="model")


def _options(body: Mapping[str, object]) -> dict[str, object]:
    """What a body says beside its model and texts, as `embed` takes it."""
    named = {"dimensions": "dimensions", "user": "user", "encoding_format": "encoding"}
    return {
        ours: value for theirs, ours in named.items() if (value := body.get(theirs)) is not None
    }


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
