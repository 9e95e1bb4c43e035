"""
A view in this process kept in step with a store that others share.

Everything here that may wait for a disk or a network is done one thing at a time under one lock;
look-ups take none. A store that fails is told once, and memory is used from then on.
Source: spec guard §3, DESIGN "One algorithm, several drivers".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from structguard.events import MemoTrouble, Observer
from structguard.memo.entry import Entry, Slot
from structguard.memo.observers import Observers
from structguard.memo.store import MAX_LEASE, MemoryStore, Store, StoreFailure
from structguard.memo.view import View
from structguard.service import Clock

MAX_SCHEMAS = 32  # digests a pair
LOOK_EVERY = 1.0  # seconds between two looks at whether others have written
SAVE_EVERY = 60.0  # seconds between two writes of the counts of spared requests
BUSY_PAUSE = 30.0  # seconds without a look after the store was locked for too long
FUTURE = 300.0  # seconds; an entry confirmed later than that in the future is due (clock set back)

T = TypeVar("T")


class SharedView:
    """`clock` is monotonic seconds, `wall` wall seconds; `limit` counts entries."""

    def __init__(
        self, store: Store, *, observer: Observer, clock: Clock, wall: Clock, limit: int
    ) -> None:
        self.view: View = View(limit=limit, schemas=MAX_SCHEMAS)
        self._store = store
        self._observers = Observers(observer)
        self._clock = clock
        self._wall = wall
        self._unread = store.blocking
        self._stamp: object = None
        self._looked = self._flushed = clock()
        self._dirty = False
        self._saved: dict[Slot, int] = {}  # spared requests that the store does not know of yet
        self._leased: dict[Slot, tuple[float, float]] = {}  # somebody's, until clock and wall
        self._unsaved: dict[Slot, Entry] = {}  # what the store was too busy to take
        self._reported: set[str] = set()
        self._decoded: dict[str, Entry | None] = {}  # what was read last: texts seldom change
        self._renew_locks()

    # --- without I/O ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The store's URL; `memory:` once it has failed."""
        return self._store.name

    @property
    def blocking(self) -> bool:
        """Whether anything here may wait."""
        return self._store.blocking

    def add_observer(self, observer: Observer, *, keep: bool) -> None:
        """Let one more observer hear of trouble with the store."""
        self._observers.add(observer, keep=keep)

    def due(self, entry: Entry) -> bool:
        """Whether an entry has expired, or comes from a future that the clock took back."""
        if entry.expires is None:
            return False
        now = self._wall()
        return now >= entry.expires or now < entry.confirmed - FUTURE

    def knows(self, entry: Entry) -> bool:
        """Whether an entry of this slot is there and has not expired."""
        known = self.view.at(entry.slot)
        return known is not None and not self.due(known)

    def stale(self) -> bool:
        """Whether `refresh` is needed; one look at the stamp a second at most."""
        if not self._store.blocking:
            return False
        if self._unread or self._dirty:
            return True
        now = self._clock()
        if now - self._looked < LOOK_EVERY:
            return False
        self._looked = now
        waiting = bool(self._unsaved) or self._flush_due(now)
        self._dirty = waiting or self._store.stamp() != self._stamp
        return self._dirty

    def count(self, entry: Entry) -> None:
        """One more request that an entry spared."""
        slot = entry.slot
        with self._counting:
            self._saved[slot] = self._saved.get(slot, 0) + 1

    def held(self, entry: Entry) -> bool:
        """Whether somebody is known to hold an entry's lease; false once either clock says so."""
        until = self._leased.get(entry.slot)
        return until is not None and self._clock() < until[0] and self._wall() < until[1]

    # --- with I/O ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read if anything may have changed; then write what waits."""
        with self._io:
            self._looked = self._clock()
            stamp = self._store.stamp()  # before the read, so that nothing later goes unseen
            if self._store.blocking and (self._unread or stamp != self._stamp):
                self._read(stamp)
            self._unread = self._dirty = False
            for entry in tuple(self._unsaved.values()):
                del self._unsaved[entry.slot]
                self._keep(entry, self.due)
            if self._flush_due(self._looked):
                self._flush()

    def keep(self, entry: Entry, *, anyway: bool = False) -> bool:
        """
        Put an entry where there is none, or an expired one, or (`anyway`) any.

        In the view at once, in the store when this returns. True if nothing was there, over all
        processes.
        """
        with self._io:
            if self._unread:
                self.refresh()
            if not anyway and self.knows(entry):
                return False
            return self._keep(entry, (lambda _: True) if anyway else self.due)

    def drop(self, chosen: Callable[[Entry], bool]) -> int:
        """Forget the chosen entries, everywhere; how many they were."""
        with self._io:
            self.refresh()
            dropped = [entry for entry in self.view if chosen(entry)]
            self._drop(dropped)
            return len(dropped)

    def entries(self) -> list[Entry]:
        """Everything there is now, with this process's counts."""
        with self._io:
            self.refresh()
            return [
                replace(entry, saved=entry.saved + self._saved.get(entry.slot, 0))
                for entry in self.view
            ]

    def lease(self, entry: Entry, seconds: float) -> bool:
        """Whether the caller is the one holder of an entry's lease, over all processes."""
        with self._io:
            if self.held(entry):
                return False
            now = self._wall()
            left = self._do(lambda store: store.lease(entry.id, seconds, now), 0.0)
            duration = left or min(seconds, MAX_LEASE)
            self._leased[entry.slot] = (self._clock() + duration, now + duration)
            return left == 0.0

    def close(self) -> None:
        """Write the counts and let the store go; it is opened again when asked something."""
        with self._io:
            self._flush()
            self._do(lambda store: store.close(), None)

    # --- inside: the caller holds the lock -----------------------------------------------------

    def _do(self, work: Callable[[Store], T], otherwise: T) -> T:
        """Ask the store; `otherwise` if it fails."""
        try:
            return work(self._store)
        except StoreFailure as failure:
            self._fail(failure)
            return otherwise

    def _fail(self, failure: StoreFailure) -> None:
        """Say it once; after a lasting failure go on in memory with what the view knows."""
        name = self._store.name
        if not failure.lasting:
            self._looked = self._clock() + BUSY_PAUSE  # not every call should wait for it
        else:
            self._store = MemoryStore({entry.id: entry.to_json() for entry in self.view})
            self._unread = self._dirty = False
            self._unsaved.clear()
        if failure.reason in self._reported:
            return
        self._reported.add(failure.reason)
        self._observers.tell(
            MemoTrouble(
                store=name,
                reason=failure.reason,
                moved_to=failure.moved_to,
                benign=failure.benign,
            )
        )

    def _read(self, stamp: object) -> None:
        try:
            texts = self._store.read()
        except StoreFailure as failure:
            self._fail(failure)
            return
        self._reported.clear()  # it works: the next time it fails is news
        if texts is not None:
            self._take(texts, stamp)

    def _take(self, texts: Mapping[str, str], stamp: object) -> None:
        known = self._decoded
        self._decoded = {
            text: known[text] if text in known else Entry.from_json(text) for text in texts.values()
        }
        entries = (entry for entry in self._decoded.values() if entry is not None)
        evicted = self.view.fill([*entries, *self._unsaved.values()])
        self._stamp = object() if stamp is None else stamp  # there was no store: now there is
        with self._counting:
            self._saved = {slot: n for slot, n in self._saved.items() if self.view.at(slot)}
            self._leased = {slot: t for slot, t in self._leased.items() if self.view.at(slot)}
        self._drop(evicted)

    def _keep(self, entry: Entry, replaceable: Callable[[Entry], bool]) -> bool:
        """Put an entry into view and store, unless the store has one that is not replaceable."""
        before = self.view.at(entry.slot)
        evicted = self.view.put(entry if before is None else before.renewed(entry))
        try:
            first, stored = self._claim(entry, replaceable)
        except StoreFailure as failure:
            self._fail(failure)
            if not failure.lasting:
                self._unsaved[entry.slot] = entry
            return before is None
        self.view.put(stored)
        self._drop(evicted)
        return first

    def _claim(self, entry: Entry, replaceable: Callable[[Entry], bool]) -> tuple[bool, Entry]:
        """Whether we were first, and what the store holds now."""
        expected: str | None = None
        while True:
            current = None if expected is None else Entry.from_json(expected)
            if current is not None and not replaceable(current):
                return False, current
            merged = entry if current is None else current.renewed(entry)
            actual = self._store.swap(entry.id, expected, merged.to_json())
            if actual == expected:
                if current is not None:  # a probe has just ended
                    self._leased.pop(entry.slot, None)
                    self._store.release(entry.id)
                return current is None, merged
            expected = actual

    def _drop(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        with self._counting:
            for entry in entries:
                self.view.drop(entry.slot)
                for table in (self._saved, self._leased, self._unsaved):
                    table.pop(entry.slot, None)
        self._do(lambda store: store.drop([entry.id for entry in entries]), 0)

    def _flush_due(self, now: float) -> bool:
        return bool(self._saved) and now - self._flushed >= SAVE_EVERY

    def _flush(self) -> None:
        """Add the counts to the entries in the store, whoever wrote them last."""
        self._flushed = self._clock()
        with self._counting:
            saved, self._saved = self._saved, {}
        for slot, count in saved.items():
            entry = self.view.at(slot)
            if entry is not None:
                self._do(partial(self._add_saved, entry, count), None)

    def _add_saved(self, entry: Entry, count: int, store: Store) -> None:
        current: Entry | None = entry
        expected: str | None = entry.to_json()
        while current is not None:
            counted = replace(current, saved=current.saved + count)
            actual = store.swap(entry.id, expected, counted.to_json())
            if actual == expected:
                self.view.put(counted)
                return
            expected, current = actual, None if actual is None else Entry.from_json(actual)

    # --- forks ---------------------------------------------------------------------------------

    def _renew_locks(self) -> None:
        self._io = threading.RLock()  # view and store: one thing at a time
        self._counting = threading.Lock()  # counts on the call path: never held over I/O

    def before_fork(self) -> None:
        """Before a fork: wait until no thread is inside, and keep them out."""
        self._io.acquire()

    def after_fork_in_parent(self) -> None:
        """After a fork, in the parent."""
        self._io.release()

    def after_fork_in_child(self) -> None:
        """After a fork, in the child: free locks, read the store anew, counts left to the parent."""
        self._renew_locks()
        self._unread = self._store.blocking
        self._saved = {}
