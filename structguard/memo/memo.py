"""
The memo, as the rest of the house sees it: plain look-ups, blocking changes and their async twins.

Source: spec guard §3, DESIGN "One algorithm, several drivers".
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar, Unpack

from structguard.events import Observer, Verdict, ignore
from structguard.memo.entry import DEFAULT_EXPIRY, Entry, Jitter
from structguard.memo.forks import register
from structguard.memo.keys import Call, provider_id
from structguard.memo.known import Known, known_entry
from structguard.memo.local import Local
from structguard.memo.shared import SharedView
from structguard.memo.store import MemoryStore, Store
from structguard.service import Clock
from structguard.types import MemoKey, Refusal

MAX_ENTRIES = 10_000

T = TypeVar("T")


class Memo:
    """
    What endpoints are known to refuse, ignore or serve elsewhere.

    Thread-safe; no method raises because of its store. `clock` is monotonic seconds, `wall` wall
    seconds, `jitter` uniform in 0 ≤ x < 1. A context manager, sync and async; a closed memo opens
    its store again when it is asked something.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        observer: Observer = ignore,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
        jitter: Jitter = random.random,
        limit: int = MAX_ENTRIES,
    ) -> None:
        self._shared = SharedView(
            MemoryStore() if store is None else store,
            observer=observer,
            clock=clock,
            wall=wall,
            limit=limit,
        )
        self._view = self._shared.view
        self._local = Local(clock)
        self._wall = wall
        self._jitter = jitter
        register(self)

    def __repr__(self) -> str:
        return f"<Memo {self.name}>"

    # --- plain calls: no I/O -------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The URL it was opened by; `memory:` once its store has failed."""
        return self._shared.name

    def add_observer(self, observer: Observer, *, keep: bool = True) -> None:
        """
        Let one more observer hear of trouble with the store.

        `keep` False: only for as long as somebody else holds it.
        """
        self._shared.add_observer(observer, keep=keep)

    def look(self, call: Call, verdict: Verdict = "refused") -> Entry | None:
        """
        What is known about a call; `call.key` is only touched where an entry asks for more than its pair and place.

        An entry past its expiry is given too: ask `due`.
        """
        return self._view.find(call, verdict)

    def due(self, entry: Entry) -> bool:
        """Whether it has expired, so that one caller should try the format again."""
        return self._shared.due(entry)

    def stale(self) -> bool:
        """
        Whether `refresh` is needed: never read, others have written, or something waits to be.

        Cheap: one look at the store's stamp (a file's) a second at most.
        """
        return self._shared.stale()

    def draft(
        self,
        key: MemoKey,
        refusal: Refusal,
        *,
        status: int | None,
        expiry: float | None = DEFAULT_EXPIRY,
    ) -> Entry:
        """The entry to `remember` for a refusal that a second send has confirmed."""
        return Entry.of(
            key, refusal, status=status, wall=self._wall(), expiry=expiry, jitter=self._jitter
        )

    def draft_ignored(self, key: MemoKey, evidence: str = "") -> Entry:
        """The entry to `remember` for an endpoint that answers prose under an accepted format."""
        return Entry.ignored(key, wall=self._wall(), evidence=evidence, jitter=self._jitter)

    def note_saved(self, entry: Entry) -> None:
        """Count a request that the entry spared; written with the first look after a minute."""
        self._shared.count(entry)

    def pause(self, key: MemoKey) -> None:
        """No second send for this very key for 5 minutes: its retry met the same refusal."""
        self._local.pause(key)

    def paused(self, call: Call) -> bool:
        """Whether a pause holds for this very call."""
        return self._local.paused(call)

    def rescued_before(self, key: MemoKey) -> bool:
        """False the first time this process rescues a key, True from then on."""
        return self._local.rescued_before(key)

    def count_prose(self, key: MemoKey) -> int:
        """Prose answers in a row, this one included, under this endpoint's format."""
        return self._local.count_prose(key)

    def reset_prose(self, key: MemoKey) -> None:
        """An answer that was JSON: the row is broken."""
        self._local.reset_prose(key)

    # --- what may wait for the store -----------------------------------------------------------

    def refresh(self) -> None:
        """Read the store if it was never read or others have written, and write what waits."""
        self._shared.refresh()

    def remember(self, entry: Entry) -> bool:
        """
        Keep an entry: in the view at once, in the store when this returns.

        True only for the first writer over all threads and processes; False for everybody else and
        for the renewal of an expired entry.
        """
        return self._shared.keep(entry)

    def add(self, provider: str, model: str, **facts: Unpack[Known]) -> bool:
        """
        Keep what is known beforehand; True if nothing was known about it.

        `provider` is an id or the base URL itself, which is then both; for the rest see `Known`. An
        entry that is there already is replaced.

        Raises:
            ValueError: a base URL that is none, an empty name, a scope without what it needs, or an
                expiry that no calendar holds.
        """
        entry = known_entry(provider, model, wall=self._wall(), **facts)
        return self._shared.keep(entry, anyway=True)

    def forget(self, provider: str | None = None, model: str | None = None) -> int:
        """
        Forget a provider's, a model's or (neither given) all entries; how many there were.

        `provider` is an id or, as with `add`, the base URL.
        """
        names = {provider, provider and provider_id(provider)}  # an id may look like a URL
        for name in names:
            self._local.forget(name, model)
        return self._shared.drop(
            lambda entry: (
                (provider is None or entry.provider in names) and model in (None, entry.model)
            )
        )

    def clear(self, entry: Entry) -> None:
        """Forget one entry: the format was tried again and accepted."""
        self._shared.drop(lambda other: other.slot == entry.slot)

    def entries(self) -> list[Entry]:
        """Everything that is remembered now, with the counts of this process, in a fixed order."""
        return sorted(self._shared.entries(), key=lambda entry: entry.slot)

    def lease(self, entry: Entry, seconds: float) -> bool:
        """
        Whether this caller is the one, over all processes, who may try the format again.

        The lease lapses after `seconds` (at most 120) by itself, whatever the wall clock does, and
        ends when the entry is renewed or cleared.
        """
        return self._shared.lease(entry, seconds)

    def close(self) -> None:
        """Write the counts and let the store go."""
        self._shared.close()

    # --- the same, for async callers -----------------------------------------------------------

    async def arefresh(self) -> None:
        """`refresh`, off the event loop; of many callers at once one reads."""

        def read() -> bool:
            self.refresh()
            return True

        await self._off_loop(read, lambda: None if self.stale() else True)

    async def aremember(self, entry: Entry) -> bool:
        """`remember`, off the event loop; a cancellation waits until it is done."""
        return await self._off_loop(
            lambda: self.remember(entry), lambda: False if self._shared.knows(entry) else None
        )

    async def aforget(self, provider: str | None = None, model: str | None = None) -> int:
        """`forget`, off the event loop."""
        return await self._off_loop(lambda: self.forget(provider, model))

    async def aclear(self, entry: Entry) -> None:
        """`clear`, off the event loop."""
        await self._off_loop(lambda: self.clear(entry))

    async def alease(self, entry: Entry, seconds: float) -> bool:
        """`lease`, off the event loop; no thread when somebody is known to hold it."""
        if self._shared.held(entry):
            return False
        return await self._off_loop(
            lambda: self.lease(entry, seconds), lambda: False if self._shared.held(entry) else None
        )

    async def aentries(self) -> list[Entry]:
        """`entries`, off the event loop."""
        return await self._off_loop(self.entries)

    async def aclose(self) -> None:
        """`close`, off the event loop."""
        await self._off_loop(self.close)

    async def _off_loop(
        self, work: Callable[[], T], known: Callable[[], T | None] = lambda: None
    ) -> T:
        """`known` is asked when it is this caller's turn: what others did meanwhile may be enough."""
        if not self._shared.blocking:
            return work()
        import anyio  # noqa: PLC0415  sync callers never need it
        import anyio.to_thread  # noqa: PLC0415

        from structguard.memo.turns import turn  # noqa: PLC0415

        with anyio.CancelScope(shield=True):
            async with turn(self):
                answer = known()
                if answer is not None:
                    return answer
                # Its own limiter: a shielded wait must not queue behind the application's threads.
                return await anyio.to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))
        raise AssertionError  # pragma: no cover  a shielded scope swallows nothing

    # --- context manager, and what `forks` asks ------------------------------------------------

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

    def before_fork(self) -> None:
        """Before a fork: wait until no thread is inside the store, and keep them out."""
        self._shared.before_fork()

    def after_fork_in_parent(self) -> None:
        """After a fork, in the parent."""
        self._shared.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """After a fork, in the child: free locks, and a store that is read anew."""
        self._local.renew_lock()
        self._shared.after_fork_in_child()
