"""The status page as a browser meets it: who may see it, what it shows, and its one form."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from structguard.gateway.app import create_core
from structguard.gateway.config_file import config_from
from structguard.gateway.core import Core
from structguard.gateway.metrics import share_metrics
from structguard.gateway.page import STYLE_PATH, STYLESHEET
from structguard.gateway.status import status_routes

BASIC = {"authorization": "Basic " + base64.b64encode(b"me:sesame-open").decode()}
TOKENS = {"token_envs": ["GATEWAY_TOKEN"]}
ENVIRON = {"GATEWAY_TOKEN": "sesame-open"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # the gateway runs on uvicorn


@dataclass
class Harness:
    core: Core
    client: httpx2.AsyncClient

    async def page(self, **headers: str) -> str:
        reply = await self.client.get("/", headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.text

    async def post(self, form: Mapping[str, str], **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post("/forget", data=form, headers=named)


@asynccontextmanager
async def harness(workers_dir: Path | None = None, **tables: object) -> AsyncIterator[Harness]:
    table: dict[str, object] = {
        "providers": {"up": {"base_url": "http://127.0.0.1:9/v1"}},
        "endpoints": {"responses": {"enabled": True}},
        "guard": {"memo": "memory:"},
        **tables,
    }
    config = config_from(table, ENVIRON)
    core = create_core(config, workers_dir=workers_dir)
    app = Starlette(routes=status_routes(core))
    transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type, unused-ignore]
    async with httpx2.AsyncClient(transport=transport, base_url="http://gateway:8080") as client:
        yield Harness(core, client)
    await core.upstreams.aclose()


def form_of(page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(csrf|entry)" value="([^"]+)"', page))


async def test_the_page_shows_memo_chains_and_providers_under_a_strict_policy() -> None:
    links = ["up:big", "up:small"]
    async with harness(models={"fast": links}) as there:
        there.core.memo.add("up", "big", base_url="http://127.0.0.1:9/v1", evidence="says <no>")
        reply = await there.client.get("/")
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert reply.headers["cache-control"] == "no-store"
        for said in ("says &lt;no&gt;", "up:big", "up:small", "fast", "127.0.0.1:9/v1"):
            assert said in reply.text
        style = await there.client.get(STYLE_PATH)
        assert style.text == STYLESHEET
        assert "immutable" in style.headers["cache-control"]


async def test_the_form_forgets_one_entry_and_says_so() -> None:
    async with harness() as there:
        there.core.memo.add("up", "one", evidence="a")
        there.core.memo.add("up", "two", evidence="b")
        form = form_of(await there.page())
        reply = await there.post(form, origin="http://gateway:8080", sec_fetch_site="same-origin")
        assert (reply.status_code, reply.headers["location"]) == (303, "/?forgot=1")
        assert len(await there.core.memo.aentries()) == 1
        assert "Forgotten:" in (await there.client.get("/?forgot=1")).text
        again = await there.post(form)
        assert again.headers["location"] == "/?forgot=0"
        assert "forgotten already" in (await there.client.get("/?forgot=0")).text
        assert 'role="status"' not in (await there.client.get("/?forgot=<script>")).text


@pytest.mark.parametrize(
    ("change", "headers"),
    [
        ({"csrf": ""}, {}),
        ({"csrf": "0" * 64}, {}),
        ({}, {"sec_fetch_site": "cross-site"}),
        ({}, {"sec_fetch_site": "same-site"}),
        ({}, {"origin": "https://evil.example"}),
        ({}, {"origin": "null"}),
        ({}, {"origin": "http://[bad"}),
    ],
)
async def test_no_other_site_can_post_the_form(
    change: dict[str, str], headers: dict[str, str]
) -> None:
    async with harness() as there:
        there.core.memo.add("up", "one", evidence="a")
        form = {**form_of(await there.page()), **change}
        reply = await there.post(form, **headers)
        assert reply.status_code == 403
        assert reply.json()["error"]["message"].startswith("this form is no longer valid")
        assert len(await there.core.memo.aentries()) == 1


async def test_a_form_without_fields_or_too_long_is_refused() -> None:
    async with harness() as there:
        assert (await there.post({})).status_code == 403
        assert (await there.post({"csrf": "x" * 5000})).status_code == 413
        reply = await there.client.post("/forget", content=b"\xff=&&&%zz;;" * 100)
        assert reply.status_code == 403


async def test_a_browser_is_asked_to_log_in_and_let_in_with_a_token_as_password() -> None:
    async with harness(auth=TOKENS) as there:
        there.core.memo.add("up", "one", evidence="a")
        for path, method in (("/", "GET"), ("/forget", "POST")):
            reply = await there.client.request(method, path)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"].startswith("Basic ")
        page = await there.page(**BASIC)
        assert "sesame-open" not in page
        assert (await there.page(authorization="Bearer sesame-open")).count("<form") == 1
        reply = await there.post(form_of(page), **BASIC)
        assert reply.status_code == 303
        assert (await there.client.get(STYLE_PATH)).status_code == 200


async def test_too_many_wrong_passwords_are_told_to_wait() -> None:
    async with harness(auth={"token_envs": ["GATEWAY_TOKEN"], "failures": 2}) as there:
        wrong = {"authorization": "Basic " + base64.b64encode(b"me:wrong").decode()}
        codes = [(await there.client.get("/", headers=wrong)).status_code for _ in range(3)]
        assert codes == [401, 401, 429]


async def test_a_form_of_one_gateway_is_taken_by_another_with_the_same_tokens() -> None:
    async with harness(auth=TOKENS) as one, harness(auth=TOKENS) as other:
        one.core.memo.add("up", "one", evidence="a")
        reply = await other.post(form_of(await one.page(**BASIC)), **BASIC)
        assert reply.status_code == 303


async def test_workers_without_tokens_share_a_secret_and_strangers_do_not(tmp_path: Path) -> None:
    share_metrics(tmp_path / "shared", {})
    forms: list[dict[str, str]] = []
    for directory in (tmp_path / "shared", tmp_path / "shared", None, None):
        async with harness(workers_dir=directory) as there:
            there.core.memo.add("up", "one", evidence="a")
            forms.append(form_of(await there.page()))
    assert forms[0] == forms[1]
    assert len({form["csrf"] for form in forms}) == 3
