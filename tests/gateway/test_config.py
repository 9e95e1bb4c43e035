"""Settings: what a file may say, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from structguard.gateway.config import (
    SECTIONS,
    Config,
    ProviderConfig,
    embedded,
)
from structguard.gateway.config_file import config_from, read_config
from structguard.gateway.settings import ConfigError, reference

UP = {"up": {"base_url": "https://host/v1"}}
ON = {"responses": {"enabled": True}}
HASH = "0" * 64


def config(**tables: object) -> Config:
    return config_from(
        {"providers": UP, "endpoints": ON, **tables}, {"KEY": "s3cret", "EMPTY": " "}
    )


def test_both_switches_are_off_in_a_file_and_on_without_one() -> None:
    made = config()
    assert made.endpoints.responses.enabled
    assert not made.endpoints.chat_completions.enabled
    both = embedded("http://127.0.0.1:1/v1").endpoints
    assert both.responses.enabled
    assert both.chat_completions.enabled


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"endpoints": {}}, "add [endpoints.responses] with enabled = true"),
        ({"providers": {}}, "add [providers.NAME]"),
        ({"provider": {}}, "provider: unknown key; did you mean 'providers'?"),
        ({"guard": {"expirey": 1.0}}, "guard.expirey: unknown key; did you mean 'expiry'?"),
        ({"endpoints": {"response": {"enabled": True}}}, "did you mean 'responses'?"),
        ({"providers": {"up": {"base_ur": "x"}}}, "providers.up.base_ur: unknown key; did you"),
        ({"providers": {"up": {"key": "x", "base_url": "https://h"}}}, "providers.up.key: unknown"),
        ({"providers": {"up": {}}}, "providers.up: base_url is missing"),
        ({"providers": {"up": {"base_url": "ftp://x"}}}, "providers.up: base_url must be an http"),
        ({"providers": {"up": {"kind": "bedrock"}}}, "region is missing"),
        ({"providers": {"up": {"kind": "google", "key_header": "x"}}}, "key_header is for kind open"),
        ({"providers": {"up": {"kind": "google", "responses_url": "http://h"}}}, "google has its own"),
        ({"providers": {"up": {"base_url": "http://h", "key_header": "a b"}}}, "no header's name"),
        ({"providers": {"up": {"base_url": "http://h", "key_header": ""}}}, "no header's name"),
        (
            {"providers": {"up": {"base_url": "http://h", "key_header": "x", "credential": "client"}}},
            "sends the client's Authorization only",
        ),
        (
            {"providers": {"up": {"base_url": "http://h", "responses_url": "nowhere"}}},
            "responses_url must be an http",
        ),
        ({"providers": {"up": {"kind": "anthropic", "api": "chat"}}}, "anthropic has one API"),
        ({"providers": {"up": {"base_url": "https://h", "profile": "p"}}}, "profile is for kind"),
        ({"providers": {"up": {"kind": "bedrock", "region": "us-east-1", "profile": "p",
                               "api_key_env": "KEY"}}}, "one of profile and api_key_env"),
        ({"providers": {"up": {"kind": "cohere"}}}, "providers.up.kind must be one of 'openai'"),
        ({"providers": {"up": {"base_url": "https://h", "timeout": 0}}}, "must be more than 0"),
        ({"providers": {"up": {"base_url": "https://h", "api_key_env": "NO"}}}, "NO is not set"),
        ({"providers": {"up": {"base_url": "https://h", "api_key_env": "EMPTY"}}}, "is not set"),
        ({"providers": UP["up"]}, "providers must be a table of tables"),
        ({"limits": {"body": "big"}}, "limits.body must be a whole number, got 'big'"),
        ({"limits": {"body": True}}, "limits.body must be a whole number"),
        ({"auth": {"token_envs": "KEY"}}, "auth.token_envs must be a list of text"),
        ({"models": {"fast": ["down:m"]}}, "models.fast: 'down:m' must be provider:model"),
        ({"models": {"fast": []}}, "models.fast: name at least one link"),
        ({"models": {"fast": [1]}}, "models.fast must be provider:model"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_names_its_place(tables: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**tables)
    assert words in str(caught.value)


def test_secrets_come_from_the_environment_and_stay_out_of_sight() -> None:
    up = {"up": {"base_url": "https://host/v1", "api_key_env": "KEY"}}
    made = config(providers=up, auth={"token_envs": ["KEY"]})
    assert made.providers["up"].key == "s3cret"
    assert made.auth.tokens == ("s3cret",)
    assert "s3cret" not in repr(made)


@pytest.mark.parametrize(
    ("host", "auth", "ok"),
    [
        ("127.0.0.1", {}, True),
        ("localhost", {}, True),
        ("::1", {}, True),
        ("0.0.0.0", {}, False),  # noqa: S104  what is refused
        ("gateway.example", {}, False),
        ("0.0.0.0", {"token_hashes": [HASH]}, True),  # noqa: S104
    ],
)
def test_the_world_is_not_served_without_auth(
    host: str, auth: dict[str, object], *, ok: bool
) -> None:
    made = config(auth=auth)
    if ok:
        made.check_host(host)
    else:
        with pytest.raises(ConfigError, match="no token is configured"):
            made.check_host(host)


@pytest.mark.parametrize("content", ["[providers", "\udcff"])
def test_a_file_that_is_no_toml_says_so(tmp_path: Path, content: str) -> None:
    file = tmp_path / "structguard.toml"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match="not TOML"):
        read_config(file)
    with pytest.raises(ConfigError, match="No such file"):
        read_config(tmp_path / "none.toml")


def test_the_reference_in_the_docs_is_what_the_code_says() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text()
    tables = {"providers.NAME": ProviderConfig, **SECTIONS}
    for line in reference(tables):
        row = f"| `{line.table}` | `{line.key}` | `{shown(line.default)}` | {line.about} |"
        assert row in docs, row


def shown(default: object) -> str:
    """A default as TOML writes it."""
    match default:
        case bool():
            return str(default).lower()
        case str():
            return f'"{default}"'
        case tuple():
            return "[]"
        case _:
            return str(default)
