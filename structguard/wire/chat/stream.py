"""Chat Completions chunks → stream events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from structguard.types import (
    DeclineDelta,
    Format,
    Reasoning,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
    as_mapping,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, Headers, WireOptions
from structguard.wire.chat.reply import (
    NOTES,
    decode_reply,
    detail,
    finish_of,
    legacy_call,
    raise_error,
    signature_of,
    split_content,
    thought_of,
    usage_of,
    whole_call,
)
from structguard.wire.chat.request import REASONING_FIELDS
from structguard.wire.headers import metadata
from structguard.wire.payload import as_dict, as_list, dumps
from structguard.wire.reply import Reply, finished
from structguard.wire.shortcut import Shortcut
from structguard.wire.stream import SseDecoder

_JOINED = ("text", "summary", "data", "signature")  # what grows in a streamed reasoning detail


def open_stream(
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> SseDecoder:
    """A decoder for one streamed chat completion. Source: OpenAI API reference, Chat streaming."""
    reader = _Chunks(headers, format)
    return SseDecoder(
        reader,
        lambda body: decode_reply(body, headers, format=format, options=options),
        headers,
        Shortcut(b'"content":"', reader.plain),
    )


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    signature: str | None = None

    def ends(self, id: str | None, name: str, *, numbered: bool) -> bool:  # noqa: A002
        """Whether a piece with this id and name begins another call, at the same index or without."""
        if id is not None and self.id is not None:
            return id != self.id and (bool(name) or not numbered)
        return bool(name and self.name) and not numbered and self.whole(0).error is None

    def whole(self, at: int) -> ToolCall:
        """The call as far as it has come."""
        return whole_call(self.id, self.name, "".join(self.arguments), at, self.signature)


class _Chunks:
    """Reads chunks of the first choice; calls are whole, and given out, at the finish."""

    __slots__ = ("_calls", "_details", "_ended", "_format", "_latest", "_open", "_probabilities",
                 "_reply", "_thoughts")  # fmt: skip

    def __init__(self, headers: Headers, format: Format | None) -> None:  # noqa: A002
        self._format = format
        self._reply = Reply(metadata=metadata(headers))
        self._calls: dict[tuple[int, int], _Call] = {}  # by index, and which one of that index
        self._open: dict[int, tuple[int, int]] = {}  # the one that grows at each index
        self._latest: tuple[int, int] | None = None  # the last in order
        self._probabilities: dict[str, list[object]] = {}  # the log-probabilities, as they came
        self._details: dict[object, dict[str, object]] = {}
        self._thoughts: dict[str, list[str]] = {}
        self._ended = False

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> bool:
        """One chunk; the reply is over only with `[DONE]` or the end of the bytes."""
        choices = as_list(event.get("choices"))
        choice = as_dict(choices[0]) if choices else None
        if choice is not None and not choice.get("index"):
            self._grow(choice, out)
        if event.get("error") or event.get("object") == "error":
            raise_error(event)  # before the finish: it says more than a finish reason of error
        if choice is not None and not choice.get("index"):
            self._finish(choice, out)
        if event.get("usage"):
            self._reply.usage = usage_of(event["usage"])
        if self._reply.id is None:
            self._begin(event)
        return False

    def plain(self, event: Mapping[str, object]) -> list[str] | None:
        """See `Shortcut`: a chunk with one choice that only grew, by text."""
        choices = as_list(event.get("choices")) or ()
        choice = as_dict(choices[0]) if len(choices) == 1 else None
        delta = as_dict(choice.get("delta")) if choice is not None else None
        if choice is None or delta is None or delta.keys() != {"content"}:
            return None
        other = (
            choice.get("finish_reason"),
            choice.get("index"),
            choice.get("logprobs"),
            event.get("usage"),
        )
        return None if any(other) or not as_text(delta["content"]) else self._reply.text

    def _grow(self, choice: Mapping[str, object], out: list[StreamEvent]) -> None:
        delta = as_dict(choice.get("delta"))
        if delta is None:  # a server that streams whole messages
            delta = as_dict(choice.get("message"))
        if probabilities := as_dict(choice.get("logprobs")):
            for name, tokens in probabilities.items():
                self._probabilities.setdefault(name, []).extend(as_list(tokens) or ())
        if delta is not None:
            content = as_text(delta.get("content"))
            if content:
                self._reply.text.append(content)
                out.append(TextDelta(content))
            if content is None or len(delta) > 1:
                self._rest(delta, out)

    def end(self, out: list[StreamEvent]) -> bool:
        """`[DONE]` or the end of the bytes: whole if a finish reason came before."""
        if not self._ended:
            return False
        if self._probabilities:
            self._reply.metadata["logprobs"] = self._probabilities
        out.extend(finished(self._reply, self._format))
        return True

    def _begin(self, event: Mapping[str, object]) -> None:
        self._reply.id = as_text(event.get("id")) or None
        self._reply.model = as_text(event.get("model")) or self._reply.model
        for key in NOTES:
            if value := event.get(key):
                self._reply.metadata[key] = value

    def _rest(self, delta: Mapping[str, object], out: list[StreamEvent]) -> None:
        """What a delta may hold beside plain text."""
        for call in as_list(delta.get("tool_calls")) or ():
            self._call(as_mapping(call) or {})
        if not delta.get("tool_calls") and (legacy := legacy_call(delta)) is not None:
            self._call(legacy)
        self._reply.note("annotations", delta.get("annotations"))
        if details := as_list(delta.get("reasoning_details")):
            self._detail(details, out)
        else:
            self._think(delta, out)
        if refusal := as_text(delta.get("refusal")):
            self._reply.declined.append(refusal)
            out.append(DeclineDelta(refusal))
        if parts := as_list(delta.get("content")):
            self._content(parts, out)

    def _content(self, value: list[object], out: list[StreamEvent]) -> None:
        text, thought = split_content(value)
        if thought:
            self._thoughts.setdefault("", []).append(thought)
            out.append(ReasoningDelta(thought))
        if text:
            self._reply.text.append(text)
            out.append(TextDelta(text))

    def _think(self, delta: Mapping[str, object], out: list[StreamEvent]) -> None:
        for name in REASONING_FIELDS:
            if text := as_text(delta.get(name)):
                self._thoughts.setdefault(name, []).append(text)
                out.append(ReasoningDelta(text))
                return  # some servers send the same text under both names

    def _detail(self, details: list[object], out: list[StreamEvent]) -> None:
        grown = ""
        for item in details:
            raw = as_mapping(item) or {}
            merged = self._details.setdefault((raw.get("type"), raw.get("index", 0)), {})
            for name, value in raw.items():
                before = merged.get(name)
                if name in _JOINED and isinstance(before, str) and isinstance(value, str):
                    merged[name] = before + value
                elif value is not None or name not in merged:
                    merged[name] = value
            grown += as_text(raw.get("text")) or as_text(raw.get("summary")) or ""
        if grown:
            out.append(ReasoningDelta(grown))

    def _call(self, delta: Mapping[str, object]) -> None:
        id_ = as_text(delta.get("id")) or None
        function = as_mapping(delta.get("function")) or {}
        name = as_text(function.get("name")) or ""
        call = self._growing(delta.get("index"), id_, name)
        call.id = call.id or id_
        call.signature = call.signature or signature_of(delta)
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:  # some servers give the object itself
            call.arguments.append(dumps(arguments))

    def _growing(self, at: object, id: str | None, name: str) -> _Call:  # noqa: A002
        """
        The call a piece belongs to. Some servers leave the index out, or give every call the same:
        there another id is another call, and so is another name once the arguments are whole.
        """
        numbered = isinstance(at, int)
        key = self._open.get(at) if isinstance(at, int) else self._latest
        if key is None:
            key = (at if isinstance(at, int) else 0, 0)
        elif self._calls[key].ends(id, name, numbered=numbered):
            key = (key[0], key[1] + 1)
        self._open[key[0]] = key
        self._latest = max(self._latest or key, key)
        return self._calls.setdefault(key, _Call())

    def _finish(self, choice: Mapping[str, object], out: list[StreamEvent]) -> None:
        reason = choice.get("finish_reason")
        if not reason or self._ended:  # some servers send "" until the end
            return
        raise_error(choice)
        self._ended = True
        reply = self._reply
        reply.finish = finish_of(reason)
        reply.reasoning += [detail(raw) for raw in self._details.values()]
        for name, pieces in self._thoughts.items():
            text = "".join(pieces)
            reply.reasoning.append(
                Reasoning(text=text, raw={name: text}) if name else thought_of(text)
            )
        for at, key in enumerate(sorted(self._calls)):
            whole = self._calls[key].whole(at)
            reply.calls.append(whole)
            out.append(ToolCalled(whole))
