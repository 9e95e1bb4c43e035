"""
Amazon Bedrock, over Converse; botocore signs and reads the event stream (extra `bedrock`).

Source: Amazon Bedrock Runtime API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self, Unpack

from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.aws import AwsKeys, Signer, event_feed, require_botocore
from structguard.providers.routes import FixedRouter, ignore_api
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    bearer,
    checked_base,
    checked_common,
    checked_key,
    environ,
    read,
    read_network,
    read_seconds,
)
from structguard.refusal import RequestFacts
from structguard.service import EventStream, Status
from structguard.types import Api, Completion, Request
from structguard.wire import converse
from structguard.wire.base import WireOptions

_STREAM = "application/vnd.amazon.eventstream"


class Bedrock:
    """
    Amazon Bedrock in one region.

    Structured output goes out as `outputConfig.textFormat`, or as a forced tool with
    `options=WireOptions(structured="tool")`. Credentials are botocore's chain, `keys` of the
    caller's own, a `profile`, or a Bedrock API key (`api_key`, sent as a bearer token).

    Raises:
        ValueError, TypeError: an argument that cannot be used; a key is never repeated.
        MissingExtra: botocore is not installed.
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        api_key: str | None = None,
        keys: AwsKeys | None = None,
        profile: str | None = None,
        base_url: str | None = None,
        models: Mapping[str, WireOptions] | None = None,
        api: str | None = None,
        **common: Unpack[Common],
    ) -> None:
        require_botocore()
        settings = checked_common(type(self), common)
        if not region or not region.replace("-", "").isalnum():
            raise ValueError(f"region must be an AWS region such as us-east-1, got {region!r}")
        key = checked_key(api_key)
        if sum(given is not None for given in (key, keys, profile)) > 1:
            raise ValueError("give one of api_key, keys and profile")
        self._url = checked_base(base_url or _url(region))
        self._models_url = join(
            self._url if base_url else f"https://bedrock.{region}.amazonaws.com",
            "/foundation-models",
        )
        self._base_url = endpoint_id(self._url)
        ignore_api(api, "converse", f"Bedrock at {self._base_url}", settings.observer)
        self._engine = settings.engine(
            self._base_url,
            FixedRouter(
                wire=converse, base_url=self._url, options=settings.options, models=models or {}
            ),
            None if key else Signer(region, keys=keys, profile=profile),
            bearer(key) if key else None,
            feed=event_feed,
            stream_accept=_STREAM,
        )

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """
        From AWS_REGION (or AWS_DEFAULT_REGION), BEDROCK_BASE_URL, BEDROCK_TIMEOUT (600 s) and
        AWS_BEARER_TOKEN_BEDROCK; without that key botocore's chain reads the AWS_* variables.

        Raises:
            ValueError: no region.
        """
        env = environ()
        common.setdefault("timeout", read_seconds(env, "BEDROCK_TIMEOUT", TIMEOUT))
        region, base_url = (
            read(env, "AWS_REGION", "AWS_DEFAULT_REGION"),
            read(env, "BEDROCK_BASE_URL"),
        )
        read_network(common, base_url or _url(region))
        return cls(
            region,
            api_key=read(env, "AWS_BEARER_TOKEN_BEDROCK"),
            base_url=base_url,
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
        """Always converse."""
        del model
        return "converse"

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
        """Health by listing the foundation models; never raises."""
        return await self._engine.status(self._models_url, converse)

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
        return f"Bedrock(id={self.id!r})"


def _url(region: str | None) -> str:
    return f"https://bedrock-runtime.{region}.amazonaws.com"
