"""
What of a request fits an upstream of another wire: known fields by a table, unknown ones by family.

What cannot be honoured is an error that names the parameter or a warning header; never silence.
Source: spec gateway "Requests".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from structguard.gateway.faults import ApiError
from structguard.gateway.thoughts import unsealed
from structguard.types import Api, Request, as_mapping, as_sequence, as_text

Fate = Literal["drop", "warn", "refuse"]

_NO_PLACE: Mapping[str, Fate] = {
    "conversation": "refuse",
    "prompt": "refuse",
    "logit_bias": "refuse",
    "modalities": "refuse",
    "audio": "refuse",
    "functions": "refuse",
    "function_call": "refuse",
    "prediction": "warn",
    "web_search_options": "refuse",
    "max_tool_calls": "warn",
    "truncation": "drop",  # what it asks for besides the default is checked by `_truncation`
    "client_metadata": "drop",
    "prompt_cache_retention": "drop",
    "context_management": "warn",
    "stream_options": "drop",
    "text": "drop",  # its verbosity is moved before
    "reasoning": "warn",  # its effort is neutral; a summary is what the upstream makes of it
}
"""Fields of one OpenAI wire that the other has no place for."""

_OWN: Mapping[Api, frozenset[str]] = {
    "chat": frozenset({"logit_bias", "modalities", "audio", "prediction", "web_search_options",
                       "functions", "function_call", "prompt_cache_retention"}),
    "responses": frozenset({"conversation", "prompt", "max_tool_calls", "truncation", "text",
                            "reasoning", "client_metadata", "prompt_cache_retention",
                            "context_management", "stream_options"}),
}  # fmt: skip
_QUIET = frozenset({"metadata", "service_tier", "user", "safety_identifier", "prompt_cache_key",
                    "parallel_tool_calls", "verbosity", "stream_options", "client_metadata",
                    "truncation", "top_logprobs"})  # fmt: skip
"""Fields that say nothing about the answer; wires that do not know them need not be told."""

AGENTS_TOOLS = frozenset({"web_search", "web_search_preview", "namespace", "custom", "local_shell",
                          "tool_search", "image_generation"})  # fmt: skip
"""Kinds of tools that agents send along whether or not the upstream has them."""


def readable(body: Mapping[str, object], api: Api) -> Mapping[str, object]:
    """The body with `tool_choice: allowed_tools` spelled out: those tools, and its mode."""
    choice = as_mapping(body.get("tool_choice"))
    if choice is None or choice.get("type") != "allowed_tools":
        return body
    allowed = choice if api == "responses" else (as_mapping(choice.get("allowed_tools")) or {})
    names = {_name(tool) for tool in as_sequence(allowed.get("tools")) or ()}
    tools = [tool for tool in as_sequence(body.get("tools")) or () if _name(tool) in names]
    return {**body, "tools": tools, "tool_choice": allowed.get("mode") or "auto"}


def _name(tool: object) -> object:
    fields = as_mapping(tool) or {}
    return fields.get("name") or (as_mapping(fields.get("function")) or {}).get("name")


def fitted(
    request: Request, source: Api, target: Api, known: Mapping[str, object] = MappingProxyType({})
) -> tuple[Request, str]:
    """
    The request as `target` takes it, and what to warn of ("" for nothing).

    `known` are fields that it gets as well.

    Raises:
        ApiError: a field or a tool that cannot be honoured.
    """
    if source == target:
        return request.derive(**known), ""
    request, told = unsealed(request, target)
    warnings = [told] if told else list[str]()
    extra = _extra(request.extra_body, target, warnings)
    changes: dict[str, object] = {**known, "extra_body": extra, "store": None, "include": ()}
    if request.hosted_tools and target != "responses":
        warnings += _left_out(request.hosted_tools)
        changes["hosted_tools"] = ()
    if target == "responses":
        changes["store"] = False
    return request.derive(**changes), "; ".join(warnings)


def _extra(given: Mapping[str, object], target: Api, warnings: list[str]) -> dict[str, object]:
    moved = _moved(given, target)
    if target not in _OWN:
        warnings += [f"{key} left out" for key in moved if key not in _QUIET]
        return {}
    kept: dict[str, object] = {}
    for key, value in moved.items():
        fate = None if key in _OWN[target] else _NO_PLACE.get(key)
        if fate is None:
            kept[key] = value
        elif fate == "refuse":
            raise ApiError(400, f"{key!r} cannot be honoured by this model's upstream", param=key)
        elif fate == "warn":
            warnings.append(f"{key} left out")
    return kept


def _moved(given: Mapping[str, object], target: Api) -> dict[str, object]:
    """Verbosity and log probabilities stand elsewhere on the other wire; defaults go."""
    made = dict(given)
    if target == "chat":
        _to_chat(made)
    elif target == "responses":
        _without_format(made.get("text"))
        if "verbosity" in made:
            text = as_mapping(made.get("text")) or {}
            made["text"] = {**text, "verbosity": made.pop("verbosity")}
        if not made.pop("logprobs", False):
            made.pop("top_logprobs", None)
    return made


def _without_format(text: object) -> None:
    """A chat body's `text` stands where a format would go, and must not take its place unseen."""
    given = as_mapping(text)
    if text is None or (given is not None and "format" not in given):
        return
    raise ApiError(400, "'text' is the Responses API's: say response_format here", param="text")


def _to_chat(made: dict[str, object]) -> None:
    text = as_mapping(made.pop("text", None)) or {}
    if "verbosity" in text:
        made["verbosity"] = text["verbosity"]
    if made.get("top_logprobs"):
        made["logprobs"] = True
    else:
        made.pop("top_logprobs", None)
    if set(as_mapping(made.get("reasoning")) or {}) <= {"summary", "generate_summary"}:
        made.pop("reasoning", None)  # a summary: whatever reasoning the upstream shows is one


def _left_out(tools: object) -> list[str]:
    """The warnings for tools an upstream cannot have."""
    kinds = [
        as_text((as_mapping(tool) or {}).get("type")) or "?" for tool in as_sequence(tools) or ()
    ]
    for kind in kinds:
        if kind not in AGENTS_TOOLS:
            raise ApiError(
                400, f"tools of type {kind!r} are not available on this model", param="tools"
            )
    return [f"tool {kind} left out" for kind in kinds]
