"""Corners of the shared machinery: budgets that are spent, streams that nobody takes over."""

from __future__ import annotations

import json

import anyio
import pytest
from pytest_httpserver import HTTPServer

from structguard.errors import AuthenticationFailed, ProviderError, Timeout
from structguard.events import ApiLookupFailed
from structguard.memo import Entry, Memo
from structguard.providers import AwsKeys, Bedrock, Credential, OpenAICompat
from structguard.providers.lookup import EXPIRY
from structguard.types import Kind
from tests.doubles import EventRecorder
from tests.http.raw import Play, chunked, raw_server, reply
from tests.providers.payloads import ANSWER, CHAT, WRONG_API, chat_stream, responses_stream
from tests.providers.support import Sleeps, ask, collect, script, text_of


async def test_embeddings_share_the_error_path(httpserver: HTTPServer) -> None:
    good = {"data": [{"index": 0, "embedding": [1.0]}]}
    served = script(httpserver, "/v1/embeddings", (503, {}), good)
    sleeps = Sleeps()
    async with OpenAICompat(httpserver.url_for("/v1"), sleep=sleeps.sleep) as provider:
        assert (await provider.embed("a", model="e")).requests == 2
    assert len(served.received) == 2
    with raw_server(Play([])) as server:
        async with OpenAICompat(
            server.url, sleep=sleeps.sleep, observer=EventRecorder()
        ) as provider:
            with pytest.raises(ProviderError) as caught:
                await provider.embed("a", model="e", timeout=5.0, user="ann")
    error = caught.value
    assert (error.kind, error.operation, error.model) == (Kind.UNAVAILABLE, "embed", "e")


async def test_a_credential_that_took_all_the_time_leaves_nothing_to_send_in(
    httpserver: HTTPServer,
) -> None:
    sleeps = Sleeps()

    async def slow() -> Credential:
        sleeps.now += 50.0
        return Credential(token="".join("abc"))

    async with OpenAICompat(
        httpserver.url_for("/v1"), credentials=slow, clock=sleeps.clock, observer=EventRecorder()
    ) as provider:
        with pytest.raises(Timeout, match="no time left") as caught:
            await provider.complete(ask(timeout=20.0))
    assert caught.value.requests == 0
    assert httpserver.log == []


class Forgetful(Memo):
    """A memo that breaks its word never to fail."""

    async def aremember(self, entry: Entry) -> bool:
        raise RuntimeError(entry.verdict)


async def test_a_stream_that_nobody_takes_over_is_closed() -> None:
    wrong = reply(json.dumps(WRONG_API).encode(), status="400 Bad Request")
    parts = chunked(*responses_stream()[:3], end=False)
    with raw_server(Play([wrong]), Play([parts], hold=True)) as server:
        memo = Forgetful()
        async with OpenAICompat(server.url, memo=memo, observer=EventRecorder()) as provider:
            with pytest.raises(RuntimeError, match="use_api"):
                await collect(provider, ask())
            assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)


async def test_what_follows_the_terminal_event_is_not_read_for_ever() -> None:
    endless: list[bytes | float] = [0.0, b"5\r\n: hi\n\r\n"]
    endless *= 400
    play = Play([chunked(*chat_stream(), end=False), *endless], hold=True)
    with raw_server(play) as server:
        async with OpenAICompat(server.url) as provider:
            with anyio.fail_after(3):
                assert text_of(await collect(provider, ask())) == ANSWER
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)


async def test_a_refused_signature_is_not_signed_again(httpserver: HTTPServer) -> None:
    pytest.importorskip("botocore", reason="botocore is not installed (extra bedrock)")
    served = script(httpserver, "/model/m/converse", (401, {}))
    keys = AwsKeys(access_key="a", secret_key="".join("abc"))
    async with Bedrock(
        "us-east-1", keys=keys, base_url=httpserver.url_for("/"), observer=EventRecorder()
    ) as provider:
        with pytest.raises(AuthenticationFailed):
            await provider.complete(ask())
    assert len(served.received) == 1


async def test_a_renewal_that_breaks_is_no_reason_to_fail(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = {"data": [{"id": "m", "supported_endpoints": ["/chat/completions"]}]}
    script(httpserver, "/v1/models", listing, method="GET")
    slow = script(httpserver, "/v1/chat/completions", CHAT)
    slow.delay = 0.1
    sleeps, seen = Sleeps(), EventRecorder()
    async with OpenAICompat(
        httpserver.url_for("/v1"), discover=True, clock=sleeps.clock, observer=seen
    ) as provider:
        await provider.complete(ask())
        sleeps.now += EXPIRY + 1

        def broken(*_: object, **__: object) -> object:
            raise KeyError("a bug")

        monkeypatch.setattr("structguard.providers.lookup._listed", broken)
        assert (await provider.complete(ask())).text == ANSWER
    (told,) = seen.of(ApiLookupFailed)
    assert told.reason == "KeyError"


async def test_status_of_a_broken_provider_is_unhealthy(httpserver: HTTPServer) -> None:
    class Broken:
        async def send(self, *_: object, **__: object) -> object:
            raise RuntimeError("no transport")

        async def aclose(self) -> None: ...

    transport = Broken()
    async with OpenAICompat(httpserver.url_for("/v1"), transport=transport) as provider:  # type: ignore[arg-type]
        got = await provider.status()
    assert (got.health, got.message) == ("unhealthy", "no transport")
