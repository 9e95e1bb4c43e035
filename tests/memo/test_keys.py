"""Endpoints and routers are named the same however they are written, and without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from structguard.memo import endpoint_id, routing_digest

ADDRESSES = [
    ("https://api.example.com/v1", "api.example.com/v1"),
    ("https://api.example.com/v1/", "api.example.com/v1"),
    ("https://API.Example.com:443/v1", "api.example.com/v1"),
    ("http://localhost:80", "localhost"),
    ("http://localhost:8000/v1", "localhost:8000/v1"),
    ("https://localhost:80/v1", "localhost:80/v1"),
    ("localhost:8000/v1", "localhost:8000/v1"),
    ("https://user:hunter2@host/v1?key=AIzaSecret#frag", "host/v1"),
    ("https://hunter2@host/v1", "host/v1"),
    ("https://a.azure.com/openai?api-version=2026-01-01&key=x", "a.azure.com/openai?api-version=2026-01-01"),
    ("https://h/v1?api-version=a%26key%3Db", "h/v1?api-version=a%26key%3Db"),
    ("http://[::1]:8000/v1", "[::1]:8000/v1"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "name"), ADDRESSES)
def test_an_endpoint_is_named_by_host_port_path_and_api_version(url: str, name: str) -> None:
    assert endpoint_id(url) == name


@pytest.mark.parametrize(("url", "name"), ADDRESSES)
def test_naming_an_endpoint_by_its_name_changes_nothing(url: str, name: str) -> None:
    assert endpoint_id(name) == name


@given(
    user=st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    password=st.from_regex(r"SECRET[A-Za-z0-9]{1,8}", fullmatch=True),
    query=st.from_regex(r"(key|token|api_version)=SECRET[a-z0-9]{1,8}", fullmatch=True),
    path=st.from_regex(r"(/[a-z0-9._~-]{1,8}){0,3}/?", fullmatch=True),
)
def test_no_credential_of_an_address_survives(
    user: str, password: str, query: str, path: str
) -> None:
    name = endpoint_id(f"https://{user}:{password}@host{path}?{query}")
    assert "SECRET" not in name
    assert endpoint_id(name) == name


@pytest.mark.parametrize("url", ["", "https://", "https:///v1", "http://host:port/", "http://[::1"])
def test_what_is_no_address_is_said_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="base URL is not valid") as caught:
        endpoint_id(url)
    assert url == "" or url not in str(caught.value)


def test_equal_routers_have_equal_digests_and_none_has_none() -> None:
    one = routing_digest({"order": ["a", "b"], "require_parameters": True})
    assert one == routing_digest({"require_parameters": True, "order": ["a", "b"]})
    assert one != routing_digest({"order": ["b", "a"], "require_parameters": True})
    assert routing_digest(None) == routing_digest({}) == ""
    assert len(routing_digest({"odd": object})) == 16
