"""The links of a chain: which can be used, and what they are called. Source: spec chain C2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structguard.events import LinkDropped, Observer
from structguard.service import Provider


@dataclass(frozen=True, slots=True)
class Link:
    """
    One entry of a chain.

    `model` replaces `Request.model`; None keeps the request's. `name` identifies the link in events,
    errors and `Request.provider`; by default it is the provider's id, with the model if that alone
    is not unique. If `provider` is None, because it could not be built, the link is left out.
    """

    provider: Provider | None
    model: str | None = None
    name: str | None = None


def usable(links: Sequence[Link], observer: Observer) -> tuple[tuple[Link, Provider], ...]:
    """The links without doubles and without those that cannot be used; never without the first."""
    if not links:
        raise ValueError("a FallbackChain needs at least one Link")
    for link in links:
        _check(link)
    if links[0].provider is None:
        raise ValueError(
            "the first Link has no provider; it is the chain's primary and is never left out"
        )
    result: list[tuple[Link, Provider]] = []
    for link in links:
        reason = _why_not(link, result)
        if reason is None and link.provider is not None:
            result.append((link, link.provider))
        else:
            reason = reason or "its provider could not be built"
            observer(LinkDropped(link=_plain_name(link), reason=reason))
    return tuple(result)


def _check(link: object) -> None:
    if not isinstance(link, Link):
        raise TypeError(
            f"a FallbackChain takes Links, got {type(link).__name__}: write Link(provider, model=…)"
        )
    if link.provider is not None and not hasattr(link.provider, "complete"):
        raise TypeError(
            f"a Link takes a provider, got {type(link.provider).__name__}, which has no `complete`"
        )


def _why_not(link: Link, earlier: Sequence[tuple[Link, Provider]]) -> str | None:
    """Why a built link is left out. A first one without a credential stays: its call says so."""
    for other, provider in earlier:
        if link.model == other.model and _same(link.provider, provider):
            return f"the same provider and model as link {_plain_name(other)!r}"
    if earlier and getattr(link.provider, "missing_credential", False):
        return "its provider has no credential"
    return None


def _same(provider: Provider | None, other: Provider) -> bool:
    if provider is None:
        return False
    return provider is other or (provider.id, provider.base_url) == (other.id, other.base_url)


def _plain_name(link: Link) -> str:
    if link.name is not None:
        return link.name
    return link.provider.id if link.provider is not None else (link.model or "?")


def link_names(links: Sequence[Link]) -> tuple[str, ...]:
    """Each link's name; a provider id that occurs more than once is told apart by the model."""
    plain = [_plain_name(link) for link in links]
    found = tuple(
        f"{name}/{link.model}" if link.name is None and plain.count(name) > 1 else name
        for name, link in zip(plain, links, strict=True)
    )
    for name in found:
        if found.count(name) > 1:
            raise ValueError(f"two links are named {name!r}; give each Link its own name=")
    return found
