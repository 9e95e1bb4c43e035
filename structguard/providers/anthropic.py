"""
Anthropic, over the Messages API.

Source: Anthropic API reference; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, Unpack

from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.base import BaseProvider
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
from structguard.wire import messages
from structguard.wire.base import WireOptions

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
_MISSING = "no API key: pass api_key, or set ANTHROPIC_API_KEY"


class Anthropic(BaseProvider):
    """
    Anthropic's own API.

    Structured output is sent as `output_config.format`, or as a forced tool call with
    `options=WireOptions(structured="tool")`. Name beta features in `headers`.

    Args:
        api_key: The API key. Without one, calls raise an `authentication` error.
        base_url: The base URL.
        version: The `anthropic-version` header.
        models: Options of single models, by name.
        api: Has no effect: there is only one API.
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
        version: str = VERSION,
        models: Mapping[str, WireOptions] | None = None,
        api: str | None = None,
        **common: Unpack[Common],
    ) -> None:
        settings = checked_common(type(self), common)
        url = checked_base(base_url)
        key = checked_key(api_key)
        has_key = key is not None or {"x-api-key", "authorization"} & settings.headers.keys()
        self.missing_credential: bool = not has_key  # a chain leaves such a fallback out
        name = endpoint_id(url)
        ignore_api(api, "messages", f"Anthropic at {name}", settings.observer)
        engine = settings.engine(
            name,
            FixedRouter(wire=messages, base_url=url, options=settings.options, models=models or {}),
            None if has_key else missing(_MISSING),
            {"anthropic-version": version, **({"x-api-key": key} if key else {})},
        )
        super().__init__(engine, messages, base_url=url, models_url=join(url, "/v1/models"))

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """Read ANTHROPIC_API_KEY, _BASE_URL, _API_VERSION (2023-06-01) and _TIMEOUT (600 s)."""
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
