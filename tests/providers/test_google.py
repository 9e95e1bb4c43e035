"""Google: the Gemini API with a key, Vertex with google-auth's own refresh against a loopback."""

from __future__ import annotations

import datetime as dt
import importlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response as Answer

from structguard.errors import AuthenticationFailed, MissingExtra, ProviderError
from structguard.events import OptionIgnored
from structguard.http.via_httpx2 import Httpx2Transport
from structguard.providers import Google
from structguard.providers.vertex import VertexToken
from structguard.service import Provider
from structguard.types import Kind
from tests.doubles import EventRecorder
from tests.providers.payloads import ANSWER, FORMAT, SCHEMA, sse
from tests.providers.support import Sleeps, ask, collect, script, text_of

REPLY = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8},
    "modelVersion": "gemini-1",
}
CHUNK = {"candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER[:5]}]}}]}
LAST = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": ANSWER[5:]}]}, "finishReason": "STOP"}
    ]
}
PATH, STREAM = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent"


def provider(server: HTTPServer, key: str | None = "g-key", **options: object) -> Google:
    given = {"base_url": server.url_for("/v1beta"), "observer": EventRecorder(), **options}
    return Google(key, **given)  # type: ignore[arg-type]


async def test_a_call_carries_the_format_on_the_native_field(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, REPLY)
    async with provider(httpserver) as opened:
        face: Provider = opened
        reply = await face.complete(ask(response_format=FORMAT, seed=4))
        assert (opened.api_for("m"), opened.attempts) == ("generate_content", 3)
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert body["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "seed": 4,
    }
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert served.received[0].headers["X-Goog-Api-Key"] == "g-key"
    assert served.received[0].query_string == b""
    assert (reply.text, reply.enforced, reply.requests) == (ANSWER, True, 1)


async def test_a_stream_is_asked_for_as_events(httpserver: HTTPServer) -> None:
    httpserver.expect_request(STREAM, query_string="alt=sse").respond_with_handler(
        lambda _: Answer(iter([sse(CHUNK), sse(LAST)]), content_type="text/event-stream")
    )
    async with provider(httpserver) as opened:
        assert text_of(await collect(opened, ask())) == ANSWER


ERRORS = [
    (400, "INVALID_ARGUMENT", None, Kind.INVALID_REQUEST, 1),
    (400, "INVALID_ARGUMENT", "API_KEY_INVALID", Kind.AUTHENTICATION, 1),
    (403, "PERMISSION_DENIED", None, Kind.AUTHENTICATION, 1),
    (404, "NOT_FOUND", None, Kind.NOT_FOUND, 1),
    (429, "RESOURCE_EXHAUSTED", None, Kind.RATE_LIMITED, 3),
    (503, "UNAVAILABLE", None, Kind.UNAVAILABLE, 3),
    (504, "DEADLINE_EXCEEDED", None, Kind.TIMEOUT, 3),
]


@pytest.mark.parametrize(("status", "name", "reason", "kind", "requests"), ERRORS)
async def test_errors_have_their_kinds(
    httpserver: HTTPServer, status: int, name: str, reason: str | None, kind: Kind, requests: int
) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    error = {"code": status, "message": "no", "status": name, "details": [detail] if reason else []}
    script(httpserver, PATH, (status, {"error": error}))
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask())
    assert (caught.value.kind, caught.value.requests) == (kind, requests)


async def test_a_retry_delay_in_the_body_is_waited_out(httpserver: HTTPServer) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    error = {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED", "details": [detail]}
    script(httpserver, PATH, (429, {"error": error}), REPLY)
    sleeps = Sleeps()
    async with provider(httpserver, sleep=sleeps.sleep, clock=sleeps.clock) as opened:
        await opened.complete(ask())
    assert sleeps.taken == [7.0]


async def test_embeddings_of_the_gemini_api(httpserver: HTTPServer) -> None:
    path = "/v1beta/models/e:batchEmbedContents"
    served = script(httpserver, path, {"embeddings": [{"values": [1, 2]}, {"values": [3, 4]}]})
    async with provider(httpserver) as opened:
        got = await opened.embed(["a", "b"], model="models/e", dimensions=2)
        with pytest.raises(ValueError, match="nothing to embed"):
            await opened.embed([], model="e")
    assert got.vectors == ((1.0, 2.0), (3.0, 4.0))
    assert served.bodies == [
        {
            "requests": [
                {
                    "model": "models/e",
                    "content": {"parts": [{"text": text}]},
                    "outputDimensionality": 2,
                }
                for text in "ab"
            ]
        }
    ]


async def test_embeddings_that_are_none_are_a_bad_response(httpserver: HTTPServer) -> None:
    script(httpserver, "/v1beta/models/e:batchEmbedContents", {"embeddings": []})
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.embed("a", model="e")
    assert caught.value.kind is Kind.BAD_RESPONSE


async def test_a_missing_key_sends_nothing(httpserver: HTTPServer) -> None:
    async with provider(httpserver, None) as opened:
        with pytest.raises(AuthenticationFailed, match="GEMINI_API_KEY"):
            await opened.complete(ask())
    assert httpserver.log == []


async def test_status_lists_the_models(httpserver: HTTPServer) -> None:
    script(httpserver, "/v1beta/models", {}, method="GET")
    async with provider(httpserver) as opened:
        assert (await opened.status()).health == "healthy"


# --- Vertex ----------------------------------------------------------------------------------

VERTEX = "/v1/projects/p/locations/eu/publishers/google"


@pytest.fixture
def user_credentials(httpserver: HTTPServer) -> Callable[[], object]:
    """google-auth's own user credentials, whose token endpoint is the loopback server."""
    pytest.importorskip("google.auth", reason="google-auth is not installed (extra vertex)")
    module = importlib.import_module("google.oauth2.credentials")

    def make() -> object:
        return module.Credentials(
            None,
            refresh_token="r-token",  # noqa: S106
            token_uri=httpserver.url_for("/token"),
            client_id="c",
            client_secret="s",  # noqa: S106
        )

    return make


def vertex(server: HTTPServer, credentials: object, **options: object) -> Google:
    given = {"base_url": server.url_for(VERTEX), "observer": EventRecorder(), **options}
    return Google(location="eu", project="p", credentials=credentials, **given)  # type: ignore[arg-type]


def tokens(server: HTTPServer) -> list[str]:
    """The tokens the loopback server has given out."""
    given: list[str] = []

    def answer(_: object) -> Answer:
        given.append(f"tok-{len(given) + 1}")
        reply = {"access_token": given[-1], "expires_in": 3600, "token_type": "Bearer"}
        return Answer(json.dumps(reply), content_type="application/json")

    server.expect_request("/token").respond_with_handler(answer)
    return given


async def test_vertex_refreshes_a_token_and_keeps_it(
    httpserver: HTTPServer, user_credentials: Callable[[], object]
) -> None:
    given = tokens(httpserver)
    served = script(httpserver, f"{VERTEX}/models/m:generateContent", REPLY)
    async with vertex(httpserver, user_credentials()) as opened:
        assert (await opened.complete(ask())).text == ANSWER
        await opened.complete(ask())
    assert given == ["tok-1"]
    assert {request.headers["Authorization"] for request in served.received} == {"Bearer tok-1"}


async def test_a_401_of_vertex_refreshes_once(
    httpserver: HTTPServer, user_credentials: Callable[[], object]
) -> None:
    given = tokens(httpserver)
    script(httpserver, f"{VERTEX}/models/m:generateContent", (401, {}), REPLY)
    async with vertex(httpserver, user_credentials()) as opened:
        assert (await opened.complete(ask())).requests == 2
    assert given == ["tok-1", "tok-2"]


async def test_vertex_embeds_by_predict(
    httpserver: HTTPServer, user_credentials: Callable[[], object]
) -> None:
    tokens(httpserver)
    reply = {"predictions": [{"embeddings": {"values": [1.5]}}]}
    served = script(httpserver, f"{VERTEX}/models/e:predict", reply)
    async with vertex(httpserver, user_credentials()) as opened:
        assert (await opened.embed("a", model="e", dimensions=1)).vectors == ((1.5,),)
    assert served.bodies == [
        {"instances": [{"content": "a"}], "parameters": {"outputDimensionality": 1}}
    ]


async def test_vertex_status_lists_the_publishers_models(
    httpserver: HTTPServer, user_credentials: Callable[[], object]
) -> None:
    tokens(httpserver)
    script(httpserver, "/v1beta1/publishers/google/models", {}, method="GET")
    async with vertex(httpserver, user_credentials()) as opened:
        assert (await opened.status()).health == "healthy"


async def test_a_refresh_that_fails_is_an_authentication_error(
    httpserver: HTTPServer, user_credentials: Callable[[], object]
) -> None:
    httpserver.expect_request("/token").respond_with_json({"error": "invalid_grant"}, status=400)
    async with vertex(httpserver, user_credentials()) as opened:
        with pytest.raises(AuthenticationFailed, match="RefreshError") as caught:
            await opened.complete(ask())
    assert caught.value.requests == 0


def test_a_credential_files_content_is_loaded_by_google_auth() -> None:
    pytest.importorskip("google.auth", reason="google-auth is not installed (extra vertex)")
    info = {
        "type": "authorized_user",
        "client_id": "c",
        "client_secret": "s",
        "refresh_token": "r",
    }
    loaded = VertexToken(info)._load()
    assert type(loaded).__module__ == "google.oauth2.credentials"


def test_without_credentials_vertex_asks_for_the_applications_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.auth", reason="google-auth is not installed (extra vertex)")
    info = {
        "type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
        "quota_project_id": "p",
    }  # fmt: skip
    (tmp_path / "key.json").write_text(json.dumps(info))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    loaded = VertexToken(None)._load()
    assert type(loaded).__module__ == "google.oauth2.credentials"


def test_a_token_without_expiry_lives_until_it_is_refused() -> None:
    class Given:
        token: str | None = "t"  # noqa: S105
        expiry: dt.datetime | None = None

        def refresh(self, request: object, /) -> None:
            assert request is not None

    pytest.importorskip("google.auth", reason="google-auth is not installed (extra vertex)")
    assert VertexToken(Given()).refreshed().expires_in is None


def test_an_unknown_type_of_credential_is_refused() -> None:
    with pytest.raises(ValueError, match="got 'magic'"):
        Google(location="eu", project="p", credentials={"type": "magic"})


URLS = [
    ("us-central1", "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google"),
    ("global", "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google"),
]  # fmt: skip


@pytest.mark.parametrize(("location", "url"), URLS)
def test_the_vertex_url_has_project_and_location(location: str, url: str) -> None:
    assert Google(location=location, project="p")._url == url


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"location": "eu"}, "needs a project"),
        ({"project": "p"}, "pass location as well"),
        ({"api_key": "k", "location": "eu", "project": "p"}, "not both"),
    ],
)
def test_half_a_vertex_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Google(**options)  # type: ignore[arg-type]


def test_from_env(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("GEMINI_API_KEY", "GEN_AI_API_BASE_URL", "VERTEX_AI_LOCATION",
                 "GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"):  # fmt: skip
        monkeypatch.setenv(name, " ")
    assert Google.from_env().id == "generativelanguage.googleapis.com/v1beta"
    monkeypatch.setenv("VERTEX_AI_LOCATION", "eu")
    with pytest.raises(ValueError, match="needs a project"):
        Google.from_env()
    monkeypatch.setenv(
        "GOOGLE_CREDENTIALS", '{"type": "service_account", "project_id": "from-json"}'
    )
    assert "/projects/from-json/" in Google.from_env().id
    path = f"{tmp_path}/key.json"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write('{"type": "authorized_user", "quota_project_id": "from-file"}')
    monkeypatch.setenv("GOOGLE_CREDENTIALS", path)
    assert "/projects/from-file/" in Google.from_env().id
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "named")
    assert "/projects/named/" in Google.from_env().id
    for wrong in ("/nowhere/key.json", "{secret", "[1]"):
        monkeypatch.setenv("GOOGLE_CREDENTIALS", wrong)
        with pytest.raises(ValueError, match="GOOGLE_CREDENTIALS must be") as caught:
            Google.from_env()
        assert "secret" not in str(caught.value)
    monkeypatch.setenv("GEMINI_API_KEY", "g")
    monkeypatch.setenv("GEN_AI_API_BASE_URL", "https://proxy.invalid/g")
    opened = Google.from_env()
    assert (opened.id, repr(opened)) == ("proxy.invalid/g", "Google(id='proxy.invalid/g')")


def _vertex_env(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in ("GEMINI_API_KEY", "GEN_AI_API_BASE_URL", "GOOGLE_CREDENTIALS", "NO_PROXY",
                 "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "no_proxy"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    for name, value in {"VERTEX_AI_LOCATION": "eu", **variables}.items():
        monkeypatch.setenv(name, value)


def test_the_project_of_the_default_credentials_file_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    file.write_text('{"type": "service_account", "project_id": "from-adc"}', "utf-8")
    _vertex_env(monkeypatch, GOOGLE_APPLICATION_CREDENTIALS=str(file))
    assert "/projects/from-adc/" in Google.from_env().id
    file.write_text("{", "utf-8")
    with pytest.raises(ValueError, match="GOOGLE_APPLICATION_CREDENTIALS must be"):
        Google.from_env()


@pytest.mark.parametrize(
    ("exempt", "proxy"),
    [
        ("eu-aiplatform.googleapis.com", None),
        ("generativelanguage.googleapis.com", "http://proxy:3128"),
    ],
)
def test_vertex_has_the_proxy_of_its_own_host(
    monkeypatch: pytest.MonkeyPatch, exempt: str, proxy: str | None
) -> None:
    _vertex_env(
        monkeypatch, GOOGLE_CLOUD_PROJECT="p", HTTPS_PROXY="http://proxy:3128", NO_PROXY=exempt
    )
    transport = Google.from_env()._engine.transport
    assert isinstance(transport, Httpx2Transport)
    assert transport._proxy == proxy


@pytest.mark.parametrize("location", ["", "evil.example/", "eu/../x", "a@b", "eu west"])
def test_a_location_is_a_word_for_it_becomes_a_host(location: str) -> None:
    with pytest.raises(ValueError, match="location must be"):
        Google(location=location, project="p")


def test_google_auth_is_named_when_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"structguard\[vertex\]"):
        Google(location="eu", project="p")


def test_api_is_ignored_with_one_warning() -> None:
    seen = EventRecorder()
    Google("k", api="chat", observer=seen)
    assert len(seen.of(OptionIgnored)) == 1
