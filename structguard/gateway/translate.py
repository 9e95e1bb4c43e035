"""
What of a request fits an upstream of another wire: known fields by a table, unknown ones by family.

What cannot be honoured is an error that names the parameter or a warning header; never silence.
Source: spec gateway "Requests".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    "truncation": "warn",
    "client_metadata": "drop",
    "prompt_cache_retention": "drop",
    "context_management": "warn",
    "stream_options": "drop",
    "text": "drop",  # its verbosity is moved before
    "reasoning": "warn",  # its effort is neutral; a summary is what the upstream makes of it
    "logprobs": "warn",  # replies that cross hold none
}
"""Fields of one OpenAI wire that the other has no place for, nor any other wire."""

_OWN: Mapping[Api, frozenset[str]] = {
    "chat": frozenset({"logit_bias", "modalities", "audio", "prediction", "web_search_options",
                       "functions", "function_call", "prompt_cache_retention"}),
    "responses": frozenset({"conversation", "prompt", "max_tool_calls", "truncation", "text",
                            "reasoning", "client_metadata", "prompt_cache_retention",
                            "context_management", "stream_options"}),
}  # fmt: skip
_QUIET = frozenset({"metadata", "user", "safety_identifier", "prompt_cache_key"})
"""Fields that say nothing about the answer; wires that do not know them need not be told."""

_AS_IT_IS: Mapping[str, tuple[object, ...]] = {
    "modalities": ([], ["text"]),
    "functions": ([],),
    "logit_bias": ({},),
    "truncation": ("disabled",),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "verbosity": ("medium",),
    "parallel_tool_calls": (True,),
    "reasoning": ({"effort": "none"},),
}
"""What asks for no more than what happens anyway where the field has no place."""

_SEALED = "reasoning.encrypted_content"  # told on every wire that has it, asked for or not
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
    warnings += [f"include {what} left out" for what in request.include if what != _SEALED]
    request = _with_tools(request, source, target, warnings)
    extra = _extra(request, target, warnings)
    changes: dict[str, object] = {**known, "extra_body": extra, "store": None, "include": ()}
    if target == "responses":
        changes["store"] = False
    return request.derive(**changes), "; ".join(warnings)


def _with_tools(request: Request, source: Api, target: Api, warnings: list[str]) -> Request:
    """The request with the tools that `target` has, and nothing about tools where none is left."""
    hosted = [*request.hosted_tools]
    if (
        source == "chat" and target == "responses"
    ):  # whose calls of such tools no reply carries back
        hosted = [tool for tool in hosted if tool.get("type") == "custom"]
    elif target == "responses":
        return request
    if not hosted:
        return request
    warnings += _left_out(hosted)
    rest = tuple(tool for tool in request.hosted_tools if tool not in hosted)
    if request.functions or rest:
        return request.derive(hosted_tools=rest)
    if request.tool_choice not in {None, "auto", "none"}:
        raise ApiError(400, "tool_choice asks for a tool, and none is left", param="tool_choice")
    extra = {k: v for k, v in request.extra_body.items() if k != "parallel_tool_calls"}
    return request.derive(hosted_tools=(), tool_choice=None, extra_body=extra)


def _extra(request: Request, target: Api, warnings: list[str]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, value in _moved(request, target).items():
        fate = _fate(key, value, target)
        if fate is None:
            kept[key] = value
        elif fate == "refuse":
            raise ApiError(400, f"{key!r} is not supported by this model's upstream", param=key)
        elif fate == "warn":
            warnings.append(f"{key} left out")
    return kept


def _fate(key: str, value: object, target: Api) -> Fate | None:
    """What becomes of a field; None: it goes upstream."""
    own = _OWN.get(target)
    known = _NO_PLACE.get(key)
    if own is not None and (known is None or key in own):
        return None
    if key == "tool_choice":  # of Anthropic's, made here
        return None
    if value in _AS_IT_IS.get(key, ()) or (own is None and key in _QUIET):
        return "drop"
    return known or "warn"


def _moved(request: Request, target: Api) -> dict[str, object]:
    """Fields that stand elsewhere on the other wire; defaults go."""
    made = dict(request.extra_body)
    if target == "responses":
        _to_responses(made)
    else:
        _from_responses(made)
    if target == "chat" and "effort" in (effort := as_mapping(made.get("reasoning")) or {}):
        made["reasoning_effort"] = effort["effort"]
        made.pop("reasoning")
    if target == "messages" and made.get("parallel_tool_calls") is False:
        del made["parallel_tool_calls"]
        if request.functions and request.tool_choice != "none":
            kind = {"type": "auto"} if request.tool_choice is None else {}
            made["tool_choice"] = {**kind, "disable_parallel_tool_use": True}
    if target not in _OWN and not request.functions:
        made.pop("parallel_tool_calls", None)
    if made.pop("top_logprobs", None) or made.pop("logprobs", None):
        made["logprobs"] = True
    return made


def _to_responses(made: dict[str, object]) -> None:
    _without_format(made.get("text"))
    if "verbosity" in made:
        text = as_mapping(made.get("text")) or {}
        made["text"] = {**text, "verbosity": made.pop("verbosity")}
    if "reasoning_effort" in made:
        reasoning = as_mapping(made.get("reasoning")) or {}
        made["reasoning"] = {**reasoning, "effort": made.pop("reasoning_effort")}


def _without_format(text: object) -> None:
    """A chat body's `text` stands where a format would go, and must not take its place unseen."""
    given = as_mapping(text)
    if text is None or (given is not None and "format" not in given):
        return
    raise ApiError(
        400, "'text' belongs to the Responses API: use response_format here", param="text"
    )


def _from_responses(made: dict[str, object]) -> None:
    text = as_mapping(made.pop("text", None)) or {}
    if "verbosity" in text:
        made["verbosity"] = text["verbosity"]
    reasoning = dict(as_mapping(made.get("reasoning")) or {})
    for name in ("summary", "generate_summary"):  # whatever reasoning the upstream shows is one
        reasoning.pop(name, None)
    if reasoning:
        made["reasoning"] = reasoning
    else:
        made.pop("reasoning", None)


def _left_out(tools: Sequence[object]) -> list[str]:
    """The warnings for tools an upstream cannot have."""
    kinds = [as_text((as_mapping(tool) or {}).get("type")) or "?" for tool in tools]
    for kind in kinds:
        if kind not in AGENTS_TOOLS:
            raise ApiError(
                400, f"tools of type {kind!r} are not available on this model", param="tools"
            )
    return [f"tool {kind} left out" for kind in kinds]
