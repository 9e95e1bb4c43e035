"""
How endpoints treat a format, as a table: the real bodies with which they refuse it, and what else they
answer. `RefusingEndpoint` plays it over HTTP.

A refusal is given only to a request that carries a format; all other rows hold for every request.
Source: public reports of each body (docs/refusals.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from structguard.testing.samples import sample
from structguard.testing.speech import Said
from structguard.types import Api, FormatKind, as_mapping, as_sequence

Transport: TypeAlias = Literal["", "slow", "cut", "hang_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """
    One request, as the endpoint understands it.

    `sent` is the format that it carries, and `schema` the schema in it. `value` is what an obedient
    model would answer: the endpoint's own value, or else one that matches the schema in the format
    or in the prompt.
    """

    api: Api
    model: str
    body: Mapping[str, object]
    sent: FormatKind | None
    schema: Mapping[str, object] | None
    value: object
    stream: bool
    tools: bool


Say: TypeAlias = Callable[[Ask], Said]
Judge: TypeAlias = Callable[[Ask], bool]


@dataclass(frozen=True, slots=True)
class Canned:
    """An error reply as a real endpoint gave it; FORMAT stands for the format that was sent."""

    status: int
    body: str
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """
    What an endpoint does. `refusal` answers a format, `when` it dislikes it; `says` is the answer to all else (None: the endpoint's own `answer`), `accepted` the answer to a
    format that was taken, where that differs. `fails` answers the first requests of each model, or
    every one with `for_ever`.
    """

    about: str
    refusal: Canned | None = None
    when: Judge = lambda _ask: True
    accepted: Say | None = None
    says: Say | None = None
    fails: Canned | None = None
    for_ever: bool = False
    transport: Transport = ""


def bare(ask: Ask) -> Said:
    """The value as JSON and nothing else."""
    return Said(text=_json(ask))


def fenced(ask: Ask) -> Said:
    """Prose around a code fence that holds the value."""
    pretty = json.dumps(ask.value, indent=2, ensure_ascii=False)
    return Said(
        text=f"Sure! Here is what you asked for:\n\n```json\n{pretty}\n```\n\nAnything else?"
    )


def prose(ask: Ask) -> Said:
    """Words, no JSON."""
    del ask
    return Said(text="I thought about it for a while, and I would rather tell you in my own words.")


def empty(ask: Ask) -> Said:
    """Nothing at all."""
    del ask
    return Said()


def reasoning_only(ask: Ask) -> Said:
    """Thoughts, cut at the token limit before the answer."""
    del ask
    return Said(reasoning="The user wants an answer in a certain shape, so first", finish="length")


def json_in_reasoning(ask: Ask) -> Said:
    """The value where the thoughts should be, and no content."""
    return Said(reasoning=_json(ask))


def finish_error(ask: Ask) -> Said:
    """A 200 whose choice says that the upstream broke."""
    del ask
    return Said(finish="error", error={"code": 502, "message": "Upstream error: connection reset"})


SAYS: Mapping[str, Say] = MappingProxyType(
    {say.__name__: say for say in (bare, fenced, prose, empty, reasoning_only, json_in_reasoning)}
)
"""What an endpoint may answer, by name: the values of `RefusingEndpoint(answer=…)`."""


def _json(ask: Ask) -> str:
    return json.dumps(ask.value, ensure_ascii=False, separators=(",", ":"))


def _error(**fields: object) -> str:
    return json.dumps({"error": fields})


def _refuses(about: str, canned: Canned, when: Judge = lambda _ask: True) -> Behaviour:
    return Behaviour(about=about, refusal=canned, when=when, accepted=bare)


def _has_tools(ask: Ask) -> bool:
    return ask.tools


def _is_open(ask: Ask) -> bool:
    """Whether the schema's top level allows keys it does not name, which strict endpoints reject."""
    return ask.schema is not None and ask.schema.get("additionalProperties") is not False


_NOT_WITH_THIS_MODEL = _error(
    message="Invalid parameter: 'response_format' of type 'FORMAT' is not supported with this model."
    " Learn more about supported models at the Structured Outputs guide:"
    " https://platform.openai.com/docs/guides/structured-outputs",
    type="invalid_request_error",
    param=None,
    code=None,
)
_NO_ENDPOINTS = _error(
    message="No endpoints found that can handle the requested parameters. To learn more about"
    " provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection",
    code=404,
    metadata={
        "routing_funnel": [
            {"step": "Initial Endpoints", "endpoint_count": 3},
            {"step": "Filter by Parameters", "endpoint_count": 0},
        ],
        "failed_routing_step": "Filter by Parameters",
    },
)
_NOT_DESERIALIZED = (
    "Failed to deserialize the JSON body into the target type: response_format:"
    " response_format.type `FORMAT` is unavailable now at line 1 column 12440"
)
_NOT_FOR_MODEL = "deepinfra error: FORMAT response format is not supported for model: served/model"
_LITERAL = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'),"
    " 'msg': \"Input should be 'text'\", 'input': 'FORMAT'}]"
)
_BAD_SCHEMA = _error(
    message="Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is"
    " required to be supplied and to be false.",
    type="invalid_request_error",
    param="response_format",
    code=None,
)
_NOT_WITH_TOOLS = _error(
    message="json mode cannot be combined with tool/function calling", type="invalid_request_error"
)
_BROKEN_UPSTREAM = _error(
    message="Provider returned error", code=502, metadata={"provider_name": "P"}
)
_SLOW_DOWN = _error(message="Rate limit reached, please slow down", type="requests", code=429)

BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType(
    {
        "refuse400": _refuses("not supported with this model", Canned(400, _NOT_WITH_THIS_MODEL)),
        "refuse404": _refuses("a router finds no endpoint", Canned(404, _NO_ENDPOINTS)),
        "refuse422": _refuses(
            "a deserializer's plain text",
            Canned(422, _NOT_DESERIALIZED, "text/plain; charset=utf-8"),
        ),
        "refuse405": _refuses(
            "a gateway's 405",
            Canned(
                405,
                json.dumps(
                    {
                        "status": "failure",
                        "message": _NOT_FOR_MODEL,
                        "error": {"message": _NOT_FOR_MODEL, "type": "APIError", "code": "405"},
                        "error_origin_level": "api_error",
                        "provider": "deepinfra",
                    }
                ),
            ),
        ),
        "refuse500": _refuses(
            "a local server's 500",
            Canned(
                500, _error(message=_LITERAL, type="internal_server_error", param=None, code=None)
            ),
        ),
        "refuse200": _refuses(
            "a refusal inside a 200",
            Canned(200, _error(message="response_format FORMAT is not supported", code=400)),
        ),
        "refuse_schema": _refuses("has the format, rejects the schema", Canned(400, _BAD_SCHEMA)),
        "strict": _refuses("takes closed schemas only", Canned(400, _BAD_SCHEMA), _is_open),
        "refuse_tools": _refuses(
            "has the format, but not beside tools",
            Canned(400, _NOT_WITH_TOOLS),
            _has_tools,
        ),
        "unnamed": _refuses("a 400 that says nothing", Canned(400, "")),
        "accept": Behaviour(about="takes the format and answers as `answer` says"),
        "ignore": Behaviour(about="takes the format and answers prose", says=prose),
        "fenced": Behaviour(about="takes the format and answers fenced prose", says=fenced),
        "enforce": Behaviour(about="does as it is asked", accepted=bare),
        "empty": Behaviour(about="answers with no text", says=empty),
        "reasoning_only": Behaviour(about="thinks and never answers", says=reasoning_only),
        "json_in_reasoning": Behaviour(about="answers in its thoughts", says=json_in_reasoning),
        "error200": Behaviour(
            about="a broken upstream inside a 200",
            fails=Canned(200, _BROKEN_UPSTREAM),
            for_ever=True,
        ),
        "finish_error": Behaviour(about="a choice that ends in error", says=finish_error),
        "slow": Behaviour(about="answers late", accepted=bare, transport="slow"),
        "cut": Behaviour(about="breaks off in the middle", accepted=bare, transport="cut"),
        "flaky429": Behaviour(
            about="is busy at first",
            accepted=bare,
            fails=Canned(429, _SLOW_DOWN, headers=(("retry-after", "0"),)),
        ),
        "hang_up": Behaviour(about="closes the connection", transport="hang_up"),
    }
)
"""By name: a model's name, or the constructor's `behaviour`. `A+B`: A for the format, B says the rest."""


def behaviour_of(name: str) -> Behaviour | None:
    """
    The row of a name, the last part of a model's path; None when no row is meant.

    `refuse404+empty` refuses as refuse404 and answers everything else as `empty` does.
    """
    first, _, rest = name.rsplit("/", 1)[-1].partition("+")
    found = BEHAVIOURS.get(first)
    if found is None or not rest:
        return found
    if rest not in SAYS:
        raise ValueError(f"an answer is one of {', '.join(SAYS)}, got {rest!r} in {name!r}")
    return replace(found, says=SAYS[rest])


_SCHEMA_WORDS = ("properties", "anyOf", "$ref", "enum", "items", "allOf", "oneOf", "$defs", "const")


def schema_in(body: Mapping[str, object]) -> Mapping[str, object] | None:
    """The first JSON Schema that stands in the request's own texts, or None."""
    for text in _texts(body):
        start = text.find("{")
        while start >= 0:
            try:
                found, end = json.JSONDecoder().raw_decode(text, start)
            except ValueError:
                end = start + 1
            else:
                schema = as_mapping(found)
                if schema is not None and (
                    "type" in schema or any(w in schema for w in _SCHEMA_WORDS)
                ):
                    return schema
            start = text.find("{", end)
    return None


def _texts(body: Mapping[str, object]) -> list[str]:
    """Every text of the conversation, the system's first."""
    texts: list[str] = []
    waiting: list[object] = [body.get("instructions"), body.get("messages"), body.get("input")]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, str):
            texts.append(value)
            continue
        message = as_mapping(value)
        waiting[:0] = (
            [message.get("content"), message.get("text")] if message else as_sequence(value) or ()
        )
    return texts


def value_for(
    schema: Mapping[str, object] | None, body: Mapping[str, object], given: object
) -> object:
    """What an obedient model answers: the given value, else a sample of the schema it was shown."""
    if given is not None:
        return given
    wanted_schema = schema if schema is not None else schema_in(body)
    return {"answer": "blue heron"} if wanted_schema is None else sample(wanted_schema)
