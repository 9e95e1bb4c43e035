"""
What an OpenAI-compatible endpoint can do, found out by at most ten small requests.

Each question is one request; its answer is judged, and what was refused or ignored can be turned
into memo entries. Source: spec guard §3 (what an entry is).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from structguard.errors import ProviderError
from structguard.memo import Entry
from structguard.schema import as_format, digest, validator
from structguard.service import Provider
from structguard.types import (
    Completion,
    Finished,
    Flag,
    FormatKind,
    JsonSchema,
    Kind,
    MemoKey,
    Refusal,
    Request,
    Scope,
    Tool,
)

ProbeApi: TypeAlias = Literal["chat", "responses"]
Verdict: TypeAlias = Literal["yes", "ignored", "refused", "error", "not asked"]

_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["greeting", "number"],
    "additionalProperties": False,
}
_TOOL = Tool(
    name="look_up",
    description="Look a word up.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
_TOKENS = 256  # room for a model that thinks first
_HOPELESS = frozenset({Kind.AUTHENTICATION, Kind.BILLING})


@dataclass(frozen=True)
class Question:
    """One small request; `api` None asks over the API that was found to work."""

    name: str
    api: ProbeApi | None = None
    format: FormatKind | None = None
    strict: bool | None = None
    tools: bool = False
    stream: bool = False

    @property
    def request_format(self) -> object:
        """The format as a request takes it."""
        if self.format == "json_schema":
            return JsonSchema(schema=_SCHEMA, name="greeting", strict=self.strict)
        return as_format({"type": "json_object"}) if self.format else None


_APIS = (Question("chat", api="chat"), Question("responses", api="responses"))
_QUESTIONS = (
    Question("json_schema", format="json_schema"),
    Question("json_schema, strict", format="json_schema", strict=True),
    Question("json_object", format="json_object"),
    Question("tools", tools=True),
    Question("tools and json_schema", format="json_schema", tools=True),
    Question("stream", stream=True),
    Question("stream and json_schema", format="json_schema", stream=True),
)
_ON_RESPONSES = Question("json_schema on responses", api="responses", format="json_schema")
_WITH_FORMAT = {one.name: one for one in (*_QUESTIONS, _ON_RESPONSES) if one.format is not None}


@dataclass
class Result:
    """What came of one question."""

    name: str
    api: ProbeApi
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    refusal: Refusal | None = field(default=None, repr=False)
    kind: Kind | None = None
    status: int | None = None


async def ask_all(
    providers: Mapping[ProbeApi, Provider], model: str, *, progress: Callable[[str], None]
) -> list[Result]:
    """
    Ask every question, over the API that answers; `progress` is told each one's name before.

    Whoever turns the key down, or does not answer at all, is asked nothing more.
    """
    results: list[Result] = []
    for question in (question for question in _APIS if question.api in providers):
        results.append(await _ask(providers, question, model, progress))
        last = results[-1]
        if last.kind in _HOPELESS or (last.kind is not None and last.status is None):
            break
    served = serving(results)
    results += [
        await _ask(providers, question, model, progress, served[0]) for question in _rest(served)
    ]
    if not served:
        results += [Result(question.name, results[0].api, "not asked") for question in _QUESTIONS]
    return results


def _rest(served: list[ProbeApi]) -> Iterator[Question]:
    if served:
        yield from _QUESTIONS
        if served == ["chat", "responses"]:
            yield _ON_RESPONSES


async def _ask(
    providers: Mapping[ProbeApi, Provider],
    question: Question,
    model: str,
    progress: Callable[[str], None],
    served: ProbeApi = "chat",
) -> Result:
    progress(question.name)
    api = question.api or served
    request = Request(
        model=model,
        messages=[{"role": "user", "content": "Look up the word 'hello', then greet me."}],
        response_format=question.request_format,
        tools=[_TOOL] if question.tools else [],
        max_tokens=_TOKENS,
    )
    started = time.monotonic()
    try:
        reply = await _reply(providers[api], request, question)
    except ProviderError as error:
        result = _failed(question, api, error)
    else:
        result = _judged(question, api, reply)
    result.seconds = round(time.monotonic() - started, 3)
    return result


async def _reply(provider: Provider, request: Request, question: Question) -> Completion:
    if not question.stream:
        return await provider.complete(request)
    async with provider.stream(request) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Finished)  # noqa: S101  the contract of a stream
    return last.completion


def _failed(question: Question, api: ProbeApi, error: ProviderError) -> Result:
    refused = error.refusal is not None or error.kind is Kind.UNSUPPORTED_API
    reason = error.refusal.evidence if error.refusal else error.message.partition(": ")[2]
    return Result(
        question.name,
        api,
        "refused" if refused else "error",
        f"{error.kind.value}: {reason}",
        requests=error.requests,
        refusal=error.refusal,
        kind=error.kind,
        status=error.failure.status,
    )


def _judged(question: Question, api: ProbeApi, reply: Completion) -> Result:
    result = Result(question.name, api, "yes", requests=reply.requests)
    if reply.usage is not None:
        result.input_tokens = reply.usage.input or 0
        result.output_tokens = reply.usage.output or 0
    excerpt = f"{reply.text[:60]!r}" if reply.text else "an empty answer"
    called = bool(reply.tool_calls)
    if question.tools and not called and question.format is None:
        result.verdict, result.detail = "ignored", f"no tool was called: {excerpt}"
    elif question.format is not None and not called and not _fits(question, reply.text):
        cut = ", cut at the token limit" if reply.finish == "length" else ""
        result.verdict, result.detail = "ignored", f"not the JSON asked for: {excerpt}{cut}"
    elif not reply.answered:
        result.verdict, result.detail = "error", excerpt
    return result


def _fits(question: Question, text: str) -> bool:
    try:
        value: object = json.loads(text)
    except ValueError:
        return False
    if question.format == "json_object":
        return isinstance(value, dict)
    return validator(_SCHEMA).is_valid(value)


def serving(results: Sequence[Result]) -> list[ProbeApi]:
    """The APIs over which the model answered."""
    names = {question.name for question in _APIS}
    return [result.api for result in results if result.name in names and result.verdict == "yes"]


def entries(
    results: Sequence[Result], provider: str, model: str, *, wall: float
) -> Iterator[Entry]:
    """
    What a guard would have learned: the formats that the model answered only without, those that it
    ignores, and an API that it is not served on. `provider` is the endpoint as the memo names it.
    """
    served = serving(results)
    for result in results if served else ():
        if result.kind is Kind.UNSUPPORTED_API and result.name == "chat":
            yield Entry.use_api(
                provider, model, provider, served[0], result.detail, wall=wall, status=result.status
            )
        question = _WITH_FORMAT.get(result.name)
        if question is None or question.format is None:
            continue
        key = MemoKey(
            provider=provider,
            model=model,
            base_url=provider,
            api=result.api,
            format=question.format,
            flags=_flags(question),
            schema=digest(_SCHEMA) if question.format == "json_schema" else "",
            strict=question.strict,
        )
        # The probe's own schema is nobody else's; what is ignored beside tools says nothing alone.
        if result.refusal is not None and result.refusal.scope is not Scope.SCHEMA:
            yield Entry.of(key, result.refusal, status=result.status, wall=wall)
        elif result.verdict == "ignored" and not key.flags:
            yield Entry.ignored(key, wall=wall, evidence=result.detail)


def _flags(question: Question) -> frozenset[Flag]:
    carried: tuple[tuple[Flag, bool], ...] = (
        ("tools", question.tools),
        ("stream", question.stream),
    )
    return frozenset(flag for flag, is_carried in carried if is_carried)
