"""Two gateways over one real Redis behave as one; Redis stopped and restarted under them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.redis_server import RedisServer
from tests.gateway.support import TEXT_FORMAT, VALUE, Running, response, running, settings
from tests.gateway.upstream import Upstream, upstream


@pytest.fixture
def chat_upstream() -> Iterator[Upstream]:
    with upstream() as server:
        yield server


@pytest.fixture
def pair(chat_upstream: Upstream, redis_server: RedisServer) -> Iterator[tuple[Running, Running]]:
    config = settings(
        chat_upstream.base_url, memo=redis_server.url, store={"url": redis_server.url}
    )
    with running(config) as one, running(config) as two:
        yield one, two


def test_a_conversation_goes_on_at_the_other_gateway(
    pair: tuple[Running, Running], chat_upstream: Upstream
) -> None:
    one, two = pair
    last, turns = None, 6
    for number in range(turns):
        here = (one, two)[number % 2]
        body = response("text", input=f"turn {number}", previous_response_id=last)
        reply = here.post("/v1/responses", body)
        assert reply.status_code == 200, reply.text
        last = reply.json()["id"]
    assert len(chat_upstream.asked[-1]["messages"]) == 2 * turns - 1
    assert one.get(f"/v1/responses/{last}").json() == two.get(f"/v1/responses/{last}").json()
    assert two.client.delete(f"/v1/responses/{last}").status_code == 200
    assert one.get(f"/v1/responses/{last}").status_code == 404


def test_what_one_gateway_learned_spares_the_other_the_refusal(redis_server: RedisServer) -> None:
    with RefusingEndpoint("refuse400", value=VALUE) as endpoint:
        config = settings(endpoint.base_url, memo=redis_server.url, store={"url": redis_server.url})
        with running(config) as one, running(config) as two:
            body = response("x/refuse400", text={"format": TEXT_FORMAT})
            first = one.post("/v1/responses", body)
            time.sleep(1.1)  # noqa: TID251  the view looks for others' writes once a second
            second = two.post("/v1/responses", body)
    spent = [reply.headers["x-structguard-requests"] for reply in (first, second)]
    assert spent == ["2", "1"]
    for reply in (first, second):
        assert reply.headers["x-structguard-enforced"] == "false"
        assert json.loads(reply.json()["output"][0]["content"][0]["text"]) == VALUE


def test_without_redis_reads_are_a_clear_503_and_what_is_not_stored_is_served(
    pair: tuple[Running, Running], redis_server: RedisServer
) -> None:
    one, _ = pair
    kept = one.post("/v1/responses", response("text")).json()["id"]
    redis_server.stop()
    for reply in (
        one.get(f"/v1/responses/{kept}"),
        one.post("/v1/responses", response("text", previous_response_id=kept)),
    ):
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (503, "store_unavailable")
        assert "127.0.0.1" not in error["message"]
    lost = one.post("/v1/responses", response("text"))
    assert (lost.status_code, lost.json()["store"]) == (200, False)
    assert lost.headers["x-structguard-warning"].startswith("not stored: ")
    assert "127.0.0.1" not in lost.headers["x-structguard-warning"]
    assert one.post("/v1/responses", response("text", store=False)).status_code == 200
    redis_server.start()
    assert one.post("/v1/responses", response("text")).status_code == 200
    assert one.get(f"/v1/responses/{kept}").status_code == 404  # this server kept nothing


def test_a_restart_of_redis_under_load_hangs_and_breaks_nothing(
    pair: tuple[Running, Running], redis_server: RedisServer
) -> None:
    seen: list[int] = []
    ends = time.monotonic() + 3.0

    def client(where: Running) -> None:
        while time.monotonic() < ends:
            reply = where.post("/v1/responses", response("text"))
            assert reply.json()["output" if reply.status_code == 200 else "error"]
            seen.append(reply.status_code)

    threads = [threading.Thread(target=client, args=(pair[n % 2],)) for n in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.7)  # noqa: TID251  real programs under a real load
    redis_server.stop()
    time.sleep(0.5)  # noqa: TID251
    redis_server.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert set(seen) <= {200, 503}
    assert seen[-1] == 200
    assert len(seen) > 20
