"""
What a request body carried that matters to a refusal: its format, tools, stream and reasoning.

One row of paths per wire API; snake_case and camelCase are both read. Source: spec guard §1, the
vendors' API references (Chat Completions, Responses, Messages, Converse, generateContent).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from structguard.types import Api, Flag, FormatKind, as_mapping

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a request carried; `sent` None means no JSON format: nothing there could be refused."""

    sent: FormatKind | None
    tools: bool = False
    stream: bool = False
    reasoning: bool = False
    api: Api = "chat"

    @property
    def flags(self) -> frozenset[Flag]:
        """What the request carries beside the format, as the memo keys it."""
        carried: tuple[tuple[Flag, bool], ...] = (
            ("tools", self.tools),
            ("stream", self.stream),
            ("reasoning", self.reasoning),
        )
        return frozenset(flag for flag, present in carried if present)


@dataclass(frozen=True, slots=True)
class _Dialect:
    formats: tuple[Path, ...]  # an object with `type`, or one whose presence means a schema
    tools: tuple[Path, ...]
    reasoning: tuple[Path, ...]


_CHAT = _Dialect(
    formats=(("responseformat",),),
    tools=(("tools",), ("functions",)),
    reasoning=(("reasoningeffort",), ("reasoning",), ("enablethinking",), ("thinking",)),
)
_DIALECTS: Mapping[Api, _Dialect] = MappingProxyType(
    {
        "chat": _CHAT,
        "responses": _Dialect((("text", "format"),), (("tools",),), (("reasoning",),)),
        "messages": _Dialect(
            (("outputconfig", "format"), ("outputformat",)), (("tools",),), (("thinking",),)
        ),
        "converse": _Dialect(
            (("outputconfig", "textformat"),),
            (("toolconfig", "tools"),),
            (
                ("additionalmodelrequestfields", "thinking"),
                ("additionalmodelrequestfields", "reasoningconfig"),
            ),
        ),
        "generate_content": _Dialect((), (("tools",),), (("generationconfig", "thinkingconfig"),)),
    }
)
_OFF = frozenset({"none", "disabled", "off", "false"})
_TYPES: Mapping[str, FormatKind] = MappingProxyType(
    {"json_schema": "json_schema", "json_object": "json_object"}
)


def request_facts(body: Mapping[str, object], api: Api = "chat") -> RequestFacts:
    """
    Read a request's JSON body as the wire API `api` spells it.

    A format other than JSON Schema and JSON object (`{"type": "text"}`) counts as none; thinking
    that is switched off counts as no reasoning.
    """
    dialect = _DIALECTS[api]
    return RequestFacts(
        sent=_google_format(body) if api == "generate_content" else _format(body, dialect),
        tools=any(bool(_at(body, path)) for path in dialect.tools),
        stream=body.get("stream") is True,
        reasoning=any(_switched_on(_at(body, path)) for path in dialect.reasoning),
        api=api,
    )


def _format(body: Mapping[str, object], dialect: _Dialect) -> FormatKind | None:
    for path in dialect.formats:
        block = as_mapping(_at(body, path))
        if block is not None:
            kind = block.get("type")
            return _TYPES.get(kind) if isinstance(kind, str) else None
    return None


def _google_format(body: Mapping[str, object]) -> FormatKind | None:
    config = ("generationconfig",)
    schemas = (*config, "responseschema"), (*config, "responsejsonschema")
    if any(_at(body, path) is not None for path in schemas):
        return "json_schema"
    mime = _at(body, (*config, "responsemimetype"))
    return "json_object" if mime == "application/json" else None


def _at(body: Mapping[str, object], path: Path) -> object:
    value: object = body
    for step in path:
        fields = as_mapping(value) or {}
        value = next((v for k, v in fields.items() if _flat(k) == step), None)
    return value


def _flat(key: str) -> str:
    return key.lower().replace("_", "")


def _switched_on(value: object) -> bool:
    mapping = as_mapping(value)
    if mapping is not None:
        told = mapping.get("type") or mapping.get("effort") or ""
        return bool(mapping) and mapping.get("enabled") is not False and told not in _OFF
    return bool(value) and value not in _OFF
