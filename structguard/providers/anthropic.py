"""
Anthropic, over the Messages API.

Source: Anthropic API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self, Unpack

from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.routes import FixedRouter, ignore_api
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    checked_base,
    checked_common,
    checked_key,
    environ,
    missing,
    read,
    read_network,
    read_seconds,
)
from structguard.refusal import RequestFacts
from structguard.service import EventStream, Status
from structguard.types import Api, Completion, Request
from structguard.wire import messages
from structguard.wire.base import WireOptions

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
_MISSING = "no API key: pass api_key, or set ANTHROPIC_API_KEY"


class Anthropic:
    """
    Anthropic's own API.

    Structured output goes out as `output_config.format`, or as a forced tool with
    `options=WireOptions(structured="tool")`. Beta features are named by the caller, in `headers`.

    Raises:
        ValueError, TypeError: an argument that cannot be used; a key is never repeated.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str = BASE_URL,
        version: str = VERSION,
        models: Mapping[str, WireOptions] | None = None,
        api: str | None = None,
        **common: Unpack[Common],
    ) -> None:
        settings = checked_common(type(self), common)
        self._url = checked_base(base_url)
        key = checked_key(api_key)
        has_key = key is not None or {"x-api-key", "authorization"} & settings.headers.keys()
        self.missing_credential: bool = not has_key  # a chain leaves such a fallback out
        self._base_url = endpoint_id(self._url)
        ignore_api(api, "messages", f"Anthropic at {self._base_url}", settings.observer)
        self._engine = settings.engine(
            self._base_url,
            FixedRouter(
                wire=messages, base_url=self._url, options=settings.options, models=models or {}
            ),
            None if has_key else missing(_MISSING),
            {"anthropic-version": version, **({"x-api-key": key} if key else {})},
        )

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """From ANTHROPIC_API_KEY, _BASE_URL, _API_VERSION (2023-06-01), _TIMEOUT (600 s)."""
        env = environ()
        common.setdefault("timeout", read_seconds(env, "ANTHROPIC_TIMEOUT", TIMEOUT))
        base_url = read(env, "ANTHROPIC_BASE_URL") or BASE_URL
        read_network(common, base_url)
        return cls(
            read(env, "ANTHROPIC_API_KEY"),
            base_url=base_url,
            version=read(env, "ANTHROPIC_API_VERSION") or VERSION,
            **common,
        )

    @property
    def id(self) -> str:
        """Its name in memo, events and errors."""
        return self._engine.id

    @property
    def base_url(self) -> str:
        """The endpoint as the memo names it: `host[:port][/path]`."""
        return self._base_url

    @property
    def attempts(self) -> int:
        """How often a call is sent at most when the request does not say."""
        return self._engine.retry.attempts

    def api_for(self, model: str | None, /) -> Api:
        """Always messages."""
        del model
        return "messages"

    def facts_of(self, request: Request, /, *, stream: bool) -> RequestFacts:
        """What a request carries as it would be sent: `tools_first` may leave the format out."""
        return self._engine.facts_of(request, stream=stream)

    async def complete(self, request: Request, /) -> Completion:
        """The whole reply. Raises ProviderError."""
        return await self._engine.complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """The events of one reply; see `service.OpenStream`."""
        return self._engine.stream(request)

    async def status(self) -> Status:
        """Health by GET /v1/models; never raises."""
        return await self._engine.status(join(self._url, "/v1/models"), messages)

    async def aclose(self) -> None:
        """Close its connections; a transport of the caller's own stays open."""
        await self._engine.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Anthropic(id={self.id!r})"
