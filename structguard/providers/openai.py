"""
OpenAI, over the Responses API only.

Compatible servers (Ollama, vLLM, OpenRouter, …) are asked through `OpenAICompat`.
Source: OpenAI API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, Unpack
from urllib.parse import urlsplit

from structguard.events import OptionIgnored
from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.base import BaseProvider
from structguard.providers.embeddings import Embeddings, Encoding, openai_embed
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
from structguard.wire import responses
from structguard.wire.base import WireOptions

BASE_URL = "https://api.openai.com/v1"
_OWN_HOSTS = ("openai.com", "openai.azure.com", "cognitiveservices.azure.com", "ai.azure.com")


class OpenAI(BaseProvider):
    """
    OpenAI's own API, over Responses.

    Structured output is sent as `text.format`.

    Args:
        api_key: The API key. Without one, calls raise an `authentication` error.
        base_url: The base URL. For a compatible server, use `OpenAICompat`.
        organization: Sent as the organization header.
        models: Options of single models, by name.
        **common: `id`, `timeout`, `retry`, `headers`, `transport`, `limits`, `proxy`, `options` and
            `observer`, as for every provider.

    Raises:
        ValueError, TypeError: An unusable argument; the message never repeats a key.
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
        name = endpoint_id(self._url)
        engine = settings.engine(
            name,
            FixedRouter(
                wire=responses, base_url=self._url, options=settings.options, models=models or {}
            ),
            None if has_key else missing("no API key: pass api_key, or set OPENAI_API_KEY"),
            secret,
        )
        models_url = join(self._url, "/models")
        super().__init__(engine, responses, base_url=self._url, models_url=models_url)
        if not _is_own(self._url):
            settings.observer(
                OptionIgnored(
                    where=f"OpenAI at {name}",
                    option="Chat Completions",
                    reason="this provider uses the Responses API only; for a compatible"
                    " server use OpenAICompat",
                )
            )

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """Read OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORGANIZATION and OPENAI_TIMEOUT (600 s)."""
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

    async def embed(
        self,
        texts: str | Sequence[str],
        *,
        model: str,
        dimensions: int | None = None,
        user: str | None = None,
        encoding: Encoding = "float",
        timeout: float | None = None,  # noqa: ASYNC109  the call's budget in seconds, as in Request
        extra_body: Mapping[str, object] | None = None,
    ) -> Embeddings:
        """
        Return one embedding vector per text, in order.

        `extra_body` holds the endpoint's own fields, such as `input_type`.

        Raises:
            ProviderError: The call failed; `kind` says how.
        """
        return await openai_embed(
            self._engine,
            responses,
            join(self._url, "/embeddings"),
            texts,
            model=model,
            dimensions=dimensions,
            user=user,
            encoding=encoding,
            timeout=timeout,
            extra_body=extra_body,
        )


def _is_own(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == own or host.endswith(f".{own}") for own in _OWN_HOSTS)
