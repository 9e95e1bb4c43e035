"""
A turn that is kept, its JSON text, and what every store of turns promises.

A store holds JSON text under the digest of (scope, id): another scope never finds an id, and
whatever a client sends as an id is only ever hashed. Source: spec gateway "Requests".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from structguard.errors import StructguardError
from structguard.gateway.writing import MARK, unpacked
from structguard.types import as_mapping, as_sequence

VERSION = 1  # of the stored text; another version reads as absent


class StoreTrouble(StructguardError):
    """
    The store of responses could not do what it was asked; nothing was lost that it had confirmed.

    The text names the store, without its credentials, for the log; `told` is for a client, to whom
    its address is nobody's business.
    """

    def __init__(self, message: str, told: str = "") -> None:
        super().__init__(message)
        self.told: str = told or (
            "the response store failed: responses can be neither stored nor found until it is back;"
            " requests with store: false are served"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """
    One turn: what went in, what came out, the whole resource, and when (wall seconds).

    `text` is the resource as JSON, where somebody wrote it already: `packed` did, or orjson has read it.
    """

    input: Sequence[object]
    output: Sequence[object]
    response: Mapping[str, object]
    created: float
    text: bytes | None = field(default=None, repr=False, compare=False)


class ResponseStore(Protocol):
    """
    Turns by scope and id, for `expiry` seconds and within `limit_bytes` of JSON, oldest out.

    Every method may raise StoreTrouble; a `put` that returned is seen by every process on the same
    store. The event loop is never blocked, and a write that has begun outlives its caller.
    """

    @property
    def name(self) -> str: ...
    async def get(self, scope: str, id: str, /) -> Stored | None: ...  # noqa: A002  the field's word
    async def put(self, scope: str, id: str, stored: Stored, /) -> None: ...  # noqa: A002
    async def delete(self, scope: str, id: str, /) -> bool: ...  # noqa: A002
    async def aclose(self) -> None: ...


def key_of(scope: str, id: str) -> str:  # noqa: A002  the field's word
    """64 hex characters that stand for one id within one scope."""
    text = f"{len(scope)}:{scope}:{id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def fits(size: int, limit: int, name: str) -> None:
    """
    Refuse what could never be kept.

    Raises:
        StoreTrouble: one turn is larger than the whole store may be.
    """
    if size > limit:
        large = f"a response of {size:,} bytes is larger than the whole store"
        rest = f" may be ({limit:,} bytes): raise store.limit_bytes, or send store: false"
        raise StoreTrouble(f"{large} {name}{rest}", f"{large}{rest}")


def encode(stored: Stored) -> bytes:
    """Its JSON text; `decode` gives an equal value. The resource's own output is written once."""
    text, is_own = stored.text, stored.output is stored.response.get("output")
    if text is not None and text.startswith(MARK):
        text = None
    fields: dict[str, object] = {
        "v": VERSION,
        "created": stored.created,
        "input": stored.input,
        "output": None if is_own else stored.output,
    }
    try:
        if text is None:
            # copied, for a writer's buffer has room that is never used
            return bytes(memoryview(orjson.dumps({**fields, "response": stored.response})))
        return b"".join((orjson.dumps(fields)[:-1], b',"response":', text, b"}"))
    except TypeError:  # as in `packed`; and what is too deep for orjson was read all the same
        fields["response"] = stored.response
        return MARK + json.dumps(fields, separators=(",", ":")).encode()


def decode(text: bytes | str) -> Stored | None:
    """The turn in a JSON text; None for another version or anything that is not a turn."""
    fields = as_mapping(_loaded(text)) or {}
    response, created = as_mapping(fields.get("response")), fields.get("created")
    given, output = as_sequence(fields.get("input")), fields.get("output")
    output = as_sequence((response or {}).get("output") if output is None else output)
    if fields.get("v") != VERSION or given is None or output is None or response is None:
        return None
    if isinstance(created, bool) or not isinstance(created, int | float):
        return None
    return Stored(input=given, output=output, response=response, created=float(created))


def _loaded(text: bytes | str) -> object:
    try:
        return unpacked(text)
    except (ValueError, RecursionError):
        return None
