"""
The memo's entries in this process, arranged so that a look-up is two dict reads.

Readers take no lock: they only get from dicts and walk tuples. Writers must be kept apart by their
owner. Source: spec guard §3 "Look-up".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from structguard.events import Verdict
from structguard.memo.entry import Entry, Slot
from structguard.memo.keys import Call
from structguard.types import MemoKey

Where: TypeAlias = tuple[str, object]  # what is always equal: verdict, place (use_api: base URL)
Facets: TypeAlias = dict[str, tuple[Entry, ...]]  # by what the scope adds: "", a flag, a digest


class View:
    """
    At most `limit` entries and `schemas` schema digests a pair; the oldest go first.

    `put` and `fill` hand back what had to go.
    """

    def __init__(self, *, limit: int, schemas: int) -> None:
        self._limit = limit
        self._schemas = schemas
        self._pairs: dict[tuple[str, str], dict[Where, Facets]] = {}
        self._slots: dict[Slot, Entry] = {}  # the least recently written first

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._slots.values()))

    def at(self, slot: Slot) -> Entry | None:
        """The entry of one slot."""
        return self._slots.get(slot)

    def find(self, call: Call, verdict: Verdict) -> Entry | None:
        """The entry that says something about a call; the widest first."""
        known = self._pairs.get(call.pair)
        if known is None:
            return None  # nearly every call: nothing of it was computed
        place = call.place
        facets = known.get((verdict, place[0] if verdict == "use_api" else place))
        if facets is None:
            return None
        widest = facets.get("", ())
        if widest and widest[0].strict is None:
            return widest[0]  # nearly every hit: it asks for no more
        key = call.key
        if (entry := _fitting(widest, key)) is not None:
            return entry
        for qualifier in (*key.flags, key.schema):
            if qualifier in facets and (entry := _fitting(facets[qualifier], key)) is not None:
                return entry
        return None

    def put(self, entry: Entry) -> list[Entry]:
        """Add or replace one entry."""
        slot = entry.slot
        self.drop(slot)
        self._slots[slot] = entry
        facets = self._pairs.setdefault(entry.pair, {}).setdefault(_where(entry), {})
        facets[entry.qualifier] = (*facets.get(entry.qualifier, ()), entry)
        return self._shrink(entry)

    def drop(self, slot: Slot) -> Entry | None:
        """Take one entry out."""
        entry = self._slots.pop(slot, None)
        if entry is None:
            return None
        known = self._pairs[entry.pair]
        facets = known[_where(entry)]
        left = tuple(other for other in facets[entry.qualifier] if other.slot != slot)
        if left:
            facets[entry.qualifier] = left
            return entry
        del facets[entry.qualifier]
        if not facets:
            del known[_where(entry)]
        if not known:
            del self._pairs[entry.pair]
        return entry

    def fill(self, entries: Iterable[Entry]) -> list[Entry]:
        """Replace everything at once."""
        view = View(limit=self._limit, schemas=self._schemas)
        evicted: list[Entry] = []
        for entry in sorted(entries, key=lambda entry: entry.confirmed):
            evicted += view.put(entry)
        self._slots, self._pairs = view._slots, view._pairs
        return evicted

    def _shrink(self, entry: Entry) -> list[Entry]:
        evicted: list[Entry] = []
        if entry.schema:
            digests = list(self._of_pair(entry.pair))
            evicted += digests[: max(0, len(digests) - self._schemas)]
        if len(self._slots) - len(evicted) > self._limit:
            evicted.append(next(other for other in self._slots.values() if other not in evicted))
        for other in evicted:
            self.drop(other.slot)
        return evicted

    def _of_pair(self, pair: tuple[str, str]) -> Iterator[Entry]:
        """A pair's entries that know one schema, the oldest first."""
        entries_ = (
            entry
            for facets in self._pairs[pair].values()
            for entries in facets.values()
            for entry in entries
            if entry.schema
        )
        return iter(sorted(entries_, key=lambda entry: entry.confirmed))


def _fitting(entries: tuple[Entry, ...], key: MemoKey) -> Entry | None:
    """The place has decided everything but `strict`: this is `Entry.matches` for what is left."""
    for entry in entries:
        if entry.strict is None or entry.strict is bool(key.strict):
            return entry
    return None


def _where(entry: Entry) -> Where:
    if entry.verdict == "use_api":
        return (entry.verdict, entry.base_url)
    return (entry.verdict, (entry.base_url, entry.api, entry.format or "", entry.routing))
