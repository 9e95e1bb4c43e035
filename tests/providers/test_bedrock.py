"""Bedrock: what is signed is what is sent, event streams are decoded, credentials found off-loop."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator

import anyio
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.errors import AuthenticationFailed, MissingExtra, ProviderError
from structguard.events import OptionIgnored
from structguard.providers import AwsKeys, Bedrock
from structguard.service import Provider
from structguard.types import Finished, Kind, StreamEvent, TextDelta
from structguard.wire.base import WireOptions
from tests.doubles import EventRecorder
from tests.http.raw import Play, raw_server
from tests.providers.frames import event, frame
from tests.providers.payloads import ANSWER, FORMAT, SCHEMA
from tests.providers.support import Sleeps, ask, collect, script, text_of

pytest.importorskip("botocore", reason="botocore is not installed (extra bedrock)")

KEYS = AwsKeys(access_key="AKIDEXAMPLE", secret_key="secret/+key", session_token="session+/=")  # noqa: S106
MODEL = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-1:0"
REPLY = {
    "output": {"message": {"role": "assistant", "content": [{"text": ANSWER}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8},
}


STREAM = [
    event("messageStart", {"role": "assistant"}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ANSWER[:9]}}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ANSWER[9:]}}),
    event("contentBlockStop", {"contentBlockIndex": 0}),
    event("messageStop", {"stopReason": "end_turn"}),
    event("metadata", {"usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}}),
]


def provider(server: HTTPServer, **options: object) -> Bedrock:
    given = {"base_url": server.url_for("/"), "keys": KEYS, "observer": EventRecorder(), **options}
    return Bedrock("us-east-1", **given)  # type: ignore[arg-type]


def signature_of(request: Received) -> tuple[str, str]:
    """The signature that came, and the one botocore computes for what came."""
    auth_module = importlib.import_module("botocore.auth")
    make_request = importlib.import_module("botocore.awsrequest").AWSRequest
    make_keys = importlib.import_module("botocore.credentials").Credentials

    given = request.headers["Authorization"]
    signed = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = make_request(
        method=request.method,
        url=f"http://{request.host}{request.environ['REQUEST_URI']}",
        data=request.get_data(),
        headers={name: request.headers[name] for name in signed if name != "host"},
    )
    again.context["timestamp"] = request.headers["X-Amz-Date"]
    keys = make_keys(KEYS.access_key, KEYS.secret_key, KEYS.session_token)
    auth = auth_module.SigV4Auth(keys, "bedrock", "us-east-1")
    text = auth.string_to_sign(again, auth.canonical_request(again))
    return given.rpartition("Signature=")[2], auth.signature(text, again)


@pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
async def test_a_call_is_signed_for_exactly_what_is_sent(
    httpserver: HTTPServer, transport: str, anyio_backend_name: str
) -> None:
    if transport == "aiohttp":
        pytest.importorskip("aiohttp", reason="aiohttp is not installed (extra fast)")
        if anyio_backend_name == "trio":
            pytest.skip("aiohttp runs on asyncio only")
    served = script(httpserver, f"/model/{MODEL}/converse", REPLY)
    async with provider(httpserver, transport=transport) as opened:
        face: Provider = opened
        reply = await face.complete(ask(model=MODEL, response_format=FORMAT, max_tokens=9))
        assert (opened.api_for("m"), opened.attempts) == ("converse", 3)
    (request,) = served.received
    given, computed = signature_of(request)
    assert given == computed
    assert request.headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/us-east-1/bedrock/aws4_request" in request.headers["Authorization"]
    assert request.headers["X-Amz-Security-Token"] == KEYS.session_token
    assert "%3A" in request.environ["REQUEST_URI"]
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert (
        json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])
        == SCHEMA
    )
    assert body["inferenceConfig"] == {"maxTokens": 9}
    assert (reply.text, reply.enforced) == (ANSWER, True)


async def test_the_format_can_be_a_forced_tool(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/model/m/converse", REPLY)
    async with provider(httpserver, options=WireOptions(structured="tool")) as opened:
        await opened.complete(ask(response_format=FORMAT))
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert "outputConfig" not in body
    assert body["toolConfig"]["toolChoice"]["tool"]


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_a_stream_is_decoded_wherever_it_is_cut(httpserver: HTTPServer, size: int) -> None:
    whole = b"".join(STREAM)
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    seen: list[Received] = []

    def answer(request: Received) -> Answer:
        seen.append(request)
        return Answer(iter(parts), content_type="application/vnd.amazon.eventstream")

    httpserver.expect_request("/model/m/converse-stream").respond_with_handler(answer)
    async with provider(httpserver) as opened:
        events = await collect(opened, ask())
    assert text_of(events) == ANSWER
    assert events[0] == TextDelta(ANSWER[:9])
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.completion.usage is not None
    assert last.completion.usage.total == 8
    assert seen[0].headers["Accept"] == "application/vnd.amazon.eventstream"


FAULTS = [
    (
        frame({"message": "slow"}, message_type="exception", exception_type="throttlingException"),
        Kind.RATE_LIMITED,
    ),
    (
        frame({}, message_type="error", error_code="InternalServer", error_message="oops"),
        Kind.UNAVAILABLE,
    ),
    (
        frame({}, message_type="error", error_code="InternalServerException", error_message="x"),
        Kind.UNAVAILABLE,
    ),
    (
        frame({}, message_type="error", error_code="ThrottlingException", error_message="x"),
        Kind.RATE_LIMITED,
    ),
    (frame({}, message_type="error", error_code="500", error_message="x"), Kind.UNAVAILABLE),
    (b"\x00" * 40, Kind.STREAM_TRUNCATED),
    (STREAM[1][:-2] + b"\x00\x00", Kind.STREAM_TRUNCATED),
    (STREAM[1][:20], Kind.STREAM_TRUNCATED),
    (frame({}, message_type="odd"), Kind.STREAM_TRUNCATED),
]


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FAULTS)
async def test_a_fault_in_a_stream_has_its_kind(
    httpserver: HTTPServer, fault: bytes, kind: Kind, *, begun: bool
) -> None:
    parts = [*(STREAM[:2] if begun else []), fault]
    httpserver.expect_request("/model/m/converse-stream").respond_with_handler(
        lambda _: Answer(iter(parts), content_type="application/vnd.amazon.eventstream")
    )
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        with pytest.raises(ProviderError) as caught:
            await collect(opened, ask())
    assert (caught.value.kind, caught.value.requests) == (kind, 1 if begun else 3)


async def test_reading_stops_at_the_last_event_though_the_socket_stays_open() -> None:
    body = b"".join(STREAM)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n\r\n"
    with raw_server(Play([head + body], hold=True)) as server:
        async with Bedrock("us-east-1", base_url=server.url, keys=KEYS) as opened:
            with anyio.fail_after(5):
                assert text_of(await collect(opened, ask())) == ANSWER
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)


ERRORS = [
    (400, "ValidationException", Kind.INVALID_REQUEST),
    (403, "AccessDeniedException", Kind.AUTHENTICATION),
    (404, "ResourceNotFoundException", Kind.NOT_FOUND),
    (429, "ThrottlingException", Kind.RATE_LIMITED),
    (429, "ModelNotReadyException", Kind.UNAVAILABLE),
    (408, "ModelTimeoutException", Kind.TIMEOUT),
]


@pytest.mark.parametrize(("status", "name", "kind"), ERRORS)
async def test_errors_have_their_kinds(
    httpserver: HTTPServer, status: int, name: str, kind: Kind
) -> None:
    body, headers = {"message": "no"}, {"x-amzn-ErrorType": f"{name}:http://x/"}
    script(httpserver, "/model/m/converse", (status, body, headers))
    async with provider(httpserver, sleep=Sleeps().sleep) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask())
    assert caught.value.kind is kind


async def test_an_api_key_is_a_bearer_token(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/model/m/converse", REPLY)
    async with provider(httpserver, keys=None, api_key="abc") as opened:
        await opened.complete(ask())
    assert served.received[0].headers["Authorization"] == "Bearer abc"


@pytest.fixture
def empty_home(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> Iterator[pytest.MonkeyPatch]:
    """No credentials of the machine's own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    return monkeypatch  # type: ignore[return-value]


async def test_no_credentials_are_an_authentication_error_and_nothing_is_sent(
    httpserver: HTTPServer, empty_home: pytest.MonkeyPatch
) -> None:
    async with provider(httpserver, keys=None) as opened:
        with pytest.raises(AuthenticationFailed, match="no AWS credentials") as caught:
            await opened.complete(ask())
        assert (caught.value.requests, httpserver.log) == (0, [])
        empty_home.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
        empty_home.setenv("AWS_SECRET_ACCESS_KEY", "s")
        served = script(httpserver, "/model/m/converse", REPLY)
        await opened.complete(ask())
    assert "Credential=AKIDENV/" in served.received[0].headers["Authorization"]


async def test_an_unknown_profile_is_an_authentication_error(
    httpserver: HTTPServer, empty_home: pytest.MonkeyPatch
) -> None:
    async with provider(httpserver, keys=None, profile="nobody") as opened:
        with pytest.raises(AuthenticationFailed, match="ProfileNotFound"):
            await opened.complete(ask())


async def test_signing_runs_off_the_event_loop(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from structguard.providers import aws  # noqa: PLC0415

    threads: list[int] = []
    sign = aws.Signer.sign

    def watched(self: aws.Signer, outgoing: object) -> object:
        threads.append(threading.get_ident())
        return sign(self, outgoing)  # type: ignore[arg-type]

    monkeypatch.setattr(aws.Signer, "sign", watched)
    script(httpserver, "/model/m/converse", REPLY)
    async with provider(httpserver) as opened:
        await opened.complete(ask())
    assert threads
    assert threading.get_ident() not in threads


async def test_status_lists_the_foundation_models(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/foundation-models", {}, method="GET")
    async with provider(httpserver) as opened:
        assert (await opened.status()).health == "healthy"
    given, computed = signature_of(served.received[0])
    assert given == computed


def test_from_env(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "BEDROCK_BASE_URL", "BEDROCK_TIMEOUT"):
        monkeypatch.setenv(name, "")
    with pytest.raises(ValueError, match="region must be"):
        Bedrock.from_env()
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    opened = Bedrock.from_env()
    assert opened.id == "bedrock-runtime.eu-west-1.amazonaws.com"
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("BEDROCK_BASE_URL", "https://proxy.invalid/aws")
    monkeypatch.setenv("BEDROCK_TIMEOUT", "5")
    opened = Bedrock.from_env()
    assert (opened.id, opened._engine.timeout) == ("proxy.invalid/aws", 5.0)
    assert repr(opened) == "Bedrock(id='proxy.invalid/aws')"


@pytest.mark.parametrize("region", [None, "", "us east", "../x"])
def test_a_region_that_is_none_is_refused(region: str | None) -> None:
    with pytest.raises(ValueError, match="region must be"):
        Bedrock(region)


def test_one_credential_is_enough() -> None:
    with pytest.raises(ValueError, match="pass only one of"):
        Bedrock("us-east-1", keys=KEYS, profile="p")


def test_api_is_ignored_with_one_warning() -> None:
    seen = EventRecorder()
    Bedrock("us-east-1", api="responses", observer=seen)
    assert len(seen.of(OptionIgnored)) == 1


def test_botocore_is_not_imported_until_used_and_named_when_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = (
        "import sys, structguard.providers as p; p.Bedrock('us-east-1');"
        "print(any(m in sys.modules for m in ('botocore', 'google.auth', 'openai', 'aiohttp')))"
    )
    done = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"structguard\[bedrock\]"):
        Bedrock("us-east-1")


def test_no_repr_shows_a_secret() -> None:
    opened = Bedrock("us-east-1", keys=KEYS)
    assert "secret" not in f"{KEYS!r} {opened!r} {opened._engine!r} {vars(opened)!r}"


async def test_a_refusal_told_as_an_exception_in_the_stream_is_one(httpserver: HTTPServer) -> None:
    text = "output_config.format: Extra inputs are not permitted"
    named = {"message_type": "exception", "exception_type": "validationException"}
    told = frame({"message": text}, **named)
    httpserver.expect_request("/model/m/converse-stream").respond_with_data(
        told, content_type="application/vnd.amazon.eventstream"
    )
    async with provider(httpserver) as opened:
        with pytest.raises(ProviderError, match="Extra inputs") as caught:
            await collect(opened, ask(response_format=FORMAT))
    assert (caught.value.kind, caught.value.failure.code) == (
        Kind.FORMAT_REFUSED,
        "validationException",
    )


async def test_what_came_before_the_damage_is_handed_out(httpserver: HTTPServer) -> None:
    """Also what came in the same piece of the body."""
    httpserver.expect_request("/model/m/converse-stream").respond_with_data(
        b"".join(STREAM[:2]) + STREAM[1][:-2] + b"\x00\x00",
        content_type="application/vnd.amazon.eventstream",
    )
    events: list[StreamEvent] = []

    async def read(opened: Bedrock) -> None:
        async with opened.stream(ask()) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401  what came before it raises

    async with provider(httpserver) as opened:
        with pytest.raises(ProviderError, match="damaged") as caught:
            await read(opened)
    assert events == [TextDelta(ANSWER[:9])]
    assert (caught.value.requests, caught.value.failure.yielded) == (1, True)


async def test_a_message_without_its_name_is_a_damaged_stream(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/model/m/converse-stream").respond_with_data(
        frame({}, message_type="event"), content_type="application/vnd.amazon.eventstream"
    )
    async with provider(httpserver) as opened:
        with pytest.raises(ProviderError, match="damaged") as caught:
            await collect(opened, ask(attempts=1))
    assert caught.value.kind is Kind.STREAM_TRUNCATED
