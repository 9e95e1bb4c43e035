"""
The table of rules, as data: each row has a name, a scope and a test over one sentence.

A new vendor's wording is a word in `words` or a row here, never an `if` in the judge. The rows are
tried in order and the first that holds names the sentence. docs/refusals.md explains every name.
Source: spec guard §1.4 to §1.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from structguard.refusal.features import FEATURES
from structguard.refusal.places import Place
from structguard.refusal.schema_words import (
    COMPLAINT,
    CONTEXT,
    KEYWORD,
    PART,
    QUOTED_KEYWORD,
    SCHEMA_COMPILE,
    SCHEMA_INVALID,
    SCHEMA_SIZE,
    SCHEMA_WORD,
)
from structguard.refusal.text import Words, plain, spaced
from structguard.refusal.words import (
    ENGINE,
    OTHERS,
    STARTUP,
    TOGETHER,
    UNKNOWN,
    UNSUPPORTED,
    WITHHELD,
)
from structguard.types import FormatKind, Scope, cached


@dataclass(frozen=True)
class Sentence:
    """One sentence with what the rules ask about it, computed when asked."""

    raw: str
    place: Place
    sent: FormatKind
    first: bool = True  # of its line: only that one is refused by its location alone

    @cached
    def plain(self) -> str:
        """As `plain`, with short JSON blobs blanked out: a schema printed back proves nothing."""
        return plain(self.raw)

    @cached
    def bare(self) -> str:
        """Plain text without blobs: what the schema rules read."""
        return without_blobs(self.plain)

    @cached
    def spaced(self) -> str:
        """Plain text with underscores as blanks: what the feature and verb rules read."""
        return spaced(_NAMED.sub(r"\1\2 '…'", self.plain))

    @cached
    def feature(self) -> str | None:
        """The first feature the sentence names."""
        return feature_in(self.spaced)

    @cached
    def at_the_format(self) -> str:
        """What is said at the format's own place and names no format itself; else nothing."""
        if self.feature is None:
            return self.bare if self.place is Place.FORMAT else ""
        head, _, rest = self.bare.partition(": ")
        if feature_in(spaced(rest)) or not feature_in(spaced(head)) or UNSUPPORTED.search(head):
            return ""
        return rest

    @cached
    def about_schema(self) -> bool:
        """Whether schema rules apply: a schema was sent, and the sentence is about no tool's."""
        return self.sent == "json_schema"


def feature_in(spaced: str) -> str | None:
    """The first feature named in spaced text."""
    return next((name for name, pattern in FEATURES if pattern.search(spaced)), None)


_NAMED = re.compile(  # what is called by its name: the name names no feature
    r"\b(?:(model|deployment):? (?:'[^']{1,100}'|[\w.@:-]{0,60}[\d/][\w./@:-]{0,60})"
    r"|(tool|function):? '[^']{1,100}')"
)
_BLOB = re.compile(r"\{[^{}]*+\}")


def without_blobs(text: str) -> str:
    """Text with `{…: …}` blanked, three levels deep; a set of names stays."""
    for _ in range(3):
        text = _BLOB.sub(
            lambda blob: "…" if ":" in blob.group() or blob.group() == "{…}" else blob.group(), text
        )
    return text


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. `explicit` rows also count where only an explicit sentence may (405)."""

    name: str
    scope: Scope
    holds: Callable[[Sentence], bool]
    explicit: bool = False
    wordless: bool = False  # read from a path alone: a list of format types outweighs it
    one_vendor: str = ""  # why the row stays although one vendor's bodies alone need it


def _verb(pattern: Words) -> Callable[[Sentence], bool]:
    def holds(sentence: Sentence) -> bool:
        if sentence.feature is None:
            return False
        match = pattern.search(sentence.spaced)
        return match is not None and not _of_another(sentence.spaced, match)

    return holds


_ASIDE = re.compile(r": |; |[()\[\]|]| [\u2013\u2014-] ")  # what parts a clause from its neighbours


def _of_another(text: str, verb: re.Match[str]) -> bool:
    """Whether the clause of a verb names another part of the request, and only others the format."""
    start = max((aside.end() for aside in _ASIDE.finditer(text, 0, verb.start())), default=0)
    end = _ASIDE.search(text, verb.end())
    clause = text[start : end.start() if end else len(text)]
    return OTHERS.search(clause) is not None and feature_in(clause) is None


def _schema(*patterns: Words) -> Callable[[Sentence], bool]:
    def holds(sentence: Sentence) -> bool:
        return sentence.about_schema and any(pattern.search(sentence.bare) for pattern in patterns)

    return holds


def _engine(sentence: Sentence) -> bool:
    if sentence.feature is None and "grammar" not in sentence.plain:
        return False
    if ENGINE.search(sentence.spaced):
        return True
    # An engine that starts with our grammar and stumbles over it is there: the schema is at fault.
    ours = sentence.about_schema and any(
        words.search(sentence.bare) for words in (SCHEMA_COMPILE, SCHEMA_INVALID)
    )
    return not ours and STARTUP.search(sentence.spaced) is not None


def _keyword(sentence: Sentence) -> bool:
    if not sentence.about_schema:
        return False
    named = bool(KEYWORD.search(sentence.bare) or CONTEXT.search(sentence.bare))
    if not named and QUOTED_KEYWORD.search(sentence.bare):
        named = sentence.place is Place.FORMAT or bool(SCHEMA_WORD.search(sentence.bare))
    if not named:
        told = sentence.at_the_format
        named = bool(PART.search(told) or QUOTED_KEYWORD.search(told))
    return named and COMPLAINT.search(sentence.bare) is not None


def _schema_place(sentence: Sentence) -> bool:
    return sentence.about_schema and sentence.place is Place.SCHEMA


def _format_place(sentence: Sentence) -> bool:
    return sentence.first and sentence.place in {Place.FORMAT, Place.SCHEMA}


RULES: tuple[Rule, ...] = (
    Rule("engine_missing", Scope.CAPABILITY, _engine),
    Rule("schema_too_large", Scope.SCHEMA, _schema(SCHEMA_SIZE)),
    Rule("schema_keyword", Scope.SCHEMA, _keyword),
    Rule(
        "schema_invalid",
        Scope.SCHEMA,
        _schema(SCHEMA_INVALID),
        one_vendor="the others in the table also name a keyword, which the row above claims",
    ),
    Rule(
        "schema_not_compilable",
        Scope.SCHEMA,
        _schema(SCHEMA_COMPILE),
        one_vendor="grammar back-ends of local servers say it; one of them is in the table",
    ),
    Rule(
        "schema_location",
        Scope.SCHEMA,
        _schema_place,
        wordless=True,
        one_vendor="a path decides whatever is said; the others also name a keyword",
    ),
    Rule("not_supported", Scope.CAPABILITY, _verb(UNSUPPORTED), explicit=True),
    Rule("not_together", Scope.CAPABILITY, _verb(TOGETHER)),
    Rule("unknown_field", Scope.CAPABILITY, _verb(UNKNOWN)),
    Rule("withheld", Scope.CAPABILITY, _verb(WITHHELD)),
    Rule("format_location", Scope.CAPABILITY, _format_place),
)
"""Tried in order on every sentence that no exclusion claims."""

OTHER_RULES: tuple[Rule, ...] = (
    Rule("list_without_ours", Scope.CAPABILITY, lambda _: False),
    Rule(
        "no_route",
        Scope.CAPABILITY,
        lambda _: False,
        one_vendor="only routers drop endpoints by parameters",
    ),
    Rule("unnamed", Scope.UNNAMED, lambda _: False),
)
"""Names given by the whole body, not by a sentence: see `lists`, `routing` and the judge."""


def rule_for(sentence: Sentence) -> Rule | None:
    """The first row that holds for the sentence."""
    return next((rule for rule in RULES if rule.holds(sentence)), None)
