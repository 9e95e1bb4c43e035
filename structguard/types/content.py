"""
What is said: content parts, reasoning, tool calls, messages and tools, in no vendor's dialect.

Source: spec wire, table "Request".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from structguard.types.narrow import as_iterable, as_mapping

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image by URL (`https:` or `data:`); `detail` is the vendor's resolution hint."""

    url: str = field(repr=False)
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file by data URL in `data`, by address in `url`, or by a vendor's file `id`."""

    data: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    id: str | None = None
    filename: str | None = None


Part: TypeAlias = Text | Image | File


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """
    One ordered piece of a model's reasoning, kept so that it can be sent back unchanged.

    `text` is what can be read; `encrypted` and `signature` are the vendor's opaque proofs, `id` its
    handle; `raw` keeps the vendor's own object where it must return byte for byte. `call_id` is the
    tool call it led to and must stand before (None: it stands before the text).
    """

    text: str = ""
    id: str | None = None
    encrypted: str | None = field(default=None, repr=False)
    signature: str | None = field(default=None, repr=False)
    raw: Mapping[str, object] | None = field(default=None, repr=False)
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """
    A call the model wants made. `arguments` is the model's own text, valid JSON or not;
    `error` says why it is not. `signature` is Google's thoughtSignature, sent back with the call.
    """

    id: str
    name: str
    arguments: str
    error: str | None = None
    signature: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function the model may call; `parameters` is a JSON Schema."""

    name: str
    parameters: Mapping[str, object]
    description: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """
    One message. `content` is text or ordered parts; assistant messages may carry reasoning and
    tool calls, tool messages the `tool_call_id` they answer.
    """

    role: Role
    content: str | tuple[Part, ...] = ""
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, joined in order."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @classmethod
    def of(cls, given: Message | Mapping[str, object]) -> Message:
        """
        A message from a Chat Completions style dict; a Message is handed back as it is.

        Raises:
            TypeError: not a mapping.
            ValueError: an unknown role, content part or key; nothing is dropped silently.
        """
        if isinstance(given, Message):
            return given
        match given:
            case {"role": role, "content": str(content)} if len(given) == 2 and role in ROLES:
                return cls(role=role, content=content)  # nearly every message
            case _:
                pass
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a message must be a dict or a Message, got {type(given).__name__}")
        fields = dict(given)
        role = fields.pop("role", None)
        if role not in ROLES:
            raise ValueError(f"a message role must be one of {', '.join(ROLES)}, got {role!r}")
        fields.pop("annotations", None)  # the SDKs' own assistant dicts carry them; output only
        message = cls(
            role=role,
            content=_content(fields.pop("content", "")),
            name=_text_or_none(fields.pop("name", None), "name"),
            tool_call_id=_text_or_none(fields.pop("tool_call_id", None), "tool_call_id"),
            tool_calls=tuple(_call(call) for call in _items(fields.pop("tool_calls", None))),
            reasoning=tuple(
                item if isinstance(item, Reasoning) else Reasoning(raw=_mapping(item, "reasoning"))
                for item in _items(
                    fields.pop("reasoning_details", None) or fields.pop("reasoning", None)
                )
            ),
        )
        left = sorted(key for key, value in fields.items() if value is not None)
        if left:
            raise ValueError(
                f"a {role} message cannot have {', '.join(map(repr, left))}; it may have role,"
                " content, name, tool_call_id, tool_calls and reasoning"
            )
        return message


def _items(given: object) -> tuple[object, ...]:
    if given is None:
        return ()
    items = as_iterable(given)
    if items is None:
        raise ValueError(f"expected a list, got {type(given).__name__}")
    return tuple(items)


def _mapping(given: object, what: str) -> Mapping[str, object]:
    mapping = as_mapping(given)
    if mapping is None:
        raise ValueError(f"{what} must be an object, got {type(given).__name__}")
    return mapping


def _text_or_none(given: object, what: str) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise ValueError(f"{what} must be a string, got {type(given).__name__}")


def _content(given: object) -> str | tuple[Part, ...]:
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    return tuple(_part(part) for part in _items(given))


def _part(given: object) -> Part:
    if isinstance(given, Text | Image | File):
        return given
    if isinstance(given, str):
        return Text(given)
    part = _mapping(given, "a content part")
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return Text(_required(part, "text"))
        case "image_url" | "input_image":
            return _image(part)
        case "file" | "input_file":
            return _file(_mapping(part["file"], "file") if "file" in part else part)
        case other:
            raise ValueError(
                f"unknown content part type {other!r}: a part is a text, an image_url or a file"
            )


def _image(part: Mapping[str, object]) -> Image:
    nested = as_mapping(part.get("image_url"))
    if nested is not None:
        return Image(
            url=_required(nested, "url"), detail=_text_or_none(nested.get("detail"), "detail")
        )
    return Image(
        url=_required(part, "image_url"), detail=_text_or_none(part.get("detail"), "detail")
    )


def _file(file: Mapping[str, object]) -> File:
    return File(
        data=_text_or_none(file.get("file_data"), "file_data"),
        url=_text_or_none(file.get("file_url"), "file_url"),
        id=_text_or_none(file.get("file_id"), "file_id"),
        filename=_text_or_none(file.get("filename"), "filename"),
    )


def _required(part: Mapping[str, object], key: str) -> str:
    value = part.get(key)
    if not isinstance(value, str):
        raise ValueError(f"content part {part.get('type')!r} needs a string {key!r}")
    return value


def _call(given: object) -> ToolCall:
    if isinstance(given, ToolCall):
        return given
    call = _mapping(given, "a tool call")
    function = _mapping(call.get("function"), "function")
    return ToolCall(
        id=_required(call, "id"),
        name=_required(function, "name"),
        arguments=_required(function, "arguments"),
        signature=_signature(call),
    )


def _signature(call: Mapping[str, object]) -> str | None:
    """The thought signature that Google's compatible endpoint puts on a call, and wants back."""
    google = as_mapping((as_mapping(call.get("extra_content")) or {}).get("google")) or {}
    return _text_or_none(google.get("thought_signature"), "thought_signature")
