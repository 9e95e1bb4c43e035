"""
The parsers that are compared, each behind one call: text and schema in, value or NONE out.

A library that is not installed is skipped by its name. What each is good for differs: jiter and
orjson read strict JSON, partial-json-parser cut JSON, the others repair.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

from structguard.reading import ABSTAIN, ParseError, parse
from tests.reading.rows import NONE

Peer: TypeAlias = Callable[[str, object], object]


def structguard(text: str, schema: object) -> object:
    """Ours, with every option the corpus is judged with."""
    try:
        found = parse(text, schema, coerce=True, partial=True, markup=True).value
    except ParseError:
        return NONE
    return NONE if found is ABSTAIN else found


def _json_repair(mode: str) -> Peer:
    loads = import_module("json_repair").loads

    def read(text: str, schema: object) -> object:
        if schema is None:
            found = loads(text)
        else:
            found = loads(text, schema=schema, schema_repair_mode=mode)
        return NONE if found == "" else found

    return read


def _jsonmend() -> Peer:
    loads = import_module("jsonmend").loads
    return lambda text, _schema: NONE if (found := loads(text)) == "" else found


def _langchain() -> Peer:
    module = import_module("langchain_core.utils.json")

    def read(text: str, _schema: object) -> object:
        found = module.parse_json_markdown(text)
        return NONE if found is None else found

    return read


def _partial_json_parser() -> Peer:
    loads = import_module("partial_json_parser").loads
    return lambda text, _schema: loads(text)


def _jiter() -> Peer:
    from_json = import_module("jiter").from_json
    return lambda text, _schema: from_json(text.encode())


def _orjson() -> Peer:
    loads = import_module("orjson").loads
    return lambda text, _schema: loads(text)


def _stdlib() -> Peer:
    return lambda text, _schema: json.loads(text)


_PEERS: Mapping[str, tuple[str, Callable[[], Peer]]] = {
    "json_repair, schema": ("json_repair", lambda: _json_repair("standard")),
    "json_repair, salvage": ("json_repair", lambda: _json_repair("salvage")),
    "jsonmend": ("jsonmend", _jsonmend),
    "langchain-core": ("langchain-core", _langchain),
    "partial-json-parser": ("partial-json-parser", _partial_json_parser),
    "jiter": ("jiter", _jiter),
    "orjson": ("orjson", _orjson),
    "json (stdlib)": ("", _stdlib),
}


def installed() -> tuple[dict[str, Peer], list[str]]:
    """The peers that are installed, with their versions in the name, and the names of those not."""
    found: dict[str, Peer] = {}
    missing: list[str] = []
    for name, (package, make) in _PEERS.items():
        try:
            peer = make()
            label = f"{name} {version(package)}" if package else name
        except (ImportError, PackageNotFoundError):
            missing.append(name)
            continue
        found[label] = peer
    return found, missing
