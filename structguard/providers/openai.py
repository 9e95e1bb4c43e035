"""
OpenAI, over the Responses API only.

Compatible servers (Ollama, vLLM, OpenRouter, …) are asked through `OpenAICompat`.
Source: OpenAI API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, Unpack
from urllib.parse import urlsplit

from structguard.events import OptionIgnored
from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.embeddings import Embeddings, Encoding, embed, openai_body, openai_reply
from structguard.providers.routes import FixedRouter
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    bearer,
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
from structguard.wire import responses
from structguard.wire.base import WireOptions

BASE_URL = "https://api.openai.com/v1"
_OWN_HOSTS = ("openai.com", "openai.azure.com", "cognitiveservices.azure.com", "ai.azure.com")


class OpenAI:
    """
    OpenAI's own API.

    Structured output goes out as `text.format`. `models` says what is special about single models.

    Raises:
        ValueError, TypeError: an argument that cannot be used; a key is never repeated.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str = BASE_URL,
        organization: str | None = None,
        models: Mapping[str, WireOptions] | None = None,
        **common: Unpack[Common],
    ) -> None:
        settings = checked_common(type(self), common)
        self._url = checked_base(base_url)
        key = checked_key(api_key)
        has_key = key is not None or "authorization" in settings.headers
        self.missing_credential: bool = not has_key  # a chain leaves such a fallback out
        secret = {
            **(bearer(key) if key else {}),
            **({"openai-organization": organization} if organization else {}),
        }
        self._base_url = endpoint_id(self._url)
        self._engine = settings.engine(
            self._base_url,
            FixedRouter(
                wire=responses, base_url=self._url, options=settings.options, models=models or {}
            ),
            None if has_key else missing("no API key: pass api_key, or set OPENAI_API_KEY"),
            secret,
        )
        if not _is_own(self._url):
            settings.observer(
                OptionIgnored(
                    where=f"OpenAI at {self._base_url}",
                    option="Chat Completions",
                    reason="this provider asks over the Responses API only; for a compatible"
                    " server use OpenAICompat",
                )
            )

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """From OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORGANIZATION, OPENAI_TIMEOUT (600 s)."""
        env = environ()
        common.setdefault("timeout", read_seconds(env, "OPENAI_TIMEOUT", TIMEOUT))
        base_url = read(env, "OPENAI_BASE_URL") or BASE_URL
        read_network(common, base_url)
        return cls(
            read(env, "OPENAI_API_KEY"),
            base_url=base_url,
            organization=read(env, "OPENAI_ORGANIZATION"),
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
        """Always responses."""
        del model
        return "responses"

    def facts_of(self, request: Request, /, *, stream: bool) -> RequestFacts:
        """What a request carries as it would be sent: `tools_first` may leave the format out."""
        return self._engine.facts_of(request, stream=stream)

    async def complete(self, request: Request, /) -> Completion:
        """The whole reply. Raises ProviderError."""
        return await self._engine.complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """The events of one reply; see `service.OpenStream`."""
        return self._engine.stream(request)

    async def embed(
        self,
        texts: str | Sequence[str],
        *,
        model: str,
        dimensions: int | None = None,
        user: str | None = None,
        encoding: Encoding = "float",
        timeout: float | None = None,  # noqa: ASYNC109  the call's budget in seconds, as in Request
    ) -> Embeddings:
        """One vector a text. Raises ProviderError."""
        body = openai_body(texts, model=model, dimensions=dimensions, user=user, encoding=encoding)
        url = join(self._url, "/embeddings")
        return await embed(
            self._engine,
            responses,
            url,
            body,
            openai_reply,
            given=texts,
            model=model,
            timeout=timeout,
            user=user,
        )

    async def status(self) -> Status:
        """Health by GET /models; never raises."""
        return await self._engine.status(join(self._url, "/models"), responses)

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
        return f"OpenAI(id={self.id!r})"


def _is_own(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == own or host.endswith(f".{own}") for own in _OWN_HOSTS)
