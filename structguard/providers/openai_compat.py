"""
Any endpoint that speaks OpenAI's APIs: Ollama, vLLM, llama.cpp, OpenRouter, Azure, Copilot, …

Chat Completions by default; `api`, per provider or per model, or `discover` say otherwise.
Source: spec api-choice, spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Self, Unpack

from structguard.http import transport_of_client
from structguard.memo import Memo, endpoint_id
from structguard.providers.base import BaseProvider
from structguard.providers.credentials import Credentials, CredentialsCallable
from structguard.providers.embeddings import Embeddings, Encoding, openai_embed
from structguard.providers.endpoints import Endpoints
from structguard.providers.lookup import Lookup
from structguard.providers.routes import (
    ApiRouter,
    ModelOptions,
    OpenAIApi,
    checked_api,
)
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    Settings,
    bearer,
    checked_base,
    checked_common,
    checked_key,
    environ,
    read,
    read_network,
    read_seconds,
)
from structguard.types import Api
from structguard.wire import chat, responses
from structguard.wire.base import Wire

WIRES: Final[Mapping[Api, Wire]] = MappingProxyType({"chat": chat, "responses": responses})


class OpenAICompat(BaseProvider):
    """
    An OpenAI-compatible endpoint.

    Structured output goes out as `response_format` (chat) or `text.format` (responses).

    `base_url` may be the chat URL itself; a `{model}` in it is filled in. No `api_key` means no
    Authorization header. `credentials` is an async callable for a token that expires. `client` is a
    caller's own AsyncOpenAI or AsyncAzureOpenAI: its base URL, key, proxies and hooks are used, its
    retries are not, and it stays open. `api` is the wire API of all models, `models` says it for
    single ones; with neither, `discover` asks the endpoint's model list, and else it is chat. A
    guess that proves wrong is switched once and remembered in `memo`. `responses_endpoint` is the
    whole URL of the Responses API where it cannot be derived.

    Raises:
        ValueError, TypeError: an argument that cannot be used; a key is never repeated.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        credentials: CredentialsCallable | None = None,
        client: object = None,
        api: OpenAIApi | None = None,
        models: Mapping[str, ModelOptions] | None = None,
        discover: bool = False,
        responses_endpoint: str | None = None,
        memo: Memo | None = None,
        **common: Unpack[Common],
    ) -> None:
        key = checked_key(api_key)
        if client is not None:
            if key is not None or credentials is not None or "transport" in common:
                raise ValueError(
                    "client brings its own key and connections: leave out api_key, credentials and"
                    " transport"
                )
            common["transport"] = transport = transport_of_client(client)
            base_url = base_url or transport.base_url
        if key is not None and credentials is not None:
            raise ValueError("give api_key or credentials, not both")
        settings = checked_common(type(self), common)
        self._endpoints = endpoints = _endpoints(base_url, responses_endpoint)
        own_id = endpoint_id(endpoints.base_url)
        name = settings.id or own_id
        explicit = checked_api(api, "api")
        router = ApiRouter(
            id=name,
            memo_url=own_id,
            endpoints=endpoints,
            wires=WIRES,
            memo=Memo() if memo is None else memo,
            observer=settings.observer,
            explicit=explicit,
            models=_checked_models(models or {}, endpoints, explicit),
            options=settings.options,
            lookup=_lookup(settings, own_id) if discover else None,
        )
        engine = settings.engine(
            name,
            router,
            Credentials(credentials, scheme=bearer, clock=settings.clock) if credentials else None,
            bearer(key) if key else None,
        )
        router.asker = engine
        models_url = endpoints.beside("/models")
        super().__init__(engine, chat, base_url=endpoints.base_url, models_url=models_url)

    @classmethod
    def from_env(
        cls,
        *,
        api: OpenAIApi | None = None,
        models: Mapping[str, ModelOptions] | None = None,
        discover: bool = False,
        memo: Memo | None = None,
        **common: Unpack[Common],
    ) -> Self:
        """
        From OPENAI_COMPAT_BASE_URL (required), OPENAI_COMPAT_API_KEY, OPENAI_COMPAT_TIMEOUT.

        Raises:
            ValueError: no base URL, or a variable that cannot be used.
        """
        env = environ()
        common.setdefault("timeout", read_seconds(env, "OPENAI_COMPAT_TIMEOUT", TIMEOUT))
        base_url = checked_base(read(env, "OPENAI_COMPAT_BASE_URL"), "OPENAI_COMPAT_BASE_URL")
        read_network(common, base_url)
        return cls(
            base_url,
            api_key=read(env, "OPENAI_COMPAT_API_KEY"),
            api=api,
            models=models,
            discover=discover,
            memo=memo,
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
    ) -> Embeddings:
        """One vector a text. Raises ProviderError."""
        return await openai_embed(
            self._engine,
            chat,
            self._endpoints.beside("/embeddings", model),
            texts,
            model=model,
            dimensions=dimensions,
            user=user,
            encoding=encoding,
            timeout=timeout,
        )


def _endpoints(base_url: str | None, responses: str | None) -> Endpoints:
    own = checked_base(responses, "responses_endpoint") if responses else None
    return Endpoints(base_url=checked_base(base_url), responses=own)


def _lookup(settings: Settings, base_url: str) -> Lookup:
    return Lookup(
        provider=settings.id or base_url,
        base_url=base_url,
        observer=settings.observer,
        clock=settings.clock,
    )


def _checked_models(
    models: Mapping[str, ModelOptions], endpoints: Endpoints, explicit: Api | None
) -> Mapping[str, ModelOptions]:
    """Refuse what would fail at the first call: an unknown API, a Responses URL nobody can derive."""
    apis = [checked_api(options.api, f"api of model {name!r}") for name, options in models.items()]
    if "responses" in (explicit, *apis):
        endpoints.url("responses", "model")
    return dict(models)
