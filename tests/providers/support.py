"""What the tests of providers share: recorded events, a clock that does not wait, requests."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.errors import ProviderError
from structguard.service import Provider
from structguard.types import Finished, Request, StreamEvent, TextDelta
from tests.providers.payloads import MESSAGES

E = TypeVar("E")


@dataclass
class Sleeps:
    """A sleep that takes no time and a clock that believes it."""

    taken: list[float] = field(default_factory=list)
    now: float = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


@dataclass
class Script:
    """Answers one path in turn, the last answer again and again; keeps what came."""

    answers: list[tuple[int, object, Mapping[str, str]]]
    received: list[Received] = field(default_factory=list)
    delay: float = 0.0  # seconds

    def __call__(self, request: Received) -> Answer:
        request.get_data()
        self.received.append(request)
        time.sleep(self.delay)  # noqa: TID251  the server's thread
        status, body, headers = self.answers[min(len(self.received), len(self.answers)) - 1]
        raw = body if isinstance(body, str | bytes) else json.dumps(body)
        return Answer(raw, status, {"content-type": "application/json", **headers})

    @property
    def bodies(self) -> list[object]:
        return [json.loads(request.get_data()) for request in self.received]


def script(
    server: HTTPServer,
    path: str,
    *answers: object,
    method: str = "POST",
) -> Script:
    """Serve `answers`: a body (200), or (status, body), or (status, body, headers)."""
    played = Script([_answer(answer) for answer in answers])
    server.expect_request(path, method=method).respond_with_handler(played)
    return played


def _answer(given: object) -> tuple[int, object, Mapping[str, str]]:
    match given:
        case (int(status), body):
            return status, body, {}
        case (int(status), body, dict(headers)):
            return status, body, headers
        case body:
            return 200, body, {}


def ask(**fields: object) -> Request:
    """A small request."""
    return Request(**{"messages": MESSAGES, "model": "m", **fields})  # type: ignore[arg-type]


async def collect(provider: Provider, request: Request) -> list[StreamEvent]:
    """All events of a stream."""
    async with provider.stream(request) as events:
        return [event async for event in events]


def text_of(events: list[StreamEvent]) -> str:
    """The text that was streamed; it must be the finished reply's."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.completion.text == text
    return text


async def run(provider: Provider, request: Request, *, streaming: bool) -> None:
    """The call in either way; only its fault matters."""
    if streaming:
        await collect(provider, request)
    else:
        await provider.complete(request)


async def fault_of(provider: Provider, request: Request) -> ProviderError | None:
    """The error a stream ends with, if it does."""
    try:
        await collect(provider, request)
    except ProviderError as error:
        return error
    return None
