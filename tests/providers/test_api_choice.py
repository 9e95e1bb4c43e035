"""Which wire API a model is asked over: spec api-choice, row by row."""

from __future__ import annotations

import time
from collections.abc import Mapping

import anyio
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.errors import ProviderError
from structguard.events import ApiLookupFailed, ApiSwitched, ProviderFailed
from structguard.memo import Entry, Memo, endpoint_id, open_memo
from structguard.providers import Credential, ModelOptions, OpenAICompat
from structguard.providers.lookup import EXPIRY, TIMEOUT
from structguard.types import Kind
from tests.doubles import EventRecorder
from tests.providers.payloads import (
    ANSWER,
    CHAT,
    FORMAT,
    REFUSED,
    RESPONSE,
    WRONG_API,
    responses_stream,
)
from tests.providers.support import Script, Sleeps, ask, collect, script, text_of

CHAT_PATH, RESPONSES_PATH, MODELS_PATH = "/v1/chat/completions", "/v1/responses", "/v1/models"


class Harness:
    """An endpoint with both APIs and a model list, and a provider that may ask."""

    def __init__(self, server: HTTPServer, listed: object = None, **options: object) -> None:
        self.server = server
        self.chat = script(server, CHAT_PATH, CHAT)
        self.responses = script(server, RESPONSES_PATH, RESPONSE)
        self.models: Script | None = None
        if listed is not None:
            answers = listed if isinstance(listed, list) else [listed]
            self.models = script(server, MODELS_PATH, *answers, method="GET")
        self.seen, self.sleeps = EventRecorder(), Sleeps()
        self.provider = OpenAICompat(
            server.url_for("/v1"),
            observer=self.seen,
            clock=self.sleeps.clock,
            sleep=self.sleeps.sleep,
            **{"discover": listed is not None, "api_key": "sk-test", **options},  # type: ignore[arg-type]
        )

    async def ask(self, model: str = "m") -> None:
        reply = await self.provider.complete(ask(model=model))
        assert reply.text == ANSWER

    @property
    def asked(self) -> tuple[int, int, int]:
        """How often chat, responses and the list were asked."""
        lists = 0 if self.models is None else len(self.models.received)
        return len(self.chat.received), len(self.responses.received), lists


def listing(**models: object) -> Mapping[str, object]:
    return {
        "data": [
            {"id": name, **({} if listed is None else {"supported_endpoints": listed})}
            for name, listed in models.items()
        ]
    }


@pytest.mark.parametrize("api", ["chat", "chat_completions", "responses"])
async def test_the_providers_option_decides_without_a_look_up(
    httpserver: HTTPServer, api: str
) -> None:
    harness = Harness(httpserver, listing(m=["/responses"]), api=api)
    await harness.ask()
    assert harness.asked == ((0, 1, 0) if api == "responses" else (1, 0, 0))
    await harness.provider.aclose()


async def test_the_models_option_wins_over_the_providers(httpserver: HTTPServer) -> None:
    models = {"special": ModelOptions(api="responses")}
    harness = Harness(httpserver, listing(), api="chat", models=models)
    await harness.ask("special")
    await harness.ask("plain")
    assert harness.asked == (1, 1, 0)
    assert harness.provider.api_for("special") == "responses"
    assert harness.provider.api_for("plain") == harness.provider.api_for(None) == "chat"
    await harness.provider.aclose()


@pytest.mark.parametrize("where", ["api", "models"])
def test_an_unknown_api_lists_the_known_ones(where: str) -> None:
    options: dict[str, object] = {
        "api": "messages" if where == "api" else None,
        "models": {"m": ModelOptions(api="messages")} if where == "models" else None,  # type: ignore[arg-type]
    }
    with pytest.raises(ValueError, match="'chat', 'chat_completions', 'responses', got 'messages'"):
        OpenAICompat("http://h.invalid/v1", **options)  # type: ignore[arg-type]


async def test_without_options_and_look_up_it_is_chat(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver)
    await harness.ask()
    assert harness.asked == (1, 0, 0)
    await harness.provider.aclose()


LISTED: list[tuple[object, tuple[int, int, int]]] = [
    (["/responses"], (0, 1, 1)),
    (["/v1/responses"], (0, 1, 1)),
    (["responses"], (0, 1, 1)),
    (["/Responses/"], (0, 1, 1)),
    (["https://llm.example/openai/v1/responses"], (0, 1, 1)),
    (["POST /v1/responses", "GET /v1/models"], (0, 1, 1)),
    (["/openai/v1/chat/completions"], (1, 0, 1)),
    (["/chat/completions", "ws:/responses"], (1, 0, 1)),
    (["/v1/messages", "/responses"], (0, 1, 1)),
    (["/chat/completions", "/responses"], (1, 0, 1)),
    (["/v1/chat/completions"], (1, 0, 1)),
    ([], (1, 0, 1)),
    (None, (1, 0, 1)),
    ("/responses", (1, 0, 1)),  # not a list
]


@pytest.mark.parametrize(("listed", "asked"), LISTED, ids=str)
async def test_the_list_says_which(
    httpserver: HTTPServer, listed: object, asked: tuple[int, int, int]
) -> None:
    harness = Harness(httpserver, listing(m=listed, other=["/responses"]))
    await harness.ask()
    assert harness.asked == asked
    assert harness.seen.events == []
    assert harness.provider.api_for("m") == ("responses" if asked[1] else "chat")
    await harness.provider.aclose()


async def test_a_model_that_is_not_listed_is_asked_over_chat(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver, listing(other=["/responses"]))
    await harness.ask()
    assert harness.asked == (1, 0, 1)
    await harness.provider.aclose()


def test_an_address_of_one_model_each_has_no_list_to_ask() -> None:
    with pytest.raises(ValueError, match="discover"):
        OpenAICompat("http://h.invalid/{model}/v1", discover=True)


async def test_odd_items_are_ignored(httpserver: HTTPServer) -> None:
    body = {"data": [7, {"id": 3, "supported_endpoints": ["x"]}, {"supported_endpoints": []},
                     {"id": "m", "supported_endpoints": ["/responses", 5]}]}  # fmt: skip
    harness = Harness(httpserver, body)
    await harness.ask()
    assert harness.asked == (0, 1, 1)
    await harness.provider.aclose()


async def test_a_model_that_lists_neither_is_an_error_and_nothing_is_sent(
    httpserver: HTTPServer,
) -> None:
    harness = Harness(httpserver, listing(m=["/v1/embeddings"]))
    with pytest.raises(ProviderError) as caught:
        await harness.ask()
    assert caught.value.kind is Kind.UNSUPPORTED_API
    assert harness.asked == (0, 0, 1)
    assert len(harness.seen.of(ProviderFailed)) == 1
    await harness.provider.aclose()


async def test_concurrent_first_requests_share_one_look_up(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver)
    harness.provider = OpenAICompat(httpserver.url_for("/v1"), api_key="k", discover=True)
    seen: list[Received] = []

    def slow(request: Received) -> Answer:
        seen.append(request)
        time.sleep(0.2)  # noqa: TID251  the server's thread
        return Answer(
            '{"data": [{"id": "a", "supported_endpoints": ["/responses"]},'
            ' {"id": "b", "supported_endpoints": ["/chat/completions"]}]}'
        )

    httpserver.expect_request(MODELS_PATH).respond_with_handler(slow)
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(harness.ask, "ab"[number % 2])
    assert (len(seen), harness.asked) == (1, (10, 10, 0))
    await harness.provider.aclose()


async def test_a_cancelled_look_up_is_taken_over_by_the_next(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver)
    harness.provider = OpenAICompat(httpserver.url_for("/v1"), discover=True)
    seen: list[Received] = []

    def slow(request: Received) -> Answer:
        seen.append(request)
        time.sleep(0.3)  # noqa: TID251  the server's thread
        return Answer('{"data": [{"id": "m", "supported_endpoints": ["/responses"]}]}')

    httpserver.expect_request(MODELS_PATH).respond_with_handler(slow)

    async def impatient() -> None:
        with anyio.move_on_after(0.15):
            await harness.ask()

    async with anyio.create_task_group() as group:
        group.start_soon(impatient)
        await anyio.sleep(0.05)
        group.start_soon(harness.ask)
    assert (len(seen), harness.asked) == (2, (0, 1, 0))
    await harness.provider.aclose()


async def test_the_look_up_carries_the_providers_own_auth_and_is_counted(
    httpserver: HTTPServer,
) -> None:
    harness = Harness(httpserver, listing(m=["/responses"]), headers={"Editor-Version": "x/1"})
    first = await harness.provider.complete(ask())
    second = await harness.provider.complete(ask())
    assert (first.requests, second.requests) == (2, 1)
    assert harness.models is not None
    headers = harness.models.received[0].headers
    assert (headers["Authorization"], headers["Editor-Version"]) == ("Bearer sk-test", "x/1")
    await harness.provider.aclose()


FAILURES: list[object] = [
    (404, "not here"),
    (500, {}),
    (200, "<html>"),
    (200, {"object": "list"}),
    (200, {"data": []}),
    (200, []),
    (200, {"data": {"m": 1}}),
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
async def test_a_failed_look_up_warns_once_and_is_asked_again_later(
    httpserver: HTTPServer, failure: object
) -> None:
    harness = Harness(httpserver, [failure, failure, listing(m=["/responses"])])
    await harness.ask()
    await harness.ask()
    assert harness.asked == (2, 0, 1)
    assert len(harness.seen.of(ApiLookupFailed)) == 1
    harness.sleeps.now += 5.1
    await harness.ask()
    assert harness.asked == (3, 0, 2)
    harness.sleeps.now += 14.0  # the pause has grown
    await harness.ask()
    assert harness.asked == (4, 0, 2)
    harness.sleeps.now += 1.1
    await harness.ask()
    assert harness.asked == (4, 1, 3)
    assert len(harness.seen.of(ApiLookupFailed)) == 1
    await harness.provider.aclose()


async def test_a_slow_look_up_is_given_up(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structguard.providers.lookup.TIMEOUT", 0.2)
    harness = Harness(httpserver, discover=True)

    def slow(_: Received) -> Answer:
        time.sleep(0.6)  # noqa: TID251  the server's thread
        return Answer("{}")

    httpserver.expect_request(MODELS_PATH).respond_with_handler(slow)
    await harness.ask()
    assert harness.asked == (1, 0, 0)
    (told,) = harness.seen.of(ApiLookupFailed)
    assert "no answer" in told.reason
    assert TIMEOUT == 2.0
    await harness.provider.aclose()


async def test_an_old_answer_is_renewed_beside_a_call(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver, [listing(m=["/responses"]), listing(m=["/chat/completions"])])
    harness.responses.delay = 0.2
    await harness.ask()
    harness.sleeps.now += EXPIRY + 1
    await harness.ask()  # still over responses, while the list is asked again
    assert harness.asked == (0, 2, 2)
    await harness.ask()
    assert harness.asked == (1, 2, 2)
    await harness.provider.aclose()


async def test_a_renewal_that_the_call_outran_is_not_tried_at_once(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver, [listing(m=["/responses"])])
    await harness.ask()
    assert harness.models is not None
    harness.models.delay = 0.3
    harness.sleeps.now += EXPIRY + 1
    for _ in range(3):
        await harness.ask()
    assert harness.asked[:2] == (0, 4)
    assert harness.asked[2] <= 2
    await harness.provider.aclose()


async def test_a_renewal_that_fails_changes_nothing(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver, [listing(m=["/responses"]), (500, {})])
    await harness.ask()
    harness.sleeps.now += EXPIRY + 1
    await harness.ask()
    await harness.ask()
    assert harness.asked[:2] == (0, 3)
    await harness.provider.aclose()


async def test_an_error_beside_a_renewal_comes_out_as_it_is(httpserver: HTTPServer) -> None:
    harness = Harness(httpserver, listing(m=["/responses"]))
    await harness.ask()
    httpserver.clear()
    httpserver.expect_request(RESPONSES_PATH).respond_with_json({}, status=400)
    harness.sleeps.now += EXPIRY + 1
    with pytest.raises(ProviderError) as caught:
        await harness.ask()
    assert caught.value.kind is Kind.INVALID_REQUEST
    await harness.provider.aclose()


async def test_a_request_that_cannot_be_written_beside_a_renewal_is_its_own_error(
    httpserver: HTTPServer,
) -> None:
    harness = Harness(httpserver, listing(m=["/chat/completions"]))
    await harness.ask()
    harness.sleeps.now += EXPIRY + 1
    with pytest.raises(ProviderError) as caught:
        await harness.provider.complete(ask(extra_body={"x": object()}))
    assert caught.value.kind is Kind.INVALID_REQUEST
    await harness.provider.aclose()


async def test_an_answer_nobody_could_renew_is_asked_for_before_the_call(
    httpserver: HTTPServer,
) -> None:
    harness = Harness(httpserver, [listing(m=["/responses"]), listing(m=["/chat/completions"])])
    await harness.ask()
    harness.sleeps.now += 2 * EXPIRY + 1
    await harness.ask()
    assert harness.asked == (1, 1, 2)
    await harness.provider.aclose()


WRONG: list[tuple[str, object]] = [
    ("code", WRONG_API),
    (
        "words",
        {"error": {"message": "This model is only supported in v1/responses and not in"
                   " v1/chat/completions.", "type": "invalid_request_error"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("body", [body for _, body in WRONG], ids=[name for name, _ in WRONG])
async def test_a_wrong_guess_is_switched_once_and_remembered(
    httpserver: HTTPServer, body: object
) -> None:
    script(httpserver, CHAT_PATH, (400, body))
    served = script(httpserver, RESPONSES_PATH, RESPONSE)
    memo, seen = Memo(), EventRecorder()
    base = httpserver.url_for("/v1")
    async with OpenAICompat(base, memo=memo, observer=seen) as provider:
        reply = await provider.complete(ask(response_format=FORMAT))
        assert (reply.text, reply.requests, reply.enforced) == (ANSWER, 2, True)
        assert provider.api_for("m") == "responses"
        again = await provider.complete(ask())
        assert again.requests == 1
    (switched,) = seen.of(ApiSwitched)
    assert (switched.model, switched.api) == ("m", "responses")
    assert seen.events == [switched]
    assert len(served.received) == 2
    (entry,) = memo.entries()
    assert (entry.verdict, entry.api, entry.base_url) == ("use_api", "responses", endpoint_id(base))
    async with OpenAICompat(base, memo=memo) as other:
        assert (await other.complete(ask())).requests == 1


async def test_a_switch_is_remembered_on_disk(httpserver: HTTPServer, tmp_path: object) -> None:
    script(httpserver, CHAT_PATH, (400, WRONG_API))
    script(httpserver, RESPONSES_PATH, RESPONSE)
    base = httpserver.url_for("/v1")
    for requests in (2, 1):
        memo = open_memo(f"disk:{tmp_path}/memo")
        async with memo, OpenAICompat(base, memo=memo, observer=EventRecorder()) as provider:
            assert (await provider.complete(ask())).requests == requests
        del memo


async def test_a_stream_switches_too(httpserver: HTTPServer) -> None:
    script(httpserver, CHAT_PATH, (400, WRONG_API))
    httpserver.expect_request(RESPONSES_PATH).respond_with_handler(
        lambda _: Answer(iter(responses_stream()), content_type="text/event-stream")
    )
    async with OpenAICompat(httpserver.url_for("/v1"), observer=EventRecorder()) as provider:
        assert text_of(await collect(provider, ask())) == ANSWER


async def test_a_switch_goes_both_ways(httpserver: HTTPServer) -> None:
    script(httpserver, MODELS_PATH, listing(m=["/responses"]), method="GET")
    body = {"error": {"message": "no", "code": "unsupported_api_for_model"}}
    script(httpserver, RESPONSES_PATH, (400, body))
    script(httpserver, CHAT_PATH, CHAT)
    base = httpserver.url_for("/v1")
    async with OpenAICompat(base, discover=True, observer=EventRecorder()) as provider:
        assert (await provider.complete(ask())).requests == 3
        assert provider.api_for("m") == "chat"


async def test_a_failed_switch_gives_its_own_error_and_remembers_nothing(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, CHAT_PATH, (400, WRONG_API))
    script(httpserver, RESPONSES_PATH, (401, {"error": {"message": "key"}}))
    memo, seen = Memo(), EventRecorder()
    async with OpenAICompat(httpserver.url_for("/v1"), memo=memo, observer=seen) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask())
    assert (caught.value.kind, caught.value.requests) == (Kind.AUTHENTICATION, 2)
    assert "chat/completions" in str(caught.value.__cause__)
    assert memo.entries() == []
    assert len(seen.of(ProviderFailed)) == 1


async def test_both_apis_refusing_ends_after_two_sends(httpserver: HTTPServer) -> None:
    chat = script(httpserver, CHAT_PATH, (400, WRONG_API))
    responses = script(httpserver, RESPONSES_PATH, (400, WRONG_API))
    async with OpenAICompat(httpserver.url_for("/v1"), observer=EventRecorder()) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask())
    assert caught.value.kind is Kind.UNSUPPORTED_API
    assert (len(chat.received), len(responses.received)) == (1, 1)


async def test_an_explicit_api_is_trusted_and_never_switched(httpserver: HTTPServer) -> None:
    script(httpserver, CHAT_PATH, (400, WRONG_API))
    other = script(httpserver, RESPONSES_PATH, RESPONSE)
    async with OpenAICompat(
        httpserver.url_for("/v1"), api="chat", observer=EventRecorder()
    ) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask())
    assert caught.value.kind is Kind.UNSUPPORTED_API
    assert other.received == []


async def test_a_refused_format_is_no_wrong_api(httpserver: HTTPServer) -> None:
    script(httpserver, CHAT_PATH, (400, REFUSED))
    other = script(httpserver, RESPONSES_PATH, RESPONSE)
    async with OpenAICompat(httpserver.url_for("/v1"), observer=EventRecorder()) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask(response_format=FORMAT))
    assert caught.value.kind is Kind.FORMAT_REFUSED
    assert other.received == []


async def test_an_entry_past_its_expiry_is_not_used(httpserver: HTTPServer) -> None:
    base = httpserver.url_for("/v1")
    served = script(httpserver, CHAT_PATH, CHAT)
    memo = Memo(wall=lambda: 10_000_000.0)
    name = endpoint_id(base)
    memo.remember(Entry.use_api(name, "m", name, "responses", "x", wall=1.0))
    async with OpenAICompat(base, memo=memo) as provider:
        await provider.complete(ask())
    assert len(served.received) == 1


URLS = [
    ("http://h.invalid/v1", None, "http://h.invalid/v1/responses"),
    ("http://h.invalid/v1/", None, "http://h.invalid/v1/responses"),
    ("http://h.invalid/v1?api-version=2", None, "http://h.invalid/v1/responses?api-version=2"),
    ("http://h.invalid/v1/chat/completions", None, "http://h.invalid/v1/responses"),
    ("http://h.invalid/v1/chat/completions/", None, "http://h.invalid/v1/responses"),
    (
        "http://h.invalid/d/{model}/chat/completions?api-version=2",
        "http://h.invalid/openai/v1/responses",
        "http://h.invalid/openai/v1/responses",
    ),
]


@pytest.mark.parametrize(("base", "option", "url"), URLS)
def test_the_responses_url_is_the_option_or_derived(
    base: str, option: str | None, url: str
) -> None:
    provider = OpenAICompat(base, api="responses", responses_endpoint=option)
    assert provider._endpoints.url("responses", "m") == url


@pytest.mark.parametrize(
    "base",
    [
        "http://h.invalid/d/{model}/chat/completions",
        "http://h.invalid/v1/chat/completions?api-version=2",
        "http://h.invalid/{model}/v1",
    ],
)
def test_a_url_nobody_can_derive_is_a_configuration_error(base: str) -> None:
    with pytest.raises(ValueError, match="set responses_endpoint"):
        OpenAICompat(base, api="responses")
    with pytest.raises(ValueError, match="set responses_endpoint"):
        OpenAICompat(base, models={"m": ModelOptions(api="responses")})


def test_an_unknown_placeholder_is_a_configuration_error() -> None:
    with pytest.raises(ValueError, match="can be replaced in a URL"):
        OpenAICompat("http://h.invalid/{deployment}/v1")


async def test_a_listed_api_whose_url_nobody_can_derive_sends_nothing(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, "/v1/models", listing(m=["/responses"]), method="GET")
    base = httpserver.url_for("/v1/chat/completions") + "?v=1"
    async with OpenAICompat(base, discover=True) as provider:
        with pytest.raises(ValueError, match="set responses_endpoint"):
            await provider.complete(ask())
    assert [request.path for request, _ in httpserver.log] == ["/v1/models"]


async def test_a_switch_to_a_url_nobody_can_derive_leaves_the_first_error(
    httpserver: HTTPServer,
) -> None:
    script(httpserver, CHAT_PATH, (400, WRONG_API))
    base = httpserver.url_for(CHAT_PATH) + "?v=1"
    async with OpenAICompat(base, observer=EventRecorder()) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ask())
    assert (caught.value.kind, caught.value.requests) == (Kind.UNSUPPORTED_API, 1)


async def test_another_credential_is_asked_for_its_own_list(httpserver: HTTPServer) -> None:
    tokens = ["one", "two"]

    async def credentials() -> Credential:
        return Credential(token=tokens.pop(0), expires_in=100.0)

    harness = Harness(
        httpserver,
        [listing(m=["/responses"]), listing(m=["/chat/completions"])],
        api_key=None,
        credentials=credentials,
    )
    await harness.ask()
    await harness.ask()
    assert harness.asked == (0, 2, 1)
    harness.sleeps.now += 100.0
    await harness.ask()
    assert harness.asked == (1, 2, 2)
    await harness.provider.aclose()
