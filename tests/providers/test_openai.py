"""OpenAI speaks the Responses API only, and every constructor checks what it is given."""

from __future__ import annotations

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response as Answer

from structguard.errors import AuthenticationFailed, ProviderError, Unavailable
from structguard.events import OptionIgnored, ProviderFailed
from structguard.http.via_httpx2 import Httpx2Transport
from structguard.providers import OpenAI, OpenAICompat
from structguard.service import Provider
from structguard.types import Kind
from structguard.wire.base import WireOptions
from tests.doubles import EventRecorder
from tests.providers.payloads import (
    ANSWER,
    CHAT,
    FORMAT,
    MESSAGES,
    RESPONSE,
    SCHEMA,
    WRONG_API,
    responses_stream,
)
from tests.providers.support import ask, collect, script, text_of


def provider(server: HTTPServer, **options: object) -> OpenAI:
    given = {"base_url": server.url_for("/v1"), "observer": EventRecorder(), **options}
    return OpenAI("sk-test", **given)  # type: ignore[arg-type]


async def test_a_call_goes_to_responses_with_text_format(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/v1/responses", RESPONSE)
    async with provider(httpserver, organization="org-1") as opened:
        face: Provider = opened
        reply = await face.complete(
            ask(
                messages=[{"role": "system", "content": "Be brief."}, *MESSAGES],
                response_format=FORMAT,
                max_tokens=50,
            )
        )
        assert (opened.api_for("m"), opened.attempts) == ("responses", 3)
    (body,) = served.bodies
    assert body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": body["input"],  # type: ignore[index]
        "max_output_tokens": 50,
        "text": {
            "format": {"type": "json_schema", "name": "Answer", "strict": True, "schema": SCHEMA}
        },
    }
    headers = served.received[0].headers
    assert headers["Authorization"] == "Bearer sk-test"
    assert headers["Openai-Organization"] == "org-1"
    assert (reply.text, reply.enforced, reply.requests) == (ANSWER, True, 1)


async def test_a_stream_goes_to_responses(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/responses").respond_with_handler(
        lambda _: Answer(iter(responses_stream()), content_type="text/event-stream")
    )
    async with provider(httpserver) as opened:
        assert text_of(await collect(opened, ask())) == ANSWER


async def test_it_never_switches_to_chat(httpserver: HTTPServer) -> None:
    script(httpserver, "/v1/responses", (400, WRONG_API))
    async with provider(httpserver) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask())
    assert caught.value.kind is Kind.UNSUPPORTED_API
    assert len(httpserver.log) == 1


async def test_a_missing_key_is_an_authentication_error_and_nothing_is_sent(
    httpserver: HTTPServer,
) -> None:
    seen = EventRecorder()
    async with OpenAI(base_url=httpserver.url_for("/v1"), observer=seen) as opened:
        with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY") as caught:
            await opened.complete(ask())
        with pytest.raises(AuthenticationFailed):
            await collect(opened, ask())
        with pytest.raises(AuthenticationFailed):
            await opened.embed("a", model="e")
        assert (await opened.status()).health == "unhealthy"
    assert caught.value.requests == 0
    assert httpserver.log == []
    assert len(seen.of(ProviderFailed)) == 4


async def test_embeddings_and_status_have_their_own_endpoints(httpserver: HTTPServer) -> None:
    script(httpserver, "/v1/embeddings", {"data": [{"index": 0, "embedding": [1, 2]}]})
    script(httpserver, "/v1/models", {"data": []}, method="GET")
    async with provider(httpserver) as opened:
        assert (await opened.embed("a", model="e")).vectors == ((1.0, 2.0),)
        assert (await opened.status()).health == "healthy"


async def test_a_reasoning_model_is_said_to_be_one(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/v1/responses", RESPONSE)
    models = {"o": WireOptions(reasoning=True)}
    async with provider(httpserver, models=models) as opened:
        await opened.complete(ask(model="o", temperature=0.1))
        await opened.complete(ask(model="p", temperature=0.1))
    thinker, plain = served.bodies
    assert "temperature" not in thinker  # type: ignore[operator]
    assert "temperature" in plain  # type: ignore[operator]


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://x.openai.azure.com/openai/v1", True),
        ("http://localhost:11434/v1", False),
        ("https://openai.com.evil.test/v1", False),
        ("https://openrouter.ai/api/v1", False),
    ],
)
def test_a_compatible_servers_url_names_the_other_class_once(url: str, *, own: bool) -> None:
    seen = EventRecorder()
    OpenAI("sk-test", base_url=url, observer=seen)
    told = seen.of(OptionIgnored)
    assert len(told) == (0 if own else 1)
    assert own or "OpenAICompat" in told[0].reason


async def test_the_environment_is_read_by_from_env_only(
    monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/responses", RESPONSE)
    monkeypatch.setenv("OPENAI_API_KEY", " sk-env\n")
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-env")
    monkeypatch.setenv("OPENAI_TIMEOUT", "12.5")
    assert OpenAI("k").id == "api.openai.com/v1"
    async with OpenAI.from_env(observer=EventRecorder()) as opened:
        await opened.complete(ask())
        assert opened._engine.timeout == 12.5
    headers = served.received[0].headers
    assert headers["Authorization"] == "Bearer sk-env"
    assert headers["Openai-Organization"] == "org-env"


async def test_empty_variables_count_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "BASE_URL", "ORGANIZATION", "TIMEOUT"):
        monkeypatch.setenv(f"OPENAI_{name}", " ")
    opened = OpenAI.from_env(observer=EventRecorder())
    assert (opened.id, opened._engine.timeout) == ("api.openai.com/v1", 600.0)
    with pytest.raises(AuthenticationFailed):
        await opened.complete(ask())


async def test_openai_compat_reads_its_own_variables(
    monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.delenv("OPENAI_COMPAT_BASE_URL", raising=False)
    with pytest.raises(ValueError, match="OPENAI_COMPAT_BASE_URL is required"):
        OpenAICompat.from_env()
    monkeypatch.setenv("OPENAI_COMPAT_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_COMPAT_API_KEY", "sk-compat")
    monkeypatch.setenv("OPENAI_COMPAT_TIMEOUT", "3")
    served = script(httpserver, "/v1/responses", RESPONSE)
    async with OpenAICompat.from_env(api="responses") as opened:
        await opened.complete(ask())
        assert opened._engine.timeout == 3.0
    assert served.received[0].headers["Authorization"] == "Bearer sk-compat"


async def test_from_env_takes_the_environments_proxy_and_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", httpserver.url_for("/"))
    monkeypatch.setenv("OPENAI_COMPAT_BASE_URL", "http://llm.invalid/v1")
    async with OpenAICompat.from_env() as opened:
        assert (await opened.complete(ask())).text == ANSWER
    assert served.received[0].host == "llm.invalid"
    monkeypatch.setenv("HTTP_PROXY", f"{httpserver.host}:{httpserver.port}")
    async with OpenAICompat.from_env() as opened:
        assert (await opened.complete(ask())).text == ANSWER
    monkeypatch.setenv("NO_PROXY", "llm.invalid")
    for opened in (OpenAICompat.from_env(), OpenAICompat("http://llm.invalid/v1")):
        with pytest.raises(Unavailable):
            await opened.complete(ask(attempts=1))
        await opened.aclose()
    assert len(served.received) == 2
    OpenAICompat.from_env(transport=Httpx2Transport())


@pytest.mark.parametrize("value", ["soon", "0", "-1", "inf", "nan"])
def test_a_time_out_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("OPENAI_TIMEOUT", value)
    with pytest.raises(ValueError, match="OPENAI_TIMEOUT"):
        OpenAI.from_env()


WRONG: list[tuple[dict[str, object], type[Exception], str]] = [
    ({"base_url": ""}, ValueError, "base_url is required"),
    ({"base_url": "h/v1"}, ValueError, "http or https"),
    ({"timeout": 0}, ValueError, "timeout"),
    ({"timeout": "1"}, TypeError, "timeout"),
    ({"id": " "}, ValueError, "id"),
    ({"api_key": "sk-sec\nret"}, ValueError, "line break"),
    ({"headers": {"x": "a\nsecret"}}, ValueError, "header 'x'"),
    ({"transport": "curl"}, ValueError, "transport"),
    ({"colour": "red"}, TypeError, "colour"),
    ({"client": 7}, TypeError, "AsyncOpenAI"),
    ({"client": 7, "api_key": "k"}, ValueError, "leave out api_key"),
]


@pytest.mark.parametrize(("options", "error", "words"), WRONG, ids=str)
def test_a_wrong_argument_is_refused_where_it_is_given(
    options: dict[str, object], error: type[Exception], words: str
) -> None:
    given = {"base_url": "http://h.invalid/v1", **options}
    with pytest.raises(error, match=words) as caught:
        OpenAICompat(**given)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    assert "sec\nret" not in str(caught.value)


async def test_a_transport_of_the_callers_own_can_be_shared_and_stays_open(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, "/v1/responses", RESPONSE)
    transport = Httpx2Transport()
    for _ in range(2):
        async with provider(httpserver, transport=transport) as opened:
            await opened.complete(ask())
    held = transport._pools.pop()
    assert held is not None
    await held.aclose()
    async with provider(httpserver) as opened:
        await opened.complete(ask())
    own = opened._engine.transport
    assert isinstance(own, Httpx2Transport)
    assert own._pools.pop() is None


def test_no_repr_shows_a_key() -> None:
    transport = Httpx2Transport()
    opened = OpenAI("sk-topsecret-1234", headers={"x": "topsecret"}, transport=transport)
    compat = OpenAICompat("http://h.invalid/v1", api_key="sk-topsecret-1234")
    shown = f"{opened!r} {opened._engine!r} {compat!r} {compat._engine!r} {compat._engine.router!r}"
    assert "topsecret" not in shown
