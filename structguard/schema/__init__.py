"""
Types and dicts → the format they ask for; JSON Schema → digest, name and validator.

Nothing here reaches the network: a `$ref` to an address is an error. Each part is loaded when it is
first touched: a reader without a schema pays for none of it, and heavy packages (pydantic,
jsonschema) wait for the first type and the first check. Source: DESIGN "Public face", spec parse
"Rules".
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structguard.schema.building import Misbuilt, build
    from structguard.schema.identity import canonical, digest, schema_name
    from structguard.schema.source import as_format
    from structguard.schema.strict import Problem, Strictified, advise, strictify
    from structguard.schema.validate import Validator, Violation, validator

_HOMES = {
    "Misbuilt": "building",
    "Problem": "strict",
    "Strictified": "strict",
    "Validator": "validate",
    "Violation": "validate",
    "advise": "strict",
    "as_format": "source",
    "build": "building",
    "canonical": "identity",
    "digest": "identity",
    "schema_name": "identity",
    "strictify": "strict",
    "validator": "validate",
}

__all__ = [
    "Misbuilt",
    "Problem",
    "Strictified",
    "Validator",
    "Violation",
    "advise",
    "as_format",
    "build",
    "canonical",
    "digest",
    "schema_name",
    "strictify",
    "validator",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structguard.schema' has no attribute {name!r}")
    value: object = getattr(import_module(f"structguard.schema.{home}"), name)
    globals()[name] = value
    return value
