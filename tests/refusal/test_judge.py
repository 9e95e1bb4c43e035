"""The gate, the arguments and the shape of the verdict."""

from __future__ import annotations

import json

import pytest

from structguard.refusal import detect_refusal
from structguard.types import Refusal, Scope

REFUSED = json.dumps({"error": {"message": "response_format is not supported"}})


def test_without_a_format_the_question_is_not_asked() -> None:
    assert detect_refusal(400, REFUSED, sent=None) is None


def test_without_a_status_nothing_was_refused() -> None:
    assert detect_refusal(None, REFUSED, sent="json_schema") is None


def test_an_unknown_format_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="sent must be"):
        detect_refusal(400, REFUSED, sent="text")  # type: ignore[arg-type]


@pytest.mark.parametrize("api", ["images", "audio"])
def test_media_endpoints_are_never_asked(api: str) -> None:
    assert detect_refusal(400, REFUSED, sent="json_schema", api=api) is None


def test_an_unknown_api_is_a_mistake_even_without_a_format() -> None:
    with pytest.raises(ValueError, match="api must be one of"):
        detect_refusal(400, REFUSED, sent=None, api="soap")


@pytest.mark.parametrize(
    "api", ["chat", "chat_completions", "responses", "messages", "converse", "generate_content"]
)
def test_every_wire_api_is_judged(api: str) -> None:
    assert detect_refusal(400, REFUSED, sent="json_schema", api=api) is not None


def test_the_verdict_names_rule_feature_and_sentence() -> None:
    body = json.dumps({"error": {"message": "Sorry. Model m does not support json_schema. Bye."}})
    assert detect_refusal(400, body, sent="json_schema") == Refusal(
        Scope.CAPABILITY,
        "not_supported",
        "json_schema",
        "Model m does not support json_schema.",
    )


def test_bytes_and_text_are_the_same_body() -> None:
    text = json.dumps(
        {"error": {"message": "Modèle: response_format unsupported"}}, ensure_ascii=False
    )
    assert detect_refusal(400, text.encode(), sent="json_schema") == detect_refusal(
        400, text, sent="json_schema"
    )


def test_invalid_utf8_is_read_around() -> None:
    assert detect_refusal(
        400, b"\xff\xfe response_format is not supported \x80", sent="json_schema"
    )


def test_evidence_is_short_and_holds_no_secret() -> None:
    key = "sk-" + "a1b2c3d4" * 6
    message = f"response_format is not supported for {key} " + "and so on " * 60
    refusal = detect_refusal(400, json.dumps({"error": {"message": message}}), sent="json_schema")
    assert refusal is not None
    assert len(refusal.evidence) <= 200
    assert key not in refusal.evidence
    assert "***" in refusal.evidence


def test_a_late_sentence_of_a_large_body_is_found() -> None:
    """The body is read whole: what a 300-character preview cuts off still counts."""
    body = json.dumps(
        {
            "detail": [
                {"msg": "x" * 900, "loc": ["body"]},
                {"msg": "response_format is not supported"},
            ]
        }
    )
    assert detect_refusal(422, body, sent="json_schema") is not None


def test_a_long_statement_is_judged_around_the_word() -> None:
    message = "blah " * 700 + "response_format is not supported " + "blah " * 700
    assert detect_refusal(400, json.dumps({"message": message}), sent="json_schema") is not None


class TestAlsoStatuses:
    """Servers that refuse with 500 or 501, admitted by the operator."""

    BODY = json.dumps(
        {
            "error": {
                "message": "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
                "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}]",
                "type": "internal_server_error",
            }
        }
    )

    def test_a_500_is_no_refusal_by_itself(self) -> None:
        assert detect_refusal(500, self.BODY, sent="json_schema") is None

    def test_an_admitted_500_is_judged_by_the_same_rules(self) -> None:
        refusal = detect_refusal(500, self.BODY, sent="json_schema", also_statuses=frozenset({500}))
        assert refusal is not None
        assert refusal.rule == "list_without_ours"

    def test_an_admitted_500_about_something_else_is_none(self) -> None:
        body = json.dumps({"error": {"message": "CUDA out of memory"}})
        assert detect_refusal(500, body, sent="json_schema", also_statuses={500}) is None

    @pytest.mark.parametrize("status", [401, 402, 403, 408, 409, 413, 429])
    def test_some_statuses_cannot_be_admitted(self, status: int) -> None:
        assert detect_refusal(status, REFUSED, sent="json_schema", also_statuses={status}) is None


class TestUnnamed:
    """Bodies that say nothing: only when asked for, only 400 and 422."""

    SILENT = (
        "",
        "{}",
        "null",
        '{"model": "deepseek-v4.1-flash"}',
        '{"error": {"message": "Provider returned error", "code": 400}}',
        '{"error": {"code": "Invalid input", "status": 422, "message": "invalid input error"}}',
        '{"type": "error", "error": {"type": "invalid_request_error", "message": "invalid params"}}',
        "<html><head><title>400 Bad Request</title></head><body><center><h1>400 Bad Request</h1></center><hr><center>nginx</center></body></html>",
    )
    TELLING = (
        '{"error": {"message": "Missing `reasoning_content` field"}}',
        '{"error": {"message": "invalid input", "code": "context_length_exceeded"}}',
        '{"detail": [{"loc": ["body", "max_tokens"], "msg": "invalid"}]}',
        '{"error": {"message": "The dedicated endpoint is not running"}}',
        '{"error": {"message": "invalid value", "param": "messages[0].content"}}',
        '{"error": {"message": "Bad request", "param": "temperature"}}',
    )

    @pytest.mark.parametrize("body", SILENT)
    def test_a_silent_body_is_none_by_default(self, body: str) -> None:
        assert detect_refusal(400, body, sent="json_schema") is None

    @pytest.mark.parametrize("body", SILENT)
    @pytest.mark.parametrize("status", [400, 422])
    def test_a_silent_body_is_unnamed_when_asked_for(self, body: str, status: int) -> None:
        refusal = detect_refusal(status, body, sent="json_schema", unnamed=True)
        assert refusal is not None
        assert (refusal.scope, refusal.rule) == (Scope.UNNAMED, "unnamed")

    @pytest.mark.parametrize("body", TELLING)
    def test_a_body_that_says_something_is_not_unnamed(self, body: str) -> None:
        assert detect_refusal(400, body, sent="json_schema", unnamed=True) is None

    @pytest.mark.parametrize("status", [200, 404, 405, 500])
    def test_other_statuses_are_never_unnamed(self, status: int) -> None:
        assert (
            detect_refusal(status, "", sent="json_schema", unnamed=True, also_statuses={500})
            is None
        )

    def test_a_named_refusal_keeps_its_scope(self) -> None:
        refusal = detect_refusal(400, REFUSED, sent="json_schema", unnamed=True)
        assert refusal is not None
        assert refusal.scope is Scope.CAPABILITY


class TestFlags:
    """Scope combination: only with something the call carried."""

    BODY = json.dumps(
        {"error": {"message": "response_format cannot be combined with streaming or tools"}}
    )

    def test_the_flag_is_what_the_call_carried(self) -> None:
        refusal = detect_refusal(400, self.BODY, sent="json_schema", stream=True)
        assert refusal is not None
        assert (refusal.scope, refusal.flag) == (Scope.COMBINATION, "stream")

    def test_without_the_flag_it_is_the_capability(self) -> None:
        refusal = detect_refusal(400, self.BODY, sent="json_schema")
        assert refusal is not None
        assert (refusal.scope, refusal.flag) == (Scope.CAPABILITY, None)

    def test_upstream_is_no_stream(self) -> None:
        body = json.dumps({"message": "upstream does not support response_format"})
        refusal = detect_refusal(400, body, sent="json_schema", stream=True)
        assert refusal is not None
        assert refusal.flag is None


def test_a_schema_can_only_be_at_fault_when_one_was_sent() -> None:
    body = json.dumps({"error": {"message": "additionalProperties is not supported"}})
    assert detect_refusal(400, body, sent="json_schema") is not None
    assert detect_refusal(400, body, sent="json_object") is None


def test_schema_evidence_outweighs_capability_words_beside_it() -> None:
    body = json.dumps(
        {
            "error": {
                "message": "Structured outputs do not support this request.\n"
                "Invalid schema for response_format 'x': 'minItems' is not permitted."
            }
        }
    )
    refusal = detect_refusal(400, body, sent="json_schema")
    assert refusal is not None
    assert refusal.scope is Scope.SCHEMA
