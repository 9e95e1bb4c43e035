"""A client's Responses body → neutral request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from structguard.schema import as_format
from structguard.types import (
    Format,
    Message,
    Part,
    Reasoning,
    Request,
    Role,
    ToolCall,
    as_mapping,
    as_text,
)
from structguard.wire.base import Undecodable
from structguard.wire.fields import Fields, decoded_request, effort_in, plain, tools_in
from structguard.wire.responses.reply import reasoning_of

_CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "required": "any"}
_ROLES: Mapping[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}


def decode_request(body: Mapping[str, object]) -> Request:
    """
    The neutral request; `stream` is the caller's to read. References to stored items and
    compacted history must be resolved before: they are refused here.
    Source: OpenAI API reference, Responses; the Open Responses document.
    """
    fields = Fields(body)
    if fields.flag("background"):
        raise Undecodable("background responses are not supported", param="background")
    functions, hosted = tools_in(fields)
    format_, text = _format(fields.mapping("text"))
    effort, reasoning = _effort(fields.mapping("reasoning"))
    fields.take("stream")
    return decoded_request(
        messages=_messages(fields.text("instructions"), fields.take("input")),
        model=fields.text("model"),
        response_format=format_,
        tools=functions,
        hosted_tools=hosted,
        tool_choice=_choice(fields.take("tool_choice")),
        max_tokens=fields.whole("max_output_tokens"),
        effort=effort,
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        frequency_penalty=fields.number("frequency_penalty"),
        presence_penalty=fields.number("presence_penalty"),
        previous_response_id=fields.text("previous_response_id"),
        store=fields.flag("store"),
        include=fields.texts("include"),
        extra_body={**text, **reasoning, **fields.rest()},
    )


def _format(text: Mapping[str, object] | None) -> tuple[Format | None, dict[str, object]]:
    if text is None:
        return None, {}
    rest = {key: value for key, value in text.items() if key != "format" and value is not None}
    try:
        format_ = as_format(as_mapping(text.get("format")))
    except (TypeError, ValueError) as error:
        raise Undecodable(str(error), param="text.format") from error
    return format_, {"text": rest} if rest else {}


def _effort(reasoning: Mapping[str, object] | None) -> tuple[object, dict[str, object]]:
    fields = Fields(reasoning or {}, "reasoning")
    effort, unknown = effort_in(fields.take("effort"), "effort")
    rest = {**unknown, **fields.rest()}
    return effort, {"reasoning": rest} if rest else {}


def _choice(choice: object) -> str | None:
    if choice is None:
        return None
    if isinstance(choice, str) and choice in _CHOICES:
        return _CHOICES[choice]
    function = as_mapping(choice) or {}
    name = as_text(function.get("name"))
    if function.get("type") != "function" or name is None:
        raise Undecodable(
            "tool_choice must be auto, none, required or one function", param="tool_choice"
        )
    return name


def _messages(instructions: str | None, value: object) -> tuple[Message, ...]:
    conversation = _Conversation()
    if instructions:
        conversation.messages.append(Message(role="system", content=instructions))
    if isinstance(value, str):
        conversation.messages.append(Message(role="user", content=value))
    else:
        for at, entry in enumerate(Fields({"input": value}).items("input")):
            item, where = as_mapping(entry) or {}, f"input[{at}]"
            if item.get("type") == "item_reference":
                text = f"there is no item {item.get('id')!r} here: send the item itself"
                raise Undecodable(text, param=f"{where}.id")
            try:
                conversation.add(item)
            except (TypeError, ValueError) as error:
                raise Undecodable(f"{where}: {error}", param=where) from error
    return conversation.whole()


@dataclass(slots=True)
class _Conversation:
    """
    Items → messages. A text, the calls right after it and the reasoning between them are ONE
    assistant message; reasoning that stands before a call is tied to it.
    """

    messages: list[Message] = field(default_factory=list[Message])
    _open: Message | None = None  # the assistant message that may still get calls
    _pending: tuple[Reasoning, ...] = ()

    def add(self, item: Mapping[str, object]) -> None:
        """One item; a message may come without a type."""
        match item.get("type", "message"):
            case "message":
                self._message(item)
            case "reasoning":
                self._pending += (reasoning_of(item),)
            case "function_call":
                self._call(item)
            case "function_call_output":
                self._close()
                output = item.get("output")
                content = output if isinstance(output, str) else _content(output)
                call_id = as_text(item.get("call_id"))
                if not call_id:
                    raise ValueError("a function_call_output needs a string 'call_id'")
                self.messages.append(Message(role="tool", content=content, tool_call_id=call_id))
            case other:
                raise ValueError(f"items of type {other!r} cannot be carried here")

    def whole(self) -> tuple[Message, ...]:
        """All messages."""
        self._close()
        return tuple(self.messages)

    def _message(self, item: Mapping[str, object]) -> None:
        self._close(keep_pending=True)
        role = _ROLES.get(item.get("role"))
        if role is None:
            raise ValueError(f"a message role must be one of {', '.join(_ROLES.values())}")
        content = _content(item.get("content"))
        if role == "assistant":
            self._open = Message(role=role, content=content, reasoning=self._pending)
            self._pending = ()
        else:
            self._close()
            self.messages.append(Message(role=role, content=content))

    def _call(self, item: Mapping[str, object]) -> None:
        call = ToolCall(
            id=as_text(item.get("call_id")) or "",
            name=as_text(item.get("name")) or "",
            arguments=as_text(item.get("arguments")) or "",
        )
        if not call.id or not call.name:
            raise ValueError("a function_call needs a string 'call_id' and a string 'name'")
        tied = tuple(replace(part, call_id=call.id) for part in self._pending)
        self._pending = ()
        before = self._open or Message(role="assistant")
        self._open = replace(
            before,
            tool_calls=(*before.tool_calls, call),
            reasoning=(*before.reasoning, *tied),
        )

    def _close(self, *, keep_pending: bool = False) -> None:
        if self._open is not None:
            self.messages.append(self._open)
            self._open = None
        if self._pending and not keep_pending:  # reasoning that led to nothing
            self.messages.append(Message(role="assistant", reasoning=self._pending))
            self._pending = ()


def _content(value: object) -> str | tuple[Part, ...]:
    """One text part is text; a refusal is text too."""
    if isinstance(value, str):
        return value
    parts = Message.of(
        {"role": "user", "content": [_plain(part) for part in _listed(value)]}
    ).content
    return parts if isinstance(parts, str) else plain(parts)


def _listed(value: object) -> Sequence[object]:
    return Fields({"content": value}).items("content")


def _plain(part: object) -> object:
    fields = as_mapping(part)
    if fields is not None and fields.get("type") == "refusal":
        return {"type": "text", "text": fields.get("refusal")}
    return {key: value for key, value in fields.items() if value is not None} if fields else part
