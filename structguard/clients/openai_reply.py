"""
One send of a wrapped `openai` client: its reply is judged, healed, or made an error.

The SDK's own validation runs after the healing, on bare JSON; a reply that is an error in disguise
becomes the exception the SDK would have raised. Source: spec guard §2.
"""

# The SDK is untyped where it is private; these two names are all we touch of it:
# `Stream._iterator` and `_make_status_error`.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jiter
from openai import (
    APIError,
    APIResponseValidationError,
    AsyncOpenAI,
    AsyncStream,
    NotGiven,
    OpenAI,
    OpenAIError,
    Stream,
)
from openai._response import APIResponse, AsyncAPIResponse

from structguard.clients.call import BodyCall
from structguard.clients.healing import heal
from structguard.clients.http_response import without_encoding
from structguard.clients.http_stream import EventStream, error_of
from structguard.clients.openai_stream import (
    aclosed_if_not_begun,
    ahealed,
    closed_if_not_begun,
    healed,
)
from structguard.clients.raw_stream import abegin, awhole, begin, whole
from structguard.clients.replies import (
    calls_or_declines,
    error_message,
    error_status,
    failure_in,
    get,
    is_answer,
    no_json,
    plain,
    put,
    text_slots,
    was_cut,
)
from structguard.clients.signs import gives_answer
from structguard.clients.streams import StreamHealer
from structguard.clients.thoughts import SOURCE, promote
from structguard.errors import redact
from structguard.options import Policy
from structguard.refusal import RequestFacts, refusal_of, status_of
from structguard.types import Refusal


@dataclass(slots=True, kw_only=True)
class Exchange:
    """
    One send. `answered` and `prose` are what the flow asks about the reply, `source` how its text was
    read; `on_source` is told what is only known once a stream or raw reply has been read. `heals`:
    are replies looked into, `raw`: does the caller want the raw one, `must_hold_json`: is a whole reply
    without any an error. `unfit` is what is wrong with a reply that came: the send succeeded.
    """

    call: BodyCall
    client: OpenAI | AsyncOpenAI
    confirm: bool
    watch_prose: bool
    must_hold_json: bool
    heals: bool
    raw: bool
    url: str  # the path the SDK was asked for
    parser: Callable[[Any], Any] | NotGiven
    unfit: Exception | None = None
    response: httpx2.Response | None = None
    answered: bool = True
    prose: bool | None = None
    source: str | None = None
    on_source: Callable[[str], None] | None = field(default=None, repr=False)

    def judge(
        self, error: Exception, facts: RequestFacts, policy: Policy
    ) -> tuple[Refusal | None, int | None]:
        """The detector's verdict on a failed send, by what the first send carried."""
        refusal = refusal_of(
            error, facts=facts, unnamed=policy.unnamed, also_statuses=policy.also_statuses
        )
        return refusal, status_of(error)

    def take(self, reply: Any) -> Any:
        """What the SDK's `request` gave, looked into: a stream, a raw response, a whole reply."""
        if not self.heals:
            return reply
        if isinstance(reply, Stream):
            return self.open(reply)
        if self.raw:
            return self.peek(reply)
        if not isinstance(reply, APIResponse):  # a `request` of somebody else's: read as it is
            return self.read(reply)
        self.response = reply.http_response
        return reply.parse()

    async def atake(self, reply: Any) -> Any:
        """`take` on the event loop."""
        if not self.heals:
            return reply
        if isinstance(reply, AsyncStream):
            return await self.aopen(reply)
        if self.raw:
            return await self.apeek(reply)
        if not isinstance(reply, AsyncAPIResponse):
            return self.read(reply)
        self.response = reply.http_response
        return await reply.parse()

    def read(self, reply: Any) -> Any:
        """The SDK's post_parser: heal, then what the SDK itself would do."""
        if isinstance(reply, Stream):
            reply._iterator = healed(self._healer(), iter(()), reply._iterator, self._found)  # noqa: SLF001
            return reply
        if isinstance(reply, AsyncStream):
            reply._iterator = ahealed(self._healer(), [], reply._iterator, self._found)  # noqa: SLF001
            return reply
        self.check(reply)
        source = self._healed(reply)
        self._note(reply, source)
        try:
            parsed = reply if isinstance(self.parser, NotGiven) else self.parser(reply)
            if self.must_hold_json and source is None:
                self._hold_to_json(reply)
        except Exception as error:
            if self.raw:
                raise
            self.unfit, parsed = error, reply
        return parsed

    def _healed(self, reply: Any) -> str | None:
        """Reduce the reply's texts to JSON; how the first that holds any was read."""
        source, cut = None, was_cut(reply, self.call.api)
        for holder, name in text_slots(reply, self.call.api):
            text = str(get(holder, name))
            read = heal(text, self.call.resolve, degraded=self.call.is_degraded, cut=cut)
            source = source or read.source
            if read.text != text:
                put(holder, name, read.text)
        if source is None and promote(reply, self.call.api, self.call.resolve):
            source = SOURCE
        return source

    def _hold_to_json(self, reply: Any) -> None:
        message, body = no_json(reply, self.call.api), plain(reply)
        if message is None:
            return
        if self.response is None:
            raise APIError(message, self._request(), body=body)
        raise APIResponseValidationError(response=self.response, body=body, message=message)

    def check(self, reply: Any) -> None:
        """
        Refuse what is no reply at all.

        Raises:
            openai.APIError: an error object inside a 200, by the status it names.
            openai.APIResponseValidationError: not JSON, or no choices.
        """
        self._refuse(reply)
        missing = "choices" if self.call.api == "chat" else "output"
        if self.response is not None and not isinstance(get(reply, missing), list):
            what = "not JSON" if isinstance(reply, str) else f"without {missing}"
            raise APIResponseValidationError(
                response=self.response,
                body=plain(reply),
                message=f"the endpoint's 200 is {what}: {redact(self.response.text[:200])!r}",
            )

    def _refuse(self, reply: object) -> None:
        error = failure_in(reply, self.call.api)
        if error is not None:
            raise self.error_of(error)

    def error_of(self, error: object) -> OpenAIError:
        """The exception the SDK would have raised, had the status said so."""
        body, message = plain(error), redact(error_message(error))
        came = self.response
        request = self._request() if came is None else came.request
        status = error_status(error)
        if status is None:
            return APIError(message, request, body=body)
        headers = httpx2.Headers() if came is None else without_encoding(came.headers)
        headers["content-type"] = "application/json"
        response = httpx2.Response(
            status, content=json.dumps({"error": body}).encode(), headers=headers, request=request
        )
        return self.client._make_status_error(  # noqa: SLF001
            f"Error code: {status} (inside a 200) - {message}", body=body, response=response
        )

    def _request(self) -> httpx2.Request:
        return httpx2.Request("POST", f"{self.client.base_url}".rstrip("/") + self.url)

    def peek(self, raw: Any) -> Any:
        """A raw response: looked at where its body was read, never changed."""
        self.response = response = raw.http_response
        if self.confirm and not response.is_stream_consumed:
            if self._streams():
                self._refuse(whole(response))
                events = self._events()
                begin(response, events)
                return self._begun(raw, events)
            raw.read()
        self._look()
        return raw

    async def apeek(self, raw: Any) -> Any:
        """A raw response on the event loop."""
        self.response = response = raw.http_response
        if self.confirm and not response.is_stream_consumed:
            if self._streams():
                self._refuse(await awhole(response))
                events = self._events()
                await abegin(response, events)
                return self._begun(raw, events)
            await raw.read()
        self._look()
        return raw

    def _events(self) -> EventStream:
        return EventStream(self.call.api, self._healer(), confirm=True)

    def _begun(self, raw: Any, events: EventStream) -> Any:
        """A raw stream of which as much was read as tells whether an answer comes."""
        self.answered = events.answered
        if events.failure is not None:
            raise self.error_of(error_of(events.failure, self.call.api))
        return raw

    def _streams(self) -> bool:
        return bool(self.call.body.get("stream"))

    def _look(self) -> None:
        self.answered = False
        if self.response is None or not self.response.is_stream_consumed or self._streams():
            return  # not read yet, and it is the caller's to read
        try:
            reply = jiter.from_json(self.response.content)
        except ValueError:
            return
        self.check(reply)
        self._note(reply, None)

    def _note(self, reply: Any, source: str | None) -> None:
        """What the flow wants to know about a whole reply."""
        self._found(source)
        if self.confirm:
            self.answered = is_answer(reply, self.call.api)
        if self.watch_prose and is_answer(reply, self.call.api):
            # what is said before a call is no answer in prose
            answers = not calls_or_declines(reply, self.call.api)
            has_text = answers and any(True for _ in text_slots(reply, self.call.api))
            self.prose = source is None if has_text else None

    def _found(self, source: str | None) -> None:
        self.source = source
        if source is not None and self.on_source is not None:
            self.on_source(source)

    def open(self, stream: Stream[Any]) -> Stream[Any]:
        """A stream: its first event is awaited here; after it nothing is ever sent again."""
        self.response, self.answered = stream.response, False
        self._refuse(whole(stream.response))
        events = stream._iterator  # noqa: SLF001
        head: list[Any] = []
        with closed_if_not_begun(events):
            for event in events:
                if self._begins(event, head):
                    break
        stream._iterator = healed(self._healer(), iter(head), events, self._found)  # noqa: SLF001
        return stream

    async def aopen(self, stream: AsyncStream[Any]) -> AsyncStream[Any]:
        """A stream on the event loop."""
        self.response, self.answered = stream.response, False
        self._refuse(await awhole(stream.response))
        events = stream._iterator  # noqa: SLF001
        head: list[Any] = []
        async with aclosed_if_not_begun(events):
            async for event in events:
                if self._begins(event, head):
                    break
        stream._iterator = ahealed(self._healer(), head, events, self._found)  # noqa: SLF001
        return stream

    def _begins(self, event: Any, head: list[Any]) -> bool:
        """Whether enough of the stream has come to hand it on."""
        head.append(event)
        failure = error_of(event, self.call.api)
        if failure is not None:
            raise self.error_of(failure)
        self.answered = gives_answer(event, self.call.api)
        return self.answered or not self.confirm

    def _healer(self) -> StreamHealer:
        return StreamHealer(self.call.api, self.call.resolve, self.call.is_degraded)
