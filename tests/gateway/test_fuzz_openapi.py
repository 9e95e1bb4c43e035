"""Our own OpenAPI document: what is in it, and what schemathesis finds when it takes it at its word."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from structguard.gateway import schema_chat, schema_embeddings, schema_responses
from tests.gateway.load.process import Process, echo, gateway
from tests.gateway.load.size import patient, size
from tests.gateway.support import BOTH, Running, running, settings
from tests.gateway.upstream import upstream

HASH = "0" * 64
CONFIG = """\
[providers.up]
base_url = "{url}"
attempts = 1
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "{memo}"
[store]
url = "{store}"
"""
CHECKS = """\
[checks]
# what a schema cannot say is still a 400: an unknown previous response, a second thing beside the first
positive_data_acceptance.enabled = false
# an upstream that fails, or that is given no time, is told as such: only a 500 is our own
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 502, 503, 504]
[generation]
allow-extra-parameters = false
"""


def document(gateway: Running) -> Any:
    reply = gateway.get("/openapi.json")
    assert reply.status_code == 200
    return reply.json()


def test_the_document_lists_what_is_offered_and_nothing_else() -> None:
    with upstream() as server, running(settings(server.base_url)) as both:
        paths = document(both)["paths"]
        for path, operations in paths.items():
            for method in set(operations) - {"parameters"}:
                url = path.replace("{", "").replace("}", "")
                asked = both.client.request(method.upper(), url)
                assert asked.status_code != 405, (method, path)
                other = both.client.request("PATCH", url)
                assert (other.status_code, "PATCH" in other.headers["allow"]) == (405, False)
    only = settings("http://127.0.0.1:9/v1", endpoints={"responses": BOTH["responses"]})
    with running(only) as one:
        assert set(paths) - set(document(one)["paths"]) == {"/v1/chat/completions"}


def test_the_document_is_behind_auth_like_every_route() -> None:
    made = settings("http://127.0.0.1:9/v1", auth={"token_hashes": [HASH]})
    with running(made) as gateway:
        assert gateway.get("/openapi.json").status_code == 401
        assert gateway.get("/healthz").status_code == 200


def test_its_schemas_are_those_that_requests_are_checked_by() -> None:
    with running(settings("http://127.0.0.1:9/v1")) as gateway:
        paths = document(gateway)["paths"]
    for path, module in (
        ("/v1/chat/completions", schema_chat),
        ("/v1/responses", schema_responses),
        ("/v1/embeddings", schema_embeddings),
    ):
        told = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert {"$schema": module.SCHEMA["$schema"], **told} == module.SCHEMA
        assert jsonschema_rs.meta.is_valid(told)


@pytest.fixture(scope="module")
def program() -> str:
    found = shutil.which("st")
    if found is None:
        pytest.skip("schemathesis is not installed: make fuzz-gateway sets it up")
    return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, program: str) -> Iterator[Process]:
    with (
        echo() as upstream,
        gateway(tmp_path_factory.mktemp("gateway"), upstream.url, config=CONFIG) as made,
    ):
        yield made


@patient
def test_schemathesis_finds_no_fault_in_it(served: Process, program: str, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CHECKS)
    done = subprocess.run(  # noqa: S603  a tool of ours
        [program, "run", f"{served.url}/openapi.json", "--max-examples", str(size(5, 100)),
         "--continue-on-failure", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated is not None
    assert int(generated[1]) >= size(1, 2000)
    assert "Traceback" not in served.written()
