"""
The gateway's settings: frozen values, each with its line in the reference.

`config_file` reads them from TOML, `embedded` makes them from one upstream URL. Secrets are named by the
environment variable that holds them and never stand in a file. Source: spec gateway "Config".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from structguard.gateway.config_provider import ProviderConfig
from structguard.gateway.settings import ConfigError, option

EMBEDDED = "upstream"
"""The name of the one provider of `--upstream`."""
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+").fullmatch
_SHA256 = re.compile(r"[0-9a-f]{64}").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """One endpoint switch: `[endpoints.responses]`, `[endpoints.chat_completions]`."""

    enabled: bool = option(False, "whether it answers; a disabled endpoint is a 404")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointsConfig:
    """Which endpoints answer."""

    responses: EndpointConfig = field(default_factory=EndpointConfig)
    chat_completions: EndpointConfig = field(default_factory=EndpointConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardConfig:
    """What the guard may do: `[guard]`."""

    require_enforced: bool = option(False, "raise a refusal instead of sending without the format")
    expiry: float = option(86400.0, "seconds for which a refusal is remembered, ± 10 %", above=0)
    unnamed: bool = option(False, "also rescue a 400 or 422 that gives no reason")
    ignored_after: int = option(
        0, "answers in prose in a row after which the schema is added to the prompt too; 0: never"
    )
    on_unusable: str = option(
        "text", "a reply without a usable value: `text` passes it on as it came, `error` answers 502",
        words=("text", "error"),
    )  # fmt: skip
    echo_schema: bool = option(False, "return the schema in text.format, as OpenAI does")
    memo: str = option(
        "disk:", "where refusals are remembered: disk:, disk:PATH, memory: or redis://…"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """What a client may cost: `[limits]`."""

    body: int = option(20 * 1024 * 1024, "bytes of a request body", above=0)
    body_seconds: float = option(30.0, "seconds in which a request body must arrive", above=0)
    head_seconds: float = option(10.0, "seconds in which the request headers must arrive", above=0)
    write_seconds: float = option(
        60.0, "seconds for which a client may stop reading its reply", above=0
    )
    idle_seconds: float = option(75.0, "seconds for which an idle connection is kept open", above=0)
    concurrent: int = option(1000, "concurrent requests per worker; more get a 429", above=0)
    headers: int = option(100, "header lines of a request", above=0)
    header_bytes: int = option(32 * 1024, "bytes of all headers of a request", above=0)
    connections: int = option(1000, "open connections to upstreams", above=0)
    sockets: int = option(10_000, "open WebSockets in one worker", above=0)
    drain: float = option(30.0, "seconds to wait for running requests when stopping", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """Who may call: `[auth]`."""

    token_hashes: tuple[str, ...] = option((), "SHA-256 digests of accepted bearer tokens, in hex")
    token_envs: tuple[str, ...] = option((), "environment variables that hold accepted tokens")
    failures: int = option(10, "wrong tokens from one address before it gets a 429", above=0)
    failure_seconds: float = option(60.0, "seconds for which wrong tokens count", above=0)
    tokens: tuple[str, ...] = field(default=(), repr=False, metadata={"hidden": True})

    def __post_init__(self) -> None:
        for at, text in enumerate(self.token_hashes, start=1):
            if _SHA256(text) is None:
                raise ConfigError(
                    f"auth.token_hashes: number {at} must be 64 lower-case hex digits, the SHA-256 of"
                    " a token (printf %s TOKEN | sha256sum)"
                )

    @property
    def required(self) -> bool:
        """Whether a token is asked for."""
        return bool(self.token_hashes or self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Where responses are kept for previous_response_id: `[store]`."""

    url: str = option(
        "disk:",
        "where responses are stored: disk:, disk:PATH, redis://… or memory: (one worker only)",
    )
    expiry: float = option(2_592_000.0, "seconds for which a response is kept", above=0)
    limit_bytes: int = option(
        268_435_456, "bytes of all stored responses; the oldest are dropped", above=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """What is written: `[log]`."""

    level: str = option(
        "info", "lowest level that is logged", words=("debug", "info", "warning", "error")
    )
    access: bool = option(True, "log one line per request; never a body, never a key")
    format: str = option("text", "format of the log lines", words=("text", "json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorsConfig:
    """Browsers: `[cors]`."""

    origins: tuple[str, ...] = option(
        (), "origins of web pages that may call the gateway; * for all"
    )

    def __post_init__(self) -> None:
        for origin in self.origins:
            if _ORIGIN(origin) is None:  # a browser never sends it so: nobody would be let in
                raise ConfigError(
                    f"cors.origins: {origin!r} is no origin: write it as https://app.example, with"
                    " nothing behind the host and port, or *"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesConfig:
    """What operators see: `[pages]`."""

    metrics: bool = option(True, "serve GET /metrics (with a token, if any is configured)")
    status: bool = option(
        True, "serve the status page at GET / (with a token, if any is configured)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings. `models` is alias → links, each `provider:model`."""

    providers: Mapping[str, ProviderConfig]
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    endpoints: EndpointsConfig = field(default_factory=EndpointsConfig)
    guard: GuardConfig = field(default_factory=GuardConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    auth: AuthConfig = field(default_factory=AuthConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    log: LogConfig = field(default_factory=LogConfig)
    cors: CorsConfig = field(default_factory=CorsConfig)
    pages: PagesConfig = field(default_factory=PagesConfig)

    def __post_init__(self) -> None:
        if not self.providers:
            raise ConfigError("no provider: add [providers.NAME] with kind and base_url")
        ends = self.endpoints
        if not (ends.responses.enabled or ends.chat_completions.enabled):
            raise ConfigError(
                "no endpoint is enabled: add [endpoints.responses] with enabled = true"
                " (or [endpoints.chat_completions])"
            )
        for name, provider in self.providers.items():
            provider.check(f"providers.{name}")
        for alias, links in self.models.items():
            if not alias.strip():
                raise ConfigError("models: an alias must not be empty, nobody can ask for it")
            if not links:
                raise ConfigError(f"models.{alias}: name at least one link, provider:model")
            for link in links:
                self._check_link(alias, link)

    def _check_link(self, alias: str, link: str) -> None:
        name, colon, model = link.partition(":")
        if not colon or not model or name not in self.providers:
            known = ", ".join(self.providers)
            raise ConfigError(
                f"models.{alias}: {link!r} must be provider:model, with a provider of {known}"
            )

    def check_host(self, host: str) -> None:
        """
        Refuse to serve the world without asking who calls.

        Raises:
            ConfigError: `host` is not loopback and no token is configured.
        """
        if not self.auth.required and not _is_loopback(host):
            raise ConfigError(
                f"--host {host} is reachable from outside and no token is configured: add"
                ' [auth] with token_envs = ["NAME"] (or token_hashes), or serve on 127.0.0.1'
            )


SECTIONS: Mapping[str, type] = {
    "guard": GuardConfig,
    "limits": LimitsConfig,
    "auth": AuthConfig,
    "store": StoreConfig,
    "log": LogConfig,
    "cors": CorsConfig,
    "pages": PagesConfig,
}
"""The plain tables; `providers`, `models` and `endpoints` hold tables of their own."""


def embedded(url: str) -> Config:
    """The default without a file: one upstream, both endpoints, the client's own Authorization."""
    return Config(
        providers={EMBEDDED: ProviderConfig(base_url=url, credential="client")},
        endpoints=EndpointsConfig(
            responses=EndpointConfig(enabled=True), chat_completions=EndpointConfig(enabled=True)
        ),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
