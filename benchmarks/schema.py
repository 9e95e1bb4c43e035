"""How long does it take to check a value against its schema? Both engines, several shapes."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial

import jiter

from structguard.schema import digest, validator
from structguard.schema.engines import compile_fast, compile_slow

STRING = {"type": "string"}
PERSON: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "name": STRING,
        "age": {"type": "integer", "minimum": 0},
        "email": {"anyOf": [STRING, {"type": "null"}]},
        "tags": {"type": "array", "items": STRING},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
VOTE: Mapping[str, object] = {
    "type": "object",
    "properties": {"vote": {"enum": ["yes", "no", "abstain"]}, "why": STRING},
    "required": ["vote"],
}
TREE: Mapping[str, object] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "k": {"items": {"$ref": "#/$defs/node"}}},
            "required": ["v"],
        }
    },
}
UNION: Mapping[str, object] = {
    "type": "array",
    "items": {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]}
            for kind in ("cat", "dog", "bird", "fish")
        ]
    },
}
PATTERN: Mapping[str, object] = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": r"^\d{4}-\d{2}$"}},
}


def tree(depth: int) -> dict[str, object]:
    return {"v": depth, "k": [tree(depth - 1) for _ in range(2)] if depth else []}


ANN = {"name": "Ann", "age": 3, "email": None, "tags": ["a", "b"]}
CASES: list[tuple[str, Mapping[str, object], object]] = [
    ("vote, 2 keys", VOTE, {"vote": "yes", "why": "it is so"}),
    ("person, 4 keys", PERSON, ANN),
    ("person, does not fit", PERSON, {**ANN, "age": "3"}),
    ("100 persons", {"type": "array", "items": PERSON}, [ANN] * 100),
    ("tree of 127 nodes", TREE, tree(6)),
    ("union of 4, 50 items", UNION, [{"kind": "fish"}] * 50),
    ("pattern", PATTERN, {"id": "2026-11"}),
]


def median(work: Callable[[], object], seconds: float = 0.15) -> float:
    """The median of single runs in microseconds; at least 15, as many as fit into the time."""
    work()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 15 or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main() -> None:
    print("Is the value valid? Medians in microseconds; jiter is the parse of the same value.\n")
    print(
        f"{'shape':22}{'jiter':>9}{'jsonschema':>12}{'-rs':>9}{'ratio':>8}   {'chosen':14}{'took':>9}"
    )
    for name, schema, value in CASES:
        made = validator(schema)
        slow = compile_slow(made.schema, made.draft, formats=False)
        fast = compile_fast(made.schema, made.draft)
        text = json.dumps(value).encode()
        parse = median(partial(jiter.from_json, text))
        one = median(partial(slow.is_valid, value))
        other = median(partial(fast.is_valid, value)) if fast else None
        ours = median(partial(_find_and_check, schema, value))
        shown = f"{other:9.1f}{one / other:8.0f}" if other else f"{'-':>9}{'-':>8}"
        print(f"{name:22}{parse:9.1f}{one:12.1f}{shown}   {made.engine:14}{ours:9.1f}")
    print("\nFinding the validator of a schema, in microseconds:")
    for name, schema, _ in CASES:
        look = median(partial(validator, schema))
        named = median(partial(digest, schema))
        print(f"{name:22} validator() {look:6.2f}   digest() {named:6.2f}")


def _find_and_check(schema: Mapping[str, object], value: object) -> bool:
    return validator(schema).is_valid(value)


if __name__ == "__main__":
    main()
