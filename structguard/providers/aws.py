"""
The one place that touches botocore: credentials, SigV4 signing, the binary event stream.

Imported when first needed and kept off the event loop: finding credentials may read files and ask
the network. Source: AWS SigV4 and event stream specifications, as botocore implements them.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import anyio.to_thread

from structguard.errors import MissingExtra
from structguard.providers.call import Outgoing, Unauthorised
from structguard.providers.seams import Feed, Headers
from structguard.types import Failure, StreamEvent
from structguard.wire.base import StreamDecoder

SERVICE = "bedrock"


class _Keys(Protocol):
    def get_frozen_credentials(self) -> object: ...


class _Session(Protocol):
    def get_credentials(self) -> _Keys | None: ...


class _Request(Protocol):
    headers: Mapping[str, str]


class _Signer(Protocol):
    def add_auth(self, request: _Request, /) -> None: ...


class _Message(Protocol):
    headers: Mapping[str, str]
    payload: bytes


class _Buffer(Protocol):
    def add_data(self, data: bytes, /) -> None: ...
    def __iter__(self) -> Iterator[_Message]: ...


class _EventDecoder(Protocol):
    def feed_event(self, event: Mapping[str, object], /) -> list[StreamEvent]: ...
    def fail(self, failure: Failure, /) -> list[StreamEvent]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsKeys:
    """An AWS key pair, used instead of the credentials that botocore would find."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def require_botocore() -> None:
    """
    Look whether botocore is there, without importing it.

    Raises:
        MissingExtra: it is not; the message names the pip line.
    """
    if importlib.util.find_spec("botocore") is None:
        raise MissingExtra("Bedrock", "bedrock")


class Signer:
    """
    Signs each request, in a worker thread.

    Without `keys` botocore's own chain is asked (environment, profile, SSO, instance role, …); it
    renews what expires by itself.
    """

    def __init__(self, region: str, *, keys: AwsKeys | None, profile: str | None) -> None:
        self._region = region
        self._keys = keys
        self._profile = profile
        self._chain: _Keys | None = None

    async def __call__(
        self, outgoing: Outgoing, /, *, rejected: Headers | None = None
    ) -> Headers | None:
        """The headers with the signature; see `seams.Authorise`."""
        if rejected is not None:
            return None  # botocore renews in time; a refused signature stays refused
        return await anyio.to_thread.run_sync(self.sign, outgoing)

    def sign(self, outgoing: Outgoing) -> Headers:
        """
        The headers with the signature; may wait for the network.

        Raises:
            Unauthorised: no credentials are found.
        """
        auth = importlib.import_module("botocore.auth")
        request = cast(
            "_Request",
            importlib.import_module("botocore.awsrequest").AWSRequest(
                method=outgoing.method,
                url=outgoing.url,
                data=outgoing.body,
                headers=dict(outgoing.headers),
            ),
        )
        signer = cast("_Signer", auth.SigV4Auth(self._frozen(), SERVICE, self._region))
        signer.add_auth(request)
        return {name.lower(): value for name, value in request.headers.items()}

    def _frozen(self) -> object:
        if self._keys is not None:
            credentials = importlib.import_module("botocore.credentials")
            return credentials.Credentials(
                self._keys.access_key, self._keys.secret_key, self._keys.session_token
            )
        try:
            if self._chain is None:
                session = importlib.import_module("botocore.session")
                found = cast("_Session", session.Session(profile=self._profile))
                self._chain = found.get_credentials()
            frozen = None if self._chain is None else self._chain.get_frozen_credentials()
        except Exception as error:
            raise Unauthorised(f"no AWS credentials: {type(error).__name__}") from error
        if frozen is None:
            raise Unauthorised("no AWS credentials: set AWS_ACCESS_KEY_ID, a profile, or api_key")
        return frozen


def event_feed(decoder: StreamDecoder) -> Feed:
    """
    Bytes of a binary event stream → a decoder that takes each event as a mapping. Damage is the
    decoder's fault, which its `close` tells: what came before it is handed out.
    """
    module = importlib.import_module("botocore.eventstream")
    buffer = cast("_Buffer", module.EventStreamBuffer())
    damaged = cast("type[Exception]", module.ParserError)
    events_of = cast("_EventDecoder", decoder)

    def feed(data: bytes) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        try:
            buffer.add_data(data)
            for message in buffer:
                events += events_of.feed_event(_mapping(message))
        except (damaged, ValueError, KeyError) as error:
            text = f"the event stream is damaged: {error}"
            events_of.fail(Failure(status=200, message=text, truncated=True))
        return events

    return feed


_NAMES: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "event": lambda headers: headers[":event-type"],
    "exception": lambda headers: headers[":exception-type"],
}


def _mapping(message: _Message) -> Mapping[str, object]:
    kind = str(message.headers.get(":message-type", "event"))
    if kind == "error":
        told = {key: message.headers.get(f":error-{key}", "") for key in ("code", "message")}
        return {kind: told}
    if kind not in _NAMES:
        raise ValueError(f"unknown message type {kind!r}")
    name = _NAMES[kind](message.headers)
    return {name: json.loads(message.payload or b"{}")}
