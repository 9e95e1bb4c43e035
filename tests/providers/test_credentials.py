"""A credentials callable is asked once for all who wait, and again when it runs out or is refused."""

from __future__ import annotations

import json

import anyio
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.errors import AuthenticationFailed, ProviderError, Timeout
from structguard.events import ProviderFailed
from structguard.providers import Credential, OpenAICompat
from structguard.types import Kind
from tests.doubles import EventRecorder
from tests.providers.payloads import ANSWER, CHAT, chat_stream
from tests.providers.support import Sleeps, ask, collect, script, text_of

PATH = "/v1/chat/completions"
UNAUTHORISED = (401, {"error": {"message": "token expired"}})


class Tokens:
    """A callable that counts how often it is asked."""

    def __init__(self, *, life: float | None = None, wait: float = 0.0) -> None:
        self.asked = 0
        self._life, self._wait = life, wait

    async def __call__(self) -> Credential:
        self.asked += 1
        await anyio.sleep(self._wait)
        return Credential(token=f"token-{self.asked}", expires_in=self._life)


def provider(server: HTTPServer, tokens: object, **options: object) -> OpenAICompat:
    return OpenAICompat(
        server.url_for("/v1"),
        credentials=tokens,  # type: ignore[arg-type]
        **{"observer": EventRecorder(), **options},  # type: ignore[arg-type]
    )


async def test_concurrent_callers_share_one_fetch(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, CHAT)
    tokens = Tokens(wait=0.05)
    async with provider(httpserver, tokens) as opened, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(opened.complete, ask())
    assert tokens.asked == 1
    assert {request.headers["Authorization"] for request in served.received} == {"Bearer token-1"}


async def test_a_credential_is_kept_until_it_runs_out(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, CHAT)
    tokens, sleeps = Tokens(life=100.0), Sleeps()
    async with provider(httpserver, tokens, clock=sleeps.clock) as opened:
        await opened.complete(ask())
        sleeps.now += 69.0
        await opened.complete(ask())
        assert tokens.asked == 1
        sleeps.now += 2.0  # 30 s early: it must not run out under way
        await opened.complete(ask())
    assert tokens.asked == 2
    assert served.received[-1].headers["Authorization"] == "Bearer token-2"


async def test_a_401_renews_once_and_is_counted(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, UNAUTHORISED, CHAT)
    tokens, seen = Tokens(), EventRecorder()
    async with provider(httpserver, tokens, observer=seen) as opened:
        reply = await opened.complete(ask(attempts=1))
    assert (reply.text, reply.requests, tokens.asked) == (ANSWER, 2, 2)
    assert [request.headers["Authorization"] for request in served.received] == [
        "Bearer token-1",
        "Bearer token-2",
    ]
    assert seen.events == []


async def test_a_second_401_is_an_error(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, UNAUTHORISED)
    tokens, seen = Tokens(), EventRecorder()
    async with provider(httpserver, tokens, observer=seen) as opened:
        with pytest.raises(AuthenticationFailed) as caught:
            await opened.complete(ask())
    assert (tokens.asked, len(served.received), caught.value.requests) == (2, 2, 2)
    assert len(seen.of(ProviderFailed)) == 1


async def test_concurrent_401s_renew_once(httpserver: HTTPServer) -> None:
    def answer(request: Received) -> Answer:
        if request.headers["Authorization"] == "Bearer token-1":
            return Answer("{}", 401)
        return Answer(json.dumps(CHAT), content_type="application/json")

    httpserver.expect_request(PATH).respond_with_handler(answer)
    tokens = Tokens(wait=0.05)
    async with provider(httpserver, tokens) as opened:
        await opened._engine.credential(opened._engine.begin("complete", ask()))
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(opened.complete, ask())
    assert tokens.asked == 2


async def test_a_401_with_a_static_key_is_sent_once(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, UNAUTHORISED)
    async with OpenAICompat(
        httpserver.url_for("/v1"), api_key="k", observer=EventRecorder()
    ) as opened:
        with pytest.raises(AuthenticationFailed):
            await opened.complete(ask())
    assert len(served.received) == 1


async def test_a_stream_renews_too(httpserver: HTTPServer) -> None:
    answers = [
        Answer("{}", 401),
        Answer(iter(chat_stream()), content_type="text/event-stream"),
    ]
    httpserver.expect_request(PATH).respond_with_handler(lambda _: answers.pop(0))
    async with provider(httpserver, Tokens()) as opened:
        assert text_of(await collect(opened, ask())) == ANSWER


async def test_a_callable_that_fails_is_an_authentication_error_for_all_who_wait(
    httpserver: HTTPServer,
) -> None:
    asked = []

    async def broken() -> str:
        asked.append(1)
        await anyio.sleep(0.05)
        raise RuntimeError("secret sk-12345678901234567890 rejected")

    errors: list[AuthenticationFailed] = []

    async def one(opened: OpenAICompat) -> None:
        with pytest.raises(AuthenticationFailed) as caught:
            await opened.complete(ask())
        errors.append(caught.value)

    async with provider(httpserver, broken) as opened, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(one, opened)
    assert (len(asked), len(errors)) == (1, 5)
    assert httpserver.log == []
    assert "RuntimeError" in str(errors[0])
    assert "sk-123" not in str(errors[0])
    assert errors[0].requests == 0


async def test_a_callable_that_failed_is_asked_again_by_the_next_call(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, PATH, CHAT)
    outcomes: list[object] = [OSError("down"), "token"]

    async def flaky() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return str(outcome)

    async with provider(httpserver, flaky) as opened:
        with pytest.raises(ProviderError):
            await opened.complete(ask())
        assert (await opened.complete(ask())).text == ANSWER


async def test_a_callable_slower_than_the_call_is_a_time_out(httpserver: HTTPServer) -> None:
    async with provider(httpserver, Tokens(wait=5.0)) as opened:
        with pytest.raises(Timeout) as caught:
            await opened.complete(ask(timeout=0.1))
    assert (caught.value.requests, caught.value.failure.own_timeout) == (0, True)
    assert caught.value.kind is Kind.TIMEOUT


def test_a_credential_with_a_line_break_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="line break") as caught:
        Credential(token="secret\nvalue")  # noqa: S106  a made-up one
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="line break"):
        Credential(headers={"x": "a\r\nb"})


def test_no_repr_shows_a_token() -> None:
    assert "sesame" not in repr(Credential(token="".join("sesame"), headers={"x": "sesame"}))


async def test_extra_headers_of_a_credential_go_along(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, CHAT)

    async def fetch() -> Credential:
        return Credential(headers={"authorization": "Bearer t", "x-session": "7"})

    async with provider(httpserver, fetch) as opened:
        await opened.complete(ask())
    assert served.received[0].headers["X-Session"] == "7"


def test_a_key_and_a_callable_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="not both"):
        OpenAICompat("http://h.invalid", api_key="k", credentials=Tokens())
