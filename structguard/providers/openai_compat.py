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

    Structured output is sent as `response_format` (chat) or `text.format` (responses). If neither
    `api` nor `models` says which API to use, a wrong guess is corrected once and remembered.

    Args:
        base_url: The base URL, or the chat URL itself; `{model}` in it is replaced.
        api_key: The API key. Without one, no Authorization header is sent.
        credentials: An async callable that returns a token that expires, or a `Credential`.
        client: Your own AsyncOpenAI or AsyncAzureOpenAI to send through. Its base URL, key, proxies
            and hooks are used, its retries are not, and it is not closed.
        api: The API of all models, "chat" or "responses".
        models: The API and options of single models, by name.
        discover: Read from the endpoint's model list which API a model uses; otherwise chat.
        responses_endpoint: The URL of the Responses API, if it cannot be derived.
        memo: Where the choice of API is remembered; None keeps it in memory.
        **common: `id`, `timeout`, `retry`, `headers`, `transport`, `limits`, `proxy`, `options` and
            `observer`, as for every provider.

    Raises:
        ValueError, TypeError: An unusable argument; the message never repeats a key.
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
            raise ValueError("pass api_key or credentials, not both")
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
            lookup=_lookup(settings, own_id, endpoints) if discover else None,
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
        Read OPENAI_COMPAT_BASE_URL (required), OPENAI_COMPAT_API_KEY and OPENAI_COMPAT_TIMEOUT.

        Raises:
            ValueError: No base URL, or a variable with an unusable value.
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
            chat,
            self._endpoints.beside("/embeddings", model),
            texts,
            model=model,
            dimensions=dimensions,
            user=user,
            encoding=encoding,
            timeout=timeout,
            extra_body=extra_body,
        )


def _endpoints(base_url: str | None, responses: str | None) -> Endpoints:
    own = checked_base(responses, "responses_endpoint") if responses else None
    return Endpoints(base_url=checked_base(base_url), responses=own)


def _lookup(settings: Settings, base_url: str, endpoints: Endpoints) -> Lookup:
    if not endpoints.lists:
        raise ValueError(
            "discover asks the endpoint's model list, and a base_url with {model} in it has none:"
            " name the API with api= or models="
        )
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
    for name, options in models.items():
        if not isinstance(options, ModelOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"models[{name!r}] must be ModelOptions, such as ModelOptions(api='responses'), got"
                f" {options!r}"
            )
    apis = [checked_api(options.api, f"api of model {name!r}") for name, options in models.items()]
    if "responses" in (explicit, *apis):
        endpoints.url("responses", "model")
    return dict(models)
