"""
The response resource a client reads: all required fields, whatever the upstream left out.

Source: the Open Responses document (2026-04-24), ResponseResource; spec gateway "Replies".
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from structguard.types import Completion, as_mapping, as_sequence
from structguard.wire.responses import encode_reply

REQUIRED = frozenset(
    {"id", "object", "created_at", "completed_at", "status", "incomplete_details", "model",
     "previous_response_id", "instructions", "output", "error", "tools", "tool_choice",
     "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty",
     "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage",
     "max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata",
     "safety_identifier", "prompt_cache_key"}
)  # fmt: skip

_ECHOED: Mapping[str, object] = {
    "previous_response_id": None,
    "instructions": None,
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "temperature": 1,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": True,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}
"""Request fields that stand in the resource as they were asked, with their defaults."""


def new_id(prefix: str = "resp") -> str:
    """A fresh id; an item's holds its response's."""
    return f"{prefix}_{secrets.token_hex(16)}"


def now() -> int:
    """Seconds since the epoch."""
    return int(time.time())


def echo(body: Mapping[str, object], *, schema: bool = False) -> dict[str, object]:
    """
    The request-derived fields; `schema` echoes the format's schema, which the document's type does
    not have. Service tier `auto` becomes `default`.
    """
    made = {
        key: default if (asked := body.get(key)) is None else asked
        for key, default in _ECHOED.items()
    }
    if made["service_tier"] == "auto":
        made["service_tier"] = "default"
    reasoning = as_mapping(body.get("reasoning"))
    made["reasoning"] = (
        {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")}
        if reasoning
        else None
    )
    made["tools"] = [tool for one in as_sequence(body.get("tools")) or () if (tool := _tool(one))]
    made["tool_choice"] = _choice(body.get("tool_choice"))
    made["text"] = _text(as_mapping(body.get("text")) or {}, schema=schema)
    return made


def _tool(given: object) -> dict[str, object] | None:
    """A function as the document types it; other kinds have no place in it."""
    tool = as_mapping(given) or {}
    if tool.get("type") != "function":
        return None
    named = ("name", "description", "parameters")
    return {
        "type": "function",
        **{key: tool.get(key) for key in named},
        "strict": bool(tool.get("strict")),
    }


def _choice(given: object) -> object:
    choice = as_mapping(given)
    if choice is None:
        return given or "auto"
    if choice.get("type") == "allowed_tools":
        return {**choice, "mode": choice.get("mode") or "auto"}
    return dict(choice)


def _text(text: Mapping[str, object], *, schema: bool) -> dict[str, object]:
    format_ = as_mapping(text.get("format")) or {"type": "text"}
    if format_.get("type") == "json_schema":
        format_ = {
            "type": "json_schema",
            "name": format_.get("name") or "schema",
            "description": format_.get("description"),
            "schema": format_.get("schema") if schema else None,
            "strict": bool(format_.get("strict")),
        }
    verbosity = {"verbosity": text["verbosity"]} if text.get("verbosity") else {}
    return {"format": dict(format_), **verbosity}


def begun(id_: str, model: str, created: int, echoed: Mapping[str, object]) -> dict[str, object]:
    """A response that has just been created."""
    return {
        "id": id_,
        "object": "response",
        "created_at": created,
        "completed_at": None,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "usage": None,
        **echoed,
    }


def ended(
    completion: Completion, start: Mapping[str, object], told: Mapping[str, str]
) -> dict[str, object]:
    """The whole resource of a completion; `start` is what `begun` made."""
    id_, created = str(start["id"]), int(str(start["created_at"]))
    made = {
        **start,
        **encode_reply(completion, id=id_, model=str(start["model"]), created=created),
        "completed_at": now(),
    }
    if made["status"] == "failed":
        made["error"] = {"code": "server_error", "message": "the upstream ended in an error"}
    if made["status"] != "completed":
        made["completed_at"] = None
    made["metadata"] = {**(as_mapping(start.get("metadata")) or {}), **told}
    return made


def filled(given: Mapping[str, object], start: Mapping[str, object]) -> dict[str, object]:
    """An upstream's own resource with what it left out; null where the document knows none is left."""
    kept = {key: value for key, value in given.items() if value is not None}
    made = {**start, **kept}
    if made.get("completed_at") is None and made.get("status") == "completed":
        made["completed_at"] = now()
    made["tools"] = [_strict(tool) for tool in as_sequence(made.get("tools")) or ()]
    text = as_mapping(made.get("text")) or {}
    if as_mapping(text.get("format")) is None:
        made["text"] = {**text, **(as_mapping(start["text"]) or {})}
    made["usage"] = _usage(as_mapping(made.get("usage")))
    made["previous_response_id"] = start["previous_response_id"]
    return made


def _strict(tool: object) -> object:
    fields = as_mapping(tool)
    if fields is None or fields.get("type") != "function":
        return tool
    return {
        "description": None,
        "parameters": None,
        **fields,
        "strict": bool(fields.get("strict")),
    }


def _usage(given: Mapping[str, object] | None) -> dict[str, object] | None:
    if given is None:
        return None
    return {
        "input_tokens": 0,
        "output_tokens": 0,
        "total_tokens": 0,
        **given,
        "input_tokens_details": {
            "cached_tokens": 0,
            **(as_mapping(given.get("input_tokens_details")) or {}),
        },
        "output_tokens_details": {
            "reasoning_tokens": 0,
            **(as_mapping(given.get("output_tokens_details")) or {}),
        },
    }
