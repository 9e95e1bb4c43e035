"""
POST /v1/responses/compact: a conversation as its user messages and one opaque summary.

Source: the Open Responses document (2026-04-24), CompactResource; spec gateway, row "Compact".
"""

from __future__ import annotations

from collections.abc import Mapping

from structguard.gateway.conversation import compaction, input_items, listed
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError
from structguard.gateway.resource import new_id, now
from structguard.gateway.turn import Turn
from structguard.gateway.whole import RawReply
from structguard.gateway.writing import packed
from structguard.types import Usage, as_mapping
from structguard.wire.responses import decode_reply
from structguard.wire.responses.reply import encode_usage

_ASK = (
    "Summarise the conversation above for whoever continues it: what was asked, what was found or"
    " decided, names, numbers and open points. Text only, no greeting."
)


async def compacted(core: Core, turn: Turn, scope: str) -> bytes:
    """
    The compaction resource of a request's conversation; the model writes the summary.

    Raises:
        ApiError, ProviderError: there is none.
    """
    passes = core.upstreams.speaks(turn.links, "responses")
    body = await core.conversations.expanded(turn.body, scope, passes=passes)
    items = input_items(body)
    if not items:
        raise ApiError(400, "there is nothing to compact: input is missing", param="input")
    ask = {"type": "message", "role": "user", "content": _ASK}
    turn.body = {
        "model": body["model"],
        "input": [*items, ask],
        "store": False,
        **({"instructions": body["instructions"]} if body.get("instructions") else {}),
    }
    turn.raw = None
    answer = await core.serving.whole(turn)
    if isinstance(answer, RawReply):
        answer = decode_reply(answer.body)
    if not answer.text.strip():
        raise ApiError(502, "the upstream wrote no summary", "upstream_error", code="no_summary")
    id_ = new_id("resp")
    kept = [
        {**item, "id": item.get("id") or f"msg_{id_.removeprefix('resp_')}_{at}"}
        for at, item in enumerate(listed(items))
        if _is_users(item)
    ]
    return packed(
        {
            "id": id_,
            "object": "response.compaction",
            "created_at": now(),
            "output": [*kept, compaction(answer.text, new_id("cmp"))],
            "usage": encode_usage(answer.usage or Usage()),
        }
    )


def _is_users(item: Mapping[str, object]) -> bool:
    found = as_mapping(item) or {}
    return found.get("type") == "message" and found.get("role") == "user"
