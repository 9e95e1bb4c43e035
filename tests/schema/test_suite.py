"""The JSON-Schema-Test-Suite's required tests: both engines give the suite's verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from structguard.schema import validator
from structguard.schema.engines import compile_fast, compile_slow

SUITE = Path(__file__).parents[1] / "data" / "json-schema-test-suite"
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft3": "http://json-schema.org/draft-03/schema#",
}
REMOTE = "localhost:1234"  # where the suite serves its remote schemas
COUNTS = {  # groups, tests, groups that need a remote schema
    "draft2020-12": (368, 1257, 22),
    "draft2019-09": (361, 1227, 17),
    "draft7": (254, 913, 11),
    "draft6": (231, 829, 11),
    "draft4": (159, 610, 8),
    "draft3": (105, 435, 4),
}


@lru_cache
def groups(draft: str) -> list[dict[str, Any]]:
    lines = (SUITE / f"{draft}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def schema_of(draft: str, group: Mapping[str, Any]) -> dict[str, object]:
    schema = group["schema"]
    return {
        "$schema": DRAFTS[draft],
        **({"allOf": [schema]} if isinstance(schema, bool) else schema),
    }


def is_remote(group: Mapping[str, Any]) -> bool:
    return REMOTE in json.dumps(group["schema"])


def local(draft: str, file: str | None = None) -> Iterator[dict[str, Any]]:
    """The groups that need no remote schema; some only name the address in an $id."""
    for group in groups(draft):
        if file not in {None, group["file"]}:
            continue
        try:
            validator(schema_of(draft, group))
        except ValueError:
            assert is_remote(group)
        else:
            yield group


FILES = [
    (draft, file) for draft in DRAFTS for file in dict.fromkeys(g["file"] for g in groups(draft))
]


@pytest.mark.parametrize(("draft", "file"), FILES, ids=[f"{d}-{f}" for d, f in FILES])
def test_the_suites_verdict_is_ours_and_both_engines(draft: str, file: str) -> None:
    for group in local(draft, file):
        made = validator(schema_of(draft, group))
        slow = compile_slow(made.schema, made.draft, formats=False)
        fast = compile_fast(made.schema, made.draft)
        for description, data, valid in group["tests"]:
            where = group["description"], description
            assert made.is_valid(data) is valid, where
            assert (made.errors(data) == ()) is valid, where
            assert slow.is_valid(data) is valid, where
            assert fast is None or fast.is_valid(data) is valid, where


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_suite_is_whole(draft: str) -> None:
    whole = groups(draft)
    refused = len(whole) - len(list(local(draft)))
    assert (len(whole), sum(len(g["tests"]) for g in whole), refused) == COUNTS[draft]


@pytest.mark.parametrize("draft", ["draft2020-12", "draft2019-09", "draft7", "draft6"])
def test_the_fast_engine_answers_most_of_the_suite(draft: str) -> None:
    pytest.importorskip("jsonschema_rs")
    engines = [validator(schema_of(draft, group)).engine for group in local(draft)]
    assert engines.count("jsonschema-rs") > 0.6 * len(engines)
