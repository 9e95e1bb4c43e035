"""
One upstream's settings, and what of them can only fail at the first call.

Source: spec gateway "Config".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from structguard.gateway.settings import ConfigError, option, placed
from structguard.http.urls import checked

KINDS = ("openai", "openai_compat", "anthropic", "bedrock", "google")
BEARER = "authorization"
_HEADER = re.compile("[A-Za-z][A-Za-z0-9-]*").fullmatch
_NAME = re.compile(r"[^\s:#\x00-\x1f\x7f]+").fullmatch
_COMPAT = ("openai_compat",)
_OPENAI = ("openai", "openai_compat")
_ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "api": _COMPAT,
    "responses_url": _COMPAT,
    "key_header": _COMPAT,
    "credential": _OPENAI,
    "developer_role": _OPENAI,
    "region": ("bedrock",),
    "profile": ("bedrock",),
    "structured": ("anthropic", "bedrock"),
}
"""Settings that other kinds of upstream have no use for: there they would be ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """One upstream: `[providers.NAME]`."""

    kind: str = option("openai_compat", "kind of API", words=KINDS)
    base_url: str = option(
        "",
        "base URL, such as https://host/v1, or the whole chat URL, in which {model} is replaced;"
        " empty: the vendor's own",
    )
    responses_url: str = option(
        "", "openai_compat: URL of the Responses API, if it cannot be derived from base_url"
    )
    api: str = option(
        "", "openai_compat: API to use; empty: the client's own if available, else chat",
        words=("", "chat", "responses"),
    )  # fmt: skip
    api_key_env: str = option("", "environment variable that holds the API key")
    key_header: str = option(
        BEARER, "openai_compat: header for the key; `authorization` sends a bearer token, any other header,"
        " such as Azure's `api-key`, the bare key",
    )  # fmt: skip
    credential: str = option(
        "own", "`client` passes on the client's Authorization instead of using api_key_env",
        words=("own", "client"),
    )  # fmt: skip
    region: str = option("", "bedrock: AWS region")
    profile: str = option("", "bedrock: AWS profile to sign with; empty: botocore's usual chain")
    timeout: float = option(
        600.0, "seconds that a call may take if the client sets no limit", above=0
    )
    attempts: int = option(3, "attempts per call, including the first", above=0)
    also_statuses: tuple[int, ...] = option(
        (), "further statuses that may be refusals of a format, such as 500"
    )
    reasoning: bool = option(False, "all its models are reasoning models: no temperature is sent")
    developer_role: bool = option(False, "it accepts the role developer")
    needs_json_word: bool = option(False, "it requires the word JSON in the prompt")
    format_with_tools: bool = option(True, "it accepts a format and tools in one request")
    structured: str = option(
        "native", "`tool` sends the format as a forced tool call (anthropic, bedrock)",
        words=("native", "tool"),
    )  # fmt: skip
    key: str = field(default="", repr=False, metadata={"hidden": True})

    @property
    def sends_bearer(self) -> bool:
        """Whether its key goes as a bearer token."""
        return self.key_header.lower() == BEARER

    def check(self, where: str) -> None:
        """Refuse what could only fail at the first call, and what would be ignored."""
        if _NAME(where.removeprefix("providers.")) is None:
            raise ConfigError(
                f"{where}: a provider's name holds no space, colon or '#': a model is asked for as"
                " provider:model"
            )
        for name, kinds in _ONLY_FOR.items():
            if getattr(self, name) != _DEFAULTS[name] and self.kind not in kinds:
                known = " and ".join(kinds)
                raise ConfigError(f"{where}: {name} is for kind {known}; {self.kind} ignores it")
        if self.kind == "openai_compat" and not self.base_url:
            raise ConfigError(f"{where}: base_url is missing, such as https://host/v1")
        if self.kind == "bedrock" and not self.region:
            raise ConfigError(f"{where}: region is missing, such as us-east-1")
        if self.profile and self.api_key_env:
            raise ConfigError(f"{where}: set only one of profile and api_key_env")
        self._check_key(where)
        urls = {"base_url": self.base_url, "responses_url": self.responses_url}
        for name, url in urls.items():
            with placed(where):
                _ = checked(url, name) if url else ""

    def _check_key(self, where: str) -> None:
        """How the upstream is shown who asks."""
        if _HEADER(self.key_header) is None:
            raise ConfigError(
                f"{where}: key_header is not a valid header name: {self.key_header!r}"
            )
        if self.credential != "client":
            return
        if not self.sends_bearer:
            raise ConfigError(
                f'{where}: credential = "client" sends the client\'s Authorization only'
            )
        if self.api_key_env:  # it would pay for clients that send none
            raise ConfigError(f'{where}: give one of api_key_env and credential = "client"')


_DEFAULTS = {one.name: one.default for one in fields(ProviderConfig)}
