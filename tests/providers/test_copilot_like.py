"""The example of a Copilot-like profile works against an endpoint like Copilot's."""

from __future__ import annotations

import json
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.errors import AuthenticationFailed
from structguard.providers import OpenAICompat
from tests.providers.payloads import ANSWER, CHAT, RESPONSE, WRONG_API
from tests.providers.support import ask

EXAMPLE = Path(__file__).parents[2] / "examples" / "copilot_like.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="examples are not beside the tests")
LIST = {
    "data": [
        {"id": "gpt-6-astra", "supported_endpoints": ["/responses"]},
        {"id": "gpt-5.4", "supported_endpoints": ["/chat/completions", "/responses"]},
    ]
}


class Copilot:
    """The loopback endpoint: tokens, a model list, and a model that chat does not serve."""

    def __init__(self, server: HTTPServer) -> None:
        self.tokens: list[str] = []
        self.life = 1500.0
        self.good: set[str] = set()
        self.seen: list[Received] = []
        server.expect_request("/token").respond_with_handler(self.token)
        server.expect_request("/models").respond_with_handler(self.guarded(lambda _: LIST))
        server.expect_request("/responses").respond_with_handler(self.guarded(lambda _: RESPONSE))
        server.expect_request("/chat/completions").respond_with_handler(self.guarded(self.chat))
        make = runpy.run_path(str(EXAMPLE))["provider"]
        self.provider: OpenAICompat = make(
            "gho-long-lived",
            base_url=server.url_for("/").rstrip("/"),
            token_url=server.url_for("/token"),
        )

    def token(self, request: Received) -> Answer:
        if request.headers["Authorization"] != "token gho-long-lived":
            return Answer("{}", 401)
        self.tokens.append(f"tid-{len(self.tokens) + 1}")
        self.good = {self.tokens[-1]}
        reply = {"token": self.tokens[-1], "expires_at": time.time() + self.life}
        return Answer(json.dumps(reply), content_type="application/json")

    def guarded(self, reply: Callable[[Received], object]) -> Callable[[Received], Answer]:
        def answer(request: Received) -> Answer:
            request.get_data()
            self.seen.append(request)
            if request.headers["Authorization"].removeprefix("Bearer ") not in self.good:
                return Answer('{"error": {"message": "token expired"}}', 401)
            body = reply(request)
            return Answer(json.dumps(body), 400 if body is WRONG_API else 200)

        return answer

    def chat(self, request: Received) -> object:
        model = json.loads(request.get_data())["model"]
        return WRONG_API if model == "gpt-6-astra" else CHAT


async def test_ten_calls_at_once_cost_one_token_and_one_list(httpserver: HTTPServer) -> None:
    copilot = Copilot(httpserver)

    async def one(model: str) -> None:
        assert (await copilot.provider.complete(ask(model=model))).text == ANSWER

    async with copilot.provider, anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(one, ["gpt-6-astra", "gpt-5.4"][number % 2])
    paths = [request.path for request in copilot.seen]
    assert copilot.tokens == ["tid-1"]
    assert (paths.count("/models"), paths.count("/responses")) == (1, 5)
    assert paths.count("/chat/completions") == 5
    assert {request.headers["Copilot-Integration-Id"] for request in copilot.seen} == {
        "vscode-chat"
    }


async def test_a_token_that_the_endpoint_drops_is_renewed_once(httpserver: HTTPServer) -> None:
    copilot = Copilot(httpserver)
    async with copilot.provider:
        await copilot.provider.complete(ask(model="gpt-5.4"))
        copilot.good.clear()
        reply = await copilot.provider.complete(ask(model="gpt-5.4"))
    assert reply.text == ANSWER
    assert copilot.tokens == ["tid-1", "tid-2"]


async def test_a_wrong_long_lived_token_sends_nothing_to_the_endpoint(
    httpserver: HTTPServer,
) -> None:
    copilot = Copilot(httpserver)
    make = runpy.run_path(str(EXAMPLE))["provider"]
    other: OpenAICompat = make(
        "gho-wrong", base_url=httpserver.url_for("/"), token_url=httpserver.url_for("/token")
    )
    async with other:
        with pytest.raises(AuthenticationFailed):
            await other.complete(ask(model="gpt-5.4"))
    assert copilot.seen == []
    await copilot.provider.aclose()
