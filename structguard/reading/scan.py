"""
One left-to-right scan: every value in the text, strict where it is strict, repaired where not.

Marks count only outside of values. Each read goes on behind the value; a read that fails is taken
up one character on, within a budget of work that is a constant times the length.
Source: spec parse, steps 5 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from structguard.reading.beyond import runs_on
from structguard.reading.brackets import NEVER, Brackets
from structguard.reading.cursor import GiveUp
from structguard.reading.cut import cut_json
from structguard.reading.escaped import (
    ESCAPED,
    IN_VALUE,
    LITERAL,
    PLAIN_QUOTE,
    offset_of,
    unescaped,
)
from structguard.reading.found import Found
from structguard.reading.harmony import Region
from structguard.reading.lookahead import SPACE, SURPLUS, blank
from structguard.reading.marks import REASONING_CLOSE, Event, next_event
from structguard.reading.repair import Repaired, repair
from structguard.reading.strict import NotStrict, fault_of, strict
from structguard.reading.values import Candidate

# What may follow an opener: a bracket in a sentence or in code is passed at once.
_PLAUSIBLE = re.compile(
    rf"[{{\uff5b](?:[{SPACE}]|(?<=\n)>)*+(?:[}}\"'`{{,.\\/#<\uff5d\u201c\u201d\u2018\u2019\u201e\u00ab\u300c\uff02]"
    rf"|[^{SPACE}\[\](){{}}:\n][^{{}}\[\]\n]{{0,70}}[:\uff1a]|\Z)|[\[\uff3b](?!\(|\s*\{{\s*\[)"
)
_STRICT_START = re.compile(r'\{\s*+["}]|\[\s*+["\[{\]\-0-9tfn]')
_DATA_LANGUAGES: Final = frozenset(
    {"", "json", "json5", "jsonc", "jsonl", "ndjson", "js", "javascript", "yaml", "text", "txt",
     "output", "plaintext", "tool_call", "tool_code", "response"}
)  # fmt: skip
_FENCED_SCALAR = re.compile(
    rf'[{SPACE}]*("(?:[^"\\\n]|\\.)*+"|-?[0-9][-+.0-9eE]*|true|false|null)[{SPACE}]*`{{2,}}'
)
_PART: Final = 2000  # characters in which what follows a failed read may belong to it
_KEPT: Final = 200  # candidates of a scan, unless the caller asks for more
_TRIES_AT_CUT: Final = 3
_FAILURE: Final = 80  # what a failing read costs beside its length
_EFFORT: Final = 3  # times the length: what failing reads may cost together


@dataclass(slots=True)
class Scanner:
    """A scan of one answer. `known` are the schema's property names."""

    text: str
    known: frozenset[str]
    partial: bool
    refuse: Callable[[Candidate], str | None] = lambda _candidate: None
    most: Callable[[], int] = lambda: _KEPT  # asked only beyond that number
    found: Found = field(default_factory=Found)
    brackets: Brackets = field(init=False)
    last_doubled: int = field(init=False)  # where the last quote behind two backslashes stands
    spent: int = 0
    escaped: bool = False  # escapes were taken off once
    cut_tries: int = 0
    fence: str | None = None  # language of the open fence
    fence_end: int = -1  # where the fence's own line was opened

    def __post_init__(self) -> None:
        self.brackets = Brackets(self.text)
        self.last_doubled = self.text.rfind('\\\\"')

    def scan(self, region: Region) -> Found:
        """Collect the values of a region of the answer."""
        position = region.start
        while position < region.end and not self.found.over_budget:
            event = next_event(self.text, position, region.end)
            if event is None:
                break
            position = self._step(event, region)
            kept = len(self.found.candidates)
            if kept > _KEPT and kept > self.most():
                self.found.candidates[-1].part = True  # a list up to here would not be whole
                break
        return self.found

    def _step(self, event: Event, region: Region) -> int:
        match event.kind:
            case "opener":
                return self._read(event.start, region.end)
            case "fence":
                return self._fence(event, region)
            case "reasoning":
                self.found.reasoned = True
                closed = REASONING_CLOSE.search(self.text, event.end, region.end)
                return self._scalar_tail(closed.end(), region) if closed else region.end
            case "closer":
                self.found.reasoned = True
                for candidate in self.found.candidates:
                    self.found.fail(candidate.source, *candidate.span, "part of the reasoning")
                self.found.candidates.clear()
                return self._scalar_tail(event.end, region)
            case _:
                return event.end

    def _scalar_tail(self, start: int, region: Region) -> int:
        """A scalar that is all of what follows the reasoning."""
        text = self.text[start : min(region.end, start + 4400)].strip()
        if text and start + 4400 > region.end and text[0] in '"-0123456789tfn':
            try:
                value, warnings = strict(text)
            except NotStrict:
                return start
            begin = blank(self.text, start, region.end)
            self.found.candidates.append(
                Candidate(value, (begin, begin + len(text)), "embedded", warnings=warnings)
            )
        return start

    def _fence(self, event: Event, region: Region) -> int:
        if self.fence is not None and not event.language:
            self.fence = None
            return event.end
        self.fence, self.fence_end = event.language, event.end
        scalar = _FENCED_SCALAR.match(self.text, event.end, region.end)
        if scalar:
            try:
                value, _ = strict(scalar.group(1))
            except NotStrict:
                return event.end
            self.found.candidates.append(Candidate(value, scalar.span(1), "fenced", fenced=True))
            return scalar.end(1)
        return event.end

    def _read(self, start: int, end: int) -> int:
        """Read the value that begins at an opener; where to go on."""
        if not _PLAUSIBLE.match(self.text, start, end):
            return start + 1
        stop = self.brackets.end_of(start, end)
        if stop > 0 and self._strict(start, stop, end):
            return stop
        if self._spent_all():
            return start + 1  # strict values are still found
        if stop == NEVER and self._cut(start, end):
            return end
        return self._repair(start, end, max(stop, 0))

    def _strict(self, start: int, stop: int, end: int) -> bool:
        if self.text[start] == "{" and SURPLUS.match(self.text, stop, end):
            return False  # a closer too many: the object goes on
        if runs_on(self.text, start, stop, end):
            return False  # the bracket is text between unescaped quotes
        if not _STRICT_START.match(self.text, start):
            return False
        try:
            value, warnings = strict(self.text[start:stop])
        except NotStrict:
            self.spent += stop - start
            self.found.over_budget = self.spent > 4 * self._budget
            return False
        self._keep(Candidate(value, (start, stop), "embedded", warnings=warnings))
        return True

    def _cut(self, start: int, end: int) -> bool:
        """The value runs to the end of the text in strict JSON: only its end is missing."""
        if end != len(self.text) or self.cut_tries >= _TRIES_AT_CUT:
            return False
        if self.fence is not None and self.text.find("```", start) >= 0:
            return False  # the fence is closed: a string has lost its end
        self.cut_tries += 1
        piece = self.text[start:end]
        fault = fault_of(piece)
        if not fault.startswith("EOF"):
            return False
        try:
            value = cut_json(piece, fault, partial=self.partial)
        except NotStrict:
            return False
        self._keep(Candidate(value, (start, end), "truncated", complete=False))
        return True

    def _repair(self, start: int, end: int, balanced: int) -> int:
        escaped = ESCAPED.match(self.text, start, end) is not None
        if (escaped or self._in_literal(start, end)) and (
            stop := self._escaped(start, end, clean=not escaped)
        ):
            return stop
        try:
            found = repair(
                self.text,
                start,
                end,
                brackets=self.brackets,
                known=self.known,
                partial=self.partial,
            )
        except GiveUp as error:
            return self._failed(start, error, balanced or end)
        self.spent += found.cost
        self._keep_or_refuse(self._repaired(start, found))
        return max(found.end, start + 1)

    def _in_literal(self, start: int, end: int) -> bool:
        """Whether the value is the text of a string literal: its own quotes are escaped twice."""
        if self.escaped:
            return False
        quoted = self.text[max(0, start - 1) : start] == "'" and start < self.last_doubled
        return quoted or LITERAL.match(self.text, start, end) is not None

    def _escaped(self, start: int, end: int, *, clean: bool) -> int | None:
        """A value that is escaped once too often; `clean` asks for strict JSON underneath."""
        if self.escaped or IN_VALUE.search(self.text, max(0, start - 40), start):
            return None
        self.escaped = True
        plain, offsets = unescaped(self.text, start, end)
        try:
            found = repair(plain, 0, len(plain), known=self.known, partial=self.partial)
        except GiveUp:
            return None
        if clean and found.notes:
            return None
        stop = offset_of(offsets, found.end, start)
        if found.notes and PLAIN_QUOTE.search(self.text, start, stop):
            return None  # only some of its quotes are escaped
        candidate = self._repaired(start, found)
        candidate.span = (start, stop)
        notes = [(kind, offset_of(offsets, at, start)) for kind, at in found.notes]
        candidate.repairs = [("escaped quotes", start), *notes]
        self._keep(candidate)
        return stop

    def _repaired(self, start: int, found: Repaired) -> Candidate:
        return Candidate(
            found.value,
            (start, found.end),
            "repaired" if found.complete else "truncated",
            repairs=found.notes,
            complete=found.complete,
            guessed=found.guessed,
        )

    def _failed(self, start: int, error: GiveUp, balanced: int) -> int:
        self.found.fail("repaired", start, error.at, error.why)
        self.spent += error.cost + _FAILURE
        if error.why == "nested too deeply":
            if self.found.too_deep:
                self.found.over_budget = True
            self.found.too_deep = True
            return error.at
        if error.resume is not None:
            return max(error.resume, start + 1)
        if error.structured:
            self.found.broken = error.at
        if error.structured and not self.known:
            return balanced  # it was meant as JSON: a part of it is no answer
        if error.structured:
            return max(error.at, start + 1)
        return start + 1

    def _spent_all(self) -> bool:
        return self.spent > self._budget

    @property
    def _budget(self) -> int:
        return _EFFORT * len(self.text) + 10_000

    def _keep_or_refuse(self, candidate: Candidate) -> None:
        """Keep a repaired candidate, unless it cannot be the answer: prose holds many of those."""
        self._mark(candidate)
        why = self.refuse(candidate)
        if why is None:
            self.found.candidates.append(candidate)
        else:
            self.found.refused += 1
            self.spent += candidate.span[1] - candidate.span[0] + _FAILURE
            self.found.fail(candidate.source, *candidate.span, why)

    def _keep(self, candidate: Candidate) -> None:
        self._mark(candidate)
        self.found.candidates.append(candidate)

    def _is_part(self, start: int) -> bool:
        """Whether a value stands in one that could not be read, as far as that can be told."""
        broken = self.found.broken
        if not 0 <= broken < start <= broken + _PART:
            return False
        between = self.text[broken:start]
        return "\n\n" not in between and "```" not in between

    def _mark(self, candidate: Candidate) -> None:
        start = candidate.span[0]
        candidate.part = self._is_part(start)
        opened = self.text[self.fence_end : start] if self.fence is not None else "x"
        if not opened.strip() and self.fence in _DATA_LANGUAGES:
            candidate.fenced = True
            if candidate.source == "embedded":
                candidate.source = "fenced"
