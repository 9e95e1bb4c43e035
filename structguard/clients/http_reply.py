"""
One guarded call of a transport: what its one or two sends have in common, and what they came to.

No I/O: the transports read the bytes and close what is abandoned. Source: spec guard §2.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import httpx2
import jiter

from structguard.clients.call import BodyCall
from structguard.clients.healing import heal
from structguard.clients.http_call import HttpCall
from structguard.clients.http_response import (
    instead_of,
    rewritten,
    status_of,
    with_body,
    without_encoding,
)
from structguard.clients.http_stream import EventStream, error_of
from structguard.clients.replies import (
    calls_or_declines,
    error_message,
    error_status,
    failure_in,
    get,
    is_answer,
    no_json,
    put,
    text_slots,
    was_cut,
)
from structguard.clients.streams import StreamHealer
from structguard.clients.thoughts import SOURCE, promote
from structguard.errors import redact
from structguard.flow import Info, Send, Sent, Served, info_of, publish
from structguard.options import Policy
from structguard.refusal import refusal_of
from structguard.service import Clock
from structguard.types import Format, Refusal, as_mapping

INFO = "structguard"
"""Extension of a response: its `Info`."""
REFUSED = "structguard.refused"
"""Extension of a response: the refusal (a read `httpx2.Response`) its call was not rescued from."""

Reply: TypeAlias = httpx2.Response
Part: TypeAlias = Literal["nothing", "whole", "events"]


@dataclass(slots=True)
class GuardedCall:
    """
    One call. `handed` is the response of the last send that failed with one: the flow's error is
    always that of the last send. `unread` is what is to be said of a last reply without JSON.
    """

    http: HttpCall
    policy: Policy
    clock: Clock
    deadline: float | None = None
    handed: Reply | None = None
    source: str | None = None
    unread: str | None = None
    heals: bool = field(init=False)  # the modes that only look hand on what came
    _last: Send[BodyCall] | None = None
    _amend: Callable[[str], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.http.timeout is not None:
            self.deadline = self.clock() + self.http.timeout
        self.heals = self.policy.mode == "guard"
        if self.http.signed and self.policy.mode == "guard":
            self.policy = replace(self.policy, mode="observe")

    def request(self, effect: Send[BodyCall]) -> httpx2.Request:
        """The request of one send."""
        self._last = effect
        return self.http.sent(effect.call, effect.budget)

    def part(self, response: Reply) -> Part:
        """How much of a reply must be seen before it is handed on."""
        if response.is_error:
            return "whole"
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not response.is_success or not self.heals:
            return "nothing"
        if kind == "text/event-stream":
            return "events" if self.http.stream else "nothing"
        return "whole" if not self.http.stream or self._is_whole_json(kind) else "nothing"

    def _is_whole_json(self, kind: str) -> bool:
        """A stream that came as one JSON reply; Google's JSON arrays grow like any stream."""
        return kind == "application/json" and self.call.api != "generate_content"

    @property
    def call(self) -> BodyCall:
        """The call as it was first sent."""
        return self.http.call

    def _format(self) -> Format | None:
        """The format; None for one that cannot be read, which is the endpoint's to refuse."""
        try:
            return self.call.resolve()
        except ValueError:
            return None

    @property
    def confirm(self) -> bool:
        """Whether the flow wants to know if the reply is an answer."""
        return self._last is not None and self._last.confirm

    @property
    def _sent_call(self) -> BodyCall:
        return self._last.call if self._last is not None else self.call

    def unseen(self, response: Reply) -> Sent[Reply]:
        """A reply whose body is the client's to read."""
        if not response.is_success:  # a redirect is no answer: the client will ask elsewhere
            return self._failed_with(response, response)
        return Sent(value=response, status=response.status_code, answered=False)

    def whole(self, response: Reply, raw: bytes) -> Sent[Reply]:
        """A reply whose body was read, judged and healed."""
        same = response
        same.stream = httpx2.ByteStream(raw)
        content = raw
        if response.is_error or "content-encoding" in response.headers:
            seen = with_body(response, response.headers, raw)
            try:
                content = seen.read()
            except httpx2.DecodingError:  # not to be read here; the client will say so itself
                return Sent(value=same, status=response.status_code, answered=False)
            seen.request = self.http.request
            if response.is_error:
                return self._failed_with(same, seen)
        return self._replied(same, content)

    def _replied(self, same: Reply, content: bytes) -> Sent[Reply]:
        reply = _json(content)
        if reply is None:
            return Sent(value=same, status=same.status_code, answered=False)
        api = self.call.api
        error = failure_in(reply, api)
        if error is not None:
            return self._in_disguise(same, reply, error)
        source, changed, has_text, cut = None, False, False, was_cut(reply, api)
        for holder, name in text_slots(reply, api):
            text, has_text = str(get(holder, name)), True
            healed = heal(text, self._format, degraded=self._sent_call.is_degraded, cut=cut)
            source = source or healed.source
            if healed.text != text:
                changed = True
                put(holder, name, healed.text)
        if source is None and promote(reply, api, self._format):
            source, changed, has_text = SOURCE, True, True
        self.source = source
        lacks = self.policy.on_unusable == "error" and source is None
        self.unread = no_json(reply, api) if lacks else None
        # what is said before a call is no answer in prose
        answers = has_text and is_answer(reply, api) and not calls_or_declines(reply, api)
        watched = self.policy.ignored_after and answers
        return Sent(
            value=rewritten(same, reply) if changed else same,
            status=same.status_code,
            answered=is_answer(reply, api) if self.confirm else True,
            prose=source is None if watched else None,
        )

    def events(self) -> EventStream:
        """A stream to peek into."""
        call = self._sent_call
        healer = StreamHealer(call.api, self._format, call.is_degraded)
        return EventStream(call.api, healer, self.confirm, many=_wants_many(call.body))

    def opened(
        self,
        response: Reply,
        events: EventStream,
        body: httpx2.SyncByteStream | httpx2.AsyncByteStream,
    ) -> Sent[Reply]:
        """A stream that was peeked into; `body` gives what is to be handed on."""
        if (failure := events.failure) is not None:
            error = error_of(failure, events.api)
            return self._in_disguise(response, failure, error)
        headers = without_encoding(response.headers)
        reply = httpx2.Response(
            response.status_code, headers=headers, stream=body, extensions=response.extensions
        )
        return Sent(value=reply, status=response.status_code, answered=events.answered)

    def _in_disguise(
        self, response: Reply, reply: Mapping[str, object], error: object
    ) -> Sent[Reply]:
        """An error inside a 200: judged as it came, handed on with the status it should have had."""
        body = reply if as_mapping(reply.get("error")) else {"error": error}
        raw = json.dumps(body, separators=(",", ":")).encode()
        seen = instead_of(response, raw)
        seen.read()
        seen.request = self.http.request
        refusal = self._refusal(seen)
        status = error_status(error) or (400 if refusal else status_of(raw, self.call.api))
        self.handed = instead_of(response, raw, status=status)
        message = f"HTTP {status} inside a 200: {redact(error_message(error))}"
        return Sent(
            error=self._error(message, seen), refusal=refusal, status=200, left=self._left()
        )

    def _failed_with(self, handed: Reply, seen: Reply) -> Sent[Reply]:
        self.handed = handed
        refusal = self._refusal(seen) if seen.is_error else None
        error = self._error(f"HTTP {seen.status_code} from {self.call.provider}", seen)
        return Sent(error=error, refusal=refusal, status=seen.status_code, left=self._left())

    def failed(self, error: httpx2.HTTPError) -> Sent[Reply]:
        """A send without a reply."""
        return Sent(error=error, left=self._left())

    def _error(self, message: str, seen: Reply) -> httpx2.HTTPStatusError:
        return httpx2.HTTPStatusError(message, request=self.http.request, response=seen)

    def _refusal(self, seen: Reply) -> Refusal | None:
        return refusal_of(
            self._error("", seen),
            facts=self.call.facts,
            unnamed=self.policy.unnamed,
            also_statuses=self.policy.also_statuses,
        )

    def _left(self) -> float | None:
        return None if self.deadline is None else self.deadline - self.clock()

    def finish(self, served: Served[Reply]) -> Reply:
        """Tell how it was served and hand the response on."""
        response = served.value
        info = info_of(self.call.pair, served, self.source)
        response.extensions[INFO] = info
        amend, response_ref = publish(info), weakref.ref(response)  # its stream holds this exchange

        def amended(source: str) -> None:
            updated = replace(info, source=source)
            if (answer := response_ref()) is not None:
                answer.extensions[INFO] = updated
            amend(updated)

        self._amend = amended
        if self.unread is None:
            return response
        error = {"message": self.unread, "type": "upstream_error", "code": "unusable_answer"}
        return instead_of(response, json.dumps({"error": error}).encode(), status=502)

    def read(self, source: str | None) -> None:
        """The stream was read to its end: how its value was read is known now."""
        if source is not None and self._amend is not None:
            self._amend(source)

    def instead(self, error: Exception) -> Reply | None:
        """
        The response to hand on for an error of the flow: the client makes of it what it would have
        made. None where nothing was sent, because the caller's schema cannot be read.

        Raises:
            Exception: the error itself, where it is neither.
        """
        if self.handed is None and self._last is not None:
            raise error
        first = error.__cause__
        if self.handed is not None and isinstance(first, httpx2.HTTPStatusError):
            self.handed.extensions[REFUSED] = first.response
        return self.handed


def untouched(http: HttpCall, response: Reply) -> Reply:
    """A call without a format: told, nothing else."""
    if response.is_success:
        info = Info(provider=http.call.provider, model=http.call.model, enforced=None, requests=1)
        response.extensions[INFO] = info
        publish(info)
    return response


def _wants_many(body: Mapping[str, object]) -> bool:
    config = as_mapping(body.get("generationConfig")) or {}
    return (body.get("n") or config.get("candidateCount") or 1) != 1


def _json(raw: bytes) -> dict[str, object] | None:
    try:
        value = as_mapping(jiter.from_json(raw))
    except ValueError:
        return None
    return dict(value) if value is not None else None
