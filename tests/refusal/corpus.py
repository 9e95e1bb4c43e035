"""
The tables of real bodies, read as their rules say (which rows are put to the detector, and how).

`rows()` is the table the rules were made with; `reported()` are further bodies from public reports,
each with its source, whose verdict was written down before the detector saw them; `written()` are
bodies in the manner of many vendors, frameworks and servers, judged beforehand just so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from structguard.types import as_sequence

DATA = Path(__file__).resolve().parents[1] / "data"
TABLE, REPORTED = DATA / "refusals.jsonl", DATA / "reported_refusals.jsonl"
WRITTEN = DATA / "written_refusals.jsonl"
APIS = {"anthropic": "messages", "bedrock": "converse", "google": "generate_content"}
OURS = frozenset({"responses", "images", "audio", *APIS.values()})


@dataclass(frozen=True)
class Row:
    """One real body with its right answer: capability (or combination), schema, or None."""

    id: str
    provider: str
    status: int
    body: str
    api: str
    sent: str
    flags: frozenset[str]
    want: str | None
    asked: bool  # whether a JSON format was sent: only then is the detector asked
    fair: bool  # detectable and unambiguous: counts at the bar
    flag: str | None = None  # of a combination
    also: frozenset[int] = frozenset()  # statuses the operator admits

    @property
    def arguments(self) -> dict[str, object]:
        """The keyword arguments of detect_refusal."""
        more: dict[str, object] = {"also_statuses": self.also} if self.also else {}
        return {"sent": self.sent, "api": self.api, **dict.fromkeys(self.flags, True), **more}


@cache
def rows() -> tuple[Row, ...]:
    """All rows of the table."""
    with TABLE.open(encoding="utf-8") as lines:
        return tuple(_row(json.loads(line)) for line in lines if line.strip())


@cache
def reported() -> tuple[Row, ...]:
    """All rows of the second table."""
    with REPORTED.open(encoding="utf-8") as lines:
        return tuple(_reported(json.loads(line)) for line in lines if line.strip())


@cache
def written() -> tuple[Row, ...]:
    """All rows of the third table."""
    with WRITTEN.open(encoding="utf-8") as lines:
        return tuple(_reported(json.loads(line)) for line in lines if line.strip())


def _reported(line: dict[str, object]) -> Row:
    verdict = str(line["verdict"])
    refusal = verdict != "none"
    kind = "schema" if verdict == "schema" else "capability"
    row = _row({**line, "label": "refusal" if refusal else "not_refusal", "kind": kind})
    flag, also = line.get("flag"), as_sequence(line.get("also_statuses")) or ()
    return replace(
        row,
        flag=str(flag) if flag else None,
        also=frozenset(int(str(status)) for status in also),
    )


def _row(line: dict[str, object]) -> Row:
    sent, api = line.get("sent"), str(line["api"])
    api = APIS.get(api, api if api in OURS else "chat")
    text = "json_schema" if sent is None else str(sent)
    object_mode = "json_object" in text or "response_mime_type" in text
    return Row(
        id=str(line["id"]),
        provider=str(line["provider"]),
        status=int(str(line["status"])),
        body=str(line["body"]),
        api=api,
        sent="json_object" if object_mode else "json_schema",
        flags=frozenset(flag for flag in ("tools", "stream", "reasoning") if f"+{flag}" in text)
        | frozenset[str]({"tools"} if text.startswith("tools+") else ()),
        want=str(line["kind"]) if line["label"] == "refusal" else None,
        asked=(object_mode or "json_schema" in text) and api not in {"images", "audio"},
        fair=not line.get("ambiguous") and line.get("detectable") is not False,
    )
