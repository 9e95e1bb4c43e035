"""A chat body without its format: cut out of its bytes it equals the one written anew, or is not cut."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from structguard.clients.call import BodyCall
from structguard.gateway.turn import Turn
from structguard.options import PromptMode
from structguard.testing import RefusingEndpoint
from tests.gateway.support import CHAT_FORMAT, VALUE, embedded_config, running, settings
from tests.gateway.upstream import reply

Json = dict[str, Any]
CHAT = "/v1/chat/completions"
SYSTEM = {"role": "system", "content": 'Say "so",\nplainly \u00fc'}
USER = {"role": "user", "content": "Where?"}
OBJECT = {"type": "json_object"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"response_format": CHAT_FORMAT, "messages": {}}}}}  # fmt: skip


def without(raw: bytes, prompt: PromptMode = "auto") -> tuple[bytes | None, object]:
    """What is cut out of a body, and the body that is written anew."""
    turn = Turn(api="chat", body=orjson.loads(raw), raw=raw)
    asked = BodyCall(provider="p", model="m", base_url="h", api="chat", body=turn.body,
                     guardable=True, prompt=prompt, quotes=turn.quotes, read=turn.read)  # fmt: skip
    anew = asked.degraded().body
    return turn.without(asked), anew


@pytest.mark.parametrize("prompt", ["auto", "always", "never"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("format_", [CHAT_FORMAT, OBJECT])
@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_body_that_is_cut_equals_the_one_that_is_written_anew(
    role: str, format_: Json, separators: tuple[str, str], prompt: PromptMode
) -> None:
    messages = [{**SYSTEM, "role": role}, USER]
    for head in ({"model": "m", "messages": messages}, {"messages": messages, "model": "m"}):
        body = {**head, "tools": [], "response_format": format_}
        raw = json.dumps(body, separators=separators).encode()
        cut, anew = without(raw, prompt)
        assert cut is not None
        assert json.loads(cut) == anew


TEXTS = st.sampled_from(
    ["", "x", 'a "b"', "\\", '"response_format":{}', '"messages":[', "JSON", "\u00fc\ud83d\ude00"]
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": TEXTS},
        optional={"name": TEXTS},
    ),
    max_size=2,
)
MORE = st.dictionaries(
    st.sampled_from(["tools", "user", "temperature", "metadata"]),
    st.sampled_from([1, "x", [TOOL], {"response_format": OBJECT, "messages": []}]),
    max_size=2,
)
FORMATS = st.sampled_from([CHAT_FORMAT, OBJECT])


@given(messages=MESSAGES, more=MORE, format_=FORMATS, order=st.randoms(), spaced=st.booleans())
def test_a_body_is_cut_rightly_or_not_at_all(
    messages: list[Json], more: Json, format_: Json, order: Any, *, spaced: bool
) -> None:
    members = [("model", "m"), ("messages", messages), *more.items()]
    order.shuffle(members)
    members.insert(order.choice([len(members), 0]), ("response_format", format_))
    raw = json.dumps(dict(members), indent=1 if spaced else None).encode()
    cut, anew = without(raw)
    assert cut is None or json.loads(cut) == anew


OBJECT_MEMBER = b'"response_format":{"type":"json_object"}'
SAID = b'"model":"m","messages":[{"role":"system","content":"x"}]'


@pytest.mark.parametrize(
    "raw",
    [
        b'{%b,"tools":[{%b}],"response_format" :{"type":"json_object"}}' % (SAID, OBJECT_MEMBER),
        b"{%b,%b,%b}" % (OBJECT_MEMBER, SAID, OBJECT_MEMBER),
        b'{%b,"messages":[],%b}' % (SAID, OBJECT_MEMBER),
        b"{%b,%b}" % (SAID.replace(b'"x"', b'"x","content":"y"'), OBJECT_MEMBER),
        b'{%b,"a":{%b},"\\u0072esponse_format":{"type":"json_object"}}' % (SAID, OBJECT_MEMBER),
        b'{%b,%b,"n":1}' % (SAID, OBJECT_MEMBER),
        b"{%b}" % OBJECT_MEMBER,
        b"{%b,%b}\n" % (SAID, OBJECT_MEMBER),
    ],
)
def test_what_the_bytes_do_not_say_for_certain_is_not_cut(raw: bytes) -> None:
    assert without(raw)[0] is None


def test_a_body_for_another_model_is_written_anew() -> None:
    body = {"model": "alias", "messages": [SYSTEM], "response_format": OBJECT}
    assert without(json.dumps(body).encode())[0] is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_remembered_refusal_sends_the_cut_body_once(*, stream: bool) -> None:
    with (
        RefusingEndpoint("refuse400", value=VALUE) as endpoint,
        running(embedded_config(endpoint.base_url)) as gateway,
    ):
        body: Json = {
            "model": "refuse400",
            "messages": [SYSTEM, USER],
            "response_format": CHAT_FORMAT,
        }
        if stream:
            body = {"stream": True, **body}
        raw = json.dumps(body)
        sent: list[Any] = []
        for _ in range(3):
            before = len(endpoint.requests)
            found = gateway.client.post(
                CHAT, content=raw, headers={"content-type": "application/json"}
            )
            assert found.status_code == 200
            assert found.headers["x-structguard-enforced"] == "false"
            sent.append([one.body for one in endpoint.requests[before:]])
    first, second, third = sent
    assert len(first) == 2
    assert first[1] == second[0] == third[0]
    assert len(second) == len(third) == 1
    assert "JSON Schema" in first[1]["messages"][0]["content"]
    assert first[1]["messages"][0]["content"].startswith(SYSTEM["content"])


def test_a_cut_body_that_fails_is_not_sent_again(httpserver: HTTPServer) -> None:
    answers = [503, 200]
    seen: list[Json] = []

    def answer(request: Request) -> Response:
        body = request.get_json()
        seen.append(body)
        refused = "response_format" in body
        status = 400 if refused else answers.pop()
        told = "response_format is not supported by this model" if refused else "down"
        made = (
            reply({"content": json.dumps(VALUE)}) if status == 200 else {"error": {"message": told}}
        )
        return Response(json.dumps(made), status, content_type="application/json")

    httpserver.expect_request(CHAT).respond_with_handler(answer)
    up = {"base_url": httpserver.url_for("/v1"), "api": "chat", "attempts": 1}
    body = {"model": "m", "messages": [SYSTEM, USER], "response_format": CHAT_FORMAT}
    raw = json.dumps(body)  # spaced: written anew it has other bytes
    with running(settings("", providers={"up": up})) as gateway:
        found = [gateway.client.post(CHAT, content=raw).status_code for _ in range(2)]
    assert found == [200, 503]
    assert len(seen) == 3
    assert seen[1] == seen[2]
