"""What encoding a request has in common on every wire: system text, the word "json", refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from structguard.schema import schema_name
from structguard.types import (
    EFFORTS,
    Effort,
    Format,
    JsonObject,
    JsonSchema,
    Message,
    Request,
    Tool,
    ToolCall,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import Undecodable, Unencodable, WireOptions
from structguard.wire.media import text_only
from structguard.wire.payload import loads

_T = TypeVar("_T")

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
        raise Unencodable("no model is named: set Request.model", param="model")
    return request.model


def refuse(api: str, request: Request, *fields: str) -> None:
    """
    Refuse the fields this wire has no place for, if they are set.

    Raises:
        Unencodable: the first one that is.
    """
    for name in fields:
        value = getattr(request, name)
        if value is not None and value != ():
            raise Unencodable(
                f"the {api} wire has no place for {name}; leave it out or ask over another wire",
                param=name,
            )


def refuse_names(api: str, messages: Iterable[Message]) -> None:
    """Refuse named speakers; a tool message's name only repeats its call's and is no loss."""
    for message in messages:
        if message.name is not None and message.role != "tool":
            raise Unencodable(
                f"the {api} wire has no place for a message's name, got {message.name!r}",
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


def schema_of(format: Format, api: str) -> JsonSchema:  # noqa: A002  the field's word
    """
    The format as a JSON Schema.

    Raises:
        Unencodable: JSON object mode, on a wire that has none.
    """
    if isinstance(format, JsonObject):
        raise Unencodable(
            f"the {api} wire has no JSON object mode; give a JSON Schema, or structured='tool'",
            param="response_format",
        )
    return format


class Fields:
    """
    A client's JSON object, taken apart field by field; null counts as absent.

    What nobody took is in `rest()`.
    """

    def __init__(self, body: Mapping[str, object], where: str = "") -> None:
        self._left = {key: value for key, value in body.items() if value is not None}
        self._where = where

    def take(self, key: str) -> object:
        """Any value, None if absent."""
        return self._left.pop(key, None)

    def text(self, key: str) -> str | None:
        """A string."""
        value = self.take(key)
        return None if value is None else self._need(as_text(value), key, "a string", value)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.take(key)
        good = value if isinstance(value, bool) else None
        return None if value is None else self._need(good, key, "true or false", value)

    def whole(self, key: str) -> int | None:
        """A whole number."""
        value = self.take(key)
        good = value if isinstance(value, int) and not isinstance(value, bool) else None
        return None if value is None else self._need(good, key, "a whole number", value)

    def number(self, key: str) -> float | None:
        """A number."""
        value = self.take(key)
        good = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        return None if value is None else self._need(good, key, "a number", value)

    def mapping(self, key: str) -> Mapping[str, object] | None:
        """An object."""
        value = self.take(key)
        return None if value is None else self._need(as_mapping(value), key, "an object", value)

    def items(self, key: str) -> Sequence[object]:
        """A list; empty if absent."""
        value = self.take(key)
        return () if value is None else self._need(as_sequence(value), key, "a list", value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, or one string; empty if absent."""
        value = self._left.get(key)
        items = (self.take(key),) if isinstance(value, str) else self.items(key)
        return tuple(self._need(as_text(item), key, "a list of strings", item) for item in items)

    def rest(self) -> dict[str, object]:
        """What was not taken."""
        return dict(self._left)

    def _need(self, good: _T | None, key: str, what: str, got: object) -> _T:
        if good is None:
            path = f"{self._where}.{key}" if self._where else key
            raise Undecodable(f"{path} must be {what}, got {type(got).__name__}", param=path)
        return good


def tools_in(
    fields: Fields,
) -> tuple[tuple[Mapping[str, object], ...], tuple[Mapping[str, object], ...]]:
    """A client's tools: functions, and the vendor's own kinds."""
    functions: list[Mapping[str, object]] = []
    hosted: list[Mapping[str, object]] = []
    for at, item in enumerate(fields.items("tools")):
        tool = as_mapping(item)
        if tool is None:
            raise Undecodable(f"tools[{at}] must be an object", param=f"tools[{at}]")
        (functions if tool.get("type", "function") == "function" else hosted).append(tool)
    return tuple(functions), tuple(hosted)


def effort_in(given: object, field: str) -> tuple[Effort | None, dict[str, object]]:
    """A client's effort; a word only the vendor knows stays where it was, for `extra_body`."""
    for word in EFFORTS:
        if given == word:
            return word, {}
    return None, {} if given is None else {field: given}


def decoded_request(**given: object) -> Request:
    """
    The Request of fields read from a body.

    Raises:
        Undecodable: a value Request itself refuses.
    """
    try:
        return Request(**given)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        known = next((name for name in given if name in str(error)), "tools")
        raise Undecodable(str(error), param=known) from error


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
            f"the arguments of call {call.id!r} are no JSON object, and this wire carries nothing"
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
