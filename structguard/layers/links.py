"""The links of a chain: which can be used, and what they are called. Source: spec chain C2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structguard.events import LinkDropped, Observer
from structguard.service import Provider


@dataclass(frozen=True, slots=True)
class Link:
    """
    One entry of a chain. `model` fills `Request.model`; None leaves the request's. `name` is what
    events, errors and `Request.provider` call it; by default the provider's id, with the model
    where that alone is not unique. `provider` None is one that could not be built.
    """

    provider: Provider | None
    model: str | None = None
    name: str | None = None


def usable(links: Sequence[Link], observer: Observer) -> tuple[Link, ...]:
    """The links without doubles and without those that cannot be used; never without the first."""
    if not links:
        raise ValueError("a FallbackChain needs at least one Link")
    if links[0].provider is None:
        raise ValueError(
            "the first Link has no provider; it is what the chain stands for and is never dropped"
        )
    kept: list[Link] = []
    for link in links:
        reason = _why_not(link, kept)
        if reason is None:
            kept.append(link)
        else:
            observer(LinkDropped(link=_plain_name(link), reason=reason))
    return tuple(kept)


def _why_not(link: Link, kept: Sequence[Link]) -> str | None:
    """Why a link is left out. A first link without a credential stays: its call says so."""
    if link.provider is None:
        return "its provider could not be built"
    for other in kept:
        same = link.provider is other.provider or _target(link) == _target(other)
        if same and link.model == other.model:
            return f"the same provider and model as link {_plain_name(other)!r}"
    if kept and getattr(link.provider, "missing_credential", False):
        return "its provider has no credential"
    return None


def _target(link: Link) -> tuple[str, str]:
    provider = built(link)
    return provider.id, provider.base_url


def built(link: Link) -> Provider:
    """A usable link's provider."""
    if link.provider is None:
        raise ValueError(f"link {link.name!r} has no provider")
    return link.provider


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
