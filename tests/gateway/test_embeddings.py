"""POST /v1/embeddings as clients read it."""

from __future__ import annotations

import base64
import json
import struct
import threading

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.gateway.support import running, settings

VECTORS = [[0.5, -2.0], [1.0, 0.25]]
AZURE = "/openai/deployments/{model}"


@pytest.mark.parametrize("sent", ["float", "base64"])
@pytest.mark.parametrize("asked", [None, "float", "base64"])
def test_vectors_come_in_the_encoding_that_was_asked_for(
    httpserver: HTTPServer, asked: str | None, sent: str
) -> None:
    """The npm SDK asks for base64 by itself, and takes whatever comes for it."""
    packed = [base64.b64encode(struct.pack("<2f", *one)).decode() for one in VECTORS]
    data = [{"index": at, "embedding": one} for at, one in enumerate(packed if sent == "base64" else VECTORS)]  # fmt: skip
    httpserver.expect_request("/v1/embeddings").respond_with_json({"data": data, "model": "m"})
    body = {"model": "m", "input": ["a", "b"], "encoding_format": asked}
    with running(settings(httpserver.url_for("/v1"))) as gateway:
        reply = gateway.post("/v1/embeddings", body)
    got = [one["embedding"] for one in json.loads(reply.text)["data"]]
    assert got == (packed if asked == "base64" else VECTORS)


def test_vectors_of_a_deployment_are_asked_for_at_its_own_url(httpserver: HTTPServer) -> None:
    there = f"{AZURE.format(model='gpt-x')}/embeddings"
    httpserver.expect_oneshot_request(there, query_string="api-version=2").respond_with_json(
        {"data": [{"index": 0, "embedding": VECTORS[0]}]}
    )
    with running(settings(httpserver.url_for(AZURE) + "?api-version=2")) as gateway:
        reply = gateway.post("/v1/embeddings", {"model": "gpt-x", "input": "a"})
        assert reply.json()["data"][0]["embedding"] == VECTORS[0]
        assert gateway.get("/v1/models").json()["data"] == []
    assert len(httpserver.log) == 1  # an address of one model each has no list to be asked for


def test_an_endpoints_own_fields_go_on_to_it(httpserver: HTTPServer) -> None:
    """Some embed a question and a passage differently: unsaid, the vectors are wrong."""
    httpserver.expect_request("/v1/embeddings").respond_with_json(
        {"data": [{"index": 0, "embedding": VECTORS[0]}]}
    )
    body = {"model": "m", "input": "a", "input_type": "query", "truncate": None}
    with running(settings(httpserver.url_for("/v1"))) as gateway:
        reply = gateway.post("/v1/embeddings", body)
    assert "x-structguard-warning" not in reply.headers
    assert httpserver.log[0][0].json == {
        "model": "m", "input": ["a"], "encoding_format": "float", "input_type": "query"
    }  # fmt: skip


def test_what_another_vendor_has_no_place_for_is_told(httpserver: HTTPServer) -> None:
    there = "/v1beta/models/m:batchEmbedContents"
    httpserver.expect_request(there).respond_with_json({"embeddings": [{"values": VECTORS[0]}]})
    up = {"kind": "google", "base_url": httpserver.url_for("/v1beta"), "api_key_env": "K"}
    made = settings("", environ={"K": "k"}, providers={"up": up})
    with running(made) as gateway:
        body = {"model": "m", "input": "a", "input_type": "query", "ключ": 1}
        reply = gateway.post("/v1/embeddings", body)
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-structguard-warning"] == "input_type left out; ???? left out"


def test_a_clients_deadline_holds_for_embeddings_too(httpserver: HTTPServer) -> None:
    release = threading.Event()

    def wait(_request: Request) -> Response:
        release.wait(10)
        return Response("{}")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(wait)
    with running(settings(httpserver.url_for("/v1"))) as gateway:
        body = {"model": "m", "input": "a"}
        late = gateway.post("/v1/embeddings", body, x_request_timeout="0.3")
        odd = gateway.post("/v1/embeddings", body, x_request_timeout="soon")
        release.set()
    assert late.status_code == 504
    assert (odd.status_code, odd.json()["error"]["param"]) == (400, "x-request-timeout")
