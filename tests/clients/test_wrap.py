"""A wrapped openai client at a real loopback endpoint: create, parse and raw, sync and async."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import anyio
import httpx2
import openai
import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI
from openai._models import FinalRequestOptions
from openai.types.chat import ChatCompletion

import structguard as sg
from structguard.memo import Memo
from structguard.testing import RefusingEndpoint
from tests.clients.endpoint import (
    FENCED,
    FORMAT,
    MESSAGES,
    REFUSED,
    SCHEMA,
    TEXT_FORMAT,
    VALUE,
    Answer,
    Upstream,
    chat,
    info_of,
    response,
)


def ask(client: OpenAI, **kwargs: Any) -> Any:
    return client.chat.completions.create(
        model="m",
        messages=MESSAGES,
        response_format=FORMAT,
        **kwargs,
    )


def test_a_refused_parse_gives_the_object(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(FENCED))
    answer = client.chat.completions.parse(
        model="m",
        messages=MESSAGES,
        response_format=Answer,
    )
    assert answer.choices[0].message.parsed == Answer(city="Bonn", n=3)
    assert sg.info(answer) == sg.Info(
        provider=upstream.provider,
        model="m",
        enforced=False,
        requests=2,
        source="fenced",
        refusal=info_of(answer).refusal,
    )
    assert getattr(info_of(answer).refusal, "scope", None) == "capability"


def test_the_second_request_is_the_first_minus_the_format_plus_the_instruction(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    ask(client, temperature=0.5, extra_body={"provider": {"order": ["z"]}})
    first, second = upstream.bodies
    assert first["response_format"] == FORMAT
    system = second["messages"][0]["content"]
    assert system.startswith("Be brief.\n\n")
    assert '"additionalProperties":false' in system
    unchanged = {**first, "messages": second["messages"]}
    del unchanged["response_format"]
    assert second == unchanged
    assert second["messages"][1:] == first["messages"][1:]


def test_the_next_call_pays_nothing_extra(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    ask(client)
    with sg.watch() as calls:
        answer = ask(client)
    assert len(upstream.bodies) == 3
    assert "response_format" not in upstream.bodies[2]
    assert [(call.enforced, call.requests) for call in calls] == [(False, 1)]
    assert sg.info(answer) == calls[0]


def test_strict_json_is_handed_on_byte_for_byte(client: OpenAI, upstream: Upstream) -> None:
    odd = '{ "n" : 3,\n\t"city":"B\\u00f6nn" }'
    upstream.answers(chat(odd))
    answer = ask(client)
    assert answer.choices[0].message.content == odd
    assert info_of(answer).source == "json"
    assert info_of(answer).enforced is True


def test_an_answer_behind_a_byte_order_mark_is_parsed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(f"\ufeff{VALUE}"))
    answer = client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer)
    assert answer.choices[0].message.parsed == Answer(city="Bonn", n=3)
    assert answer.choices[0].message.content == VALUE


def test_prose_under_an_accepted_format_is_healed_too(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(FENCED))
    answer = ask(client)
    assert answer.choices[0].message.content == VALUE
    assert len(upstream.bodies) == 1


def test_a_wrapped_value_after_a_degraded_send_is_unwrapped(
    wrapped: Callable[..., OpenAI], client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED), chat('{"answer": {"city": "Bonn", "n": 3}}'))
    assert ask(client).choices[0].message.content == VALUE


def test_text_without_any_value_is_handed_on_as_it_came(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat("I do not know."))
    answer = ask(client)
    assert answer.choices[0].message.content == "I do not know."
    assert info_of(answer).source is None


def test_without_a_format_nothing_is_touched(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers(chat(FENCED))
    with sg.watch() as calls:
        answer = client.chat.completions.create(model="m", messages=MESSAGES)
    assert answer.choices[0].message.content == FENCED
    assert upstream.bodies == [{"model": "m", "messages": MESSAGES}]
    assert [(call.enforced, call.requests) for call in calls] == [(None, 1)]


def test_response_format_text_is_no_format(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(
            model="m",
            messages=MESSAGES,
            response_format={"type": "text"},
        )
    assert len(upstream.bodies) == 1


def test_a_format_in_extra_body_is_the_operators_own(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(
            model="m",
            messages=MESSAGES,
            extra_body={"response_format": FORMAT},
        )
    assert len(upstream.bodies) == 1


def test_a_format_of_another_vendor_s_field_in_extra_body_is_the_operators_own(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        ask(client, extra_body={"guided_json": {"type": "object"}})
    assert len(upstream.bodies) == 1


def test_an_error_that_is_no_refusal_is_the_sdks_own(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((401, {"error": {"message": "bad key", "code": "invalid_api_key"}}))
    with pytest.raises(openai.AuthenticationError) as caught:
        ask(client)
    assert len(upstream.bodies) == 1
    assert not sg.is_refusal(caught.value)


def test_a_failed_retry_raises_its_own_error_from_the_refusal(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), (429, {"error": {"message": "slow down"}}))
    with pytest.raises(openai.RateLimitError) as caught:
        ask(client)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert sg.is_refusal(caught.value.__cause__)
    assert memo.entries() == []


@pytest.mark.parametrize("message", [chat(""), chat("half", finish="length"), chat(None)])
def test_an_empty_or_cut_retry_is_returned_and_not_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo, message: dict[str, object]
) -> None:
    upstream.answers((400, REFUSED), message)
    answer = ask(client)
    assert info_of(answer).enforced is False
    assert memo.entries() == []


def test_a_decline_is_an_answer(client: OpenAI, upstream: Upstream, memo: Memo) -> None:
    upstream.answers((400, REFUSED), chat(None, refusal="I cannot help with that."))
    assert ask(client).choices[0].message.refusal == "I cannot help with that."
    assert len(memo.entries()) == 1


def test_a_tool_call_is_an_answer(client: OpenAI, upstream: Upstream, memo: Memo) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    upstream.answers((400, REFUSED), chat(None, finish="tool_calls", tool_calls=[call]))
    ask(client)
    assert len(memo.entries()) == 1


def test_an_error_object_in_a_200_is_judged_by_its_code(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    inside = {"error": {**REFUSED["error"], "code": 400}}
    upstream.answers(inside, chat(VALUE))
    assert info_of(ask(client)).requests == 2
    assert len(memo.entries()) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "overloaded", "code": 503}}, openai.InternalServerError),
        ({"error": {"message": "slow down", "code": 429}}, openai.RateLimitError),
        ({"error": {"message": "no code at all"}}, openai.APIError),
        ({"error": "just words"}, openai.APIError),
        (chat("cut", finish="error"), openai.APIError),
        ({"id": "x", "object": "chat.completion"}, openai.APIResponseValidationError),
        ("<html>gateway</html>", openai.APIResponseValidationError),
        ("", openai.APIResponseValidationError),
    ],
)
def test_a_200_that_is_no_reply_raises(
    client: OpenAI, upstream: Upstream, body: Any, kind: type[Exception]
) -> None:
    upstream.answers(body)
    with pytest.raises(kind):
        ask(client)
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize("where", ["call", "options", "client"])
def test_no_time_for_a_second_send_raises_the_refusal_unchanged(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo, where: str
) -> None:
    """`with_options(timeout=…)` is how the SDK's own page gives one call its time-out."""
    client = wrapped(retry_floor=30.0)
    if where == "options":
        client = client.with_options(timeout=20.0)
    elif where == "client":
        client.timeout = 20.0
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, **({"timeout": 20.0} if where == "call" else {}))
    assert sg.is_refusal(caught.value)
    assert caught.value.__cause__ is None
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize("timeout", [None, httpx2.Timeout(20.0)])
def test_without_one_number_there_is_no_budget(
    wrapped: Callable[..., OpenAI], upstream: Upstream, timeout: Any
) -> None:
    client = wrapped(retry_floor=30.0)
    client.timeout = 20.0
    upstream.answers((400, REFUSED), chat(VALUE))
    assert info_of(ask(client, timeout=timeout)).requests == 2


def test_require_enforced_raises_the_refusal(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo
) -> None:
    client = wrapped(require_enforced=True)
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        ask(client)
    assert (len(upstream.bodies), memo.entries()) == (1, [])


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_modes_that_only_look_send_once(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo, mode: str
) -> None:
    client = wrapped(mode=mode)
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        ask(client)
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize(("prompt", "said"), [("never", False), ("always", True), ("auto", False)])
def test_the_schema_goes_into_the_prompt_by_policy(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo, prompt: str, *, said: bool
) -> None:
    """The prompt shows the schema already; only "always" says it again."""

    client = wrapped(prompt=prompt)
    upstream.answers((400, REFUSED), chat(VALUE))
    shown: Any = [{"role": "user", "content": f"Fit this: {json.dumps(SCHEMA, indent=2)}"}]
    client.chat.completions.create(
        model="m",
        messages=shown,
        response_format=FORMAT,
    )
    assert (len(upstream.bodies[1]["messages"]) == 2) is said


def test_also_statuses_rescue_and_are_remembered_from_the_second_time(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo
) -> None:
    client = wrapped(also_statuses={500})
    upstream.answers((500, REFUSED), chat(VALUE), (500, REFUSED), chat(VALUE))
    ask(client)
    assert memo.entries() == []
    ask(client)
    assert len(memo.entries()) == 1


def test_an_ignored_format_gets_the_schema_into_the_prompt(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo
) -> None:
    client = wrapped(ignored_after=2)
    upstream.answers(chat("Bonn, I think."))
    for _ in range(3):
        ask(client)
    assert [body["messages"][0]["content"] == "Be brief." for body in upstream.bodies] == [
        True,
        True,
        False,
    ]
    assert upstream.bodies[2]["response_format"] == FORMAT


def test_words_before_a_call_are_no_ignored_format(
    wrapped: Callable[..., OpenAI], upstream: Upstream, memo: Memo
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    remark = chat("Let me look.", finish="tool_calls")
    remark["choices"][0]["message"]["tool_calls"] = [call]
    upstream.answers(remark)
    ask(wrapped(ignored_after=1))
    assert memo.entries() == []


def test_the_sdks_own_retries_are_left_alone(
    upstream: Upstream, memo: Memo, keep: ExitStack
) -> None:
    plain = OpenAI(base_url=upstream.base_url, api_key="k", max_retries=1)
    client = sg.wrap(keep.enter_context(plain), memo=memo)
    upstream.answers((503, {"error": {"message": "busy"}}), (400, REFUSED), chat(VALUE))
    ask(client)
    assert len(upstream.bodies) == 3


def test_json_object_mode_is_rescued_and_kept_apart(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat("```\n{'city': 'Bonn'}\n```"), chat(VALUE))
    answer = client.chat.completions.create(
        model="m",
        messages=MESSAGES,
        response_format={"type": "json_object"},
    )
    assert answer.choices[0].message.content == '{"city":"Bonn"}'
    ask(client)
    assert upstream.bodies[2]["response_format"] == FORMAT


def test_responses_are_guarded_alike(client: OpenAI, upstream: Upstream) -> None:
    refused = {"error": {"message": "Unknown parameter", "param": "text.format"}}
    upstream.answers((400, refused), response(FENCED), response(FENCED))
    answer = client.responses.parse(model="m", input="Where?", text_format=Answer)
    assert answer.output_parsed == Answer(city="Bonn", n=3)
    assert "format" not in upstream.bodies[1].get("text", {})
    assert '"city"' in upstream.bodies[1]["instructions"]
    plain = client.responses.create(
        model="m",
        input="Where?",
        text={"format": TEXT_FORMAT, "verbosity": "low"},
    )
    assert plain.output_text == VALUE
    assert upstream.bodies[2]["text"] == {"verbosity": "low"} or len(upstream.bodies) == 3


def test_the_beta_namespace_is_guarded_alike(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), response(FENCED))
    answer = client.beta.responses.create(model="m", input="Where?", text={"format": TEXT_FORMAT})
    assert [part.text for item in answer.output for part in item.content] == [VALUE]  # type: ignore[union-attr]
    assert "text" not in upstream.bodies[1]


@pytest.mark.parametrize("status", ["failed"])
def test_a_failed_response_raises(client: OpenAI, upstream: Upstream, status: str) -> None:
    error = {"code": "server_error", "message": "it broke"}
    upstream.answers(response("", status=status, error=error, output=[]))
    with pytest.raises(openai.APIError, match="it broke"):
        client.responses.parse(model="m", input="Where?", text_format=Answer)


def test_raw_responses_are_guarded_and_parse_healed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(FENCED))
    raw = client.chat.completions.with_raw_response.create(
        model="m",
        messages=MESSAGES,
        response_format=FORMAT,
    )
    assert raw.status_code == 200
    assert FENCED[:10] in raw.text
    assert raw.parse().choices[0].message.content == VALUE
    assert sg.info(raw) is not None
    assert info_of(raw).source == "fenced"
    assert len(upstream.bodies) == 2


def test_a_rescued_raw_response_is_remembered(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    client.chat.completions.with_raw_response.create(
        model="m",
        messages=MESSAGES,
        response_format=FORMAT,
    )
    assert len(memo.entries()) == 1


def test_streaming_raw_responses_are_guarded(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    upstream.answers((400, REFUSED), chat(FENCED))
    with client.chat.completions.with_streaming_response.create(
        model="m",
        messages=MESSAGES,
        response_format=FORMAT,
    ) as raw:
        assert raw.parse().choices[0].message.content == VALUE
    assert len(memo.entries()) == 1


def test_copies_are_guarded_with_the_same_memo(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    ask(client.with_options(timeout=5.0))
    ask(client.copy())
    assert len(upstream.bodies) == 3


def test_wrapping_twice_changes_nothing_and_unwrapping_takes_it_off(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    request = client.request
    assert sg.wrap(client, memo=memo) is client
    assert client.request is request
    assert sg.unwrap(client) is client
    assert sg.unwrap(client) is client
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        ask(client)
    assert len(upstream.bodies) == 1


def test_what_is_not_an_openai_client_is_a_type_error_that_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"wrap takes an openai client .* got object"):
        sg.wrap(object())


def test_a_broken_memo_address_is_a_value_error(upstream: Upstream) -> None:
    with pytest.raises(ValueError, match="memo"):
        sg.wrap(OpenAI(api_key="k"), memo="ftp://x")


def test_other_requests_pass_through(client: OpenAI, upstream: Upstream) -> None:
    upstream.server.expect_request("/v1/models").respond_with_json({"object": "list", "data": []})
    assert client.models.list().data == []


def test_the_callers_options_are_never_changed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    body = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    kept = dict(body)
    client.post("/chat/completions", body=body, cast_to=object)
    assert body == kept


def test_options_that_a_caller_keeps_are_never_changed(client: OpenAI, upstream: Upstream) -> None:
    upstream.answers((400, REFUSED), chat(VALUE), chat(VALUE))
    body = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
    options = FinalRequestOptions.construct(
        method="post", url="/chat/completions", json_data=body, extra_json={"seed": 1}
    )
    before, kept = dict(vars(options)), json.dumps(options.json_data)
    for _ in range(2):  # rescued, then remembered
        client.request(ChatCompletion, options)
    assert vars(options) == before
    assert json.dumps(options.json_data) == kept


def azure(upstream: Upstream) -> AzureOpenAI:
    """A plain client of one deployment."""
    return AzureOpenAI(
        azure_endpoint=upstream.server.url_for("/"),
        azure_deployment="dep",
        api_version="2024-02-01",
        api_key="k",
        max_retries=0,
    )


def test_azure_uses_the_deployment_and_the_api_version(
    upstream: Upstream, memo: Memo, keep: ExitStack
) -> None:
    upstream.answers(
        (400, REFUSED), chat(VALUE), paths=["/openai/deployments/dep/chat/completions"]
    )
    ask(sg.wrap(keep.enter_context(azure(upstream)), memo=memo))
    (entry,) = memo.entries()
    assert entry.model == "dep"
    assert entry.base_url.endswith("?api-version=2024-02-01")


def test_azure_responses_are_the_models_and_not_the_deployments(
    upstream: Upstream, memo: Memo, keep: ExitStack
) -> None:
    """The deployment is no part of their URL: what one model refuses, another may take."""
    upstream.answers((400, REFUSED), response(VALUE), paths=["/openai/responses"])
    client = sg.wrap(keep.enter_context(azure(upstream)), memo=memo)
    for model in ("one", "two"):
        client.responses.create(model=model, input="W?", text={"format": TEXT_FORMAT})
    assert [entry.model for entry in memo.entries()] == ["one"]
    assert "text" in upstream.bodies[2]  # the second model was asked with the format


def test_an_api_version_in_the_query_is_part_of_the_endpoint(
    upstream: Upstream, memo: Memo, keep: ExitStack
) -> None:
    """Azure's v1 URL takes it there: what one version refuses, another may take."""
    upstream.answers((400, REFUSED), chat(VALUE))
    plain = OpenAI(
        base_url=upstream.base_url, api_key="k", max_retries=0, default_query={"api-version": "one"}
    )
    client = sg.wrap(keep.enter_context(plain), memo=memo)
    ask(client)
    ask(client)
    ask(client, extra_query={"api-version": "two"})
    ask(client.with_options(default_query={"api-version": "three"}))
    assert [entry.base_url for entry in memo.entries()] == [f"{upstream.provider}?api-version=one"]
    carried = ["response_format" in body for body in upstream.bodies]
    assert carried == [True, False, False, True, True]


def test_one_warning_names_everything_and_no_secret(
    client: OpenAI, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.answers((400, REFUSED), chat(VALUE))
    with caplog.at_level(logging.INFO, "structguard"):
        ask(client)
        ask(client)
    (record,) = [kept for kept in caplog.records if kept.name == "structguard"]
    text = record.getMessage()
    assert record.levelno == logging.WARNING
    for word in (upstream.provider, "capability", "is not supported", " h.", "in memory only"):
        assert word in text
    assert "sk-test" not in text
    assert "Where?" not in text


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
class TestAsync:
    """The async client shares the flow; the SDK's default transport runs on asyncio."""

    def client(self, upstream: Upstream, memo: Memo, **policy: Any) -> AsyncOpenAI:
        plain = AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0)
        return sg.wrap(plain, memo=memo, policy=sg.Policy(**policy))

    async def test_a_refused_parse_gives_the_object(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), chat(FENCED))
        async with self.client(upstream, memo) as client:
            answer = await client.chat.completions.parse(
                model="m",
                messages=MESSAGES,
                response_format=Answer,
            )
        assert answer.choices[0].message.parsed == Answer(city="Bonn", n=3)
        assert info_of(answer).requests == 2

    async def test_fifty_first_calls_make_one_entry_and_one_warning(
        self, memo: Memo, caplog: pytest.LogCaptureFixture
    ) -> None:
        with (
            RefusingEndpoint("refuse400") as endpoint,
            caplog.at_level(logging.WARNING, "structguard"),
        ):
            plain = AsyncOpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0)
            async with sg.wrap(plain, memo=memo) as client, anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(
                        lambda: client.chat.completions.create(
                            model="m", messages=MESSAGES, response_format=FORMAT
                        )
                    )
        assert len(memo.entries()) == 1
        assert len([kept for kept in caplog.records if kept.name == "structguard"]) == 1

    async def test_a_cancelled_retry_leaves_no_entry(self, upstream: Upstream, memo: Memo) -> None:
        upstream.refuses_format(chat(VALUE), delay=5.0)
        async with self.client(upstream, memo) as client:
            with anyio.move_on_after(0.5) as scope:
                await client.chat.completions.create(
                    model="m",
                    messages=MESSAGES,
                    response_format=FORMAT,
                )
        assert scope.cancelled_caught
        assert memo.entries() == []

    async def test_raw_and_copies_are_guarded(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), chat(FENCED))
        async with self.client(upstream, memo) as client:
            raw = await client.with_options(timeout=5.0).chat.completions.with_raw_response.create(
                model="m",
                messages=MESSAGES,
                response_format=FORMAT,
            )
        assert raw.parse().choices[0].message.content == VALUE
        assert len(memo.entries()) == 1

    async def test_responses_are_guarded(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers((400, REFUSED), response(FENCED))
        async with self.client(upstream, memo) as client:
            answer = await client.responses.parse(model="m", input="W?", text_format=Answer)
        assert answer.output_parsed == Answer(city="Bonn", n=3)

    async def test_azure(self, upstream: Upstream, memo: Memo) -> None:
        upstream.answers(
            (400, REFUSED), chat(VALUE), paths=["/openai/deployments/m/chat/completions"]
        )
        plain = AsyncAzureOpenAI(
            azure_endpoint=upstream.server.url_for("/"), api_version="2024-02-01", api_key="k"
        )
        async with sg.wrap(plain, memo=memo) as client:
            answer = await client.chat.completions.create(
                model="m",
                messages=MESSAGES,
                response_format=FORMAT,
            )
        assert info_of(answer).requests == 2


def test_a_request_that_hands_back_a_reply_itself_is_healed_too(memo: Memo) -> None:
    """Somebody's own `request`, patched in before us, may skip the SDK's response object."""
    with OpenAI(api_key="k") as plain:
        reply = ChatCompletion.model_validate(chat(FENCED))
        vars(plain)["request"] = lambda *_args, **_kwargs: reply
        assert ask(sg.wrap(plain, memo=memo)).choices[0].message.content == VALUE
