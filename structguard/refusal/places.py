"""
Where an error points: at the format, inside the caller's schema, elsewhere in the request, nowhere.

One reading for every dialect of paths: `param`, pydantic `loc`, zod and JSON Pointer paths, serde's
leading path, `At body -> a -> b`. Source: spec guard §1.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from structguard.refusal.schema_words import COMPLAINT
from structguard.refusal.text import without_links
from structguard.types import Api


class Place(Enum):
    """What a location means for the format."""

    NOWHERE = "no location, or one we do not know"
    FORMAT = "the format itself or one of its own fields"
    SCHEMA = "inside the caller's schema, or its name, strict or description"
    ELSEWHERE = "another part of the request"


_SEPARATOR = re.compile(r"\s*(?:->|→|»|::|[./\[\](),#$|>:'\"`\s])\s*")
_ENVELOPES = frozenset(
    {"body", "request", "root", "payload", "requestbody", "extrabody", "params", "kwargs", "json"}
    | {"parameters", "additionalmodelrequestfields", "query", "data", "openai", "field", "property"}
)
_UNION_TAG = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Za-z]*\Z")  # a class name in a pydantic loc

_ROOTS: tuple[tuple[str, ...], ...] = (
    ("responseformat",),
    ("text", "format"),
    ("outputconfig", "format"),
    ("outputconfig", "textformat"),
    ("outputconfig",),
    ("outputformat",),
    ("responsemimetype",),
    ("responseschema",),
    ("responsejsonschema",),
    ("structuredoutputs",),
    ("structuredoutput",),
    ("guidedjson",),
    ("guidedgrammar",),
    ("guideddecoding",),
    ("guideddecodingbackend",),
    ("jsonmode",),
    ("jsonschema",),
)
"""The spellings of the format, most telling first; all may stand below a config object."""

_CONFIGS = frozenset({"generationconfig", "generateconfig", "config", "samplingparams", "options"})
_SIBLINGS = frozenset({"effort", "verbosity", "taskbudget"})  # fields beside the format

_REQUEST_FIELDS = frozenset(
    {"messages", "message", "input", "inputs", "model", "temperature", "tools", "tool", "functions"}
    | {"toolchoice", "toolconfig", "functioncall", "maxtokens", "maxcompletiontokens", "topp", "n"}
    | {"maxoutputtokens", "stop", "seed", "user", "streamoptions", "contents", "content", "system"}
    | {"logprobs", "toplogprobs", "frequencypenalty", "presencepenalty", "paralleltoolcalls"}
    | {"websearchoptions", "reasoningcontent", "metadata", "store", "include", "instructions"}
    | {"systeminstruction", "safetysettings", "prompt", "logitbias", "modalities", "audio", "role"}
    | {"previousresponseid", "truncation", "servicetier", "topk", "minp", "repetitionpenalty"}
    | {"functiondeclarations", "inputschema", "parallel_tool_calls", "verbosity", "file", "files"}
    | {"image", "images", "attachments", "plugins", "provider", "betas", "cachecontrol", "prefix"}
)
"""Other fields of a request, in one spelling. `stream` and `reasoning` are missing on purpose: a
combination refusal may point at them."""

_TAIL_NAMES = frozenset({"name", "strict", "description"})


def place_of(path: str, api: Api) -> Place:
    """What a path means; `loc:` in front marks a pydantic loc, which is always a real location."""
    located = path.startswith("loc:")
    segments = _segments(path[4:] if located else path)
    if not segments:
        return Place.NOWHERE
    found = _root(segments)
    if found is not None:
        root, rest = found
        return _below(root, rest)
    if segments == ["text"] and api == "responses":
        return Place.FORMAT
    if segments[0] in _REQUEST_FIELDS or (located and segments[0] not in _NEUTRAL):
        return Place.ELSEWHERE
    return Place.NOWHERE


_NEUTRAL = frozenset({"stream", "reasoning", "reasoningeffort", "thinking", "enablethinking"})


def _segments(path: str) -> list[str]:
    parts = [part for part in _SEPARATOR.split(path[:400]) if part and not part.isdigit()]
    flat = [
        part.lower().replace("_", "").replace("-", "")
        for index, part in enumerate(parts)
        if index == 0 or not _UNION_TAG.match(part)
    ]
    while flat and flat[0] in _ENVELOPES:
        flat = flat[1:]
    return flat


def _root(segments: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]] | None:
    below_config = 1 if segments[0] in _CONFIGS else 0
    for root in _ROOTS:
        end = below_config + len(root)
        if tuple(segments[below_config:end]) == root:
            return root, segments[end:]
    return None


def _below(root: tuple[str, ...], rest: Sequence[str]) -> Place:
    """The place of what stands below a spelling of the format."""
    if rest and root[-1] in {"responseschema", "responsejsonschema", "guidedjson"}:
        return Place.SCHEMA
    if not rest or (rest[-1] == "type" and "schema" not in rest and "properties" not in rest):
        return Place.FORMAT
    if rest[0] in _SIBLINGS:
        return Place.ELSEWHERE
    if rest[-1] in _TAIL_NAMES:
        return Place.SCHEMA
    if root == ("responseformat",) and list(rest) == ["schema"]:
        return Place.FORMAT  # not where we put the schema: an endpoint that speaks another dialect
    inside = "schema" in rest or ("jsonschema" in rest and rest[-1] != "jsonschema")
    return Place.SCHEMA if inside or root == ("jsonschema",) else Place.FORMAT


_HEAD = re.compile(
    r"""(?ix) \A (?:at|in|field|param(?:eter)?|property|path|error\ (?:in|at)|for)?\s*
    (?P<path> ["'`(\[]* [#/$]* [\w$@-]+ (?: (?: \s*(?:->|→)\s* | [./\[] | \]\.? | ::)++ [\w$@-]*+ )*+ ["'`)\]]* ) \Z"""
)
_FIELD_AT = re.compile(
    r"""(?i)\b(?:unknown|unrecognized|invalid|duplicate) (?:name|value|field)s?:? ["'`]?([\w.$-]{1,80})["'`]? at ["'`]([^"'`]{1,200})["'`]"""
)
_NAME_ONLY = re.compile(r"""(?i)\bunknown name ["'`]([\w.$-]{1,80})["'`]""")
_VALUE_AT = re.compile(r"""(?i)\binvalid value at ["'`]([^"'`]{1,200})["'`]""")
_CALLED = re.compile(
    r"""(?i)\binvalid (?:(?:type|value) (?:for|of) )?["'`]([\w.\[\]-]{1,80})["'`]:"""
)
_INSIDE = re.compile(
    r"""(?ix)\b(?:response_?format|text\.format|output_?config|output_?format|response_?schema
      |response_?json_?schema|json_?schema|generation_?config)
      (?:(?:[./\[]|\s?->\s?|\]\.?)+[\w$][\w$-]{0,59}){1,40}"""
)
_ASIDE = re.compile(r"""(?i)\b(?:if|mean|when|while|with|using) ["'`]{0,2}\Z""")
"""A path behind these is mentioned, it is not where the error points."""
_OTHER = re.compile(
    r"""(?ix)\b(?:messages|tools|contents|input|functions)(?:\[\d|[./]\d)
      | (?:\#/(?:properties/)?|(?<!\w)/properties/)(?:messages|tools|tool_?config|contents|prompt)\b"""
)


_VALUE = re.compile(r"""\s*["'`]?(?:json_schema|json_object|text)["'`]?\s*(?:[,;}\]]|\Z)""")
_CURLY = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_POINTERS = (
    (" at ", _FIELD_AT),
    ("unknown name", _NAME_ONLY),
    ("invalid value at", _VALUE_AT),
    ("invalid ", _CALLED),
)
_OTHER_WORDS = ("messages", "tools", "contents", "input", "functions", "tool")


def place_in(text: str, api: Api) -> Place:
    """Where the words themselves point, when their object names no location."""
    text = without_links(text).translate(_CURLY)
    lower = text.lower()
    named = _named(text, lower, api)
    inside = [place_of(match.group(), api) for match in _pointed_at(text[:2_000])]
    if Place.SCHEMA in inside and named is not Place.ELSEWHERE:
        return Place.SCHEMA
    if named is not Place.NOWHERE:
        return named
    if Place.FORMAT in inside:
        return Place.FORMAT
    other = any(word in lower for word in _OTHER_WORDS) and _OTHER.search(text)
    return Place.ELSEWHERE if other else Place.NOWHERE


_FAULT = re.compile(
    r"\b(?:bad|den(?:y|ied)|deprecat|disab|drop|fail|lack|no\b|omit|refus|reject|remove|unavail|wrong)"
)


def _pointed_at(text: str) -> Iterator[re.Match[str]]:
    """The paths in a text that it complains about; another is only mentioned."""
    for match in _INSIDE.finditer(text):
        start = max(0, match.start() - 160)
        before = text[start : match.start()]
        after = text[match.end() : match.end() + 160]
        own = max(before.rfind(". "), before.rfind("; ")) + 1
        end = after.find(". ")
        said = (before[own:] + "…" + (after[:end] if end >= 0 else after)).lower()
        if not _ASIDE.search(before[-12:]) and (
            not before[own:].strip(" '\"`") or COMPLAINT.search(said) or _FAULT.search(said)
        ):
            yield match


_BESIDE = re.compile(r"(?i)\boutput_?config: \W?(?:effort|task_?budget)\b")


def _named(text: str, lower: str, api: Api) -> Place:
    if "config" in lower and _BESIDE.search(text):
        return Place.ELSEWHERE  # a field beside the format
    for literal, pattern in _POINTERS:
        match = pattern.search(text) if literal in lower else None
        if match is not None:
            return place_of(".".join(reversed(match.groups())), api)
    heads = re.split(r":\s", text[:600])
    for head, rest in pairwise(heads[:7]):
        if _VALUE.match(rest):
            continue  # "response_format: json_schema" is what was sent, no complaint
        match = _HEAD.match(head.strip()) if len(head) <= 200 else None
        path = match.group("path") if match else ""
        place = place_of(path, api) if path else Place.NOWHERE
        if place is Place.ELSEWHERE and not re.search(r"[./\[>]", path.strip("'\"`")):
            continue  # "model: …" introduces prose as often as it points
        if place is not Place.NOWHERE:
            return place
    return Place.NOWHERE
