"""decode ∘ encode is the identity on what a wire can carry."""

from __future__ import annotations

import base64
import json
import string
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from structguard.types import (
    EFFORTS,
    Completion,
    File,
    Image,
    JsonObject,
    JsonSchema,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    Usage,
)
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import Wire
from tests.wire.samples import SCHEMA

QUICK = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.text(string.ascii_letters, min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
)
DATA = st.binary(min_size=1, max_size=9).map(lambda raw: base64.b64encode(raw).decode())


@dataclass(frozen=True)
class Ability:
    """What one wire can carry, as far as it differs."""

    wire: Wire
    detail: bool = False
    names: bool = False
    urls: bool = True
    file: str = "url"  # how a file can be given besides by data
    filename: bool = True
    signed_calls: bool = False
    penalties: bool = False
    seed: bool = False
    stop: bool = True
    state: bool = False
    strict_tools: bool = True
    no_tools_choice: bool = True
    named_format: bool = True
    strict_format: bool = False
    json_object: bool = False
    capped: bool = False  # a cap is required
    sampling_with_effort: bool = True
    images_in_results: bool = True
    merges: bool = False  # turns of one side are one


CHAT = Ability(
    wire=chat, detail=True, names=True, file="id", signed_calls=True, penalties=True, seed=True,
    strict_format=True, json_object=True, sampling_with_effort=False, images_in_results=False,
)  # fmt: skip
RESPONSES = Ability(
    wire=responses, detail=True, stop=False, state=True, strict_format=True, json_object=True,
    sampling_with_effort=False,
)  # fmt: skip
MESSAGES = Ability(wire=messages, named_format=False, capped=True, merges=True)
CONVERSE = Ability(wire=converse, urls=False, file="s3", no_tools_choice=False, merges=True)
GOOGLE = Ability(
    wire=generate_content, filename=False, signed_calls=True, seed=True, strict_tools=False,
    named_format=False, json_object=True, images_in_results=False, merges=True,
)  # fmt: skip
ALL = [CHAT, RESPONSES, MESSAGES, CONVERSE, GOOGLE]


@st.composite
def parts(draw: st.DrawFn, able: Ability, *, plain: bool = False) -> str | tuple[Part, ...]:
    """Text, or several parts; one text alone is text."""
    if plain or draw(st.booleans()):
        return draw(WORDS)
    some: list[Part] = []
    for kind in draw(st.lists(st.sampled_from(["text", "image", "file"]), min_size=2, max_size=4)):
        if kind == "text":
            some.append(Text(draw(WORDS)))
        elif kind == "image":
            some.append(draw(images(able)))
        else:
            some.append(draw(files(able)))
    return tuple(some)


@st.composite
def images(draw: st.DrawFn, able: Ability) -> Image:
    url = f"data:image/png;base64,{draw(DATA)}"
    if draw(st.booleans()):
        url = "https://example.com/a.png" if able.urls else "s3://bucket/a.png"
    return Image(url=url, detail=draw(st.sampled_from([None, "low"])) if able.detail else None)


@st.composite
def files(draw: st.DrawFn, able: Ability) -> File:
    name = "paper.pdf" if able.filename else None
    if draw(st.booleans()):
        return File(data=f"data:application/pdf;base64,{draw(DATA)}", filename=name)
    if able.file == "id":
        return File(id=draw(NAMES))
    place = "s3://bucket" if able.file == "s3" else "https://example.com"
    return File(url=f"{place}/paper.pdf", filename=name)


def reasoning(able: Ability, text: str, mark: str) -> Reasoning:
    """A part as this wire's own decoder makes it."""
    raws: dict[Wire, dict[str, object]] = {
        chat: {"type": "reasoning.text", "text": text, "signature": mark},
        responses: {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}],
            "id": mark,
            "encrypted_content": mark,
        },
        messages: {"type": "thinking", "thinking": text, "signature": mark},
        converse: {"reasoningText": {"text": text, "signature": mark}},
        generate_content: {"thought": True},
    }
    if able.wire is responses:
        return Reasoning(text=text, id=mark, encrypted=mark, raw=raws[responses])
    return Reasoning(text=text, signature=mark, raw=raws[able.wire])


@st.composite
def assistants(draw: st.DrawFn, able: Ability, turn: int) -> Message:
    calls = tuple(
        ToolCall(
            id=f"call_{turn}_{n}",
            name=draw(NAMES),
            arguments=draw(ARGUMENTS),
            signature="S" if able.signed_calls and draw(st.booleans()) else None,
        )
        for n in range(draw(st.integers(0, 2)))
    )
    text = draw(WORDS) if not calls or draw(st.booleans()) else ""
    thoughts: list[Reasoning] = []
    if text and draw(st.booleans()):
        thoughts.append(reasoning(able, draw(WORDS), f"m{turn}"))
    if able.wire is not chat:
        thoughts += [
            replace(reasoning(able, draw(WORDS), f"m_{call.id}"), call_id=call.id)
            for call in calls
            if draw(st.booleans())
        ]
    return Message(role="assistant", content=text, tool_calls=calls, reasoning=tuple(thoughts))


@st.composite
def conversations(draw: st.DrawFn, able: Ability) -> tuple[Message, ...]:
    """User, assistant, results of its calls, and so on, so that no side speaks twice in a row."""
    turns: list[Message] = []
    if draw(st.booleans()):
        turns.append(Message(role="system", content=draw(WORDS)))
    for turn in range(draw(st.integers(1, 2))):
        name = draw(NAMES) if able.names and draw(st.booleans()) else None
        turns.append(Message(role="user", content=draw(parts(able)), name=name))
        said = draw(assistants(able, turn))
        turns.append(said)
        for call in said.tool_calls:
            content = draw(parts(able, plain=not able.images_in_results))
            if able.wire is responses and isinstance(content, tuple):
                content += (draw(images(able)),)  # texts alone are joined there
            turns.append(
                Message(
                    role="tool",
                    tool_call_id=call.id,
                    content=content,
                    name=call.name if able.wire is generate_content else None,
                )
            )
    return tuple(turns)


@st.composite
def formats(draw: st.DrawFn, able: Ability) -> JsonSchema | JsonObject | None:
    if able.json_object and draw(st.booleans()):
        return JsonObject()
    if draw(st.booleans()):
        return None
    return JsonSchema(
        schema=SCHEMA,
        name=draw(NAMES) if able.named_format else None,
        strict=draw(st.sampled_from([None, True, False])) if able.strict_format else None,
        description=draw(st.none() | WORDS) if able.named_format else None,
    )


@st.composite
def requests(draw: st.DrawFn, able: Ability) -> Request:
    effort = draw(st.none() | st.sampled_from(EFFORTS))
    tools = [
        Tool(
            name=f"{draw(NAMES)}_{n}",
            parameters={"type": "object", "properties": {"a": {"type": "string"}}},
            description=draw(st.none() | WORDS),
            strict=able.strict_tools and draw(st.booleans()),
        )
        for n in range(draw(st.integers(0, 2)))
    ]
    words = ["auto", "any", *(["none"] if able.no_tools_choice else [])]
    choices = st.sampled_from([None, *words, *(tool.name for tool in tools)])
    sampling = effort is None or able.sampling_with_effort
    number = st.floats(0, 2).map(lambda value: round(value, 3))
    cap = draw(st.integers(40_000, 90_000)) if able.capped or draw(st.booleans()) else None
    return Request(
        messages=draw(conversations(able)),
        model="m",
        response_format=draw(formats(able)),
        tools=tools,
        tool_choice=draw(choices) if tools else None,
        max_tokens=cap,
        effort=effort,
        temperature=draw(st.none() | number) if sampling else None,
        top_p=draw(st.none() | number) if sampling else None,
        frequency_penalty=draw(st.none() | number) if able.penalties else None,
        presence_penalty=draw(st.none() | number) if able.penalties else None,
        seed=draw(st.none() | st.integers(0, 99)) if able.seed else None,
        stop=draw(st.lists(WORDS, max_size=2)) if able.stop else (),
        previous_response_id=draw(st.none() | NAMES) if able.state else None,
        store=draw(st.none() | st.booleans()) if able.state else None,
        include=draw(st.lists(NAMES, max_size=2)) if able.state else (),
        extra_body=draw(st.dictionaries(st.just("x_vendor"), VALUES.filter(bool), max_size=1)),
    )


def normal(request: Request) -> Request:
    """Sequences as tuples, so that equal requests are equal."""
    return replace(
        request,
        messages=tuple(request.messages),
        stop=tuple(request.stop),
        include=tuple(request.include),
    )


@pytest.mark.parametrize("able", ALL, ids=lambda able: able.wire.API)
@QUICK
@given(st.data())
def test_a_request_comes_back_as_it_went(able: Ability, data: st.DataObject) -> None:
    request = data.draw(requests(able))
    if isinstance(request.response_format, JsonObject):  # the word is the format's own addition
        with_word = Message(role="user", content="json")
        request = replace(request, messages=(*request.messages, with_word))
    wanted = request.response_format
    assert wanted is None or isinstance(wanted, JsonSchema | JsonObject)
    body = able.wire.encode_request(request, format=wanted)
    wired = json.loads(json.dumps(body))
    assert wired == body  # plain JSON, nothing else
    nameless = able.wire in {converse, generate_content}  # the model stands in the path
    expected = replace(request, model=None if nameless else "m")
    got = able.wire.decode_request(wired)
    assert normal(got) == normal(expected)
    again = able.wire.encode_request(replace(got, model="m"), format=wanted)
    assert again == body


REASONED = st.lists(
    st.builds(lambda text, n: Reasoning(text=text, id=f"rs_{n}"), WORDS, st.integers(0, 99)),
    max_size=2,
    unique_by=lambda part: part.id,
)


@st.composite
def completions(draw: st.DrawFn) -> Completion:
    calls = tuple(
        ToolCall(id=f"call_{n}", name=draw(NAMES), arguments=draw(ARGUMENTS))
        for n in range(draw(st.integers(0, 2)))
    )
    text = draw(WORDS) if not calls or draw(st.booleans()) else ""
    cut = draw(st.sampled_from(["stop", "length", "filtered", "declined"]))
    finish = "tool_calls" if calls and cut in {"stop", "declined"} else cut
    counts = st.integers(0, 9)
    read, written = draw(counts), draw(counts)
    usage = Usage(
        input=read,
        output=written,
        total=read + written,
        reasoning=draw(counts),
        cached_read=draw(st.integers(0, read)),
    )
    return Completion(
        text=text,
        tool_calls=calls,
        finish=finish,  # type: ignore[arg-type]
        reasoning=tuple(draw(REASONED)),
        usage=draw(st.none() | st.just(usage)),
        id="id_1",
        model="m",
    )


@QUICK
@given(completions())
def test_a_reply_comes_back_as_it_went(completion: Completion) -> None:
    for wire in (chat, responses):
        body = wire.encode_reply(completion, id="id_1", model="m", created=7)
        got = wire.decode_reply(json.dumps(body).encode())
        assert got.reasoning_text == completion.reasoning_text
        if wire is responses:
            assert [part.id for part in got.reasoning] == [part.id for part in completion.reasoning]
        assert replace(got, reasoning=()) == replace(completion, reasoning=())
