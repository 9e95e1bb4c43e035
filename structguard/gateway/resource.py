"""
The response resource a client reads: all required fields, whatever the upstream left out.

Source: the Open Responses document (2026-04-24), ResponseResource; spec gateway "Replies".
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping

from structguard.gateway.thoughts import sealed
from structguard.types import Completion, as_mapping, as_sequence
from structguard.wire.responses import encode_reply

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


_random: deque[str] = deque()
os.register_at_fork(after_in_child=_random.clear)


def new_id(prefix: str = "resp") -> str:
    """
    A fresh id that nobody can guess; an item's holds its response's.

    Drawn 256 at a time: each call to the kernel lets another thread of the process in between.
    """
    try:
        return f"{prefix}_{_random.pop()}"
    except IndexError:
        drawn = os.urandom(16 * 256).hex()
        _random.extend(drawn[at : at + 32] for at in range(32, len(drawn), 32))
        return f"{prefix}_{drawn[:32]}"


def now() -> int:
    """Seconds since the epoch."""
    return int(time.time())


class Started:
    """
    A response that has just been created, as it was `asked` for: one field of it, or all.

    `schema` echoes the format's schema, which the document's type does not have. The id is made when
    it is first wanted.
    """

    __slots__ = ("_id", "asked", "created", "model", "schema")

    def __init__(self, asked: Mapping[str, object], model: str, *, schema: bool = False) -> None:
        self.asked: Mapping[str, object] = asked
        self.model: str = model
        self.schema: bool = schema
        self.created: int = now()
        self._id = ""

    @property
    def id(self) -> str:
        """The response's id."""
        if not self._id:
            self._id = new_id()
        return self._id

    def call(self, id_: str) -> None:
        """Give it an upstream's id."""
        self._id = id_

    def field(self, key: str) -> object:
        """One of the required fields."""
        return _FIELDS[key](self)

    def whole(self) -> dict[str, object]:
        """All of them."""
        made = {"id": self.id, **self.common()}
        for key in REQUIRED.difference(made):
            made[key] = self.field(key)
        return made

    def common(self) -> Mapping[str, object]:
        """The fields that are alike in nearly all responses, but for what was asked."""
        asked = _ASKABLE.intersection(self.asked)
        return {**COMMON, **{key: _FIELDS[key](self) for key in asked}} if asked else COMMON


def _echoed(key: str, default: object) -> Callable[[Started], object]:
    def asked(start: Started) -> object:
        given = start.asked.get(key)
        return default if given is None else given

    return asked


def _tier(start: Started) -> object:
    tier = start.asked.get("service_tier")
    return "default" if tier in {None, "auto"} else tier


def _reasoning(start: Started) -> object:
    asked = as_mapping(start.asked.get("reasoning"))
    return {"effort": asked.get("effort"), "summary": asked.get("summary")} if asked else None


def _tools(start: Started) -> object:
    return [tool for one in as_sequence(start.asked.get("tools")) or () if (tool := _tool(one))]


_FIELDS: Mapping[str, Callable[[Started], object]] = {
    "id": lambda start: start.id,
    "object": lambda _: "response",
    "created_at": lambda start: start.created,
    "completed_at": lambda _: None,
    "status": lambda _: "in_progress",
    "error": lambda _: None,
    "incomplete_details": lambda _: None,
    "model": lambda start: start.model,
    "output": lambda _: [],
    "usage": lambda _: None,
    **{key: _echoed(key, default) for key, default in _ECHOED.items()},
    "service_tier": _tier,
    "reasoning": _reasoning,
    "tools": _tools,
    "tool_choice": lambda start: _choice(start.asked.get("tool_choice")),
    "text": lambda start: _text(as_mapping(start.asked.get("text")) or {}, schema=start.schema),
}
REQUIRED = frozenset(_FIELDS)


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


def ended(
    completion: Completion, start: Mapping[str, object], told: Mapping[str, str]
) -> dict[str, object]:
    """The whole resource of a completion; `start` is the resource as it was created."""
    id_, created = str(start["id"]), int(str(start["created_at"]))
    made = {
        **start,
        **encode_reply(sealed(completion), id=id_, model=str(start["model"]), created=created),
        "completed_at": now(),
    }
    if made["status"] == "failed":
        made["error"] = {"code": "server_error", "message": "the upstream ended in an error"}
    if made["status"] != "completed":
        made["completed_at"] = None
    made["metadata"] = {**(as_mapping(start.get("metadata")) or {}), **told}
    return made


_OWN = {"id", "created_at", "model", "output", "tools", "text"}  # each response's own
COMMON = {key: make(Started({}, "")) for key, make in _FIELDS.items() if key not in _OWN}
"""The required fields that are alike in all responses for which nothing else was asked."""
_ASKABLE = frozenset({*_ECHOED, "reasoning", "tool_choice"})
