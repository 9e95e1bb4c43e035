"""What a caller may name as a transport, and the limits it takes."""

from __future__ import annotations

import subprocess
import sys

import httpx2
import openai
import pytest
from pytest_httpserver import HTTPServer

from structguard.errors import MissingExtra
from structguard.http import Limits, TransportName, Whole, transport_for, transport_of_client
from structguard.http.via_httptools import HttptoolsTransport
from structguard.http.via_httpx2 import Httpx2Transport, fault


@pytest.mark.parametrize(
    ("limit", "value"),
    [("connections", 0), ("connect_timeout", 0.0), ("max_body", -1), ("idle", -1)],
)
def test_a_limit_that_allows_nothing_is_refused(limit: str, value: float) -> None:
    with pytest.raises(ValueError, match=limit):
        Limits(**{limit: value})  # type: ignore[arg-type]


def test_an_unknown_transport_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'httpx2' or 'aiohttp', got 'curl'"):
        transport_for("curl")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="async send"):
        transport_for(7)  # type: ignore[arg-type]


def test_a_callers_own_transport_is_used_as_it_is() -> None:
    own = Httpx2Transport()
    assert transport_for(own) is own
    with pytest.raises(ValueError, match="limits and proxy have no effect"):
        transport_for(own, proxy="http://p.invalid")


@pytest.mark.parametrize("name", ["httpx2", "aiohttp"])
@pytest.mark.parametrize(
    "proxy",
    ["", "proxy:3128", "http://", "ftp://p.invalid", "http://u:secret@[", "http://u:secret@p:0", "a b",
     "socks5://u:secret@p.invalid"],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_told_where_it_is_given(
    name: TransportName, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structguard.http.urls.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"proxy") as caught:
        transport_for(name, proxy=proxy)
    assert "secret" not in str(caught.value)


def test_a_socks_proxy_is_for_httpx2_where_socksio_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structguard.http.urls.find_spec", lambda name: object())
    assert isinstance(transport_for("httpx2", proxy="socks5h://p.invalid:1080"), Httpx2Transport)
    with pytest.raises(ValueError, match="SOCKS"):
        transport_for("aiohttp", proxy="socks5h://p.invalid:1080")


def test_a_transport_by_name_shows_its_limits_and_nothing_else() -> None:
    made = transport_for("httpx2", limits=Limits(connections=3), proxy="http://u:secret@p.invalid")
    assert isinstance(made, Httpx2Transport)
    assert "connections=3" in repr(made)
    assert "secret" not in repr(made)
    client = openai.AsyncOpenAI(base_url="http://h.invalid/v1", api_key="secret")
    assert repr(transport_of_client(client)) == "OpenAITransport(AsyncOpenAI)"


@pytest.mark.parametrize(
    ("error", "timed_out", "words"),
    [
        (httpx2.ConnectTimeout("t"), False, "could not be made in time"),
        (httpx2.ReadTimeout("t"), True, "time"),
        (httpx2.LocalProtocolError("bad header: Bearer secret"), False, "does not allow"),
        (httpx2.ReadError(""), False, "ReadError"),
    ],
)
def test_a_fault_of_httpx2_is_told_without_what_it_repeats(
    error: Exception, words: str, *, timed_out: bool
) -> None:
    told = fault(error).failure
    assert (told.timed_out, told.status) == (timed_out, None)
    assert words in told.message
    assert "secret" not in told.message


def test_a_missing_aiohttp_names_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "structguard.http.via_aiohttp", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtra, match=r"pip install 'structguard\[fast\]'"):
        transport_for("aiohttp")


def test_a_sync_client_is_no_transport() -> None:
    with pytest.raises(TypeError, match="got OpenAI"):
        transport_of_client(openai.OpenAI(api_key="k"))


def test_the_seam_imports_no_http_library() -> None:
    code = (
        "import sys, structguard.http;"
        "print([m for m in ('httpx2', 'aiohttp', 'openai', 'botocore') if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_no_repr_shows_a_body() -> None:
    assert "secret" not in repr(Whole(status=200, headers={}, body=b"secret"))


async def test_a_whole_reply_can_be_read_both_ways() -> None:
    whole = Whole(status=200, headers={}, body=b"abc")
    assert [piece async for piece in whole.aiter()] == [await whole.aread()] == [b"abc"]
    await whole.aclose()


async def test_an_own_httpx2_transport_is_driven() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(201, json={"path": request.url.path})

    transport = Httpx2Transport(httpx2.MockTransport(answer))
    got = await transport.send("POST", "http://x.invalid/a", headers={}, body=b"{}", budget=5)
    assert (got.status, await got.aread()) == (201, b'{"path":"/a"}')
    await transport.aclose()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_aiohttp_under_trio_says_what_to_do(anyio_backend: str) -> None:
    with pytest.raises(RuntimeError, match="transport='httpx2'"):
        await transport_for("aiohttp").send("GET", "http://127.0.0.1:9/", headers={})


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_the_gateways_transport_under_trio_says_what_to_do(anyio_backend: str) -> None:
    with pytest.raises(RuntimeError, match="transport='httpx2'"):
        await HttptoolsTransport().send("GET", "http://127.0.0.1:9/", headers={})


async def test_an_azure_client_puts_its_deployment_in(httpserver: HTTPServer) -> None:
    httpserver.expect_request(
        "/openai/deployments/gpt/chat/completions", query_string="api-version=2024-10-21"
    ).respond_with_json({})
    client = openai.AsyncAzureOpenAI(
        azure_endpoint=httpserver.url_for(""), api_key="k", api_version="2024-10-21"
    )
    transport = transport_of_client(client)
    got = await transport.send(
        "POST",
        transport.base_url + "/chat/completions",
        headers={"content-type": "application/json"},
        body=b'{"model":"gpt"}',
        budget=5,
    )
    assert got.status == 200
    assert httpserver.log[0][0].get_json() == {"model": "gpt"}
    await client.close()
