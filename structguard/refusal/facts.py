"""
What a request body carried that matters to a refusal: its format, tools, stream and reasoning.

One row of paths per wire API; snake_case and camelCase are both read. Source: spec guard §1, the
vendors' API references (Chat Completions, Responses, Messages, Converse, generateContent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from structguard.types import Api, Flag, FormatKind, as_mapping

Path: TypeAlias = tuple[tuple[str, str], ...]  # (snake_case, camelCase) a step


_NO_FLAGS: frozenset[Flag] = frozenset()


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
        if not (self.tools or self.stream or self.reasoning):
            return _NO_FLAGS  # nearly every call
        carried: tuple[tuple[Flag, bool], ...] = (
            ("tools", self.tools),
            ("stream", self.stream),
            ("reasoning", self.reasoning),
        )
        return frozenset(flag for flag, present in carried if present)


@dataclass(frozen=True, slots=True)
class _Places:
    """Paths, and their first steps: most bodies hold none of them, which is cheap to see."""

    paths: tuple[Path, ...]
    firsts: frozenset[str]

    def values(self, body: Mapping[str, object]) -> Sequence[object]:
        """What stands at the paths."""
        return () if self.firsts.isdisjoint(body) else [_at(body, path) for path in self.paths]


def _places(*paths: Path) -> _Places:
    return _Places(paths, frozenset(name for path in paths for name in path[0]))


@dataclass(frozen=True, slots=True)
class _Dialect:
    formats: tuple[Path, ...]  # an object with `type`, or one whose presence means a schema
    tools: _Places
    reasoning: _Places


def _path(*names: str) -> Path:
    """Each step's two spellings: snake_case as given, and its camelCase."""
    return tuple((name, _camel(name)) for name in names)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_DIALECTS: Mapping[Api, _Dialect] = MappingProxyType(
    {
        "chat": _Dialect(
            formats=(_path("response_format"),),
            tools=_places(_path("tools"), _path("functions")),
            reasoning=_places(
                *map(_path, ("reasoning_effort", "reasoning", "enable_thinking", "thinking")),
                _path("chat_template_kwargs", "enable_thinking"),  # vLLM, SGLang, NIM
                _path("chat_template_kwargs", "thinking"),
            ),
        ),
        "responses": _Dialect(
            formats=(_path("text", "format"),),
            tools=_places(_path("tools")),
            reasoning=_places(_path("reasoning")),
        ),
        "messages": _Dialect(
            formats=(_path("output_config", "format"), _path("output_format")),
            tools=_places(_path("tools")),
            reasoning=_places(_path("thinking")),
        ),
        "converse": _Dialect(
            formats=(_path("output_config", "text_format"),),
            tools=_places(_path("tool_config", "tools")),
            reasoning=_places(
                _path("additional_model_request_fields", "thinking"),
                _path("additional_model_request_fields", "reasoning_config"),
            ),
        ),
        "generate_content": _Dialect(
            formats=(),
            tools=_places(_path("tools")),
            reasoning=_places(_path("generation_config", "thinking_config")),
        ),
    }
)
_GOOGLE_SCHEMAS = (
    _path("generation_config", "response_schema"),
    _path("generation_config", "response_json_schema"),
)
_GOOGLE_MIME = _path("generation_config", "response_mime_type")
_FORMATS: tuple[Path, ...] = (
    *(path for dialect in _DIALECTS.values() for path in dialect.formats),
    *_GOOGLE_SCHEMAS,
    _GOOGLE_MIME,
    *(  # what is taken beside: vLLM, SGLang, llama.cpp, TGI, NIM; Bedrock's models
        _path(*names.split("."))
        for names in (
            "guided_json", "guided_grammar", "guided_regex", "guided_choice", "structured_outputs",
            "json_schema", "grammar", "regex", "ebnf",
            "nvext.guided_json", "nvext.guided_grammar", "nvext.guided_regex", "nvext.guided_choice",
            "additional_model_request_fields.output_config.format",
            "additional_model_request_fields.output_format",
            "additional_model_request_fields.response_format",
        )
    ),
)  # fmt: skip
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
        tools=any(dialect.tools.values(body)),
        stream=body.get("stream") is True,
        reasoning=any(map(_switched_on, dialect.reasoning.values(body))),
        api=api,
    )


def names_format(body: Mapping[str, object]) -> bool:
    """Whether any vendor's field for a format stands there, whatever it says."""
    return any(_stands(body, path) for path in _FORMATS) if body else False


def _stands(body: Mapping[str, object], path: Path) -> bool:
    *parents, last = path
    fields = as_mapping(_at(body, tuple(parents)))
    return fields is not None and not fields.keys().isdisjoint(last)


def _format(body: Mapping[str, object], dialect: _Dialect) -> FormatKind | None:
    for path in dialect.formats:
        block = as_mapping(_at(body, path))
        if block is not None:
            kind = block.get("type")
            return _TYPES.get(kind) if isinstance(kind, str) else None
    return None


def _google_format(body: Mapping[str, object]) -> FormatKind | None:
    if any(_at(body, path) is not None for path in _GOOGLE_SCHEMAS):
        return "json_schema"
    return "json_object" if _at(body, _GOOGLE_MIME) == "application/json" else None


def _at(body: Mapping[str, object], path: Path) -> object:
    value: object = body
    for snake, camel in path:
        fields = as_mapping(value)
        if fields is None:
            return None
        value = fields.get(snake)
        if value is None and camel != snake:
            value = fields.get(camel)
    return value


def _switched_on(value: object) -> bool:
    mapping = as_mapping(value)
    if mapping is not None:
        told = mapping.get("type") or mapping.get("effort") or ""
        return bool(mapping) and mapping.get("enabled") is not False and told not in _OFF
    return bool(value) and not (isinstance(value, str) and value in _OFF)
