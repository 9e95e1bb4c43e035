"""Rows of the corpus and how they are judged: the rules of the corpus, in one place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from structguard.reading import ABSTAIN, ParseError, parse

DATA = Path(__file__).resolve().parents[1] / "data"
NONE = "__none__"
Verdict: TypeAlias = Literal["right", "silent", "miss"]
TABLES = (
    "baml_jsonish", "instructor", "json_repair", "jsonrepair_npm", "langchain_core", "pydantic_ai",
    "vercel_fixjson",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One input with the right answers to it."""

    id: str
    text: str
    schema: object
    right: tuple[object, ...]
    kind: str
    strip: bool


def read(path: Path) -> Iterator[Mapping[str, object]]:
    """The rows of a file as they are written there."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def row_of(raw: Mapping[str, object]) -> Row:
    """A row for judging."""
    more = raw.get("alt")
    return Row(
        id=str(raw["id"]),
        text=str(raw["text"]),
        schema=raw["schema"],
        right=(raw["expected"], *(more if isinstance(more, list) else ())),
        kind=str(raw.get("class", "")),
        strip=raw.get("norm") == "strip",
    )


def outputs() -> list[Row]:
    """What models really answered."""
    return [row_of(raw) for raw in read(DATA / "outputs.jsonl")]


def own() -> list[Row]:
    """Rows of the same kinds, written by hand before the parser had seen them."""
    return [row_of(raw) for raw in read(DATA / "own_outputs.jsonl")]


def yardstick(table: str) -> list[Row]:
    """Another parser's own table, without the modes and rows that are left out."""
    return [
        row_of(raw)
        for raw in read(DATA / "yardstick" / f"{table}.jsonl")
        if raw.get("mode") not in ("strict", "salvage")
        and not raw.get("needs_alias")
        and not raw.get("invents")
    ]


def normal(value: object, *, strip: bool = False) -> object:
    """Numbers by value, a missing key like a null one, strings stripped where asked for."""
    match value:
        case dict():
            return {k: normal(v, strip=strip) for k, v in value.items() if v is not None}
        case list():
            return [normal(item, strip=strip) for item in value]
        case bool() | None:
            return value
        case int() | float():
            return ("number", float(value) if abs(value) < 2**53 else value)
        case str():
            return value.strip() if strip else value
        case _:
            return value


def answer(row: Row) -> object:
    """What the parser takes from a row; `NONE` for nothing."""
    try:
        found = parse(row.text, row.schema, coerce=True, partial=True, markup=True).value
    except ParseError:
        return NONE
    return NONE if found is ABSTAIN else found


def verdict(row: Row, found: object) -> Verdict:
    """Right, silently wrong, or a miss."""
    given = normal(found, strip=row.strip)
    if any(given == normal(right, strip=row.strip) for right in row.right):
        return "right"
    return "miss" if found == NONE else "silent"
