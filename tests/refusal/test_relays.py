"""
What wraps an error does not change what it says: every body of the tables, in eight envelopes.

The forms are those of routers, relays and SDKs that hand an upstream's error on as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from structguard.types import as_mapping
from tests.refusal.corpus import Row, reported, rows, written
from tests.refusal.test_reported import judged

BODIES = [
    row
    for row in (*rows(), *reported(), *written())
    if row.asked and row.fair and row.status in {400, 422}
]
TWICE = {
    *("openrouter-cerebras-tools-incompatible", "dotnet"),
    "lacks-dotnet-title-one-more-validation",
}
"""Bodies in whose Python repr the quotes of three languages meet, or a path is a key."""


def error(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


def whole(body: str) -> dict[str, object]:
    """The body as an object, where it is one."""
    try:
        return dict(as_mapping(json.loads(body)) or {"detail": body})
    except ValueError:
        return {"detail": body}


ENVELOPES: dict[str, Callable[[str], str]] = {
    "a router's metadata": lambda body: error(
        "Provider returned error", code=400, metadata={"raw": body, "provider_name": "X"}
    ),
    "a proxy's sentence": lambda body: error(
        f"litellm.BadRequestError: OpenAIException - {body}. Received Model Group=m", code="400"
    ),
    "a relay's id behind it": lambda body: error(
        f"{body} (request id: 20260101)", type="upstream_error", param="400"
    ),
    "a detail": lambda body: json.dumps({"detail": body}),
    "an event": lambda body: f"data: {json.dumps(whole(body))}\n\n",
    "a stack trace": lambda body: error(
        f"Error from provider(x,m: 400): {body}\n    at nt (/a.js)"
    ),
    "an object in an object": lambda body: json.dumps(
        {"success": False, "error": {"message": "Upstream error", "details": whole(body)}}
    ),
    "an SDK's repr": lambda body: error(f"Error code: 400 - {whole(body)!r}", type="relay_error"),
}


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_an_envelope_does_not_change_the_verdict(envelope: str) -> None:
    wrap = ENVELOPES[envelope]

    def changed(row: Row) -> bool:
        return judged(replace(row, body=wrap(row.body))) != judged(row)

    wrong = {row.id for row in BODIES if changed(row)}
    assert wrong <= (TWICE if "repr" in envelope else set())
