"""What an upstream's resource lacks is added behind its bytes; where that is not enough it is written anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from pytest_httpserver import HTTPServer

from structguard.gateway import filling
from structguard.gateway.filling import filled
from structguard.gateway.resource import REQUIRED, Started
from tests.gateway.conformance import check_resource
from tests.gateway.support import response, running, settings

Json = dict[str, Any]
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Bonn \u00fc", "annotations": []}]}  # fmt: skip
COUNTS = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3,
          "input_tokens_details": {"cached_tokens": 0},
          "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
PLAIN: Json = {
    "id": "resp_1", "object": "response", "created_at": 17, "completed_at": 18, "model": "m",
    "status": "completed", "output": [ITEM], "tools": [], "text": {"format": {"type": "text"}},
    "usage": COUNTS, "error": None,
}  # fmt: skip
VALUES: st.SearchStrategy[object] = st.sampled_from(
    [None, 1, 1.0, 2.5, True, "x", "", "completed", "in_progress", {}, [], {"format": {}}, [ITEM],
     {"format": None, "verbosity": "low"}, {**COUNTS, "total_tokens": 3.0}, {"input_tokens": 1},
     [{"type": "function", "name": "f"}], [{"type": "web_search"}]]
)  # fmt: skip
ODD = st.dictionaries(st.sampled_from([*sorted(REQUIRED), "user", "billing"]), VALUES, max_size=4)
ASKED: st.SearchStrategy[Json] = st.dictionaries(
    st.sampled_from(
        ["instructions", "store", "max_tool_calls", "previous_response_id", "reasoning"]
    ),
    st.sampled_from([None, "x", False, {"effort": "low"}]),
    max_size=2,
)


def started(asked: Json) -> Started:
    start = Started(asked, "m")
    start.call("resp_own")
    return start


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "now", lambda: 19)


@pytest.mark.parametrize("own", [False, True])
@example(odd={"usage": {"input_tokens": 1}}, gone=set(), asked={})
@given(odd=ODD, gone=st.sets(st.sampled_from(sorted(PLAIN)), max_size=2), asked=ASKED)
def test_what_is_added_equals_what_is_written_anew(
    odd: Json, gone: set[str], asked: Json, *, own: bool
) -> None:
    resource = {key: value for key, value in {**PLAIN, **odd}.items() if key not in gone}
    anew, none = filled(resource, started(asked), own=own)
    made, text = filled(resource, started(asked), json.dumps(resource).encode() + b"\n", own=own)
    assert none is None
    assert json.dumps(made, sort_keys=True) == json.dumps(anew, sort_keys=True)
    if text is not None:
        assert json.loads(text) == made
        assert len(json.loads(text, object_pairs_hook=list)) == len(made)


def test_where_adding_is_enough_the_bytes_are_kept() -> None:
    raw = json.dumps(PLAIN, indent=1).encode()
    _, text = filled(PLAIN, started({"input": "x"}), raw)
    _, ours = filled(PLAIN, started({}), raw, own=True)
    assert text is not None
    assert text.startswith(raw[:-1])
    assert ours == text.replace(b'"resp_1"', b'"resp_own"')


def test_what_was_asked_for_is_not_taken_for_its_default() -> None:
    made, text = filled(PLAIN, started({"store": False}), json.dumps(PLAIN).encode())
    assert (made["store"], text) == (False, None)


def test_an_id_that_stands_twice_is_not_replaced_by_its_bytes() -> None:
    resource = {**PLAIN, "prompt_cache_key": PLAIN["id"]}
    made, text = filled(resource, started({}), json.dumps(resource).encode(), own=True)
    assert (made["id"], made["prompt_cache_key"], text) == ("resp_own", "resp_1", None)


@pytest.mark.parametrize("store", [True, False])
def test_a_text_that_is_no_strict_json_is_not_handed_on(
    httpserver: HTTPServer, *, store: bool
) -> None:
    loose = json.dumps({**PLAIN, "store": store}).replace("Bonn ", "Bonn\n")
    httpserver.expect_request("/v1/responses").respond_with_data(
        loose, content_type="application/json"
    )
    up = {"base_url": httpserver.url_for("/v1"), "api": "responses", "attempts": 1}
    with running(settings("", providers={"up": up})) as gateway:
        found = gateway.post("/v1/responses", response("m", store=store))
        resource = json.loads(found.content)
        kept = gateway.get(f"/v1/responses/{resource['id']}")
    check_resource(resource)
    assert resource["output"][0]["content"][0]["text"] == "Bonn\n\u00fc"
    assert kept.status_code == (200 if store else 404)
