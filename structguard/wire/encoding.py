"""What encoding a request has in common on every wire: system text, the word "json", refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from structguard.schema import schema_name
from structguard.types import (
    Completion,
    Effort,
    Format,
    JsonObject,
    JsonSchema,
    Message,
    Reasoning,
    Request,
    Tool,
    ToolCall,
    as_mapping,
)
from structguard.wire.base import Unencodable, WireOptions, sendable_format
from structguard.wire.media import text_only
from structguard.wire.payload import loads

JSON_SENTENCE = "Answer with JSON only."
"""Added to the system text where an endpoint demands the word "json" beside the format."""

BUDGETS: Mapping[Effort, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
}
"""Thinking tokens that an effort is worth where a vendor counts instead of naming."""


def model_of(request: Request) -> str:
    """
    The model the body names.

    Raises:
        Unencodable: the request names none.
    """
    if not request.model:
        raise Unencodable("no model is given: set Request.model", param="model")
    return request.model


def reject_fields(api: str, request: Request, *fields: str) -> None:
    """
    Refuse the fields this wire has no place for, if they are set.

    Raises:
        Unencodable: the first one that is.
    """
    for name in fields:
        value = getattr(request, name)
        if value is not None and value != ():
            raise Unencodable(
                f"the {api} API does not support {name}; leave it out or use another API",
                param=name,
            )


def reject_names(api: str, messages: Iterable[Message]) -> None:
    """Refuse named speakers; a tool message's name only repeats its call's and is no loss."""
    for message in messages:
        if message.name is not None and message.role != "tool":
            raise Unencodable(
                f"the {api} API does not support a message's name, got {message.name!r}",
                param="messages",
            )


def system_text(messages: Sequence[Message]) -> str:
    """System and developer texts, joined by a blank line; "" if there are none."""
    return "\n\n".join(
        text_only(message.content, where=f"a {message.role} message")
        for message in messages
        if message.role in {"system", "developer"}
    )


def needs_json_sentence(
    messages: Sequence[Message],
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> bool:
    """Whether the format asks for the word "json" and no message has it, in any case."""
    if format is None or not (isinstance(format, JsonObject) or options.needs_json_word):
        return False
    return not any("json" in message.text.lower() for message in messages)


def token_cap(request: Request, options: WireOptions, *, reasoning: bool) -> int | None:
    """The request's cap, else the endpoint's default, which reasoning requests are spared."""
    if request.max_tokens is not None or reasoning:
        return request.max_tokens
    return options.max_tokens


def named_tool(choice: str, tools: Sequence[Tool]) -> str:
    """
    The tool a choice names.

    Raises:
        Unencodable: no such tool.
    """
    if not any(tool.name == choice for tool in tools):
        known = ", ".join(repr(tool.name) for tool in tools) or "none"
        raise Unencodable(
            f"tool_choice {choice!r} is neither auto, none, any nor a tool's name ({known})",
            param="tool_choice",
        )
    return choice


def required_id(message: Message) -> str:
    """
    The call a tool message answers.

    Raises:
        Unencodable: it does not say.
    """
    if not message.tool_call_id:
        raise Unencodable(
            "a tool message needs the tool_call_id of the call it answers", param="messages"
        )
    return message.tool_call_id


def foreign_reasoning(api: str) -> Unencodable:
    """Opaque reasoning of another wire: nobody but the vendor that signed it can read it."""
    return Unencodable(
        f"the {api} API cannot carry another API's opaque reasoning; drop it from the message or"
        " answer over the wire it came from",
        param="messages",
    )


def reasoning_for(answer: Message | Completion, call: ToolCall | None) -> list[Reasoning]:
    """The reasoning that led to a call; None: that which led to the text."""
    if call is not None:
        return [part for part in answer.reasoning if part.call_id == call.id]
    calls = {call.id for call in answer.tool_calls}
    return [part for part in answer.reasoning if part.call_id not in calls]


def grouped(turns: Iterable[tuple[str, Sequence[object]]]) -> Iterator[tuple[str, list[object]]]:
    """
    What one side says in a row as one turn, for vendors whose roles must alternate; one that says
    nothing is left out, for they refuse it.
    """
    nonempty = (turn for turn in turns if turn[1])
    for role, group in groupby(nonempty, key=itemgetter(0)):
        yield role, [block for _, blocks in group for block in blocks]


def schema_of(format: Format, api: str) -> JsonSchema:  # noqa: A002  the field's word
    """
    The format as a JSON Schema.

    Raises:
        Unencodable: JSON object mode, on a wire that has none.
    """
    if isinstance(format, JsonObject):
        raise Unencodable(
            f"the {api} API has no JSON object mode; use a JSON Schema, or structured='tool'",
            param="response_format",
        )
    return format


def call_input(call: ToolCall) -> Mapping[str, object]:
    """
    A call's arguments as the object some vendors want.

    Raises:
        Unencodable: the model's text was no JSON object; it cannot go back over such a wire.
    """
    try:
        value = as_mapping(loads(call.arguments.encode("utf-8", "surrogatepass")))
    except ValueError:
        value = None
    if value is None:
        raise Unencodable(
            f"the arguments of call {call.id!r} are not a JSON object, and this API accepts nothing"
            " else; repair them or leave the call and its result out",
            param="messages",
        )
    return value


def budget_for(request: Request, cap: int | None) -> int | None:
    """
    Thinking tokens for the request's effort; they count against an explicit cap, so they leave
    room for the answer.

    Raises:
        Unencodable: the cap leaves no room to think.
    """
    level = request.effort_level
    if level is None:
        return None
    budget = BUDGETS[level] if cap is None else min(BUDGETS[level], cap - 1)
    if budget < BUDGETS["minimal"]:
        raise Unencodable(
            f"an effort needs max_tokens of more than {BUDGETS['minimal']}, got {cap}",
            param="max_tokens",
        )
    return budget


def answering_tool(
    request: Request,
    format: Format,  # noqa: A002  the field's word
    options: WireOptions,
) -> Tool:
    """
    The tool a format is sent as.

    Raises:
        Unencodable: the request has tools of its own, or an effort, which goes with no forced tool.
    """
    if sendable_format(request, format, options) is None or request.effort is not None:
        raise Unencodable(
            "a format sent as a forced tool goes neither with other tools nor with an effort",
            param="response_format",
        )
    return forced_tool(format)


def forced_tool(format: Format) -> Tool:  # noqa: A002  the field's word
    """The format as the tool a model is made to call, for endpoints that have no other way."""
    if isinstance(format, JsonObject):
        return Tool(name="json_object", parameters={"type": "object"}, description=_FORCED)
    return Tool(
        name=schema_name(format),
        parameters=format.schema,
        description=format.description or _FORCED,
        strict=bool(format.strict),
    )


_FORCED = "Give the answer by calling this tool."


def forced_name(format: Format | None, options: WireOptions) -> str | None:  # noqa: A002
    """The name of the tool the answer comes in, None where the format is sent natively."""
    if format is None or options.structured == "native":
        return None
    return forced_tool(format).name
