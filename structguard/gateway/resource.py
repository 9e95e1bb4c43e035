"""
The response resource a client reads: all required fields, whatever the upstream left out.

Source: the Open Responses document (2026-04-24), ResponseResource; spec gateway "Replies".
"""

from __future__ import annotations

import math
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


def replaced(text: bytes, old: object, new: str) -> bytes | None:
    """A JSON text with `new` where the string `old` stood, if it stood there exactly once."""
    quoted = b'"%s"' % str(old).encode("utf-8", "surrogatepass")
    return text.replace(quoted, b'"%s"' % new.encode()) if text.count(quoted) == 1 else None


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
        return {**_COMMON, **{key: _FIELDS[key](self) for key in asked}} if asked else _COMMON


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
_DETAILS = (
    ("input_tokens_details", "cached_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
)


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


def filled(given: Mapping[str, object], start: Started) -> dict[str, object]:
    """An upstream's own resource with what it left out; null where the document knows none is left."""
    kept = {key: value for key, value in given.items() if value is not None}
    made = {"id": None, **start.common(), **kept}
    made["id"] = kept.get("id") or start.id
    for key in REQUIRED.difference(made):
        made[key] = start.field(key)
    if made["completed_at"] is None and made["status"] == "completed":
        made["completed_at"] = now()
    tools = as_sequence(made["tools"]) or ()
    made["tools"] = [_strict(tool) for tool in tools] if tools else []
    text = as_mapping(made["text"]) or {}
    if as_mapping(text.get("format")) is None:
        made["text"] = {**text, **(as_mapping(start.field("text")) or {})}
    made["usage"] = _usage(as_mapping(made["usage"]))
    for key in ("created_at", "completed_at"):
        if isinstance(made[key], float):
            made[key] = _whole(made[key])
    made["previous_response_id"] = start.field("previous_response_id")
    return made


def has_whole_numbers(resource: Mapping[str, object]) -> bool:
    """Whether times and counts are integers, as the document types them: not every server's are."""
    usage = as_mapping(resource.get("usage")) or {}
    return not (
        isinstance(resource.get("created_at"), float)
        or isinstance(resource.get("completed_at"), float)
        or isinstance(usage.get("input_tokens"), float)
        or isinstance(usage.get("output_tokens"), float)
        or isinstance(usage.get("total_tokens"), float)
    )


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and math.isfinite(number) else number


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


def _usage(given: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The counts with their details, 0 where the upstream did not count."""
    match given:
        case None:
            return None
        case {
            "input_tokens": int(),
            "output_tokens": int(),
            "total_tokens": int(),
            "input_tokens_details": {"cached_tokens": int()},
            "output_tokens_details": {"reasoning_tokens": int()},
        }:
            return given
        case _:
            pass
    counts = ("input_tokens", "output_tokens", "total_tokens")
    made = {**given, **{name: _whole(given.get(name, 0)) for name in counts}}
    for name, part in _DETAILS:
        details = as_mapping(given.get(name))
        if details is None or part not in details:
            made[name] = {part: 0, **(details or {})}
    return made


_OWN = {"id", "created_at", "model", "output", "tools", "text"}  # each response's own
_COMMON = {key: make(Started({}, "")) for key, make in _FIELDS.items() if key not in _OWN}
_ASKABLE = frozenset({*_ECHOED, "reasoning", "tool_choice"})
