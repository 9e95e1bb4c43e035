"""
The gateway's settings from a TOML file: nothing unknown is taken, and secrets come from the environment.

Source: spec gateway "Config".
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from structguard.gateway.config import (
    SECTIONS,
    AuthConfig,
    Config,
    CorsConfig,
    EndpointConfig,
    EndpointsConfig,
    GuardConfig,
    LimitsConfig,
    LogConfig,
    PagesConfig,
    StoreConfig,
)
from structguard.gateway.config_provider import ProviderConfig
from structguard.gateway.settings import ConfigError, known, links_of, read_table, subtables

Environ = Mapping[str, str]
S = TypeVar("S")


def read_config(path: str | Path, environ: Environ = os.environ) -> Config:
    """
    The settings in a TOML file.

    Raises:
        ConfigError: no such file, no TOML, an unknown key (with the nearest name), a value that
            cannot be, a variable that is not set; the message names the place.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    return config_from(table, environ)


def config_from(table: Mapping[str, object], environ: Environ) -> Config:
    """The settings in a parsed table; see `read_config`."""
    known(table, (*SECTIONS, "providers", "models", "endpoints"), "")
    providers = {
        name: _with_key(read_table(ProviderConfig, table_, f"providers.{name}"), name, environ)
        for name, table_ in subtables(table, "providers").items()
    }
    ends = subtables(table, "endpoints")
    known(ends, ("responses", "chat_completions"), "endpoints")
    endpoints = EndpointsConfig(
        **{
            name: read_table(EndpointConfig, table_, f"endpoints.{name}")
            for name, table_ in ends.items()
        }
    )
    auth = _section(AuthConfig, table)
    tokens = tuple(_secret(name, "auth.token_envs", environ) for name in auth.token_envs)
    return Config(
        providers=providers,
        models=links_of(table.get("models", {})),
        endpoints=endpoints,
        guard=_section(GuardConfig, table),
        limits=_section(LimitsConfig, table),
        auth=replace(auth, tokens=tokens),
        store=_section(StoreConfig, table),
        log=_section(LogConfig, table),
        cors=_section(CorsConfig, table),
        pages=_section(PagesConfig, table),
    )


def _section(section: type[S], table: Mapping[str, object]) -> S:
    name = next(name for name, kind in SECTIONS.items() if kind is section)
    return read_table(section, subtables(table, name, plain=True), name)


def _with_key(provider: ProviderConfig, name: str, environ: Environ) -> ProviderConfig:
    if not provider.api_key_env:
        return provider
    where = f"providers.{name}.api_key_env"
    return replace(provider, key=_secret(provider.api_key_env, where, environ))


def _secret(name: str, where: str, environ: Environ) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise ConfigError(f"{where}: the variable {name} is not set")
    return value
