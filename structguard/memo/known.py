"""What somebody knows beforehand and tells the memo: checked, and made an entry. Source: spec guard §3."""

from __future__ import annotations

from typing import TypedDict

from structguard.events import Verdict
from structguard.memo.entry import Entry, clean
from structguard.memo.keys import endpoint_id, provider_id
from structguard.memo.record import is_time
from structguard.types import Api, Flag, FormatKind, Scope


class Known(TypedDict, total=False):
    """What may be said of an endpoint and model; the defaults are those of `known_entry`."""

    format: FormatKind
    base_url: str
    api: Api
    verdict: Verdict
    scope: Scope
    flag: Flag | None  # with scope combination
    schema: str  # digest, with scope schema
    strict: bool | None
    routing: str
    evidence: str
    expiry: float | None  # seconds; None = never


def known_entry(
    provider: str,
    model: str,
    *,
    wall: float,
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
) -> Entry:
    """
    The entry of what is known; `wall` is now, in wall seconds. See `Memo.add`.

    Raises:
        ValueError: a base URL that is none, an empty name, a scope without what it needs, or an
            expiry that no calendar holds.
    """
    if not provider or not model:
        raise ValueError(f"pass a provider and a model, got {provider!r} and {model!r}")
    if "://" in provider:
        base_url, provider = base_url or provider, provider_id(provider)
    _check_scope(scope, flag, schema)
    if expiry is not None and not is_time(wall + expiry):  # no store would give it back
        raise ValueError(
            f"expiry must be a number of seconds, or None for no expiry, got {expiry!r}"
        )
    return Entry(
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
        evidence=clean(evidence),
        first_seen=wall,
        confirmed=wall,
        expires=None if expiry is None else wall + expiry,
    )


def _check_scope(scope: Scope, flag: Flag | None, schema: str) -> None:
    """
    Refuse a scope without what it needs.

    Raises:
        ValueError: a combination without a flag, a schema without a digest, or the reverse.
    """
    if (scope is Scope.COMBINATION) is not (flag is not None):
        raise ValueError("scope combination needs a flag, and a flag needs scope combination")
    if (scope is Scope.SCHEMA) is not bool(schema):
        raise ValueError("scope schema needs a schema digest, and a digest needs scope schema")
