"""
What came before: stored turns, references to their items, compacted history, and what is kept now.

Source: spec gateway "Requests", rows previous_response_id and Compact.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from structguard.gateway.faults import ApiError
from structguard.gateway.store import ResponseStore, Stored, StoreTrouble
from structguard.gateway.writing import packed, unpacked
from structguard.types import as_mapping, as_sequence, as_text

log: logging.Logger = logging.getLogger("structguard.gateway")
_MARK = "sgc1."
_OWN_ID = re.compile(r"[a-z]+_([0-9a-f]{32})_(?:in)?[0-9]+").fullmatch  # holds its response's
MAX_SUMMARY = 4 * 1024 * 1024  # bytes of a compaction item's text once unpacked


@dataclass(slots=True)
class Local:
    """The turns of one WebSocket: they are found there whether they were stored or not."""

    turns: dict[str, Stored] = field(default_factory=dict[str, Stored])
    limit: int = 8

    def keep(self, id_: str, stored: Stored) -> None:
        """Keep a turn; the oldest go."""
        self.turns[id_] = stored
        while len(self.turns) > self.limit:
            del self.turns[next(iter(self.turns))]


@dataclass(frozen=True, slots=True)
class Conversations:
    """Turns by scope and id."""

    store: ResponseStore

    async def expanded(
        self,
        body: dict[str, object],
        scope: str,
        local: Local | None = None,
        *,
        passes: bool = False,
    ) -> dict[str, object]:
        """
        The body with its history in `input` and nothing left that only we can resolve; the same
        object where there was nothing to do. `passes`: the upstream takes references too, and may
        know an item that is not known here.

        Raises:
            ApiError: an unknown previous response (400), an unknown item (400), no store (503).
        """
        previous = as_text(body.get("previous_response_id"))
        items = as_sequence(body.get("input"))
        special = items is not None and any(_is_special(item) for item in items)
        if previous is None and not special:
            return body
        before: list[object] = []
        if previous is not None:
            stored = await self.stored(scope, previous, local)
            if stored is None:
                raise ApiError(
                    400,
                    f"there is no response {previous!r} here; it was not stored, or has expired",
                    param="previous_response_id",
                    code="previous_response_not_found",
                )
            before = [*stored.input, *stored.output]
        known = {item["id"]: item for item in map(as_mapping, before) if item and "id" in item}
        given: list[object] = []
        for at, item in enumerate(input_items(body)):
            fields = as_mapping(item) or {}
            if not _is_reference(fields):
                given.append(_opened(item))
                continue
            found = await self._referred(fields, known, scope, local)
            if found is None and not passes:
                raise no_item(fields.get("id"), at)
            unknown = {**fields, "type": "item_reference"}
            given.append(unknown if found is None else _opened(found))
        made = {**body, "input": [*(_opened(item) for item in before), *given]}
        made.pop("previous_response_id", None)
        return made

    async def _referred(
        self,
        reference: Mapping[str, object],
        known: dict[object, Mapping[str, object]],
        scope: str,
        local: Local | None,
    ) -> Mapping[str, object] | None:
        """
        The item with this id: of the conversation, or of a stored response, which the id names. AI
        SDK sends all its history so, without a previous response.
        """
        id_ = reference.get("id")
        made = _OWN_ID(str(id_))
        if id_ not in known and made is not None:
            stored = await self.stored(scope, f"resp_{made[1]}", local)
            items = [*stored.input, *stored.output] if stored is not None else []
            for item in map(as_mapping, items):
                if item is not None and "id" in item:
                    known.setdefault(item["id"], item)
        return known.get(id_)

    async def stored(self, scope: str, id_: str, local: Local | None = None) -> Stored | None:
        """A kept turn, or None; its input items have ids."""
        try:
            found = local.turns.get(id_) if local is not None else None
            found = found or await self.store.get(scope, id_)
        except StoreTrouble as error:
            raise no_store(error) from error
        if found is None:
            return None
        return replace(
            found, input=[_with_id(item, id_, at) for at, item in enumerate(found.input)]
        )

    async def keep(
        self,
        body: Mapping[str, object],
        response: Mapping[str, object],
        scope: str,
        local: Local | None = None,
        text: bytes | None = None,
    ) -> str:
        """
        Keep a turn, unless the client said `store: false`; a connection keeps its own either way.

        `text` is the response as JSON, where it was written already. Gives what went wrong, "" if
        nothing did: an answer that was paid for is never lost to it.
        """
        id_, unwanted = as_text(response.get("id")), body.get("store") is False
        if not id_ or (unwanted and local is None):
            return ""
        stored = Stored(
            input=input_items(body),
            output=as_sequence(response.get("output")) or (),
            response=response,
            created=time.time(),
            text=text,
        )
        if local is not None:
            local.keep(id_, stored)
        if unwanted:
            return ""
        try:
            await self.store.put(scope, id_, stored)
        except StoreTrouble as error:
            log.warning("a response could not be stored: %s", error)
            return f"not stored: {error.told}"
        return ""


def only_messages(body: Mapping[str, object]) -> bool:
    """Whether a request's input is a text or messages: nothing to look up and nothing to check."""
    given = body.get("input")
    if isinstance(given, str):
        return True
    return isinstance(given, list) and all(
        "role" in item and item.get("type", "message") == "message"
        for item in cast("list[Mapping[str, object]]", given)
    )


def check_outputs(items: Sequence[object]) -> None:
    """
    Every tool output answers a call that stands before it; opaque history may hide one.

    Raises:
        ApiError: one that answers none, with its place in the request's own input.
    """
    calls: set[object] = set()
    for item in items:
        fields = as_mapping(item) or {}
        match fields.get("type"):
            case "function_call":
                calls.add(fields.get("call_id"))
            case "compaction" | "item_reference":
                return
            case "function_call_output" if fields.get("call_id") not in calls:
                raise ApiError(
                    400,
                    f"no tool call was found for the output of call {fields.get('call_id')!r}",
                    param="input",
                    code="tool_call_not_found",
                )
            case _:
                pass


def no_store(error: StoreTrouble) -> ApiError:
    """The error of a store that cannot be reached; the log says which and why."""
    log.warning("%s", error)
    return ApiError(503, error.told, "server_error", code="store_unavailable")


def input_items(body: Mapping[str, object]) -> list[object]:
    """The input as items; a text is one user message."""
    given = body.get("input")
    if isinstance(given, str):
        part = {"type": "input_text", "text": given}
        return [{"type": "message", "role": "user", "content": [part]}]
    return list(as_sequence(given) or ())


def listed(items: Sequence[object]) -> list[dict[str, object]]:
    """Items as they are read back: messages have a type, a status and parts."""
    return [_listed(as_mapping(item) or {}) for item in items]


def _listed(item: Mapping[str, object]) -> dict[str, object]:
    made = {**item, "type": item.get("type") or "message"}
    if made["type"] == "message":
        content = made.get("content")
        if isinstance(content, str):
            kind = "output_text" if made.get("role") == "assistant" else "input_text"
            notes: dict[str, object] = {"annotations": []} if kind == "output_text" else {}
            made["content"] = [{"type": kind, "text": content, **notes}]
    if made["type"] != "reasoning" and not made.get("status"):
        made["status"] = "completed"
    return made


_PREFIXES = {"function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


def _with_id(item: object, response: str, at: int) -> object:
    """An input item as it is listed: its id holds its response's, which nobody can guess."""
    fields = as_mapping(item)
    if fields is None or fields.get("id"):
        return item
    prefix = _PREFIXES.get(str(fields.get("type")), "msg")
    return {**fields, "id": f"{prefix}_{response.removeprefix('resp_')}_in{at}"}


def _is_special(item: object) -> bool:
    fields = as_mapping(item) or {}
    return fields.get("type") == "compaction" or _is_reference(fields)


def _is_reference(item: Mapping[str, object]) -> bool:
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "role" not in item and "id" in item)


def no_item(id_: object, at: int) -> ApiError:
    """The error of a reference to an item that is not known."""
    return ApiError(
        400,
        f"there is no item {id_!r} in the conversation or among the stored responses",
        param=f"input[{at}].id",
        code="item_not_found",
    )


def compaction(summary: str, id_: str) -> dict[str, object]:
    """A summary as one opaque item that this gateway can read again."""
    text = base64.urlsafe_b64encode(zlib.compress(packed({"summary": summary})))
    return {"type": "compaction", "id": id_, "encrypted_content": _MARK + text.decode()}


def _opened(item: object) -> object:
    """A compaction item of ours as the message it stands for; another's is left as it is."""
    fields = as_mapping(item) or {}
    content = as_text(fields.get("encrypted_content"))
    if fields.get("type") != "compaction" or content is None or not content.startswith(_MARK):
        return item
    try:
        unpacker = zlib.decompressobj()
        raw = base64.urlsafe_b64decode(content.removeprefix(_MARK))
        value = as_mapping(unpacked(unpacker.decompress(raw, MAX_SUMMARY))) or {}
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ApiError(400, "a compaction item cannot be read", param="input") from error
    text = f"Summary of the conversation so far:\n{value.get('summary', '')}"
    return {"type": "message", "role": "developer", "content": text}
