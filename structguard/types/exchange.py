"""
A request and what comes back for it: formats, Request, Completion, Usage and stream events.

Source: DESIGN "Public face", spec wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Literal, TypeAlias

from structguard.types.content import Message, Reasoning, Tool, ToolCall
from structguard.types.faults import Refusal
from structguard.types.narrow import as_mapping, as_text


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """
    A format: the answer must fit this JSON Schema.

    `name` is what the vendor is told (None: derived from the digest), `source` the Python type the
    schema was made from, so that a value can be built from the answer. `packed` names the schema's
    content where `schema.as_format` made a copy of it that nobody changes.
    """

    schema: Mapping[str, object]
    name: str | None = None
    strict: bool | None = None
    description: str | None = None
    source: object = field(default=None, repr=False, compare=False)
    packed: bytes | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A format: the answer must be one JSON object of any shape."""


Format: TypeAlias = JsonSchema | JsonObject

Effort: TypeAlias = Literal["minimal", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[Effort, ...] = ("minimal", "low", "medium", "high", "xhigh")
_EFFORT_BOUNDS: tuple[tuple[int, Effort], ...] = (
    (1, "minimal"),
    (25, "low"),
    (60, "medium"),
    (90, "high"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One call to a model, independent of any vendor's API.

    `messages` are dicts as in Chat Completions, or `Message` values. `response_format` is a Pydantic
    model, a type that a TypeAdapter accepts, an OpenAI `response_format` dict, a bare JSON Schema or
    None. `tools` are function tools; `hosted_tools` are the vendor's own tools (web search, …) as
    its dicts, and an error for an API that has none. With `tools_first`, the format is left out if
    the endpoint does not support both. `effort` is a word or a number from 0 to 100. `timeout` is
    the budget of the whole call in seconds, retries included; `attempts` limits the transport
    attempts (None: as the provider is configured). `extra_body` is added to the body last.
    `provider` selects one link of a chain, `partition` the breaker state that applies. `user` names
    the caller in events.

    Raises:
        TypeError, ValueError: Messages, tools or numbers of the wrong shape or range.
    """

    messages: Sequence[Message | Mapping[str, object]]
    response_format: object = None
    model: str | None = None
    tools: Sequence[Tool | Mapping[str, object]] = ()
    hosted_tools: Sequence[Mapping[str, object]] = ()
    tool_choice: str | None = None  # auto, none, any, or a tool's name
    tools_first: bool = False
    max_tokens: int | None = None
    effort: Effort | int | None = None
    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: Sequence[str] = ()
    previous_response_id: str | None = None
    store: bool | None = None
    include: Sequence[str] = ()
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])
    timeout: float | None = None
    attempts: int | None = None
    provider: str | None = None
    partition: str = ""
    user: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.messages, str | bytes | Mapping):
            raise TypeError("messages must be a list of messages, not one message")
        if not hasattr(self.messages, "__iter__"):
            raise TypeError(f"messages must be a list of messages, got {self.messages!r}")
        object.__setattr__(
            self, "messages", tuple(Message.of(message) for message in self.messages)
        )
        object.__setattr__(self, "tools", tuple(_tool(tool) for tool in self.tools))
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be more than 0 seconds, got {self.timeout!r}")
        if self.attempts is not None and self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens!r}")
        if isinstance(self.effort, str) and self.effort not in EFFORTS:
            raise ValueError(
                f"effort must be from 0 to 100 or one of {', '.join(EFFORTS)}, got {self.effort!r}"
            )

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages as they were normalised."""
        return tuple(Message.of(message) for message in self.messages)

    @property
    def functions(self) -> tuple[Tool, ...]:
        """The tools as they were normalised."""
        return tuple(_tool(tool) for tool in self.tools)

    def derive(self, **changes: object) -> Request:
        """
        A copy with these fields changed and nothing normalised or checked again: for layers that
        change what they know to be sound. Half the cost of `dataclasses.replace`, on every call.
        """
        copy = object.__new__(Request)
        for slot, value in zip(_SLOTS, _values(self), strict=True):
            slot(copy, value)
        for name, value in changes.items():
            object.__setattr__(copy, name, value)
        return copy

    @property
    def effort_level(self) -> Effort | None:
        """The effort as a word: 0 or less minimal, <25 low, <60 medium, <90 high, else xhigh."""
        if not isinstance(self.effort, int):
            return self.effort
        for bound, word in _EFFORT_BOUNDS:
            if self.effort < bound:
                return word
        return "xhigh"


_NAMES = tuple(item.name for item in fields(Request))
_SLOTS = tuple(getattr(Request, name).__set__ for name in _NAMES)
_values = attrgetter(*_NAMES)


def _tool(given: Tool | Mapping[str, object]) -> Tool:
    if isinstance(given, Tool):
        return given
    tool = as_mapping(given)
    if tool is None:
        raise TypeError(f"a tool must be a dict or a Tool, got {type(given).__name__}")
    function = as_mapping(tool.get("function", tool))
    if tool.get("type", "function") != "function" or function is None:
        raise ValueError(
            f"only function tools go in tools, got type {tool.get('type')!r}: a vendor's own tools"
            " go in hosted_tools"
        )
    name = as_text(function.get("name"))
    odd = [key for key in function if "schema" in key.lower()]  # another vendor's name for it
    if odd and not function.get("parameters"):
        raise ValueError(f"a tool's JSON Schema goes in 'parameters', got {', '.join(odd)}")
    parameters = as_mapping(function.get("parameters") or {"type": "object", "properties": {}})
    if name is None or parameters is None:
        raise ValueError("a tool needs a string 'name' and an object 'parameters'")
    return Tool(
        name=name,
        parameters=parameters,
        description=as_text(function.get("description")),
        strict=bool(function.get("strict")),
    )


def require_request(request: object) -> None:
    """
    See to it that what a caller passed to `complete` or `stream` is a request.

    Raises:
        TypeError: It is something else, such as a prompt.
    """
    if not isinstance(request, Request):
        raise TypeError(
            f"a structguard.Request is needed, got {type(request).__qualname__}: write"
            ' Request(model=…, messages=[{"role": "user", "content": …}])'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the vendor reports them; None where it says nothing."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    reasoning: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None


Finish: TypeAlias = Literal["stop", "length", "tool_calls", "filtered", "declined", "error"]


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Completion:
    """
    One reply of a model.

    `enforced` is True if the endpoint accepted the format, False if the format was left out, and
    None if the call had none. `requests` counts all HTTP requests that the call took. `refusal` is
    what it was rescued from, `repairs` lists what was changed in the text, and `metadata` holds what
    the vendor said besides the answer. If the model declined, `text` holds its words and `finish` is
    `declined`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    reasoning: tuple[Reasoning, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    id: str | None = None
    provider: str | None = None
    enforced: bool | None = None
    requests: int = 1
    refusal: Refusal | None = None
    repairs: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def reasoning_text(self) -> str:
        """The readable parts of the reasoning, joined in order."""
        return "".join(part.text for part in self.reasoning)

    @property
    def message(self) -> Message:
        """The assistant message for the next request, with reasoning and calls."""
        return Message(
            role="assistant",
            content=self.text,
            tool_calls=self.tool_calls,
            reasoning=self.reasoning,
        )

    @property
    def answered(self) -> bool:
        """Whether there is anything to use: text, a tool call or a decline."""
        return bool(self.text.strip() or self.tool_calls) or self.finish == "declined"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The answer grew by this text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The readable reasoning grew by this text."""

    text: str


@dataclass(frozen=True, slots=True)
class DeclineDelta:
    """The model's words of declining grew by this text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool call is whole; each is given out once, in the order the model made them."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Finished:
    """The stream is over; always the last event, with the whole reply."""

    completion: Completion


StreamEvent: TypeAlias = TextDelta | ReasoningDelta | DeclineDelta | ToolCalled | Finished
