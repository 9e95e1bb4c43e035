"""
What an embeddings body must look like; imports nothing of the gateway.

Unknown fields are tolerated, null counts as absent. Source: OpenAI API reference, Embeddings.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema_rs import Validator

Json = dict[str, object]

_TEXT: Json = {"type": "string", "minLength": 1}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["model", "input"],
    "properties": {
        "model": _TEXT,
        "input": {
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": _TEXT,  # token ids are of one model's alphabet: not every upstream has them
        },
        "dimensions": {"type": ["integer", "null"], "minimum": 1},
        "encoding_format": {"enum": ["float", "base64", None]},
        "user": {"type": ["string", "null"]},
    },
}


@cache
def _validator() -> Validator:
    import jsonschema_rs  # noqa: PLC0415  compiled once, when the endpoint is first asked

    return jsonschema_rs.validator_for(SCHEMA)


def fault(body: dict[str, object]) -> tuple[str, str | None] | None:
    """What is wrong with a body: (message, path of the first fault); None when nothing is."""
    from jsonschema_rs import ValidationError  # noqa: PLC0415  as above

    try:
        _validator().validate(body)  # the first fault: all of a large body's take minutes
    except ValidationError as error:
        path = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path
        ).lstrip(".")
        name, missing, _ = error.message.partition(" is a required property")
        return error.message[:500], name.strip('"') if missing else path or None
    return None
