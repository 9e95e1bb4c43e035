"""The status page in a real browser, with scripts switched off. Pictures: see `PICTURES`."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

import anyio.to_thread
import pytest

from structguard.gateway.page import STYLE_PATH, render
from structguard.testing import RefusingEndpoint
from tests.gateway.browser import PROGRAM, Tab, chromium, serving
from tests.gateway.page_sample import BUSY, ENTRIES, FRESH
from tests.gateway.support import TEXT_FORMAT, VALUE, response, running, settings
from tests.gateway.test_page import HOSTILE

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
PICTURES = os.environ.get("STRUCTGUARD_PICTURES")  # a directory: keep what was seen


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # aiohttp needs it


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with chromium(tmp_path / "profile") as opened:
        yield opened


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
async def test_the_page_never_scrolls_sideways_and_breaks_no_policy(
    tab: Tab, width: int, tmp_path: Path
) -> None:
    long = replace(ENTRIES[0], model="m" * 120, evidence="e" * 200)
    for name, snapshot in (("busy", BUSY), ("long", replace(BUSY, entries=[long])), ("new", FRESH)):
        page = render(snapshot)
        with serving(lambda page=page: page) as (url, asked):  # type: ignore[misc]
            await tab.open(url, width=width, dark=name == "long")
            assert await tab.content_width() <= width
            assert set(asked) == {"/", STYLE_PATH}
            assert tab.told == []
            folder = Path(PICTURES) if PICTURES else tmp_path
            assert await tab.picture(folder / f"{name}-{width}.png") > 10_000


async def test_the_button_forgets_without_any_script(tab: Tab) -> None:
    with serving(lambda: render(BUSY)) as (url, asked):
        await tab.open(url, width=1280)
        await tab.click("form:first-of-type button")
        await tab.until("Page.loadEventFired")
    path, _, body = next(one for one in asked if " " in one).partition(" ")
    assert path == "/forget"
    assert parse_qs(body) == {
        "csrf": ["token"],
        "entry": [max(ENTRIES, key=lambda one: one.confirmed).id],
    }
    assert asked[-1] in {"/", STYLE_PATH}


async def test_a_browser_takes_hostile_evidence_for_text(tab: Tab) -> None:
    entry = replace(ENTRIES[0], evidence=HOSTILE, provider=HOSTILE)
    with serving(lambda: render(replace(BUSY, entries=[entry], message=HOSTILE))) as (url, asked):
        await tab.open(url, width=1280)
        source = await tab.source()
        assert set(asked) == {"/", STYLE_PATH}
    assert "<script" not in source
    assert "<img" not in source
    assert source.count("&lt;script&gt;alert(1)") >= 3
    assert tab.told == []


async def test_an_operator_sees_a_refusal_and_forgets_it(tab: Tab, tmp_path: Path) -> None:
    login = {"authorization": "Basic " + b64encode(b"me:sesame-open").decode()}
    auth = {"token_envs": ["GATEWAY_TOKEN"]}
    with RefusingEndpoint("refuse400", value=VALUE) as endpoint:
        made = settings(
            endpoint.base_url, environ={"GATEWAY_TOKEN": "sesame-open"}, auth=auth,
            models={"careful": ["up:refuse400", "up:fenced"]},
        )  # fmt: skip
        with running(made) as gateway:
            for model in ("careful", "up:refuse400"):
                body = response(model, text={"format": TEXT_FORMAT})
                asked = partial(gateway.post, "/v1/responses", body)
                reply = await anyio.to_thread.run_sync(
                    partial(asked, authorization="Bearer sesame-open")
                )
                assert reply.status_code == 200, reply.text
            await tab.do("Network.enable")
            await tab.do("Network.setExtraHTTPHeaders", headers=login)
            await tab.open(gateway.url, width=1280)
            page = await tab.source()
            for said in ("json_schema refused", "careful", "up:fenced", "not supported"):
                assert said in page
            folder = Path(PICTURES) if PICTURES else tmp_path
            await tab.picture(folder / "real-1280.png")
            await tab.click("form button")
            await tab.until("Page.loadEventFired")
            page = await tab.source()
            assert "Forgotten: the format is tried again" in page
            assert "Nothing is remembered" in page
            assert tab.told == []
            assert await gateway.app.core.memo.aentries() == []
