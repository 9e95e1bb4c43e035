"""Requests that the tables of every wire are tried with."""

from __future__ import annotations

from typing import cast

from structguard.types import (
    File,
    Image,
    JsonSchema,
    Message,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
)

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FORMAT = JsonSchema(schema=SCHEMA, name="Place", strict=True)
WEATHER = Tool(
    name="weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
CALL = ToolCall(id="call_1", name="weather", arguments='{"city":"Oslo"}')
USER = Message(role="user", content="hi")
PNG = "data:image/png;base64,aGk="
PDF = "data:application/pdf;base64,aGk="
MEDIA = Message(
    role="user",
    content=(
        Text("look"),
        Image(url="https://example.com/a.png"),
        Image(url=PNG),
        File(data=PDF, filename="paper.pdf"),
    ),
)
TURNS = (
    USER,
    Message(role="assistant", content="one moment", tool_calls=(CALL,)),
    Message(role="tool", tool_call_id="call_1", content="rain"),
)


def ask(*messages: Message, **fields: object) -> Request:
    """A request for model `m` with these messages, "hi" if there are none."""
    return Request(messages=messages or (USER,), model="m", **fields)  # type: ignore[arg-type]


def thought(*reasoning: Reasoning, text: str = "", calls: tuple[ToolCall, ...] = ()) -> Message:
    """An assistant message with reasoning."""
    return Message(role="assistant", content=text, reasoning=reasoning, tool_calls=calls)


def only(value: object) -> dict[str, object]:
    """The one object of a list."""
    [one] = cast("list[dict[str, object]]", value)
    return one
