"""
The URLs of one OpenAI-style endpoint: chat, responses and what stands beside them.

Source: spec api-choice, row "endpoint".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from structguard.http.urls import join, placeholders, sibling
from structguard.types import Api

_CHAT, _RESPONSES = "/chat/completions", "/responses"
_sibling = lru_cache(maxsize=256)(sibling)


@lru_cache(maxsize=256)
def cached_join(base: str, path: str) -> str:
    """`join`, with each URL made only once."""
    return join(base, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """
    The URLs of an OpenAI-style endpoint.

    `base_url` is the base or the chat URL itself; a `{model}` in it is filled in. `responses` is
    the whole URL of the Responses API where it cannot be derived.
    """

    base_url: str = field(repr=False)  # a query may hold a key
    responses: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for url in (self.base_url, self.responses or ""):
            odd = [name for name in placeholders(url) if name != "{model}"]
            if odd:
                raise ValueError(f"only {{model}} can be replaced in a URL, got {odd[0]} in it")

    def url(self, api: Api, model: str) -> str:
        """
        Where a model is asked over an API.

        Raises:
            ValueError: the Responses URL cannot be derived from this base URL.
        """
        return _filled(_template(self, api), model)

    def template(self, api: Api) -> str:
        """The URL of an API, a `{model}` in it not filled in. Raises as `url`."""
        return self._chat() if api == "chat" else self._responses()

    def beside(self, path: str, model: str = "") -> str:
        """Another path of the same endpoint, such as `/models`; `model` where it is about one."""
        chat = _sibling(self.base_url, _CHAT, path)
        return _filled(chat if chat is not None else cached_join(self.base_url, path), model)

    @property
    def lists(self) -> bool:
        """Whether its models can be asked for: an address of one model each has no list."""
        return not placeholders(self.base_url)

    def can_derive(self) -> bool:
        """Whether the Responses URL is known."""
        if self.responses is not None:
            return True
        query_of_chat = "?" in self.base_url and _sibling(self.base_url, _CHAT, "") is not None
        return not placeholders(self.base_url) and not query_of_chat

    def _chat(self) -> str:
        if _sibling(self.base_url, _CHAT, _CHAT) is not None:
            return self.base_url
        return cached_join(self.base_url, _CHAT)

    def _responses(self) -> str:
        if self.responses is not None:
            return self.responses
        if not self.can_derive():
            raise ValueError(
                "the Responses URL cannot be derived from a base URL with a placeholder, or from a"
                " chat URL with a query; set responses_endpoint to the whole URL"
            )
        return self.beside(_RESPONSES)


@lru_cache(maxsize=256)
def _template(endpoints: Endpoints, api: Api) -> str:
    """Asked on every call, and always the same."""
    return endpoints.template(api)


def _filled(url: str, model: str) -> str:
    return url.replace("{model}", quote(model, safe="")) if model and "{" in url else url
