"""POST /v1/embeddings as clients read it."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from pytest_httpserver import HTTPServer

from tests.gateway.world import running, settings

VECTORS = [[0.5, -2.0], [1.0, 0.25]]


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
