"""Settings: what a file may say, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from structguard.gateway.app import create_core
from structguard.gateway.config import SECTIONS, Config, embedded
from structguard.gateway.config_file import config_from, read_config
from structguard.gateway.config_provider import ProviderConfig
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
        ({"provider": {}}, "provider is an unknown key; did you mean 'providers'?"),
        ({"guard": {"expirey": 1.0}}, "guard.expirey is an unknown key; did you mean 'expiry'?"),
        ({"endpoints": {"response": {"enabled": True}}}, "did you mean 'responses'?"),
        ({"providers": {"up": {"base_ur": "x"}}}, "providers.up.base_ur is an unknown key; did you"),
        ({"providers": {"up": {"key": "x", "base_url": "https://h"}}}, "providers.up.key is an unknown"),
        ({"providers": {"up": {}}}, "providers.up: base_url is missing"),
        ({"providers": {"up": {"base_url": "ftp://x"}}}, "providers.up: base_url must be an http"),
        ({"providers": {"up": {"kind": "bedrock"}}}, "region is missing"),
        ({"providers": {"up": {"kind": "google", "key_header": "x"}}}, "key_header is for kind open"),
        ({"providers": {"up": {"kind": "google", "responses_url": "http://h"}}}, "google ignores it"),
        ({"providers": {"up": {"base_url": "http://h", "key_header": "a b"}}}, "not a valid header name"),
        ({"providers": {"up": {"base_url": "http://h", "key_header": ""}}}, "not a valid header name"),
        (
            {"providers": {"up": {"base_url": "http://h", "key_header": "x", "credential": "client"}}},
            "sends the client's Authorization only",
        ),
        (
            {"providers": {"up": {"base_url": "http://h", "responses_url": "nowhere"}}},
            "responses_url must be an http",
        ),
        ({"providers": {"up": {"kind": "anthropic", "api": "chat"}}}, "api is for kind openai_compat; anth"),
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
        ({"models": {" ": ["up:m"]}}, "models: an alias must not be empty"),
        ({"providers": {"a:b": UP["up"]}}, "providers.a:b: a provider's name holds no"),
        ({"providers": {"a#b": UP["up"]}}, "holds no space, colon or '#'"),
        ({"providers": {"a\nb": UP["up"]}}, "holds no space, colon or '#'"),
        ({"providers": {"": UP["up"]}}, "a provider's name"),
        ({"providers": {"up": {**UP["up"], "region": "x"}}}, "providers.up: region is for kind bedr"),
        ({"providers": {"up": {**UP["up"], "structured": "tool"}}}, "structured is for kind anthropic"),
        ({"providers": {"up": {"kind": "google", "developer_role": True}}}, "google ignores it"),
        ({"providers": {"up": {"kind": "anthropic", "credential": "client"}}}, "anthropic ignores it"),
        ({"providers": {"up": {"kind": "bedrock", "region": "us-east-1", "credential": "client"}}},
         "credential is for kind openai and openai_compat"),
        ({"providers": {"up": {**UP["up"], "credential": "client", "api_key_env": "KEY"}}},
         "give one of api_key_env and credential"),
        ({"auth": {"token_hashes": [HASH, "ab"]}}, "auth.token_hashes: number 2 must be 64"),
        ({"cors": {"origins": ["app.example"]}}, "cors.origins: 'app.example' is no origin"),
        ({"cors": {"origins": ["https://app.example/"]}}, "is no origin"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_names_its_place(tables: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**tables)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "place"),
    [
        (
            {"providers": {"up": {**UP["up"], "also_statuses": [200]}}},
            "providers.up: also_statuses",
        ),
        ({"providers": {"up": {**UP["up"], "timeout": float("inf")}}}, "providers.up: timeout"),
        ({"providers": {"up": {"base_url": "https://h/{x}"}}}, "providers.up: only {model}"),
        ({"guard": {"memo": "foo:"}}, "guard.memo: "),
        ({"guard": {"memo": "memory:", "ignored_after": -1}}, "guard: ignored_after"),
        ({"store": {"url": "foo:"}}, "store.url: "),
    ],
)
def test_what_a_part_refuses_names_its_place_too(tables: dict[str, object], place: str) -> None:
    made = config(**{"guard": {"memo": "memory:"}, "store": {"url": "memory:"}, **tables})
    with pytest.raises(ConfigError) as caught:
        create_core(made)
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "https://app.example", "http://localhost:3000", "chrome-extension://abc"],
)
def test_an_origin_is_what_a_browser_sends(origin: str) -> None:
    assert config(cors={"origins": [origin]}).cors.origins == (origin,)


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
