"""
Every way to say no with every name of the format, and every name in sentences about something else.

The vocabulary is general: no phrase is known for one name only.
"""

from __future__ import annotations

import json

import pytest

from structguard.refusal import detect_refusal

NAMES: tuple[str, ...] = (
    "response_format",
    "response_format of type json_schema",
    "json_schema",
    "structured outputs",
    "Structured output",
    "JSON mode",
    "guided decoding",
    "the response_format parameter",
    "`response_format.type` json_schema",
    "output_config.format",
    "text.format",
    "constrained decoding",
    "responseSchema",
    "JSON schema output",
)

REFUSING: tuple[str, ...] = (
    "{} is not supported",
    "{} is unsupported",
    "{} not supported for this model",
    "This model does not support {}",
    "Model foo/bar-7b doesn't support {}.",
    "{} is not available for this model",
    "{} is not available in your region",
    "{} is not enabled",
    "{} is disabled for this deployment",
    "{} is not allowed",
    "{} is not implemented",
    "{} is not yet supported on this endpoint",
    "{} has not been implemented yet",
    "{} cannot be used with this model",
    "{} can't be honored",
    "{} is only supported on newer models",
    "{} is only available on dedicated deployments",
    "{} is currently in private beta",
    "{} requires an upgraded plan",
    "{} requires vLLM 0.8 or later",
    "No support for {}",
    "{} support is missing",
    "The engine lacks {}",
    "unsupported feature: {}",
    "Feature not supported: {}",
    "unsupported parameter(s): {}",
    "Parameter {} not recognized",
    "unrecognized option {}",
    "{} must be removed",
    "{} must not be set",
    "{} will be ignored and is rejected in strict mode",
    "We currently don't offer {}",
    "{}: not available",
    "{} isn't something this model can do",
    "{} is deprecated and no longer accepted",
    "Sorry, {} is unavailable",
    "{} unavailable",
    "Provider does not have {}",
    "does not accept {}",
    "This model was not trained for {}",
    "{} is not one of the supported parameters",
    "{} is not part of the supported parameters",
    "{} is not a supported parameter",
    "this deployment does not include {}",
    "{} not permitted",
    "{} is turned off",
    "{} not found in supported features",
    "There is no {} on this endpoint",
    "This endpoint has no {}",
    "{} does not work with this model",
    "{} are for gpt-4o and later only",
    "cannot enable {}",
    "failed to enable {}",
    "{} could not be enabled",
    "{} no longer supported",
)

OTHERWISE: tuple[str, ...] = (
    "'messages' must contain the word 'json' in some form, to use {}.",
    "When using {} you must mention JSON in the prompt",
    "Your prompt must include the word JSON to use {}",
    "max_tokens is too small to complete the output with {}",
    "Output was truncated by max_tokens before {} could be satisfied; increase max_tokens",
    "This model's maximum context length is 8192 tokens. Your request including {} has 9000 tokens.",
    "The prompt is too long: 9000 tokens exceeds the limit, {} included",
    "Rate limit exceeded for requests with {}",
    "You have exceeded your quota for {} requests",
    "Invalid API key provided for {}",
    "Failed to generate JSON matching {}. Please adjust your prompt.",
    "The model output did not match {}",
    "Model produced invalid JSON under {}",
    "The generated output could not be validated against {}",
    "tools[0].function.parameters: invalid schema (see {} docs)",
    "Invalid schema for function 'x' (not {}): additionalProperties must be false",
    "Invalid 'messages[0].content': expected string (request has {})",
    "The request body is not valid JSON near {}",
    "Unsupported parameter: 'logprobs'. Supported parameters: {}, max_tokens, temperature",
    "Content blocked by safety filter while using {}",
    "Unknown parameter: 'foo'. Did you mean '{}'?",
    "seed must be an integer when {} is used",
    "temperature must be between 0 and 2 with {}",
    "stop sequences must be at most 4 with {}",
)


def scope(sentence: str, sent: str) -> str | None:
    body = json.dumps({"error": {"message": sentence, "type": "invalid_request_error"}})
    refusal = detect_refusal(400, body, sent=sent)  # type: ignore[arg-type]
    return None if refusal is None else refusal.scope.value


@pytest.mark.parametrize("phrase", REFUSING)
def test_a_refusing_phrase_refuses_by_every_name(phrase: str) -> None:
    told = {name: scope(phrase.format(name), "json_schema") for name in NAMES}
    if " no {}" in phrase or "lacks" in phrase or "not have {}" in phrase:
        del told["text.format"]  # nobody has or lacks a path
    assert {name for name, found in told.items() if found != "capability"} == set()


@pytest.mark.parametrize("phrase", OTHERWISE)
def test_a_sentence_about_something_else_is_none_with_every_name_in_it(phrase: str) -> None:
    for sent in ("json_schema", "json_object"):
        assert {name for name in NAMES if scope(phrase.format(name), sent)} == set()
