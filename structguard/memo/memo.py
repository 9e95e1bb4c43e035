"""
The memo: a view in this process in front of a store that others share.

Look-ups are plain calls on the view. Everything that may wait for a disk or a network is a blocking
method with an async twin, which runs it in a worker thread and is not cut short by cancellation. A
store that fails never fails a call: one MemoTrouble, and memory from then on.
Source: spec guard §3, DESIGN "One algorithm, several drivers".
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from structguard.events import MemoTrouble, Observer, Verdict, ignore
from structguard.memo.entry import MAX_EVIDENCE, Entry, Slot
from structguard.memo.forks import watch
from structguard.memo.keys import Call, endpoint_id
from structguard.memo.local import Local
from structguard.memo.store import MemoryStore, Store, StoreFailure
from structguard.memo.view import View
from structguard.service import Clock
from structguard.types import Api, Flag, FormatKind, MemoKey, Refusal, Scope

MAX_ENTRIES = 10_000
MAX_SCHEMAS = 32  # digests a pair
LOOK_EVERY = 1.0  # seconds between two looks at whether others have written
SAVE_EVERY = 60.0  # seconds between two writes of the counts of spared requests
FUTURE = 300.0  # seconds; an entry confirmed later than that in the future is due (clock set back)

T = TypeVar("T")


class Memo:
    """
    What endpoints are known to refuse, ignore or serve elsewhere.

    Thread-safe. `clock` is monotonic seconds, `wall` wall seconds. Usable as a context manager, sync
    and async; a closed memo opens its store again when it is asked something.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        observer: Observer = ignore,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
        limit: int = MAX_ENTRIES,
    ) -> None:
        self._store: Store = MemoryStore() if store is None else store
        self._observers: list[Observer] = [observer]
        self._clock = clock
        self._wall = wall
        self._view = View(limit=limit, schemas=MAX_SCHEMAS)
        self._local = Local(clock)
        self._unread = self._store.blocking
        self._stamp: object = None
        self._looked = clock()
        self._flushed = clock()
        self._dirty = False
        self._saved: dict[Slot, int] = {}  # spared requests that the store does not know of yet
        self._leased: dict[Slot, float] = {}  # somebody's lease, until this monotonic second
        self._unsaved: dict[Slot, Entry] = {}  # what the store was too busy to take
        self._told: set[str] = set()
        self.renew_locks()
        watch(self)

    # --- plain calls on the view: no I/O -------------------------------------------------------

    @property
    def name(self) -> str:
        """What it was opened as; `memory:` once its store has failed."""
        return self._store.name

    def look(self, call: Call, verdict: Verdict = "refused") -> Entry | None:
        """
        What is known about a call; `call.key` is not touched when its pair has no entries.

        An entry past its expiry is given too: ask `due`.
        """
        return self._view.find(call, verdict)

    def due(self, entry: Entry) -> bool:
        """Whether it has expired, so that one caller should try the format again."""
        if entry.expires is None:
            return False
        now = self._wall()
        return now >= entry.expires or now < entry.confirmed - FUTURE

    def stale(self) -> bool:
        """
        Whether `refresh` is needed: never read, others have written, or counts wait to be written.

        Cheap: at most one look at the store's stamp a second.
        """
        if not self._store.blocking:
            return False
        if self._unread or self._dirty:
            return True
        now = self._clock()
        if now - self._looked < LOOK_EVERY:
            return False
        self._looked = now
        self._dirty = (
            self._store.stamp() != self._stamp or bool(self._unsaved) or self._flush_due(now)
        )
        return self._dirty

    def note_saved(self, entry: Entry) -> None:
        """Count a request that the entry spared; written with the next look after a minute."""
        with self._lock:
            self._saved[entry.slot] = self._saved.get(entry.slot, 0) + 1

    def draft(
        self, key: MemoKey, refusal: Refusal, *, status: int | None, expiry: float | None
    ) -> Entry:
        """The entry of a refusal that was just rescued, by this memo's wall clock; not yet kept."""
        return Entry.of(key, refusal, status=status, wall=self._wall(), expiry=expiry)

    def draft_ignored(self, key: MemoKey) -> Entry:
        """The entry of a format that is accepted and does nothing; not yet kept."""
        return Entry.ignored(key, wall=self._wall())

    def pause(self, key: MemoKey) -> None:
        """No second send for this very key for 5 minutes: its retry met the same refusal."""
        with self._lock:
            self._local.pause(key)

    def paused(self, call: Call) -> bool:
        """Whether a pause holds for this very call."""
        with self._lock:
            return self._local.paused(call)

    def rescued_before(self, key: MemoKey) -> bool:
        """False the first time this process rescues a key, True from then on."""
        with self._lock:
            return self._local.rescued_before(key)

    def count_prose(self, key: MemoKey) -> int:
        """Prose answers in a row, this one included, under this endpoint's format."""
        with self._lock:
            return self._local.count_prose(key)

    def reset_prose(self, key: MemoKey) -> None:
        """An answer that was JSON: the row is broken."""
        with self._lock:
            self._local.reset_prose(key)

    def tell(self, observer: Observer) -> None:
        """Let one more observer hear of trouble with the store."""
        if observer not in self._observers:
            self._observers.append(observer)

    # --- what may wait for the store -----------------------------------------------------------

    def refresh(self) -> None:
        """Read the store if it was never read or others have written, and write what waits."""
        with self._io:
            self._refresh()

    def remember(self, entry: Entry) -> bool:
        """
        Keep an entry: in the view at once, in the store when this returns.

        True only for the first writer over all threads and processes; False for everybody else and
        for the renewal of an expired entry.
        """
        with self._io:
            self._read_once()
            known = self._view.at(entry.slot)
            if known is not None and not self.due(known):
                return False
            return self._keep(entry, self.due)

    def add(
        self,
        provider: str,
        model: str,
        *,
        format: FormatKind = "json_schema",  # noqa: A002  the field's word
        base_url: str = "",
        api: Api = "chat",
        verdict: Verdict = "refused",
        scope: Scope = Scope.CAPABILITY,
        flag: Flag | None = None,
        schema: str = "",
        strict: bool | None = None,
        routing: str = "",
        evidence: str = "added by hand",
        expiry: float | None = None,
    ) -> bool:
        """
        Keep what is known beforehand; True if nothing was known about it.

        `provider` is an id or the base URL itself, which is then both; `expiry` in seconds, None =
        never. An entry that is there already is replaced.

        Raises:
            ValueError: a base URL that is none, or a scope without what it needs.
        """
        if "://" in provider:
            base_url = base_url or provider
            provider = endpoint_id(provider)
        if (scope is Scope.COMBINATION) is not (flag is not None):
            raise ValueError("scope combination needs a flag, and a flag needs scope combination")
        if (scope is Scope.SCHEMA) is not bool(schema):
            raise ValueError("scope schema needs a schema digest, and a digest needs scope schema")
        now = self._wall()
        entry = Entry(
            verdict=verdict,
            provider=provider,
            model=model,
            base_url=endpoint_id(base_url) if base_url else "",
            api=api,
            format=None if verdict == "use_api" else format,
            routing=routing,
            scope=scope,
            flag=flag,
            schema=schema,
            strict=strict,
            rule="added",
            feature="response_format",
            evidence=evidence[:MAX_EVIDENCE],
            first_seen=now,
            confirmed=now,
            expires=None if expiry is None else now + expiry,
        )
        with self._io:
            self._read_once()
            return self._keep(entry, lambda _old: True)

    def forget(self, provider: str | None = None, model: str | None = None) -> int:
        """Forget a provider's, a model's or (neither given) all entries; how many there were."""
        with self._io:
            self._refresh()
            gone = [
                entry
                for entry in self._view
                if provider in (None, entry.provider) and model in (None, entry.model)
            ]
            with self._lock:
                self._local.forget(provider, model)
            self._drop(gone)
            return len(gone)

    def clear(self, entry: Entry) -> None:
        """Forget one entry: the format was tried again and accepted."""
        with self._io:
            self._drop([entry])

    def entries(self) -> list[Entry]:
        """Everything that is remembered now, with the counts of this process."""
        with self._io:
            self._refresh()
            known = [
                replace(entry, saved=entry.saved + self._saved.get(entry.slot, 0))
                for entry in self._view
            ]
        return sorted(known, key=lambda entry: entry.slot)

    def lease(self, entry: Entry, seconds: float) -> bool:
        """
        Whether this caller is the one, over all processes, who may try the format again.

        The lease lapses after `seconds` (at most 120) by itself; it ends when the entry is renewed
        or cleared.
        """
        with self._io:
            if self._held_elsewhere(entry):
                return False
            now = self._wall()
            left = self._do(lambda store: store.lease(entry.id, seconds, now), 0.0)
            with self._lock:
                self._leased[entry.slot] = self._clock() + (left or seconds)
            return left == 0.0

    def close(self) -> None:
        """Write the counts and let the store go."""
        with self._io:
            self._flush()
            self._do(lambda store: store.close(), None)

    # --- the same, for async callers -----------------------------------------------------------

    async def arefresh(self) -> None:
        """`refresh`, off the event loop."""
        await self._off_loop(self.refresh)

    async def aremember(self, entry: Entry) -> bool:
        """`remember`, off the event loop; a cancellation waits until it is done."""
        return await self._off_loop(lambda: self.remember(entry))

    async def aforget(self, provider: str | None = None, model: str | None = None) -> int:
        """`forget`, off the event loop."""
        return await self._off_loop(lambda: self.forget(provider, model))

    async def aclear(self, entry: Entry) -> None:
        """`clear`, off the event loop."""
        await self._off_loop(lambda: self.clear(entry))

    async def alease(self, entry: Entry, seconds: float) -> bool:
        """`lease`, off the event loop; no thread when somebody is known to hold it."""
        if self._held_elsewhere(entry):
            return False
        return await self._off_loop(lambda: self.lease(entry, seconds))

    async def aentries(self) -> list[Entry]:
        """`entries`, off the event loop."""
        return await self._off_loop(self.entries)

    async def aclose(self) -> None:
        """`close`, off the event loop."""
        await self._off_loop(self.close)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        if not self._store.blocking:
            return work()
        import anyio  # noqa: PLC0415  sync callers never need it
        import anyio.to_thread  # noqa: PLC0415

        # Its own limiter: a shielded wait must not queue behind the application's threads.
        with anyio.CancelScope(shield=True):
            return await anyio.to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))
        raise AssertionError  # pragma: no cover  a shielded scope swallows nothing

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    # --- inside: the caller holds self._io -----------------------------------------------------

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
        if failure.lasting:
            self._store = MemoryStore({entry.id: entry.to_json() for entry in self._view})
            self._unread = self._dirty = False
            self._unsaved.clear()
        if failure.reason in self._told:
            return
        self._told.add(failure.reason)
        for observer in self._observers:
            observer(
                MemoTrouble(
                    store=name,
                    reason=failure.reason,
                    moved_to=failure.moved_to,
                    benign=failure.benign,
                )
            )

    def _read_once(self) -> None:
        if self._unread:
            self._refresh()

    def _refresh(self) -> None:
        """Read if anything may have changed; then write what waits."""
        self._looked = self._clock()
        stamp = self._do(lambda store: store.stamp(), self._stamp)  # before the read: see all later
        if self._unread or stamp != self._stamp:
            texts = self._do(lambda store: store.read(), None)
            if texts is not None and self._store.blocking:
                self._take(texts, stamp)
        self._unread = self._dirty = False
        for entry in tuple(self._unsaved.values()):
            del self._unsaved[entry.slot]
            self._keep(entry, self.due)
        if self._flush_due(self._looked):
            self._flush()

    def _take(self, texts: Mapping[str, str], stamp: object) -> None:
        entries = (Entry.from_json(text) for text in texts.values())
        gone = self._view.fill(
            [*(entry for entry in entries if entry is not None), *self._unsaved.values()]
        )
        self._stamp = stamp
        with self._lock:
            self._saved = {slot: n for slot, n in self._saved.items() if self._view.at(slot)}
            self._leased = {slot: t for slot, t in self._leased.items() if self._view.at(slot)}
        self._drop(gone)

    def _keep(self, entry: Entry, replaceable: Callable[[Entry], bool]) -> bool:
        """Put an entry into view and store, unless the store has one that is not replaceable."""
        before = self._view.at(entry.slot)
        gone = self._view.put(entry if before is None else before.renewed(entry))
        with self._lock:
            self._leased.pop(entry.slot, None)
        try:
            first, kept = self._claim(entry, replaceable)
        except StoreFailure as failure:
            self._fail(failure)
            if not failure.lasting:
                self._unsaved[entry.slot] = entry
            return before is None
        self._view.put(kept)
        self._drop(gone)
        return first

    def _claim(self, entry: Entry, replaceable: Callable[[Entry], bool]) -> tuple[bool, Entry]:
        """Whether we were first, and what the store holds now."""
        found: str | None = None
        while True:
            current = None if found is None else Entry.from_json(found)
            if current is not None and not replaceable(current):
                return False, current
            kept = entry if current is None else current.renewed(entry)
            seen = self._store.swap(entry.id, found, kept.to_json())
            if seen == found:
                return current is None, kept
            found = seen

    def _drop(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        with self._lock:
            for entry in entries:
                self._view.drop(entry.slot)
                for kept in (self._saved, self._leased, self._unsaved):
                    kept.pop(entry.slot, None)
        self._do(lambda store: store.drop([entry.id for entry in entries]), 0)

    def _held_elsewhere(self, entry: Entry) -> bool:
        until = self._leased.get(entry.slot)
        return until is not None and self._clock() < until

    def _flush_due(self, now: float) -> bool:
        return bool(self._saved) and now - self._flushed >= SAVE_EVERY

    def _flush(self) -> None:
        """Add the counts to the entries in the store, whoever wrote them last."""
        self._flushed = self._clock()
        with self._lock:
            saved, self._saved = self._saved, {}
        for slot, count in saved.items():
            entry = self._view.at(slot)
            if entry is not None:
                self._do(partial(self._add_saved, entry, count), None)

    def _add_saved(self, entry: Entry, count: int, store: Store) -> None:
        current: Entry | None = entry
        found: str | None = entry.to_json()
        while current is not None:
            counted = replace(current, saved=current.saved + count)
            seen = store.swap(entry.id, found, counted.to_json())
            if seen == found:
                self._view.put(counted)
                return
            found, current = seen, None if seen is None else Entry.from_json(seen)

    # --- inside: forks -------------------------------------------------------------------------

    def renew_locks(self) -> None:
        """New locks, held by nobody."""
        self._io = threading.RLock()  # view and store: one question at a time
        self._lock = threading.Lock()  # what is counted on the call path: never held over I/O

    def rest(self) -> None:
        """Before a fork: wait until no thread is inside, and keep them out."""
        self._io.acquire()
        self._lock.acquire()

    def resume(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()
        self._io.release()

    def reborn(self) -> None:
        """After a fork, in the child: nothing of the parent's, read the store anew."""
        self.renew_locks()
        self._unread = self._store.blocking
        self._saved = {}
