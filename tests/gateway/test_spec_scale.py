"""Line by line of "Scale and faults": pools with limits, disks that are full, clocks that jump, who is counted."""

from __future__ import annotations

import json
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.gateway.store import open_store
from tests.gateway.load.mix import RESPONSES, Kind
from tests.gateway.load.process import CONFIG, echo, gateway
from tests.gateway.load.run import Load
from tests.gateway.support import CHAT_FORMAT, VALUE, Running, chat, response, running, settings
from tests.gateway.test_store import DAY, MIB, Wall, turn
from tests.gateway.upstream import Upstream, chunks, reply

Json = dict[str, Any]


def test_no_more_connections_are_opened_upstream_than_a_file_allows() -> None:
    now, most, guard = 0, 0, threading.Lock()

    def answer(received: Received) -> Answer:
        nonlocal now, most
        with guard:
            now += 1
            most = max(most, now)
        time.sleep(0.05)  # noqa: TID251  what takes time upstream
        with guard:
            now -= 1
        return Answer(json.dumps(reply({"content": "Hi."})), content_type="application/json")

    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        server.expect_request("/v1/chat/completions").respond_with_handler(answer)
        made = settings(server.url_for("/v1"), limits={"connections": 2})
        with running(made) as gateway, ThreadPoolExecutor(12) as clients:
            asked = [
                clients.submit(gateway.post, "/v1/chat/completions", chat("m")) for _ in range(12)
            ]
            assert {one.result().status_code for one in asked} == {200}
    assert most == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_memo_that_forgets_while_a_call_is_under_way_sends_nothing_twice(*, stream: bool) -> None:
    """As a store does that is restarted, and an entry whose time is over."""
    sent: list[Json] = []
    forgets = False

    def answer(received: Received) -> Answer:
        body: Json = json.loads(received.data)
        sent.append(body)
        if "response_format" in body:
            error = {"message": "response_format is not supported", "type": "x", "code": None}
            return Answer(json.dumps({"error": error}), 400, content_type="application/json")
        for entry in memo.entries() if forgets else ():
            memo.clear(entry)
        said = {"content": f"Here:\n```json\n{json.dumps(VALUE)}\n```"}
        if not stream:
            return Answer(json.dumps(reply(said)), content_type="application/json")
        lines = [f"data: {json.dumps(one)}\n\n" for one in chunks(said, "stop")]
        return Answer("".join(lines) + "data: [DONE]\n\n", content_type="text/event-stream")

    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        server.expect_request("/v1/chat/completions").respond_with_handler(answer)
        with running(settings(server.url_for("/v1"))) as gateway:
            memo, body = (
                gateway.app.core.memo,
                chat("m", response_format=CHAT_FORMAT, stream=stream),
            )
            assert gateway.post("/v1/chat/completions", body).status_code == 200
            assert (len(sent), len(memo.entries())) == (2, 1)
            forgets = True
            assert gateway.post("/v1/chat/completions", body).status_code == 200
    assert (len(sent), memo.entries()) == (3, [])


def test_each_provider_has_its_own_time_and_attempts() -> None:
    asked: list[str] = []

    def answer(received: Received) -> Answer:
        asked.append(str(json.loads(received.data)["model"]))
        if asked[-1] == "slow":
            time.sleep(1.0)  # noqa: TID251  what takes time upstream
        if asked.count("flaky") == 1:
            return Answer("{}", 503, headers={"retry-after": "0"})
        return Answer(json.dumps(reply({"content": "Hi."})), content_type="application/json")

    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        server.expect_request("/v1/chat/completions").respond_with_handler(answer)
        url = server.url_for("/v1")
        tables = {"once": {"base_url": url, "attempts": 1, "timeout": 0.2},
                  "thrice": {"base_url": url, "attempts": 3}}  # fmt: skip
        with running(settings("", providers=tables)) as gateway:
            late = gateway.post("/v1/chat/completions", chat("once:slow"))
            assert (late.status_code, late.json()["error"]["code"]) == (504, "timeout")
            again = gateway.post("/v1/chat/completions", chat("thrice:flaky"))
            assert (again.status_code, again.headers["x-structguard-requests"]) == (200, "2")
            refused = gateway.post(
                "/v1/chat/completions", chat("once:slow"), x_request_timeout="0.1"
            )
            assert refused.status_code == 504


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_disk_that_is_full_loses_no_reply(tmp_path: Path) -> None:
    """No file of the gateway may grow beyond 300 kB: as good as a disk of that size."""
    limit = 300_000

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    kinds = [
        Kind(name="turns", path=RESPONSES, goes_on=True),
        Kind(name="stream", path=RESPONSES, model="chat:x/echo", stream=True, goes_on=True),
        Kind(name="refused", path=RESPONSES, model="up:x/refuse", format=True),
    ]
    store, memo = f"disk:{tmp_path}/store", f"disk:{tmp_path}/memo"
    with (
        echo() as upstream,
        gateway(
            tmp_path, upstream.url, store=store, memo=memo, prepare=small_files,
            config=CONFIG.replace("limit_bytes = 2000000", "limit_bytes = 100000000"),
        ) as chat_upstream,
    ):  # fmt: skip
        sums = await Load(chat_upstream.port, kinds=kinds, connections=8).run(requests=400)
        log = chat_upstream.written()
    # a conversation whose last turn could not be kept ends with a clear error, and begins anew
    assert set(sums.of) <= {"answered", "failed"}, sums.odd
    assert set(sums.kinds["refused"]) == {"answered"}
    assert sums.kinds["turns"]["answered"] > 20
    assert "could not be stored" in log
    assert "Traceback" not in log


@pytest.mark.parametrize("kind", ["memory", "disk"])
async def test_a_clock_that_jumps_loses_nothing_it_need_not(kind: str, tmp_path: Path) -> None:
    wall = Wall()
    url = "memory:" if kind == "memory" else f"disk:{tmp_path}"
    store = open_store(url, expiry=DAY, limit_bytes=MIB, wall=wall)
    await store.put("a", "before", turn())
    wall.now -= 3 * DAY  # set back
    assert await store.get("a", "before") == turn()
    await store.put("a", "during", turn())
    assert await store.get("a", "during") == turn()
    wall.now += 3 * DAY  # and forth again: what was written meanwhile has an old date
    assert await store.get("a", "before") == turn()
    wall.now += 365 * DAY
    assert await store.get("a", "before") is None
    if kind == "memory":  # a directory's own dates are the system's
        await store.put("a", "after", turn())
        assert await store.get("a", "after") == turn()
    await store.aclose()


def test_calls_that_are_not_hot_are_limited_counted_and_logged_like_all_others(
    chat_upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    made = settings(chat_upstream.base_url, limits={"concurrent": 1}, models={"fast": "up:text"})
    with running(made) as gateway, caplog.at_level("INFO", "structguard.access"):
        kept = gateway.post("/v1/responses", response("text")).json()["id"]
        calls = [("GET", "/v1/models", None), ("GET", "/v1/models/fast", None),
                 ("GET", f"/v1/responses/{kept}", None),
                 ("GET", f"/v1/responses/{kept}/input_items", None),
                 ("POST", "/v1/embeddings", {"model": "text", "input": "x"}),
                 ("POST", "/v1/responses/compact", {"model": "text", "input": "x"}),
                 ("DELETE", f"/v1/responses/{kept}", None), ("GET", "/v1/nothing", None)]  # fmt: skip
        gateway.app.core.busy += 1  # as many as may be
        full = [gateway.client.request(method, path, json=body) for method, path, body in calls]
        assert [one.status_code for one in full] == [429] * 7 + [404]
        assert all(one.headers["retry-after"] == "1" for one in full[:7])
        quiet = [gateway.get(path).status_code for path in ("/healthz", "/readyz", "/metrics", "/")]
        assert quiet == [200] * 4  # whoever watches is never turned away
        gateway.app.core.busy -= 1
        free = [gateway.client.request(method, path, json=body) for method, path, body in calls]
        shown = gateway.get("/metrics").text
        assert gateway.app.core.busy == 0
    lines = [
        record.getMessage() for record in caplog.records if record.name == "structguard.access"
    ]
    for (method, path, _), one in zip(calls, free, strict=True):
        assert any(f"{method} {path} {one.status_code} " in line for line in lines), (method, path)
    assert not any("/healthz" in line or "/metrics" in line for line in lines)
    for route in ("/v1/models", "/v1/models/{id}", "/v1/responses/{id}", "other",
                  "/v1/responses/{id}/input_items", "/v1/embeddings"):  # fmt: skip
        assert f'structguard_requests_total{{endpoint="{route}",status="429"}}' in shown or route == "other"  # fmt: skip
    assert kept not in shown  # a label is never what a client made up


def test_what_a_client_escaped_makes_no_line_of_its_own_in_the_log(
    chat_upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        running(settings(chat_upstream.base_url)) as gateway,
        caplog.at_level("INFO", "structguard.access"),
    ):
        gateway.get("/v1/models/x%0a2026-01-01 INFO forged")
    assert all("\n" not in record.getMessage() for record in caplog.records)


def test_a_gateway_that_has_one_model_only_says_so_of_all_others(chat_upstream: Upstream) -> None:
    tables = {"a": {"base_url": chat_upstream.base_url}, "b": {"base_url": chat_upstream.base_url}}
    with running(settings("", providers=tables, models={"fast": "a:text"})) as gateway:
        for body in (response("slow"), response("c:text")):
            reply_ = gateway.post("/v1/responses", body)
            assert (reply_.status_code, reply_.json()["error"]["code"]) == (404, "model_not_found")
        assert gateway.get("/v1/models/slow").status_code == 404
        assert [one["id"] for one in gateway.get("/v1/models").json()["data"]] == ["fast"]
        assert isinstance(gateway, Running)
