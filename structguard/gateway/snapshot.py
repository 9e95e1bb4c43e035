"""
What one look at the gateway saw, for the status page.

Source: spec gateway, issue "a status page".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from structguard.gateway.numbers import Numbers
from structguard.layers.partition import LinkView
from structguard.memo.entry import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One configured provider; `base_url` without credentials."""

    id: str
    base_url: str
    api: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRow:
    """One alias and its links, as `FallbackChain.state` shows them."""

    alias: str
    links: Sequence[LinkView]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one look saw. Times are wall seconds; names of memo and store come without secrets."""

    version: str
    started: float
    now: float
    numbers: Numbers
    providers: Sequence[ProviderRow] = ()
    chains: Sequence[ChainRow] = ()
    entries: Sequence[Entry] = ()
    memo: str = "memory:"
    store: str = "memory:"
    worker: str = ""  # "worker 2 of 4", where there are several
    message: str = ""  # what the last form did
    csrf: str = field(default="", repr=False)
