"""
The location is the format; whether the endpoint lacks it or the schema is at fault, the words decide.

Every sentence is told in the five ways in which vendors point at the format.
"""

from __future__ import annotations

import json

import pytest

from structguard.refusal import detect_refusal

THE_SCHEMA: tuple[str, ...] = (
    "All object properties must be required",
    "All fields must be required",
    "Field 'x' is missing from required",
    "Property 'x' must be listed in 'required'",
    "Type 'any' is not allowed",
    "Unsupported type: null",
    "Enum values must be unique",
    "Enum must have at least one value",
    "Nesting depth exceeds 5 levels",
    "Maximum nesting depth exceeded",
    "Property name too long",
    "Array items must be specified",
    "Array type must define items",
    "Too many properties: 132 (max 100)",
    "Object must have at least one property",
    "strict must be true",
    "Recursion is not supported",
    "Recursive references are not supported",
    "Unknown keyword: foo",
    "Unsupported keyword 'not' at /properties/a",
    "'format': 'email' is not supported",
    "Unsupported string format 'uri'",
    "Union types are not supported",
    "Type arrays are not supported",
    "Tuple validation is not supported",
    "'const' is not supported",
    "External references are not allowed",
    "Remote $ref is not allowed",
    "Could not resolve reference '#/definitions/A'",
    "Invalid regular expression in pattern",
    "Missing 'type' in property 'x'",
    "Property 'x' has no type",
    "Default values are not permitted",
    "The root must be an object",
    "Root type must be object, got array",
    "'title' is not allowed here",
    "patternProperties is not supported",
    "additionalProperties must be false",
    "Number constraints (minimum, maximum) are not supported",
    "String length constraints are not supported",
    "Total number of enum values exceeds 500",
    "Schema too large",
    "schema must be an object",
    "json_schema.schema is required",
    "The schema exceeds the maximum size of 32 KB",
    "The provided schema could not be compiled",
    "Optional parameters are not supported: 'x'",
    "Empty object types are not supported",
    "Conditional keywords (if/then/else) are not supported",
)

THE_ENDPOINT: tuple[str, ...] = (
    "Invalid input",
    "Invalid value",
    "Unsupported value",
    "Unsupported type",
    "Invalid type",
    "Unknown parameter",
    "Unknown property",
    "Unrecognized property",
    "Property not allowed",
    "Extra inputs are not permitted",
    "value is not a valid enumeration member; permitted: 'text'",
    "must NOT have additional properties",
    "additional properties are not allowed",
    "Not supported for this model",
    "This parameter is not supported",
    "This field is not supported by the root model",
    "Field required",
    "Missing required field",
    "Unrecognized key(s) in object",
    "object is not allowed",
    "Expected string, received object",
    "Input should be a valid string",
    "Input should be 'text'",
    "must be one of: text",
    'Invalid option: expected one of "text"|"json_object"',
    "Parameter is not allowed",
    "Argument not supported",
    "not available",
    "This option is only available for enterprise",
    "is not supported for this model type",
    "should not exist",
    "Unsupported keyword argument",
    "Unexpected keyword argument",
    "Invalid format",
    "the option conflicts with another",
    "only string values are supported",
    "Unsupported model type: reasoning",
    "not supported with optional parameters set",
    "参数非法",
    "不支持该参数",
)

LONG = {"Property name too long", "Total number of enum values exceeds 500"}
"""Behind the word "request" these read as a request that is too long."""


def ways(told: str) -> dict[str, object]:
    """The bodies that say it, by the way they point at the format."""
    prefix = "The parameter `response_format` specified in the request are not valid: "
    return {
        "a param": {"error": {"message": told, "param": "response_format"}},
        "a loc": {"detail": [{"loc": ["body", "response_format"], "msg": told}]},
        "a path in front": {"error": {"message": f"output_config.format: {told}"}},
        "an adjective": {"error": {"message": f"Invalid response_format: {told}"}},
        "a clause": {"error": {"message": prefix + told, "param": "response_format"}},
    }


def scopes(told: str) -> dict[str, str | None]:
    found = {
        way: detect_refusal(400, json.dumps(body), sent="json_schema")
        for way, body in ways(told).items()
    }
    return {way: None if refusal is None else refusal.scope.value for way, refusal in found.items()}


@pytest.mark.parametrize("told", THE_SCHEMA)
def test_a_part_of_the_schema_is_the_schemas_fault(told: str) -> None:
    found = scopes(told)
    if told in LONG:
        assert found.pop("a clause") is None
    assert set(found.values()) == {"schema"}


@pytest.mark.parametrize("told", THE_ENDPOINT)
def test_words_without_a_schema_in_them_are_the_endpoints(told: str) -> None:
    assert set(scopes(told).values()) == {"capability"}
