"""Whatever a client sends: never a 500, never a traceback, and the gateway answers the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from tests.gateway.support import Running, chat, response, running, settings
from tests.gateway.upstream import upstream

PATHS = ("/v1/responses", "/v1/chat/completions", "/v1/embeddings", "/v1/responses/compact")
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "name", "id", "call_id", "arguments", "output",
                 "summary", "encrypted_content", "function", "format", "schema", "json_schema"]
            )
            | st.text(max_size=8),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip
FIELDS = ("model", "messages", "input", "tools", "tool_choice", "response_format", "text", "stream",
          "temperature", "store", "previous_response_id", "reasoning", "metadata", "include",
          "instructions", "stop", "max_output_tokens", "n", "stream_options")  # fmt: skip


@pytest.fixture(scope="module")
def gateway() -> Iterator[Running]:
    with upstream() as server, running(settings(server.base_url)) as made:
        yield made


@given(
    path=st.sampled_from(PATHS),
    fields=st.dictionaries(st.sampled_from(FIELDS), values, max_size=5),
    sound=st.booleans(),
)
@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_json_is_answered_and_never_with_a_500(
    gateway: Running, path: str, fields: dict[str, Any], *, sound: bool
) -> None:
    base = {**chat("text"), **response("text")} if sound else {}
    content = json.dumps({**base, **fields}).encode("utf-8", "surrogatepass")
    reply = gateway.client.post(path, content=content)
    assert reply.status_code != 500, (content, reply.text)
    assert "Traceback" not in reply.text
    if reply.status_code != 200:
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}


@given(path=st.sampled_from(PATHS), content=st.binary(max_size=200))
@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_bytes_are_a_400(gateway: Running, path: str, content: bytes) -> None:
    reply = gateway.client.post(path, content=content)
    assert reply.status_code in {400, 404}, (content, reply.text)
