"""
One client's request on its way: the body as it came, and what is known of how it was served.

A `Turn` rides in the neutral Request that chains and breakers see; an upstream of the same wire
takes the body as it is, any other asks for its neutral form.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import orjson

from structguard.clients.bodies import format_of, has_format
from structguard.clients.call import BodyCall
from structguard.gateway.cutting import Member, cut, last_member
from structguard.gateway.faults import ApiError
from structguard.gateway.translate import readable
from structguard.gateway.writing import packed
from structguard.types import Api, Format, Request, as_mapping
from structguard.wire.base import Undecodable
from structguard.wire.table import WIRES

Mode = Literal["guard", "native", "off"]
RAW = "structguard.raw"
"""Where a completion's metadata holds the reply of an upstream that spoke the client's own wire."""

_SHOWN = 500  # characters of a warning: metadata takes 512 (the Open Responses document)
_LARGE = 256 * 1024  # bytes
_TEMPLATE = Request(messages=())
_KEY = "structguard.turn"
_PLACE = re.compile(r"\binput\[(\d+)\]")

CLIENT: ContextVar[Mapping[str, str]] = ContextVar(
    "structguard_client_headers",
    default=MappingProxyType({}),
)
"""The client's headers that may go upstream."""


@dataclass(slots=True)
class Served:
    """How a request was served, as far as it is known; `source` of a stream only at its end."""

    provider: str = ""
    enforced: bool | None = None
    requests: int = 1
    source: str | None = None
    warning: str = ""

    def read_in_vain(self) -> None:
        """Note that the answer's text holds no value: whoever took the format did not enforce it."""
        if self.enforced and self.source is None:
            self.enforced = False

    def headers(self) -> dict[str, str]:
        """The honest headers."""
        told = {"x-structguard-requests": str(self.requests)}
        if self.provider:
            told["x-structguard-provider"] = self.provider
        if self.enforced is not None:
            told["x-structguard-enforced"] = "true" if self.enforced else "false"
        if self.source is not None:
            told["x-structguard-source"] = self.source
        if self.warning:
            told["x-structguard-warning"] = header_text(self.warning)
        return told

    def raw_headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The same as a server sends them; nearly always made before."""
        return _raw_headers(self.provider, self.enforced, self.requests, self.source, self.warning)


def header_text(text: str) -> str:
    """A text that names what a client sent, as a header and a resource's metadata can hold it."""
    shown = "".join(mark if mark.isprintable() else "?" for mark in text[:_SHOWN])
    return f"{shown}..." if len(text) > _SHOWN else shown


@lru_cache(maxsize=1024)
def _raw_headers(
    provider: str,
    enforced: bool | None,  # noqa: FBT001  a key of the cache
    requests: int,
    source: str | None,
    warning: str,
) -> Sequence[tuple[bytes, bytes]]:
    told = Served(provider, enforced, requests, source, warning).headers()
    return tuple(
        (name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in told.items()
    )


@dataclass(slots=True, kw_only=True)
class Turn:
    """
    One request. `raw` are the bytes of `body`, None once the body was changed; `mode` is the
    client's, `timeout` its deadline in seconds, `scope` a digest of its credential; `seen` is what
    chains and breakers were last shown, `links` who answers, `format` the body's where it is known;
    `before` counts the input's items that the client did not send but had sent earlier.
    """

    api: Api
    body: dict[str, object]
    raw: bytes | None
    mode: Mode = "guard"
    timeout: float | None = None
    scope: str = ""
    served: Served = field(default_factory=Served)
    seen: Request = _TEMPLATE
    links: Sequence[tuple[str, str]] = ()
    format: Format | None = None
    before: int = 0
    _neutral: Request | None = None
    _member: Member | None = None

    @property
    def model(self) -> str:
        """The model the client named."""
        return str(self.body.get("model") or "")

    @property
    def streams(self) -> bool:
        """Whether the client wants a stream."""
        return self.body.get("stream") is True

    @property
    def guardable(self) -> bool:
        """Whether it asks for JSON, and the guard is on."""
        return self.mode != "off" and has_format(self.body, self.api)

    @property
    def quotes(self) -> bool:
        """Whether a text of the body may hold a quotation mark: JSON writes one behind a backslash."""
        return self.raw is None or b"\\" in self.raw

    def asked(self) -> Format | None:
        """
        The format the client asked for.

        Raises:
            ApiError: it is none.
        """
        if self.format is None:
            try:
                self.format = format_of(self.body, self.api)
            except (ValueError, TypeError) as error:
                raise self.bad_format(error) from error
        return self.format

    def read(self, body: Mapping[str, object], api: Api) -> Format | None:
        """
        The format of its own body; nearly always read before, where it was left out before.

        Raises:
            ValueError: it is none.
        """
        if self.raw is not None and self.api == "chat":
            self._member = last_member(self.raw)
        return format_of(body, api) if self._member is None else self._member.format

    def without(self, asked: BodyCall) -> bytes | None:
        """Its body without the format, where that can be cut out of its bytes: the same each time."""
        member = self._member
        if member is None or self.raw is None or asked.model != self.body.get("model"):
            return None
        return cut(self.raw, member, told=asked.must_tell(member.format))

    def bad_format(self, error: Exception) -> ApiError:
        """The error of a format that cannot be read."""
        param = "response_format" if self.api == "chat" else "text.format"
        return ApiError(400, str(error), param=param)

    def content(self, model: str) -> bytes:
        """The body with this model's name, as it came where nothing was changed."""
        if self.raw is not None and model == self.body.get("model"):
            return self.raw
        return packed({**self.body, "model": model})

    def request(self, model: str | None) -> Request:
        """What chains and breakers see: the turn itself, not yet read."""
        self.seen = _TEMPLATE.derive(model=model, timeout=self.timeout, extra_body={_KEY: self})
        return self.seen

    @property
    def is_read(self) -> bool:
        """Whether its neutral form was made, which may hold thoughts that the body no longer does."""
        return self._neutral is not None

    def neutral(self) -> Request:
        """
        The request in no vendor's dialect, decoded at the first need.

        Raises:
            ApiError: a field that cannot be read; `param` is its path.
        """
        if self._neutral is None:
            try:
                body = readable(self.body, self.api)
                self._neutral = WIRES[self.api].decode_request(body)
            except Undecodable as error:
                message, param = self._own(error.message), self._own(error.param or "")
                raise ApiError(400, message, param=param or None) from error
        return self._neutral

    def _own(self, text: str) -> str:
        """A text with the places in the input as the client counts them."""
        if not self.before:
            return text

        def shown(found: re.Match[str]) -> str:
            at = int(found[1]) - self.before
            return f"input[{at}]" if at >= 0 else "previous_response_id"

        return _PLACE.sub(shown, text)

    def answered(self, told: Served) -> None:
        """Keep how the request was served; a warning stays, and what was not looked at is not claimed."""
        told.warning = told.warning or self.served.warning
        if self.mode == "off":
            told.enforced = None
        self.served = told

    @classmethod
    def of(cls, request: Request) -> Turn:
        """
        The turn that rides in a request.

        Raises:
            TypeError: it was not made by `request`.
        """
        turn = request.extra_body.get(_KEY)
        if not isinstance(turn, cls):
            raise TypeError("the request carries no turn")
        return turn


def object_in(raw: bytes) -> dict[str, object]:
    """
    A body's JSON object.

    Raises:
        ApiError: not JSON, or not an object.
    """
    try:
        value = as_mapping(_loaded(raw))
    except orjson.JSONDecodeError as error:
        raise ApiError(400, f"the body is not JSON: {error}", code="invalid_json") from None
    if value is None:
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    return dict(value) if not isinstance(value, dict) else value


def _loaded(raw: bytes) -> object:
    """A body's JSON; a large one's with the collector at rest, that would look at it again and again."""
    if len(raw) < _LARGE or not gc.isenabled():
        return orjson.loads(raw)
    gc.disable()
    try:
        return orjson.loads(raw)
    finally:
        gc.enable()
