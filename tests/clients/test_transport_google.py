"""The real `google-genai` client over the transport, sync and async."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import FENCED, SCHEMA, VALUE, Answer
from tests.clients.vendors import NO_SCHEMA, Vendor, candidates, google_stream

genai: Any = pytest.importorskip("google.genai", reason="google-genai is not installed")

PIECES = [FENCED[at : at + 7] for at in range(0, len(FENCED), 7)]
AS_JSON: dict[str, Any] = {
    "response_mime_type": "application/json",
    "response_json_schema": SCHEMA,
}


@pytest.fixture
def client(vendor: Vendor, memo: Memo) -> Iterator[Any]:
    guard = sg.Guard(memo=memo)
    with httpx2.Client(transport=guard.transport()) as http:
        yield genai.Client(
            api_key="k",
            http_options=genai.types.HttpOptions(base_url=vendor.host_url, httpx_client=http),
        )


@pytest.fixture(params=["asyncio"])  # the SDK's own choice: it sleeps and locks with asyncio
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask(client: Any, **config: Any) -> Any:
    return client.models.generate_content(model="gemini-x", contents="Where?", config=config)


def test_a_refused_schema_is_rescued_and_remembered(
    client: Any, vendor: Vendor, memo: Memo
) -> None:
    vendor.refuses(NO_SCHEMA, candidates(FENCED))
    with sg.watch() as calls:
        answer = ask(client, **AS_JSON, temperature=0.5)
    assert answer.text == VALUE
    first, second = vendor.bodies
    assert first["generationConfig"]["responseJsonSchema"] == SCHEMA
    assert second["generationConfig"] == {"temperature": 0.5}
    assert second["contents"] == first["contents"]
    assert "JSON Schema" in second["systemInstruction"]["parts"][-1]["text"]
    (told,) = calls
    assert (told.provider, told.model) == (f"{vendor.host}/v1", "gemini-x")
    assert (told.enforced, told.requests, told.source) == (False, 2, "fenced")
    assert len(memo.entries()) == 1
    ask(client, **AS_JSON)
    assert len(vendor.bodies) == 3


@pytest.mark.parametrize("refuses", [True, False], ids=["refused", "ignored"])
def test_a_model_as_schema_gives_its_parsed_value(
    client: Any, vendor: Vendor, *, refuses: bool
) -> None:
    if refuses:
        vendor.refuses(NO_SCHEMA, candidates(FENCED))
    else:
        vendor.plays(lambda _: (200, candidates(FENCED)))
    answer = ask(client, response_mime_type="application/json", response_schema=Answer)
    assert answer.parsed == Answer(city="Bonn", n=3)
    assert len(vendor.bodies) == (2 if refuses else 1)


@pytest.mark.parametrize("refuses", [True, False], ids=["refused", "ignored"])
def test_a_stream_gives_one_piece_of_bare_json(
    client: Any, vendor: Vendor, memo: Memo, *, refuses: bool
) -> None:
    if refuses:
        vendor.refuses(NO_SCHEMA, google_stream(PIECES))
    else:
        vendor.plays(lambda _: (200, google_stream(PIECES)))
    with sg.watch() as calls:
        chunks = list(
            client.models.generate_content_stream(
                model="gemini-x", contents="Where?", config=AS_JSON
            )
        )
    assert "".join(chunk.text or "" for chunk in chunks) == VALUE
    assert str(chunks[-1].candidates[0].finish_reason.value) == "STOP"
    assert [(told.requests, told.source) for told in calls] == [(1 + refuses, "fenced")]
    assert len(memo.entries()) == refuses


def test_other_errors_reach_the_caller_as_the_sdks_own(client: Any, vendor: Vendor) -> None:
    quota = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}
    vendor.plays(lambda _: (429, quota))
    with pytest.raises(genai.errors.ClientError, match="quota") as caught:
        ask(client, **AS_JSON)
    assert caught.value.code == 429
    assert len(vendor.bodies) == 1


def test_an_error_object_inside_a_200_is_raised_as_the_sdks_own(
    client: Any, vendor: Vendor
) -> None:
    broken = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    vendor.plays(lambda _: (200, broken))
    with pytest.raises(genai.errors.ServerError, match="overloaded"):
        ask(client, **AS_JSON)


async def test_the_async_client_is_rescued_too(vendor: Vendor, memo: Memo) -> None:
    transport = sg.Guard(memo=memo).async_transport()
    async with httpx2.AsyncClient(transport=transport) as http:
        client = genai.Client(
            api_key="k",
            http_options=genai.types.HttpOptions(base_url=vendor.host_url, httpx_async_client=http),
        )
        vendor.refuses(NO_SCHEMA, candidates(FENCED))
        with sg.watch() as calls:
            answer = await client.aio.models.generate_content(
                model="gemini-x", contents="Where?", config={**AS_JSON, "response_schema": None}
            )
        assert answer.text == VALUE
        assert [told.requests for told in calls] == [2]
        vendor.refuses(NO_SCHEMA, google_stream(PIECES))
        stream = await client.aio.models.generate_content_stream(
            model="gemini-x", contents="Where?", config=AS_JSON
        )
        texts = [chunk.text async for chunk in stream]
        assert "".join(text or "" for text in texts) == VALUE
        client.close()
