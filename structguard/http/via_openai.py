"""
A caller's own `openai` client as a transport: its authentication, proxies and hooks stay in use.

Only its low-level `post` and `get` are called, each with `max_retries=0` and no redirects, so that
one `send` is one HTTP request. The client belongs to the caller and is not closed here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeAlias, cast

import anyio
import httpx2
import openai

from structguard.http.seam import (
    ExchangeFailed,
    Limits,
    Response,
    Whole,
    bounded,
    unreadable,
)
from structguard.http.via_httpx2 import Reply, fault

_Send: TypeAlias = Callable[..., Awaitable[httpx2.Response]]


class OpenAITransport:
    """
    Bytes through `openai.AsyncOpenAI` or `AsyncAzureOpenAI`.

    URLs below the client's base URL are handed over relative to it, so that an Azure client can
    put its deployment in.
    """

    def __init__(self, client: openai.AsyncOpenAI, *, limits: Limits | None = None) -> None:
        self._client = client
        self._limits = limits or Limits()
        self._azure = isinstance(client, openai.AsyncAzureOpenAI)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._client).__name__})"

    @property
    def base_url(self) -> str:
        """The client's base URL."""
        return str(self._client.base_url).rstrip("/")

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        budget: float | None = None,
        stream: bool = False,
    ) -> Response:
        """See `seam.Transport.send`."""
        end = float("inf") if budget is None else anyio.current_time() + budget

        async def head() -> Response:
            try:
                answer = await self._answer(method, url, dict(headers), body, budget)
            except openai.APIStatusError as error:
                return _refused(error)
            reply = Reply(answer, end, budget, self._limits.max_body)
            return reply if stream else await reply.whole()

        return await bounded(end, head)

    async def aclose(self) -> None:
        """The client is the caller's; it stays open."""

    async def _answer(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
        budget: float | None,
    ) -> httpx2.Response:
        path = url.removeprefix(self.base_url)
        send = self._sender(method, body)
        try:
            return await send(
                path,
                cast_to=httpx2.Response,
                options={
                    "headers": {"accept-encoding": "gzip", **headers},
                    "max_retries": 0,
                    "follow_redirects": False,
                    "timeout": httpx2.Timeout(budget, connect=self._limits.connect_timeout),
                },
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except openai.APIStatusError:
            raise
        except openai.OpenAIError as error:
            raise _fault(error) from error

    def _sender(self, method: str, body: bytes | None) -> _Send:
        if method == "GET":
            return cast("_Send", self._client.get)
        if self._azure:  # the client reads the model from a mapping to find the deployment
            return partial(self._client.post, body=json.loads(body or b"{}"))
        return partial(self._client.post, content=body)


def _refused(error: openai.APIStatusError) -> Whole:
    reply = error.response  # the client has read it
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return Whole(status=reply.status_code, headers=headers, body=reply.content)


def _fault(error: openai.OpenAIError) -> ExchangeFailed:
    cause = error.__cause__
    if isinstance(error, openai.APIConnectionError) and isinstance(cause, Exception):
        return fault(cause)
    return unreadable(f"the openai client could not send: {type(error).__name__}")
