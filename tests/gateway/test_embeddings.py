"""POST /v1/embeddings as clients read it."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from pytest_httpserver import HTTPServer

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
