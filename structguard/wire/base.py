"""
What every wire offers: a module of plain, pure functions that satisfies `Wire`.

A wire maps neutral values to one vendor's JSON and back; it opens no socket and knows no key.

    body = chat.encode_request(request, format=format, stream=False)     # Unencodable: send nothing
    url = base_url + chat.path(model, stream=False)
    completion = chat.decode_reply(raw, headers, format=format)          # BadReply: holds a Failure
    failure = chat.failure(status, headers, raw)                         # any status but 2xx
    kind, message, details = chat.classify(failure)

A stream is read with one decoder a response. `feed` never raises: a fault ends the stream, the
events before it are still handed out, and `close`, which is always called, raises it.

    decoder = chat.open_stream(headers, format=format)
    for chunk in response:
        for event in decoder.feed(chunk): ...
        if decoder.done:
            break                       # a terminal event: the socket may stay open, do not wait
    for event in decoder.close(): ...   # leftovers; BadReply for a fault or a cut stream

Converse speaks a binary event stream that botocore decodes: there `feed_event` takes each event as
the mapping botocore gives (`{"contentBlockDelta": {...}}`), and `feed` one such event as JSON.

Source: spec wire, spec errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from structguard.types import Api, Completion, Failure, Format, Kind, Request, StreamEvent

Headers: TypeAlias = Mapping[str, str]  # names in any case
Verdict: TypeAlias = tuple[Kind, str, Mapping[str, object]]
Body: TypeAlias = dict[str, object]


class Unencodable(ValueError):
    """
    A request holds what this wire cannot carry; nothing may be sent.

    `param` names the field of the neutral request. Providers make it `invalid_request`.
    """

    def __init__(self, message: str, *, param: str) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class Undecodable(ValueError):
    """A client's request body is not what this wire takes; `param` is the path of the fault."""

    def __init__(self, message: str, *, param: str) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class BadReply(Exception):
    """A reply or a stream that cannot be a completion; `failure` holds the facts to classify."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class WireOptions:
    """
    The dialect of an endpoint or of one model. Options that an API does not know are ignored.

    Args:
        reasoning: Treat every request as a reasoning request, as if it had an effort. This is never
            guessed from a model's name.
        developer_role: The endpoint accepts the role developer; otherwise it is sent as system.
        needs_json_word: The endpoint requires the word "json" in a message with any format.
        max_tokens: Limit for requests that set none; not sent with reasoning requests.
        structured: `tool` sends the format as a forced tool call (messages, converse).
        format_with_tools: Whether the endpoint supports a format and tools in one request.
        stream_usage: Ask for token counts in chat streams.
    """

    reasoning: bool = False
    developer_role: bool = False
    needs_json_word: bool = False
    max_tokens: int | None = None  # tokens
    structured: Literal["native", "tool"] = "native"
    format_with_tools: bool = True
    stream_usage: bool = True


DEFAULTS = WireOptions()


class StreamDecoder(Protocol):
    """
    Reads one streamed reply. Bytes may be cut anywhere. `done` once a terminal event or a fault was
    read; what is fed after that is ignored.
    """

    @property
    def done(self) -> bool: ...
    def feed(self, data: bytes, /) -> list[StreamEvent]:
        """The events that became whole with these bytes. Never raises."""
        ...

    def close(self) -> list[StreamEvent]:
        """
        The events that were still held back.

        Raises:
            BadReply: the stream told of an error, or ended without a terminal event
                (`failure.truncated`); `failure.yielded` says whether an event had been given out.
        """
        ...


class Wire(Protocol):
    """One wire API; the modules `responses`, `chat`, `messages`, `converse`, `generate_content`."""

    @property
    def API(self) -> Api: ...  # noqa: N802  a module constant

    def encode_request(
        self,
        request: Request,
        *,
        format: Format | None = None,  # noqa: A002  the field's word
        stream: bool = False,
        options: WireOptions = DEFAULTS,
    ) -> Body:
        """
        The vendor's JSON body. `format` is what is to be sent, whatever the request names: None
        sends none, and what belongs to the format goes with it.

        Raises:
            Unencodable: the wire has no place for something the request holds.
        """
        ...

    def path(self, model: str, /, *, stream: bool = False) -> str:
        """What follows the base URL, with a leading slash; the model is percent-encoded."""
        ...

    def decode_reply(
        self,
        body: bytes,
        headers: Headers = ...,
        *,
        format: Format | None = None,  # noqa: A002
        options: WireOptions = DEFAULTS,
    ) -> Completion:
        """
        The completion in a 2xx body. `format` is what was sent: `enforced` says so.

        Raises:
            BadReply: not JSON, no output, or an error object in a 200.
        """
        ...

    def open_stream(
        self,
        headers: Headers = ...,
        *,
        format: Format | None = None,  # noqa: A002
        options: WireOptions = DEFAULTS,
    ) -> StreamDecoder:
        """A decoder for one streamed 2xx reply."""
        ...

    def failure(
        self, status: int | None, headers: Headers, body: bytes | str, /, *, now: float | None = ...
    ) -> Failure:
        """
        The facts of a reply that is not 2xx; never raises, whatever the body is. `now` (seconds
        since the epoch) dates a Retry-After where the headers have no Date.
        """
        ...

    def classify(self, failure: Failure, /) -> Verdict:
        """Kind, message and details: code and type first, then status, then text. Pure."""
        ...

    def decode_request(self, body: Mapping[str, object], /) -> Request:
        """
        The neutral request in a client's body: what `encode_request` wrote, and what else fits.
        `stream` is the caller's to read; unknown fields go to `extra_body`; null is absent.

        Raises:
            Undecodable: a field that is not what it should be.
        """
        ...


NO_HEADERS: Headers = MappingProxyType({})


def is_reasoning(request: Request, options: WireOptions) -> bool:
    """Whether this is a reasoning request: an effort is set, or the model entry says so."""
    return options.reasoning or request.effort is not None


def sendable_format(
    request: Request,
    format: Format | None,  # noqa: A002
    options: WireOptions = DEFAULTS,
) -> Format | None:
    """
    The format to send, asked before the flow: None where `tools_first` leaves it out for tools
    that cannot go with it (the reply then says `enforced=False`).

    Raises:
        Unencodable: the endpoint takes format and tools only apart and `tools_first` is not set.
    """
    apart = options.structured == "tool" or not options.format_with_tools
    if format is None or not request.tools or not apart:
        return format
    if request.tools_first:
        return None
    raise Unencodable(
        "this endpoint cannot take a format and tools in one request; set tools_first=True to send"
        " the tools without the format, or leave the tools out",
        param="response_format",
    )


def left_out(request: Request, options: WireOptions = DEFAULTS) -> tuple[str, ...]:
    """The sampling fields that responses and chat do not send with a reasoning request."""
    if not is_reasoning(request, options):
        return ()
    return tuple(name for name in ("temperature", "top_p") if getattr(request, name) is not None)
