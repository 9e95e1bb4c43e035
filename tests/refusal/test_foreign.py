"""Exceptions of other people's SDKs: the real ones of openai and httpx2, the shapes of the rest."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from types import SimpleNamespace

import httpx2
import openai
import pytest
from pytest_httpserver import HTTPServer

from structguard.errors import ProviderError
from structguard.refusal import RequestFacts, is_refusal, refusal_of
from structguard.types import Failure, Kind, Refusal, Scope

REFUSED = {"error": {"message": "response_format is not supported", "param": "response_format"}}
OTHER = {"error": {"message": "Incorrect model name", "param": "model"}}
MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


def openai_error(httpserver: HTTPServer, status: int, body: object, **call: object) -> Exception:
    httpserver.expect_request("/v1/chat/completions").respond_with_json(body, status=status)
    client = openai.OpenAI(api_key="k", base_url=httpserver.url_for("/v1"), max_retries=0)
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(model="m", messages=MESSAGES, **call)  # type: ignore[call-overload]
    return caught.value


class TestOpenAI:
    def test_a_refused_call_is_a_refusal(self, httpserver: HTTPServer) -> None:
        error = openai_error(httpserver, 400, REFUSED, response_format={"type": "json_object"})
        assert is_refusal(error)

    def test_the_evidence_is_without_the_calls_own_key(self, httpserver: HTTPServer) -> None:
        key = "mykey1234567890abcdef"
        body = {"error": {"message": f"response_format is not supported for {key}"}}
        httpserver.expect_request("/v1/chat/completions").respond_with_json(body, status=400)
        client = openai.OpenAI(api_key=key, base_url=httpserver.url_for("/v1"), max_retries=0)
        with pytest.raises(openai.APIStatusError) as caught:
            client.chat.completions.create(
                model="m", messages=MESSAGES, response_format={"type": "json_object"}
            )
        found = refusal_of(caught.value)
        assert found is not None
        assert found.evidence == "response_format is not supported for ***"

    def test_a_call_without_a_format_is_not(self, httpserver: HTTPServer) -> None:
        assert not is_refusal(openai_error(httpserver, 400, REFUSED))

    def test_another_error_is_not(self, httpserver: HTTPServer) -> None:
        error = openai_error(httpserver, 400, OTHER, response_format={"type": "json_object"})
        assert not is_refusal(error)

    def test_the_raw_text_is_judged_not_the_unwrapped_body(self, httpserver: HTTPServer) -> None:
        """The SDK's `.body` loses the envelope: here the router's funnel beside `error`."""
        body = {
            "error": {"message": "No endpoints found.", "code": 404},
            "metadata": {"failed_routing_step": "Filter by Parameters"},
        }
        error = openai_error(httpserver, 404, body, response_format={"type": "json_object"})
        assert isinstance(error, openai.APIStatusError)
        assert "metadata" not in str(error.body)
        assert is_refusal(error)

    def test_flags_are_read_from_the_request(self, httpserver: HTTPServer) -> None:
        body = {"error": {"message": "response_format cannot be combined with tools"}}
        error = openai_error(
            httpserver,
            400,
            body,
            response_format={"type": "json_object"},
            tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
        )
        refusal = refusal_of(error)
        assert refusal is not None
        assert (refusal.scope, refusal.flag) == (Scope.COMBINATION, "tools")

    def test_facts_given_win_over_the_request(self, httpserver: HTTPServer) -> None:
        error = openai_error(httpserver, 400, REFUSED)
        assert refusal_of(error, facts=RequestFacts(sent="json_schema")) is not None

    def test_policy_options_reach_the_detector(self, httpserver: HTTPServer) -> None:
        call = {"response_format": {"type": "json_object"}}
        error = openai_error(httpserver, 500, REFUSED, **call)
        assert refusal_of(error) is None
        assert refusal_of(error, also_statuses={500}) is not None

    def test_an_error_inside_a_stream_is_judged_by_its_own_code(
        self, httpserver: HTTPServer
    ) -> None:
        inner = {"message": "response_format is not supported", "code": 400}
        assert is_refusal(stream_error(httpserver, inner))

    def test_an_overload_inside_a_stream_is_not(self, httpserver: HTTPServer) -> None:
        inner = {"message": "response_format is not supported", "code": 503}
        assert not is_refusal(stream_error(httpserver, inner))

    def test_an_error_inside_a_stream_without_code_counts_as_400(
        self, httpserver: HTTPServer
    ) -> None:
        inner = {"message": "response_format is not supported", "code": "invalid_value"}
        assert is_refusal(stream_error(httpserver, inner))

    def test_no_connection_is_not_a_refusal(self) -> None:
        client = openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", max_retries=0)
        with pytest.raises(openai.APIConnectionError) as caught:
            client.chat.completions.create(
                model="m", messages=MESSAGES, response_format={"type": "json_object"}
            )
        assert not is_refusal(caught.value)


def stream_error(httpserver: HTTPServer, inner: Mapping[str, object]) -> Exception:
    frames = f"data: {json.dumps({'error': inner})}\n\n"
    httpserver.expect_request("/v1/chat/completions").respond_with_data(
        frames, content_type="text/event-stream"
    )
    client = openai.OpenAI(api_key="k", base_url=httpserver.url_for("/v1"), max_retries=0)
    stream = client.chat.completions.create(
        model="m", messages=MESSAGES, stream=True, response_format={"type": "json_object"}
    )
    with pytest.raises(openai.APIError) as caught:
        list(stream)
    assert not hasattr(caught.value, "response")
    return caught.value


class TestHttpx:
    def error(self, url: str, sent: object, body: object = REFUSED) -> httpx2.HTTPStatusError:
        request = httpx2.Request("POST", url, json=sent)
        response = httpx2.Response(400, json=body, request=request)
        with pytest.raises(httpx2.HTTPStatusError) as caught:
            response.raise_for_status()
        return caught.value

    @pytest.mark.parametrize(
        ("path", "sent"),
        [
            ("/v1/chat/completions", {"response_format": {"type": "json_schema"}}),
            ("/v1/responses", {"text": {"format": {"type": "json_schema"}}}),
            ("/v1/messages", {"output_config": {"format": {"type": "json_schema"}}}),
            ("/model/x/converse", {"outputConfig": {"textFormat": {"type": "json_schema"}}}),
            (
                "/v1beta/models/g:generateContent?key=k",
                {"generationConfig": {"responseMimeType": "application/json"}},
            ),
            ("/somewhere/else", {"output_format": {"type": "json_schema"}}),
        ],
    )
    def test_each_dialect_is_read_from_the_request(self, path: str, sent: object) -> None:
        assert is_refusal(self.error(f"https://host{path}", sent))
        assert not is_refusal(self.error(f"https://host{path}", {"model": "m"}))

    def test_an_image_endpoint_is_never_asked(self) -> None:
        sent = {"response_format": {"type": "json_object"}}
        assert not is_refusal(self.error("https://host/v1/images/generations", sent))

    def test_a_request_that_streamed_its_body_counts_as_json_schema(self) -> None:
        def chunks() -> object:
            yield b"{}"

        request = httpx2.Request("POST", "https://host/v1/chat/completions", content=chunks())  # type: ignore[arg-type]
        response = httpx2.Response(400, json=REFUSED, request=request)
        with pytest.raises(httpx2.HTTPStatusError) as caught:
            response.raise_for_status()
        assert is_refusal(caught.value)

    def test_a_response_that_was_not_read_has_no_words(self) -> None:
        request = httpx2.Request("POST", "https://host/x")
        response = httpx2.Response(400, stream=httpx2.ByteStream(b"x"), request=request)
        error = httpx2.HTTPStatusError("400", request=request, response=response)
        assert not is_refusal(error)
        assert refusal_of(error, unnamed=True) is not None

    def test_a_request_that_is_no_json_counts_as_json_schema(self) -> None:
        request = httpx2.Request("POST", "https://host/x", content=b"--multipart")
        response = httpx2.Response(400, json=REFUSED, request=request)
        assert is_refusal(httpx2.HTTPStatusError("400", request=request, response=response))

    def test_a_time_out_is_not_a_refusal(self) -> None:
        assert not is_refusal(httpx2.ReadTimeout("response_format is not supported"))


def shaped(**attributes: object) -> Exception:
    """An exception with these attributes, as another SDK's would have them."""
    error = RuntimeError("shaped")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


class TestShapes:
    def test_botocore(self) -> None:
        message = "This model doesn't support the outputConfig.textFormat field."
        response = {
            "Error": {"Code": "ValidationException", "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }
        assert is_refusal(shaped(response=response))
        assert not is_refusal(shaped(response={"Error": {}, "ResponseMetadata": {}}))

    def test_anthropic(self) -> None:
        request = SimpleNamespace(
            url="https://api/v1/messages",
            content=json.dumps({"output_config": {"format": {"type": "json_schema"}}}).encode(),
        )
        body = {
            "type": "error",
            "error": {"message": "output_config: Extra inputs are not permitted"},
        }
        response = SimpleNamespace(status_code=400, text=json.dumps(body), request=request)
        assert is_refusal(shaped(response=response, request=request, body=body))

    def test_requests(self) -> None:
        request = SimpleNamespace(
            url="http://host/v1/chat/completions",
            body=json.dumps({"response_format": {"type": "json_object"}}),
        )
        response = SimpleNamespace(status_code=400, text=json.dumps(REFUSED), request=request)
        assert is_refusal(shaped(response=response, request=None))

    def test_google_genai(self) -> None:
        details = {"error": {"code": 400, "message": "JSON mode is not enabled for this model"}}
        assert is_refusal(shaped(code=400, status="INVALID_ARGUMENT", details=details))

    def test_aiohttp(self) -> None:
        assert is_refusal(shaped(status=400, message="response_format is not supported"))
        assert not is_refusal(shaped(status=429, message="response_format is not supported"))
        assert not is_refusal(shaped(status=400, message=None))

    def test_litellm_before_it_sends(self) -> None:
        """Its own exception for a provider that does not take the format: there is no response."""
        told = "volcengine does not support parameters: ['response_format'], for model=tiny"
        assert is_refusal(shaped(status_code=400, message=told, response=None, body=None))
        assert not is_refusal(shaped(status_code=429, message=told, response=None, body=None))
        assert not is_refusal(shaped(status_code=400, message=f"{told[:36]}['top_k']"))

    def test_a_body_of_text_inside_a_stream(self) -> None:
        assert is_refusal(shaped(body="response_format is not supported"))
        assert not is_refusal(shaped(body=None))

    @pytest.mark.parametrize("error", [KeyError("x"), KeyboardInterrupt(), shaped(status=True)])
    def test_anything_else_is_not(self, error: BaseException) -> None:
        assert not is_refusal(error)

    def test_only_the_exception_itself_is_judged(self) -> None:
        error = RuntimeError("wrapped")
        error.__cause__ = shaped(status=400, message="response_format is not supported")
        assert not is_refusal(error)


class TestOurs:
    REFUSAL = Refusal(Scope.CAPABILITY, "not_supported", "response_format", "no")

    def error(self, **facts: object) -> ProviderError:
        given: dict[str, object] = {
            "kind": Kind.INVALID_REQUEST,
            "failure": Failure(status=400, body=json.dumps(REFUSED)),
            "provider": "p",
            "model": "m",
            "operation": "complete",
            **facts,
        }
        return ProviderError("x", **given)  # type: ignore[arg-type]

    def test_the_verdict_rides_on_the_error(self) -> None:
        error = self.error(refusal=self.REFUSAL)
        assert is_refusal(error)
        assert refusal_of(error) is self.REFUSAL
        assert is_refusal(pickle.loads(pickle.dumps(error)))  # noqa: S301  our own bytes

    def test_the_kind_alone_is_enough(self) -> None:
        assert is_refusal(self.error(kind=Kind.FORMAT_REFUSED))

    def test_an_error_judged_when_it_was_made_is_not_judged_again(self) -> None:
        assert not is_refusal(self.error())
        assert refusal_of(self.error(), facts=RequestFacts(sent="json_schema")) is None

    def test_a_wider_policy_judges_anew(self) -> None:
        facts = RequestFacts(sent="json_schema")
        silent = self.error(failure=Failure(status=400, body=""))
        assert refusal_of(silent, facts=facts, unnamed=True) is not None
        late = self.error(failure=Failure(status=500, body=json.dumps(REFUSED)))
        assert refusal_of(late, facts=facts, also_statuses={500}) is not None

    @pytest.mark.parametrize(
        "failure",
        [
            Failure(status=None, network=True),
            Failure(status=400, own_timeout=True),
            Failure(status=400, network=True),
        ],
    )
    def test_our_own_time_out_and_the_network_never_refuse(self, failure: Failure) -> None:
        error = self.error(failure=failure)
        assert refusal_of(error, facts=RequestFacts(sent="json_schema"), unnamed=True) is None
