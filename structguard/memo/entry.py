"""
One thing the memo knows, what it applies to and until when; its JSON text.

Source: spec guard §2 (scopes) and §3 (Entry).
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias, get_args

from structguard.errors import redact
from structguard.events import RefusalSkipped, Verdict
from structguard.memo.record import MAX_EVIDENCE, VERSION, is_entry
from structguard.types import Api, Flag, FormatKind, MemoKey, Refusal, Scope, as_mapping, cached

DEFAULT_EXPIRY = 86400.0  # seconds
UNNAMED_EXPIRY = 300.0  # seconds: an error that says nothing is weak evidence
IGNORED_EXPIRY = 3600.0  # seconds
JITTER = 0.1  # share of the expiry, either way: many entries must not fall due at once

Jitter: TypeAlias = Callable[[], float]  # uniform in 0 ≤ x < 1
Slot: TypeAlias = tuple[str, ...]

_NAMES_STRICT = re.compile(r"\bstrict\b", re.IGNORECASE)


def ends(wall: float, expiry: float | None, jitter: Jitter) -> float | None:
    """The wall second at which `expiry` seconds, moved by up to ± 10 %, are over."""
    if expiry is None:
        return None
    return wall + expiry * (1.0 - JITTER + 2.0 * JITTER * jitter())


@dataclass(frozen=True, kw_only=True)  # no slots: what every hit asks for is kept beside
class Entry:
    """
    What is known of one endpoint and model.

    `verdict` refused: send without the format; ignored: the format is accepted and does nothing;
    use_api: the model is served on the wire API `api`. `flag`, `schema` and `strict` narrow it to
    the calls that carry them. `first_seen`, `confirmed` and `expires` are wall seconds; `expires`
    None = never. `saved` counts the refused requests it spared.
    """

    verdict: Verdict
    provider: str
    model: str
    base_url: str = ""
    api: Api = "chat"
    format: FormatKind | None = None  # None with use_api only
    routing: str = ""
    scope: Scope = Scope.CAPABILITY
    flag: Flag | None = None  # with scope combination
    schema: str = ""  # digest, with scope schema
    strict: bool | None = None  # None: whatever the call says
    rule: str = ""
    feature: str = ""
    evidence: str = ""
    status: int | None = None
    first_seen: float = 0.0
    confirmed: float = 0.0
    saved: int = 0
    expires: float | None = None
    version: int = VERSION

    @classmethod
    def of(
        cls,
        key: MemoKey,
        refusal: Refusal,
        *,
        status: int | None,
        wall: float,
        expiry: float | None = DEFAULT_EXPIRY,
        jitter: Jitter = random.random,
    ) -> Entry:
        """
        The entry of a refusal that a second send has confirmed.

        `expiry` is in seconds (None = never) and is spread by ± 10 %; a refusal that names nothing
        lives 5 minutes at most. The scope decides which qualifiers the entry keeps.
        """
        if refusal.scope is Scope.UNNAMED:
            expiry = UNNAMED_EXPIRY if expiry is None else min(expiry, UNNAMED_EXPIRY)
        return cls(
            verdict="refused",
            provider=key.provider,
            model=key.model,
            base_url=key.base_url,
            api=key.api,
            format=key.format,
            routing=key.routing,
            scope=refusal.scope,
            flag=_flag(key, refusal) if refusal.scope is Scope.COMBINATION else None,
            schema=key.schema if refusal.scope is Scope.SCHEMA else "",
            strict=bool(key.strict) if _NAMES_STRICT.search(refusal.evidence) else None,
            rule=refusal.rule,
            feature=refusal.feature,
            evidence=clean(refusal.evidence),
            status=status,
            first_seen=wall,
            confirmed=wall,
            expires=ends(wall, expiry, jitter),
        )

    @classmethod
    def ignored(
        cls,
        key: MemoKey,
        *,
        wall: float,
        evidence: str = "",
        expiry: float | None = IGNORED_EXPIRY,
        jitter: Jitter = random.random,
    ) -> Entry:
        """An endpoint that accepts the format and answers prose; kept for an hour by default."""
        return cls(
            verdict="ignored",
            provider=key.provider,
            model=key.model,
            base_url=key.base_url,
            api=key.api,
            format=key.format,
            routing=key.routing,
            rule="prose",
            feature="response_format",
            evidence=clean(evidence),
            status=200,
            first_seen=wall,
            confirmed=wall,
            expires=ends(wall, expiry, jitter),
        )

    @classmethod
    def use_api(
        cls,
        provider: str,
        model: str,
        base_url: str,
        api: Api,
        evidence: str,
        *,
        wall: float,
        status: int | None = None,
        expiry: float | None = DEFAULT_EXPIRY,
        jitter: Jitter = random.random,
    ) -> Entry:
        """A model that is served on the wire API `api`, whichever one was asked first."""
        return cls(
            verdict="use_api",
            provider=provider,
            model=model,
            base_url=base_url,
            api=api,
            rule="wrong_api",
            feature="api",
            evidence=clean(evidence),
            status=status,
            first_seen=wall,
            confirmed=wall,
            expires=ends(wall, expiry, jitter),
        )

    @property
    def pair(self) -> tuple[str, str]:
        """The first level of every look-up."""
        return (self.provider, self.model)

    @property
    def qualifier(self) -> str:
        """What the scope adds to the look-up: a flag, a schema digest, or nothing."""
        if self.scope is Scope.COMBINATION:
            return self.flag or "unknown"  # which no call carries
        return self.schema

    @cached
    def slot(self) -> Slot:
        """What it applies to: two entries with one slot are one entry, seen twice."""
        if self.verdict == "use_api":
            return (self.verdict, self.provider, self.model, self.base_url)
        return (
            self.verdict,
            self.provider,
            self.model,
            self.base_url,
            self.api,
            self.format or "",
            self.routing,
            self.qualifier,
            str(self.strict),
        )

    @property
    def id(self) -> str:
        """32 hex characters that name the slot."""
        return hashlib.sha256(json.dumps(self.slot).encode()).hexdigest()[:32]

    def matches(self, key: MemoKey) -> bool:
        """Whether it says something about a call with this key."""
        if self.pair != key.pair or self.base_url != key.base_url:
            return False
        if self.verdict == "use_api":
            return True
        if (self.api, self.format, self.routing) != (key.api, key.format, key.routing):
            return False
        if self.strict is not None and self.strict is not bool(key.strict):
            return False
        if self.scope is Scope.SCHEMA:
            return self.schema == key.schema
        return self.scope is not Scope.COMBINATION or self.flag in key.flags

    @cached
    def refusal(self) -> Refusal:
        """The verdict it was made from."""
        return Refusal(self.scope, self.rule, self.feature, self.evidence, self.flag)

    @cached
    def skipped(self) -> RefusalSkipped:
        """The event of a refused request that it spared, the same each time."""
        assert self.format is not None  # noqa: S101  only `use_api` names none
        return RefusalSkipped(
            provider=self.provider, model=self.model, format=self.format, refusal=self.refusal
        )

    def renewed(self, by: Entry) -> Entry:
        """The newer entry of the same slot, with this one's history."""
        return replace(by, first_seen=min(self.first_seen, by.first_seen), saved=self.saved)

    def to_json(self) -> str:
        """Its JSON text; `from_json` gives an equal entry."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Entry | None:
        """The entry in a JSON text; None for another version or anything that is not an entry."""
        try:
            loaded: object = json.loads(text)
        except (ValueError, RecursionError):
            return None
        fields = as_mapping(loaded)
        if fields is None or not is_entry(fields):
            return None
        return cls(**{**fields, "scope": Scope(str(fields["scope"]))})  # type: ignore[arg-type]


def _flag(key: MemoKey, refusal: Refusal) -> Flag | None:
    """The flag that caused it; where the evidence names none, the first that the call carried."""
    if refusal.flag is not None:
        return refusal.flag
    return next((flag for flag in get_args(Flag) if flag in key.flags), None)


def clean(evidence: str) -> str:
    """The evidence as it may be kept: secrets masked, at most 200 characters."""
    return redact(evidence)[:MAX_EVIDENCE]
