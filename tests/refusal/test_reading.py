"""How bodies become statements and paths become places."""

from __future__ import annotations

import json

import pytest

from structguard.refusal.lists import types_listed
from structguard.refusal.places import Place, place_in, place_of
from structguard.refusal.statements import Statement, read
from structguard.refusal.text import sentences
from structguard.types import Api


def texts(body: str | bytes) -> list[str]:
    return [statement.text for statement in read(body).statements]


class TestStatements:
    def test_each_statement_keeps_the_location_of_its_own_object(self) -> None:
        body = {
            "error": {"message": "outer", "param": "model"},
            "detail": [{"loc": ["body", "a"], "msg": "one"}, {"loc": ["b"], "msg": "two"}],
        }
        found = {s.text: s.where for s in read(json.dumps(body)).statements}
        assert found == {"outer": "model", "one": "loc:body.a", "two": "loc:b"}

    def test_codes_ride_along(self) -> None:
        body = {"error": {"message": "m", "code": "c", "type": "t", "status": 400}}
        assert read(json.dumps(body)).statements == (Statement("m", "", ("c", "t", "400")),)

    @pytest.mark.parametrize(
        "key", ["input", "failed_generation", "request_id", "schema", "request"]
    )
    def test_what_is_printed_back_is_not_a_statement(self, key: str) -> None:
        assert texts(json.dumps({"message": "m", key: {"message": "echo", "detail": "echo"}})) == [
            "m"
        ]

    def test_a_request_inside_a_sentence_is_blanked(self) -> None:
        body = 'Bad call {"model": "m", "response_format": {}} was refused'
        assert texts(body) == ["Bad call {…} was refused"]

    def test_a_request_that_is_cut_is_blanked_to_the_end(self) -> None:
        assert texts('Bad call {"messages": [{"content": "response_form') == ["Bad call {…}"]

    def test_prose_around_an_embedded_error_stays(self) -> None:
        body = json.dumps(
            {"message": 'Relay: {"error": {"message": "inner", "param": "p"}} (retry)'}
        )
        found = read(body).statements
        assert [(s.text, s.where) for s in found] == [
            ("Relay:", ""),
            ("inner", "p"),
            ("(retry)", ""),
        ]

    def test_pages_lose_tags_and_scripts(self) -> None:
        page = "<html><script>var a='response_format'</script><p>One <b>two</b></p><p>three &amp; four</p></html>"
        assert texts(page) == ["One  two", "three & four"]

    def test_an_open_script_ends_the_page(self) -> None:
        assert texts("<html><p>one</p><script>two") == ["one"]

    def test_frames_are_read_one_by_one(self) -> None:
        assert texts(': hi\nevent: error\ndata: {"error": "one"}\n\ndata: two\n') == ["one", "two"]

    def test_a_python_repr_keeps_its_locations(self) -> None:
        body = "Error: [{'type': 'missing', 'loc': ('body', 'x'), 'msg': 'Field required'}, {'loc': ('y',), 'msg': \"It's\"}]"
        found = [(s.text, s.where) for s in read(body).statements]
        assert found == [("Error:", ""), ("Field required", "loc:body.x"), ("It's", "loc:y")]

    def test_an_object_without_words_still_names_its_place(self) -> None:
        body = json.dumps({"error": {"param": "p", "code": "some_code"}})
        assert read(body).statements == (Statement("some_code", "p", ("some_code",)),)

    def test_the_same_statement_is_kept_once(self) -> None:
        assert texts(json.dumps({"message": "m", "detail": "m"})) == ["m"]

    def test_an_answer_is_no_statement(self) -> None:
        assert texts(json.dumps({"choices": [{"message": {"content": "x"}, "error": None}]})) == []

    def test_a_bullet_under_a_colon_belongs_to_its_line(self) -> None:
        assert texts("Unsupported parameters:\n - response_format") == [
            "Unsupported parameters: response_format"
        ]

    def test_nothing_is_an_empty_body(self) -> None:
        assert read(b" \n").empty
        assert not read("x").empty

    def test_a_pointing_sentence_stays_with_its_forerunner(self) -> None:
        assert list(sentences("You sent a. This is unsupported. Bye.")) == [
            "You sent a. This is unsupported.",
            "Bye.",
        ]


PLACES: list[tuple[str, Api, Place]] = [
    ("", "chat", Place.NOWHERE),
    ("body", "chat", Place.NOWHERE),
    ("validation_error", "chat", Place.NOWHERE),
    ("422", "chat", Place.NOWHERE),
    ("response_format", "chat", Place.FORMAT),
    ("loc:body.response_format.type", "chat", Place.FORMAT),
    ("$.responseFormat", "chat", Place.FORMAT),
    ("#/response_format/type", "chat", Place.FORMAT),
    ("body -> response_format -> ResponseFormatText -> type", "chat", Place.FORMAT),
    ("response_format.json_schema", "chat", Place.FORMAT),
    ("response_format.schema", "chat", Place.FORMAT),
    ("response_format.json_schema.schema", "chat", Place.SCHEMA),
    ("response_format.json_schema.schema.properties.type", "chat", Place.SCHEMA),
    ("response_format.json_schema.name", "chat", Place.SCHEMA),
    ("response_format.json_schema.strict", "chat", Place.SCHEMA),
    ("response_format.json_schema.description", "chat", Place.SCHEMA),
    ("response_format/json_schema/next_step", "chat", Place.SCHEMA),
    ("text.format", "responses", Place.FORMAT),
    ("text.format.schema", "responses", Place.SCHEMA),
    ("text.format.name", "responses", Place.SCHEMA),
    ("text", "responses", Place.FORMAT),
    ("text", "chat", Place.NOWHERE),
    ("text.verbosity", "responses", Place.NOWHERE),
    ("output_config", "messages", Place.FORMAT),
    ("output_config.format", "messages", Place.FORMAT),
    ("output_config.format.schema", "messages", Place.SCHEMA),
    ("output_config.effort", "messages", Place.ELSEWHERE),
    ("output_format.schema.properties", "messages", Place.SCHEMA),
    ("outputConfig.textFormat", "converse", Place.FORMAT),
    ("generation_config.response_mime_type", "generate_content", Place.FORMAT),
    ("generationConfig.responseSchema", "generate_content", Place.FORMAT),
    ("generationConfig.responseJsonSchema.properties[0]", "generate_content", Place.SCHEMA),
    ("guided_json", "chat", Place.FORMAT),
    ("messages", "chat", Place.ELSEWHERE),
    ("messages[0].content", "chat", Place.ELSEWHERE),
    ("tools.0.response_format", "chat", Place.ELSEWHERE),
    ("tools[0].function.parameters", "chat", Place.ELSEWHERE),
    ("model", "chat", Place.ELSEWHERE),
    ("loc:body.anything", "chat", Place.ELSEWHERE),
    ("loc:body.stream", "chat", Place.NOWHERE),
    ("stream", "chat", Place.NOWHERE),
]


@pytest.mark.parametrize(("path", "api", "place"), PLACES)
def test_a_path_is_placed(path: str, api: Api, place: Place) -> None:
    assert place_of(path, api) is place


WORDED = [
    ("output_config.format: Extra inputs", Place.FORMAT),
    ("vendor error: output_config.format.schema: Bad", Place.SCHEMA),
    ("messages.2.content: property is unsupported", Place.ELSEWHERE),
    ("messages: text", Place.NOWHERE),
    ("Unknown name \"role\" at 'contents[0].parts': Cannot find field.", Place.ELSEWHERE),
    ('Unknown name "responseSchema": Cannot find field.', Place.FORMAT),
    ("Invalid value at 'generation_config.response_schema.type' (x)", Place.SCHEMA),
    ("Missing 'response_format.json_schema.schema' here", Place.SCHEMA),
    ("'response_format.type' is odd", Place.FORMAT),
    ("#/toolConfig/tools/1: extraneous", Place.ELSEWHERE),
    ("see https://host/response_format/json_schema", Place.NOWHERE),
    ("nothing at all", Place.NOWHERE),
]


@pytest.mark.parametrize(("text", "place"), WORDED)
def test_words_point_too(text: str, place: Place) -> None:
    assert place_in(text, "chat") is place


LISTED = [
    ("input should be 'text' or 'json_object'", {"text", "json_object"}),
    ("expected one of text, regex, got json_schema", {"text", "other"}),
    ("only text and json_object response formats are supported", {"text", "json_object"}),
    ("does not support response format 'json_schema'", set()),
    ("must be set when json_schema is used", set()),
    ("supported levels: high, low", set()),
    ("supported response formats: json_schema", {"json_schema"}),
    (
        "allowed mimetypes are 'text/plain', 'application/json'",
        {"text", "json_object", "json_schema"},
    ),
]


@pytest.mark.parametrize(("text", "types"), LISTED)
def test_a_list_is_read_for_its_types(text: str, types: set[str]) -> None:
    assert types_listed(text) == types
