"""Base paths, slashes and queries survive a join; credentials do not get in."""

from __future__ import annotations

import pytest

from structguard.http.urls import checked, join, placeholders, sibling

JOINS = [
    ("https://h/v1", "/models", "https://h/v1/models"),
    ("https://h/v1/", "/models", "https://h/v1/models"),
    ("https://h", "models", "https://h/models"),
    ("https://h/", "/models", "https://h/models"),
    ("https://h:8/a/b//", "/c", "https://h:8/a/b/c"),
    ("https://h/v1?api-version=1", "/models", "https://h/v1/models?api-version=1"),
    ("https://h/v1/?api-version=1", "/m:g?alt=sse", "https://h/v1/m:g?api-version=1&alt=sse"),
    ("https://h/v1", "/models/a%2Fb", "https://h/v1/models/a%2Fb"),
    ("http://[::1]:8/v1", "/models", "http://[::1]:8/v1/models"),
]


@pytest.mark.parametrize(("base", "path", "joined"), JOINS)
def test_a_path_is_joined_to_a_base(base: str, path: str, joined: str) -> None:
    assert join(base, path) == joined


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h/v1",
        "ftp://h",
        "https://",
        "https:///v1",
        "http://h:port/",
        "http://h:0",
        "https://h/ v1",
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        checked(url)


def test_a_credential_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="must not contain") as caught:
        checked("https://user:hunter2@h/v1")
    assert "hunter2" not in str(caught.value)


def test_a_fragment_is_dropped() -> None:
    assert checked("https://h/v1#top") == "https://h/v1"


def test_a_sibling_replaces_the_end_of_the_path_only() -> None:
    assert sibling("https://h/v1/chat/completions", "/chat/completions", "/responses") == (
        "https://h/v1/responses"
    )
    assert sibling("https://h/v1/chat/completions/?a=1", "/chat/completions", "/x") == (
        "https://h/v1/x?a=1"
    )
    assert sibling("https://h/v1", "/chat/completions", "/responses") is None


def test_placeholders_are_found() -> None:
    assert placeholders("https://h/{model}/x?y={z}") == ("{model}", "{z}")
    assert placeholders("https://h/v1") == ()
