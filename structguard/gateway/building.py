"""Providers and passages from their settings; every upstream of one worker shares one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from structguard.events import Observer
from structguard.gateway.config_provider import ProviderConfig
from structguard.gateway.crossing import Crossing
from structguard.gateway.metrics import Metrics
from structguard.gateway.passing import Passage
from structguard.gateway.sending import Decode, Sending
from structguard.gateway.transport import ClientTransport
from structguard.http import Transport
from structguard.memo import Memo, endpoint_id
from structguard.options import Policy, RetryOptions
from structguard.providers import Anthropic, Bedrock, Google, OpenAI, OpenAICompat
from structguard.providers.anthropic import BASE_URL as ANTHROPIC_URL
from structguard.providers.endpoints import Endpoints
from structguard.providers.openai import BASE_URL as OPENAI_URL
from structguard.providers.routes import OpenAIApi
from structguard.providers.settings import Common, bearer
from structguard.service import Provider
from structguard.types import Api
from structguard.wire import chat, responses
from structguard.wire.base import WireOptions
from structguard.wire.table import WIRES

Build = Callable[[ProviderConfig, Common], Provider]
_DECODES: Mapping[Api, Decode] = {
    "chat": chat.completion_in,
    "responses": responses.completion_in,
}


def _openai(config: ProviderConfig, common: Common) -> Provider:
    key = config.key or ("client" if config.credential == "client" else None)
    return OpenAI(key, base_url=config.base_url or OPENAI_URL, **common)


def _compat(config: ProviderConfig, common: Common) -> Provider:
    api: OpenAIApi = "responses" if config.api == "responses" else "chat"
    url = config.responses_url or None
    key = config.key if config.sends_bearer else ""
    if not config.sends_bearer:
        common["headers"] = _key_of(config)
    return OpenAICompat(
        config.base_url, api_key=key or None, api=api, responses_endpoint=url, **common
    )


def _key_of(config: ProviderConfig) -> Mapping[str, str]:
    """The header that holds an OpenAI-compatible endpoint's key, if it has one."""
    if not config.key:
        return {}
    return bearer(config.key) if config.sends_bearer else {config.key_header: config.key}


def _anthropic(config: ProviderConfig, common: Common) -> Provider:
    return Anthropic(config.key or None, base_url=config.base_url or ANTHROPIC_URL, **common)


def _google(config: ProviderConfig, common: Common) -> Provider:
    return Google(config.key or None, base_url=config.base_url or None, **common)


def _bedrock(config: ProviderConfig, common: Common) -> Provider:
    return Bedrock(
        config.region,
        api_key=config.key or None,
        profile=config.profile or None,
        base_url=config.base_url or None,
        **common,
    )


_BUILDERS: Mapping[str, Build] = {
    "openai": _openai,
    "openai_compat": _compat,
    "anthropic": _anthropic,
    "google": _google,
    "bedrock": _bedrock,
}


def wire_options(config: ProviderConfig) -> WireOptions:
    """The endpoint's dialect."""
    return WireOptions(
        reasoning=config.reasoning,
        developer_role=config.developer_role,
        needs_json_word=config.needs_json_word,
        format_with_tools=config.format_with_tools,
        structured="tool" if config.structured == "tool" else "native",
    )


def transport_of(
    name: str, config: ProviderConfig, inner: Transport, metrics: Metrics
) -> ClientTransport:
    """The shared pool, with the client's own credential where the provider asks for it."""

    def told(status: int | None, seconds: float) -> None:
        metrics.upstream(provider=name, status=status, seconds=seconds)

    return ClientTransport(inner, config.credential == "client", told)


def build_provider(
    name: str, config: ProviderConfig, transport: Transport, observer: Observer
) -> Provider:
    """
    The provider of one table.

    Raises:
        ValueError, MissingExtra: it cannot be built.
    """
    common = Common(
        id=name,
        timeout=config.timeout,
        retry=RetryOptions(attempts=config.attempts),
        transport=transport,
        options=wire_options(config),
        observer=observer,
    )
    return _BUILDERS[config.kind](config, common)


def apis_of(config: ProviderConfig) -> tuple[Api, ...]:
    """The wires over which a client's body can go to it as it is."""
    match config.kind, config.api:
        case "openai_compat", "chat":
            return ("chat",)
        case "openai_compat", "responses":
            return ("responses",)
        case "openai_compat", _:
            known = _endpoints(config).can_derive()
            return ("chat", "responses") if known else ("chat",)
        case "openai", _:
            return ("chat", "responses")
        case _:
            return ()


def build_passage(
    name: str,
    config: ProviderConfig,
    api: Api,
    transport: Transport,
    *,
    memo: Memo,
    policy: Policy,
    observer: Observer,
) -> Passage:
    """The way on which bodies of `api` pass to a provider unchanged."""
    policy = replace(policy, also_statuses=frozenset(config.also_statuses))
    endpoints = _endpoints(config)
    return Passage(
        id=name,
        memo_id=name,
        base_url=endpoint_id(endpoints.base_url),
        sending=Sending(
            endpoints=endpoints,
            wire=WIRES[api],
            headers={
                "content-type": "application/json",
                "user-agent": "structguard",
                **_key_of(config),
            },
            transport=transport,
            policy=policy,
        ),
        memo=memo,
        policy=policy,
        observer=observer,
        timeout=config.timeout,
        retry=RetryOptions(attempts=config.attempts),
    )


def _endpoints(config: ProviderConfig) -> Endpoints:
    return Endpoints(base_url=config.base_url or OPENAI_URL, responses=config.responses_url or None)


def build_crossing(config: ProviderConfig, passage: Passage) -> Crossing:
    """The way on which clients of the other OpenAI wire reach what a passage reaches."""
    decode = _DECODES[passage.sending.wire.API]
    return Crossing(
        passage=replace(passage, sending=replace(passage.sending, decode=decode)),
        options=wire_options(config),
    )
