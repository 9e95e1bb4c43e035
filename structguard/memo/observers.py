"""
Who hears of trouble with a store.

A memo that many open lives longer than most of them: it keeps no guard's observer alive.
Source: spec guard §3.
"""

from __future__ import annotations

import logging
import weakref

from structguard.events import MemoTrouble, Observer

_log = logging.getLogger("structguard")


class Observers:
    """Those that are kept, and those that live for as long as somebody else holds them."""

    def __init__(self, own: Observer) -> None:
        self._kept = [own]
        self._others: list[weakref.ref[Observer]] = []

    def add(self, observer: Observer, *, keep: bool) -> None:
        """Let one more hear of trouble; one that is there already changes nothing."""
        if keep:
            if observer not in self._kept:
                self._kept.append(observer)
            return
        live = [
            ref for ref in self._others if (there := ref()) is not None and there is not observer
        ]
        self._others = [*live, weakref.ref(observer)]  # an equal one may be another guard's

    def tell(self, trouble: MemoTrouble) -> None:
        """Tell each once; what one raises is logged: a memo's failure fails no call."""
        told: list[Observer] = []
        for observer in (*self._kept, *(ref() for ref in self._others)):
            if observer is None or observer in told:
                continue
            told.append(observer)
            try:
                observer(trouble)
            except Exception:  # noqa: BLE001  told, not hidden
                _log.exception("an observer failed on %s", type(trouble).__name__)
