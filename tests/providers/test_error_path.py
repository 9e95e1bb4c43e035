"""One error path: facts, a kind, one error with one event; retries by the table and counted."""

from __future__ import annotations

import json
import pickle
import time
import traceback
from email.utils import formatdate

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response as Answer

from structguard.errors import (
    AuthenticationFailed,
    ContextLengthExceeded,
    ProviderError,
    RateLimited,
    Timeout,
    Unavailable,
)
from structguard.events import Event, ProviderFailed
from structguard.guard import Guard
from structguard.options import Policy, RetryOptions
from structguard.providers import OpenAI, OpenAICompat
from structguard.types import Kind, Scope
from structguard.wire.base import BadReply
from tests.doubles import EventRecorder
from tests.http.raw import Play, raw_server
from tests.providers.payloads import ANSWER, CHAT, FORMAT, RATE_LIMITED, REFUSED, chat_stream, sse
from tests.providers.support import Sleeps, ask, collect, run, script, text_of

PATH = "/v1/chat/completions"


class Bench:
    """A provider whose waits take no time, and what it told."""

    def __init__(self, server: HTTPServer, **options: object) -> None:
        self.seen, self.sleeps = EventRecorder(), Sleeps()
        self.provider = OpenAICompat(
            server.url_for("/v1"),
            api_key="sk-test",
            observer=self.seen,
            sleep=self.sleeps.sleep,
            clock=self.sleeps.clock,
            jitter=lambda: 0.0,
            **options,  # type: ignore[arg-type]
        )

    @property
    def failed(self) -> list[ProviderFailed]:
        return self.seen.of(ProviderFailed)


FINAL = [
    (400, {"error": {"message": "bad", "type": "invalid_request_error"}}, Kind.INVALID_REQUEST),
    (405, {}, Kind.INVALID_REQUEST),
    (418, "teapot", Kind.INVALID_REQUEST),
    (401, {"error": {"message": "bad key"}}, Kind.AUTHENTICATION),
    (403, {"error": {"message": "no"}}, Kind.AUTHENTICATION),
    (402, {}, Kind.BILLING),
    (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, Kind.BILLING),
    (404, {"error": {"message": "no such model", "code": "model_not_found"}}, Kind.NOT_FOUND),
    (410, {}, Kind.NOT_FOUND),
    (413, {}, Kind.REQUEST_TOO_LARGE),
    (
        400,
        {"error": {"message": "too long", "code": "context_length_exceeded"}},
        Kind.CONTEXT_LENGTH,
    ),
]
RETRIED = [
    (429, RATE_LIMITED, Kind.RATE_LIMITED),
    (500, {}, Kind.UNAVAILABLE),
    (502, "<html><body><h1>502 Bad Gateway</h1></body></html>", Kind.UNAVAILABLE),
    (503, "", Kind.UNAVAILABLE),
    (529, {}, Kind.UNAVAILABLE),
    (408, {}, Kind.TIMEOUT),
    (504, {}, Kind.TIMEOUT),
    (409, {}, Kind.UNAVAILABLE),
    (425, {}, Kind.UNAVAILABLE),
    (200, "<html>login</html>", Kind.BAD_RESPONSE),
    (200, "", Kind.BAD_RESPONSE),
    (200, {"choices": []}, Kind.BAD_RESPONSE),
    (200, b"\xff\xfe\x00", Kind.BAD_RESPONSE),
    (200, {"error": {"message": "overloaded", "code": 503}}, Kind.UNAVAILABLE),
    (
        200,
        {"choices": [{"message": {"content": "x"}, "finish_reason": "error"}]},
        Kind.UNAVAILABLE,
    ),
]


@pytest.mark.parametrize(("status", "body", "kind"), FINAL)
async def test_a_final_fault_is_sent_once_and_told_once(
    httpserver: HTTPServer, status: int, body: object, kind: Kind
) -> None:
    served = script(httpserver, PATH, (status, body, {"x-request-id": "req_1"}))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError) as caught:
        await bench.provider.complete(ask(user="ann"))
    error = caught.value
    assert (error.kind, error.requests, error.retryable) == (kind, 1, False)
    assert (error.provider, error.model, error.operation) == (bench.provider.id, "m", "complete")
    assert (error.failure.status, error.request_id) == (status, "req_1")
    assert len(served.received) == 1
    (event,) = bench.failed
    assert (event.kind, event.user, event.operation) == (kind, "ann", "complete")
    assert bench.sleeps.taken == []
    await bench.provider.aclose()


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("status", "body", "kind"), RETRIED)
async def test_a_passing_fault_is_sent_again_until_the_attempts_are_spent(
    httpserver: HTTPServer, status: int, body: object, kind: Kind, *, streaming: bool
) -> None:
    served = script(httpserver, PATH, (status, body))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError) as caught:
        await run(bench.provider, ask(), streaming=streaming)
    if streaming and kind is Kind.BAD_RESPONSE:  # no event ever came: to a stream that is a cut
        assert caught.value.kind in {kind, Kind.STREAM_TRUNCATED}
    else:
        assert caught.value.kind is kind
    assert caught.value.requests == len(served.received) == 3
    assert len({request.get_data() for request in served.received}) == 1
    assert len(bench.failed) == 1
    assert bench.sleeps.taken == [0.5, 1.0]
    await bench.provider.aclose()


async def test_a_retry_that_serves_tells_nothing_and_is_counted(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (503, {}), (200, {"choices": []}), CHAT)
    bench = Bench(httpserver)
    reply = await bench.provider.complete(ask())
    assert (reply.text, reply.requests) == (ANSWER, 3)
    assert bench.seen.events == []
    await bench.provider.aclose()


async def test_a_retry_after_is_waited_out(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (429, RATE_LIMITED, {"retry-after": "7"}), CHAT)
    bench = Bench(httpserver)
    await bench.provider.complete(ask())
    assert bench.sleeps.taken == [7.0]
    await bench.provider.aclose()


async def test_a_retry_after_over_the_cap_ends_the_attempts(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, (429, RATE_LIMITED, {"retry-after": "61"}), CHAT)
    bench = Bench(httpserver)
    with pytest.raises(RateLimited) as caught:
        await bench.provider.complete(ask())
    assert caught.value.retry_after == 61.0
    assert (len(served.received), bench.sleeps.taken) == (1, [])
    await bench.provider.aclose()


async def test_the_backoff_doubles_up_to_its_cap(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (503, {}))
    retry = RetryOptions(attempts=6, backoff=1.0, backoff_cap=5.0)
    bench = Bench(httpserver, retry=retry)
    with pytest.raises(Unavailable):
        await bench.provider.complete(ask())
    assert bench.sleeps.taken == [1.0, 2.0, 4.0, 5.0, 5.0]
    await bench.provider.aclose()


async def test_jitter_takes_up_to_half_of_the_backoff_away(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (503, {}), CHAT)
    seen, sleeps = EventRecorder(), Sleeps()
    async with OpenAICompat(
        httpserver.url_for("/v1"), observer=seen, sleep=sleeps.sleep, jitter=lambda: 0.999
    ) as provider:
        await provider.complete(ask())
    assert sleeps.taken == [pytest.approx(0.25, abs=0.001)]


async def test_a_pause_longer_than_the_remaining_time_ends_the_attempts(
    httpserver: HTTPServer,
) -> None:
    served = script(httpserver, PATH, (429, RATE_LIMITED, {"retry-after": "30"}), CHAT)
    bench = Bench(httpserver)
    with pytest.raises(RateLimited):
        await bench.provider.complete(ask(timeout=20.0))
    assert (len(served.received), bench.sleeps.taken) == (1, [])
    await bench.provider.aclose()


async def test_the_requests_own_attempts_win(httpserver: HTTPServer) -> None:
    served = script(httpserver, PATH, (503, {}))
    bench = Bench(httpserver)
    with pytest.raises(Unavailable) as caught:
        await bench.provider.complete(ask(attempts=1))
    assert (caught.value.requests, len(served.received)) == (1, 1)
    await bench.provider.aclose()


async def test_our_own_deadline_is_no_servers_time_out_and_not_retried(
    httpserver: HTTPServer,
) -> None:
    def slow(_: object) -> Answer:
        time.sleep(0.6)  # noqa: TID251  the server's thread
        return Answer("{}")

    httpserver.expect_request(PATH).respond_with_handler(slow)
    async with OpenAICompat(httpserver.url_for("/v1"), observer=EventRecorder()) as provider:
        with pytest.raises(Timeout) as caught:
            await provider.complete(ask(timeout=0.2))
    error = caught.value
    assert (error.failure.own_timeout, error.retryable, error.requests) == (True, False, 1)
    assert error.rule.breaker == "threshold"


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_refused_format_rides_on_the_error_and_is_not_retried(
    httpserver: HTTPServer, *, streaming: bool
) -> None:
    served = script(httpserver, PATH, (400, REFUSED))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError) as caught:
        await run(bench.provider, ask(response_format=FORMAT), streaming=streaming)
    error = caught.value
    assert error.kind is Kind.FORMAT_REFUSED
    assert error.refusal is not None
    assert error.refusal.scope is Scope.CAPABILITY
    assert (error.retryable, error.requests, len(served.received)) == (False, 1, 1)
    (event,) = bench.failed
    assert event.refusal == error.refusal
    await bench.provider.aclose()


async def test_without_a_format_the_same_words_are_no_refusal(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (400, REFUSED))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError) as caught:
        await bench.provider.complete(ask())
    assert (caught.value.kind, caught.value.refusal) == (Kind.INVALID_REQUEST, None)
    await bench.provider.aclose()


async def test_a_refusal_inside_a_200_is_one(httpserver: HTTPServer) -> None:
    body = {"error": {**REFUSED["error"], "code": 400}}  # type: ignore[dict-item]
    script(httpserver, PATH, (200, body))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError) as caught:
        await bench.provider.complete(ask(response_format=FORMAT))
    assert caught.value.kind is Kind.FORMAT_REFUSED
    await bench.provider.aclose()


async def test_an_error_event_before_the_first_delta_is_judged_like_an_error_body(
    httpserver: HTTPServer,
) -> None:
    error = {"error": {"message": "overloaded", "code": 503}}
    turns = [[sse(error)], chat_stream()]
    httpserver.expect_request(PATH).respond_with_handler(
        lambda _: Answer(iter(turns.pop(0)), content_type="text/event-stream")
    )
    bench = Bench(httpserver)
    assert text_of(await collect(bench.provider, ask())) == ANSWER
    assert (turns, bench.seen.events) == ([], [])
    await bench.provider.aclose()


async def test_a_redirect_is_not_followed_and_names_the_address(httpserver: HTTPServer) -> None:
    elsewhere = script(httpserver, "/elsewhere", CHAT)
    target = httpserver.url_for("/elsewhere")
    served = script(httpserver, PATH, (307, "", {"location": target}))
    bench = Bench(httpserver)
    with pytest.raises(ProviderError, match="set base_url") as caught:
        await bench.provider.complete(ask())
    assert caught.value.kind is Kind.NOT_FOUND
    assert target in str(caught.value)
    assert (len(served.received), len(elsewhere.received)) == (1, 0)
    await bench.provider.aclose()


async def test_the_error_classes_carry_the_facts_and_pickle(httpserver: HTTPServer) -> None:
    limits = {"x-ratelimit-remaining-requests": "0", "retry-after": "99"}
    script(httpserver, PATH, (429, RATE_LIMITED, limits))
    bench = Bench(httpserver)
    with pytest.raises(RateLimited) as caught:
        await bench.provider.complete(ask())
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  our own bytes
    assert (again.kind, again.failure, again.requests) == (
        caught.value.kind,
        caught.value.failure,
        1,
    )
    assert json.loads(again.failure.body) == RATE_LIMITED
    assert again.failure.metadata
    await bench.provider.aclose()


@pytest.mark.parametrize(
    ("status", "body", "cls"),
    [
        (401, {}, AuthenticationFailed),
        (400, {"error": {"code": "context_length_exceeded"}}, ContextLengthExceeded),
    ],
)
async def test_kinds_have_classes_to_catch(
    httpserver: HTTPServer, status: int, body: object, cls: type[ProviderError]
) -> None:
    script(httpserver, PATH, (status, body))
    bench = Bench(httpserver)
    with pytest.raises(cls):
        await bench.provider.complete(ask())
    await bench.provider.aclose()


async def test_no_error_shows_the_key(httpserver: HTTPServer) -> None:
    key = "sk-verysecret1234567890abcdef"
    other = "sk-anothersecret1234567890abc"
    body = {"error": {"message": f"Incorrect API key provided: {key}, not {other}."}}
    script(httpserver, PATH, (401, body))
    seen = EventRecorder()
    async with OpenAICompat(httpserver.url_for("/v1"), api_key=key, observer=seen) as provider:
        with pytest.raises(AuthenticationFailed) as caught:
            await provider.complete(ask())
        shown = f"{caught.value} {caught.value!r} {seen.events} {provider!r} {provider._engine!r}"
        shown += caught.value.failure.message
    assert "verysecret" not in shown
    assert "anothersecret" not in shown


@pytest.mark.parametrize(
    ("status", "health"),
    [
        (200, "healthy"),
        (429, "degraded"),
        (503, "degraded"),
        (401, "unhealthy"),
        (404, "unhealthy"),
    ],
)
async def test_status_never_raises(httpserver: HTTPServer, status: int, health: str) -> None:
    served = script(httpserver, "/v1/models", (status, {"data": []}), method="GET")
    bench = Bench(httpserver)
    got = await bench.provider.status()
    assert (got.health, len(served.received)) == (health, 1)
    assert got.message
    assert got.latency >= 0
    assert len(bench.failed) == (0 if health == "healthy" else 1)
    assert served.received[0].headers["Authorization"] == "Bearer sk-test"
    await bench.provider.aclose()


async def test_status_of_nobody_is_unhealthy() -> None:
    seen = EventRecorder()
    async with OpenAICompat("http://127.0.0.1:9/v1", observer=seen) as provider:
        got = await provider.status()
    assert got.health == "unhealthy"
    assert seen.of(ProviderFailed)[0].operation == "status"


async def test_an_observer_that_raises_takes_no_errors_place(
    httpserver: HTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(event: Event, /) -> None:
        raise RuntimeError(type(event).__name__)

    script(httpserver, "/v1/responses", (402, {}))
    async with OpenAI("k", base_url=httpserver.url_for("/v1"), observer=breaks) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask())
    assert caught.value.kind is Kind.BILLING
    told = [record.message for record in caplog.records if record.name == "structguard"]
    assert told == [
        "an observer failed on OptionIgnored",
        "an observer failed on ProviderFailed",
    ]


async def test_no_error_shows_the_key_in_whatever_words_it_is_repeated(
    httpserver: HTTPServer,
) -> None:
    """A key of no known form, where nothing around it says that it is one."""
    key = "mykey1234567890abcdef"
    script(
        httpserver,
        PATH,
        (401, {"error": {"message": f"no access for {key}!", "code": key, "param": key}}),
    )
    seen = EventRecorder()
    async with OpenAICompat(httpserver.url_for("/v1"), api_key=key, observer=seen) as provider:
        with pytest.raises(AuthenticationFailed, match=r"no access for \*\*\*!") as caught:
            await provider.complete(ask())
    error = caught.value
    assert key not in f"{error!r} {error.failure} {error.details} {seen.events}"


OWN_KEY = "mykey1234567890abcdef"


async def test_no_cause_shows_the_key_either(httpserver: HTTPServer) -> None:
    """A traceback prints the causes of an error too."""
    told = {"error": {"message": f"no access for {OWN_KEY}", "code": "invalid_api_key"}}
    chunk = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
    raw = f"data: {json.dumps(chunk)}\n\ndata: {json.dumps(told)}\n\n"
    script(httpserver, PATH, raw, told)
    async with OpenAICompat(httpserver.url_for("/v1"), api_key=OWN_KEY) as provider:
        with pytest.raises(AuthenticationFailed) as streamed:
            await collect(provider, ask())
        with pytest.raises(AuthenticationFailed) as whole:
            await provider.complete(ask())
    for caught in (streamed, whole):
        assert isinstance(caught.value.__cause__, BadReply)
        assert "no access for ***" in str(caught.value.__cause__)
        assert OWN_KEY not in "".join(traceback.format_exception(caught.value))


async def test_no_refusal_shows_the_key_for_it_is_remembered(httpserver: HTTPServer) -> None:
    said = f"response_format json_schema is not supported for {OWN_KEY}"
    script(httpserver, PATH, (400, {"error": {"message": said}}), CHAT)
    seen = EventRecorder()
    guard = Guard(memo="memory:", observer=seen)
    async with OpenAICompat(httpserver.url_for("/v1"), api_key=OWN_KEY, observer=seen) as provider:
        reply = await guard.protect(provider).complete(ask(response_format=FORMAT))
    assert reply.refusal is not None
    assert "***" in reply.refusal.evidence
    assert OWN_KEY not in f"{reply} {seen.events} {guard.memo.entries()}"


async def test_nor_does_one_that_only_the_policy_sees(httpserver: HTTPServer) -> None:
    """The guard judges the whole body anew then."""
    told = {"error": {"message": f"response_format is not supported for {OWN_KEY}"}}
    script(httpserver, PATH, (418, told), CHAT)
    guard = Guard(memo="memory:", policy=Policy(also_statuses=frozenset({418})))
    async with OpenAICompat(httpserver.url_for("/v1"), api_key=OWN_KEY) as provider:
        reply = await guard.protect(provider).complete(ask(response_format=FORMAT))
    assert reply.refusal is not None
    assert "***" in reply.refusal.evidence
    assert OWN_KEY not in f"{reply} {guard.memo.entries()}"


async def test_a_key_that_is_a_mere_word_is_no_secret(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (400, {"error": {"message": "none of it"}}))
    async with OpenAICompat(
        httpserver.url_for("/v1"), api_key="none", observer=EventRecorder()
    ) as provider:
        with pytest.raises(ProviderError, match="none of it"):
            await provider.complete(ask())


async def test_a_retry_after_date_counts_from_now_where_the_reply_has_no_date() -> None:
    when = formatdate(time.time() + 40, usegmt=True)
    head = f"HTTP/1.1 429 Slow\r\nretry-after: {when}\r\ncontent-length: 2\r\n\r\n{{}}"
    once = RetryOptions(attempts=1)
    with raw_server(Play([head.encode()])) as server:
        async with OpenAICompat(server.url, retry=once, observer=EventRecorder()) as provider:
            with pytest.raises(RateLimited) as caught:
                await provider.complete(ask())
    assert caught.value.retry_after is not None
    assert 30 < caught.value.retry_after <= 40


async def test_a_key_in_the_query_of_the_base_url_is_never_shown(httpserver: HTTPServer) -> None:
    """Endpoints that redirect, from http to https, repeat the query."""
    secret = "abc123def456"  # noqa: S105
    script(httpserver, PATH, (301, {}, {"location": f"https://elsewhere/v1?key={secret}"}))
    seen = EventRecorder()
    url = f"{httpserver.url_for('/v1')}?key={secret}"
    async with OpenAICompat(url, observer=seen) as provider:
        with pytest.raises(ProviderError, match="redirects to https://elsewhere/v1;") as caught:
            await provider.complete(ask())
        shown = f"{caught.value!r} {caught.value.failure} {seen.events} {provider._engine.router}"
    assert secret not in shown


async def test_nor_where_the_endpoint_repeats_it(httpserver: HTTPServer) -> None:
    script(httpserver, PATH, (401, {"error": {"message": f"not {OWN_KEY}"}}))
    url = f"{httpserver.url_for('/v1')}?key={OWN_KEY}"
    async with OpenAICompat(url, observer=EventRecorder()) as provider:
        with pytest.raises(AuthenticationFailed, match=r"not \*\*\*"):
            await provider.complete(ask())
