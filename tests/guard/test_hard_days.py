"""Bad moments, real clients: whatever happens in the middle, one entry, one warning, nothing lost."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from werkzeug import Request as WebRequest, Response

import structguard as sg
from structguard.events import Event, RefusalRemembered
from structguard.memo import Memo, open_memo
from structguard.testing import RefusingEndpoint
from tests.clients.endpoint import FENCED, FORMAT, MESSAGES, REFUSED, VALUE, chat, chat_chunks, sse
from tests.http.raw import Play, raw_server

CALL: dict[str, Any] = {"messages": MESSAGES, "response_format": FORMAT}
DAYS = 2 * 86_400.0  # past the expiry


class Answer(BaseModel):
    """The format asked for."""

    city: str
    n: int


@pytest.fixture
def endpoint() -> Iterator[RefusingEndpoint]:
    with RefusingEndpoint("refuse400", value={"city": "Bonn", "n": 3}) as running:
        yield running


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[sg.Guard]:
    with sg.Guard(memo=f"disk:{tmp_path}/memo") as made:
        yield made


@pytest.fixture
def memo() -> Memo:
    return open_memo("memory:")


def sync_client(endpoint: RefusingEndpoint) -> OpenAI:
    return OpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0)


def async_client(endpoint: RefusingEndpoint) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0)


def ask(client: Any, model: str = "m", **more: Any) -> Any:
    return client.chat.completions.create(model=model, **CALL, **more)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "structguard"]


def in_threads(number: int, run: Callable[[int], object]) -> list[BaseException]:
    """Run at once in so many threads; what they raised."""
    raised: list[BaseException] = []
    begin = threading.Barrier(number)

    def body(which: int) -> None:
        try:
            begin.wait()
            run(which)
        except BaseException as error:  # noqa: BLE001  told to the test
            raised.append(error)

    threads = [threading.Thread(target=body, args=(which,)) for which in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


async def test_half_of_the_first_callers_give_up(
    guard: sg.Guard, endpoint: RefusingEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    served: list[str] = []
    async with guard.wrap(async_client(endpoint)) as client:

        async def one(number: int) -> None:
            with anyio.move_on_after(0.02 * (number % 9) if number % 2 else 60.0):
                served.append((await ask(client)).choices[0].message.content)

        with caplog.at_level(logging.WARNING, "structguard"):
            async with anyio.create_task_group() as group:
                for number in range(30):
                    group.start_soon(one, number)
        before = endpoint.count()
        await ask(client)
        assert endpoint.count() == before + 1
    assert len(served) >= 15
    assert set(served) == {VALUE}
    assert len(await guard.memo.aentries()) == len(warnings(caplog)) == 1


def test_four_loops_of_two_kinds_share_one_guard(
    guard: sg.Guard, endpoint: RefusingEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with guard.wrap(async_client(endpoint)) as client, anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask, client)

    def run(which: int) -> None:
        anyio.run(main, backend=("asyncio", "trio")[which % 2])

    with caplog.at_level(logging.WARNING, "structguard"):
        assert in_threads(4, run) == []
    assert len(guard.memo.entries()) == len(warnings(caplog)) == 1


def test_an_observer_may_ask_the_memo_and_change_it(
    tmp_path: Path, endpoint: RefusingEndpoint
) -> None:
    store = open_memo(f"disk:{tmp_path}")
    told: list[int] = []

    def observer(event: Event, /) -> None:
        if isinstance(event, RefusalRemembered):
            told.append(len(store.entries()))
            store.forget()

    guard = sg.Guard(memo=store, observer=observer)
    with guard, guard.wrap(sync_client(endpoint)) as client:
        assert in_threads(8, lambda _: ask(client)) == []
    assert told
    assert set(told) <= {0, 1}  # another thread's observer may have been quicker


def test_a_guard_that_is_closed_meanwhile_loses_no_entry(
    tmp_path: Path, endpoint: RefusingEndpoint
) -> None:
    guard = sg.Guard(memo=f"disk:{tmp_path}")

    def run(which: int) -> None:
        if which == 0:
            for _ in range(20):
                guard.close()
            return
        for number in range(3):
            ask(client, f"m{which}-{number}")

    with guard.wrap(sync_client(endpoint)) as client:
        assert in_threads(5, run) == []
    guard.close()
    with open_memo(f"disk:{tmp_path}") as memo:
        assert len(memo.entries()) == 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_of_a_warm_parent_rescue_and_remember(
    guard: sg.Guard, endpoint: RefusingEndpoint
) -> None:
    with guard.wrap(sync_client(endpoint)) as warm:
        ask(warm, "known")
        children: list[int] = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    own = guard.wrap(sync_client(endpoint))
                    code = len([ask(own, model) for model in ("known", "new")]) - 2
                finally:
                    os._exit(code)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert endpoint.count("known") == 2 + 3
    assert {entry.model for entry in open_memo(guard.memo.name).entries()} >= {"known"}


def test_a_memo_that_is_deleted_costs_one_warning(
    tmp_path: Path, endpoint: RefusingEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    guard = sg.Guard(memo=f"disk:{tmp_path}/memo", clock=lambda: now[0])
    with guard, guard.wrap(sync_client(endpoint)) as client:
        ask(client)
        shutil.rmtree(tmp_path / "memo")
        for model in ("m", "other", "other"):
            now[0] += 2.0  # each call looks at the store
            ask(client, model)
    assert (endpoint.count("m"), endpoint.count("other")) == (3, 3)
    assert len([text for text in warnings(caplog) if "deleted while in use" in text]) == 1


async def test_of_twenty_callers_after_the_expiry_one_tries_the_format(
    tmp_path: Path, endpoint: RefusingEndpoint
) -> None:
    now = [1e9]
    guard = sg.Guard(memo=f"disk:{tmp_path}", wall=lambda: now[0])
    async with guard, guard.wrap(async_client(endpoint)) as client:
        await ask(client)
        now[0] += DAYS
        endpoint.clear()
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask, client)
        assert sum(asked.sent is not None for asked in endpoint.requests) == 1
        assert (endpoint.count(), len(await guard.memo.aentries())) == (21, 1)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_rate_limit_on_the_second_send_is_the_sdks_to_retry(
    httpserver: HTTPServer, memo: Memo, retries: int
) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(asked: WebRequest) -> Response:
        bodies.append(asked.get_json())
        status, body = 200, chat(FENCED)
        if "response_format" in bodies[-1]:
            status, body = 400, REFUSED
        elif len(bodies) == 2:
            status, body = 429, {"error": {"message": "slow down"}}
        return Response(
            json.dumps(body), status, {"retry-after": "0.01"}, content_type="application/json"
        )

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    plain = OpenAI(base_url=httpserver.url_for("/v1"), api_key="k", max_retries=retries)
    with sg.wrap(plain, memo=memo) as client:
        if not retries:
            with pytest.raises(openai.RateLimitError) as caught:
                ask(client)
            cause = caught.value.__cause__
            assert cause is not None
            assert (sg.is_refusal(cause), sg.is_refusal(caught.value)) == (True, False)
            assert memo.entries() == []
            bodies.clear()
            bodies.append({})  # the next call is not limited
        answered = ask(client)
    assert answered.choices[0].message.content == VALUE
    assert sg.info(answered) is not None
    assert len(memo.entries()) == 1


REFUSAL = json.dumps(REFUSED).encode()
NO = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)
)
SILENT = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    + sse(chat_chunks([])[:1], done=False).encode()
)


async def wrapped(url: str, guard: sg.Guard) -> None:
    plain = AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
    async with guard.wrap(plain) as client:
        await ask(client, stream=True)


async def transported(url: str, guard: sg.Guard) -> None:
    async with httpx2.AsyncClient(transport=guard.async_transport()) as client:
        body = {**CALL, "model": "m", "stream": True}
        await client.post(f"{url}/v1/chat/completions", json=body)


async def protected(url: str, guard: sg.Guard) -> None:
    asked = sg.Request(model="m", messages=MESSAGES, response_format=Answer)
    async with sg.OpenAICompat(f"{url}/v1") as provider, guard.protect(provider).stream(asked):
        pass


@pytest.mark.parametrize("face", [wrapped, transported, protected])
async def test_giving_up_on_a_second_stream_that_says_nothing_yet_remembers_nothing(
    memo: Memo, face: Callable[[str, sg.Guard], Any]
) -> None:
    with raw_server(Play([NO]), Play([SILENT], hold=True)) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(face, server.url, sg.Guard(memo=memo))
            while len(server.requests) < 2:  # noqa: ASYNC110  the server knows only threads
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 5.0)
    assert memo.entries() == []
