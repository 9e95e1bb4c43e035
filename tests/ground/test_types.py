"""Neutral values: what callers may hand in, what is refused by name, and nothing is dropped."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from structguard.types import (
    Completion,
    File,
    Image,
    MemoKey,
    Message,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    as_iterable,
    as_mapping,
    as_sequence,
    as_text,
    cached,
)

CALL: dict[str, Any] = {
    "id": "c1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}


def request(**fields: Any) -> Request:
    return Request(**{"messages": [{"role": "user", "content": "hi"}], **fields})


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"role": "user", "content": "hi"}, Message(role="user", content="hi")),
        ({"role": "user", "content": None}, Message(role="user")),
        (
            {"role": "user", "content": ["a", {"type": "text", "text": "b"}]},
            Message(role="user", content=(Text("a"), Text("b"))),
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
            Message(role="user", content=(Image(url="u"),)),
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
            Message(role="user", content=(Image(url="u"),)),
        ),
        (
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": "u", "detail": "low"}],
            },
            Message(role="user", content=(Image(url="u", detail="low"),)),
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
            Message(role="user", content=(File(id="f"),)),
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_url": "u"}]},
            Message(role="user", content=(File(url="u"),)),
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None},
            Message(role="assistant", tool_calls=(ToolCall(id="c1", name="f", arguments="{}"),)),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "7"},
            Message(role="tool", content="7", tool_call_id="c1"),
        ),
        (
            {"role": "assistant", "content": "x", "reasoning_details": [{"type": "t"}]},
            Message(role="assistant", content="x", reasoning=(Reasoning(raw={"type": "t"}),)),
        ),
    ],
)
def test_a_chat_style_dict_becomes_a_message(given: dict[str, Any], made: Message) -> None:
    assert Message.of(given) == made
    assert Message.of(made) is made


@pytest.mark.parametrize(
    ("given", "kind", "what"),
    [
        ("hi", TypeError, "must be a dict or a Message"),
        ({"role": "robot"}, ValueError, "role must be one of"),
        ({"role": "user", "content": 7}, ValueError, "expected a list"),
        ({"role": "user", "content": [7]}, ValueError, "a content part must be an object"),
        ({"role": "user", "content": [{"type": "video"}]}, ValueError, "unknown content part"),
        ({"role": "user", "content": [{"type": "text"}]}, ValueError, "needs a string 'text'"),
        ({"role": "user", "content": "x", "mood": "good"}, ValueError, "cannot have 'mood'"),
        ({"role": "user", "content": "x", "name": 7}, ValueError, "name must be a string"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, ValueError, "function must be"),
    ],
)
def test_what_a_message_cannot_hold_is_named(given: Any, kind: type[Exception], what: str) -> None:
    with pytest.raises(kind, match=what):
        Message.of(given)


def test_text_is_what_can_be_read() -> None:
    mixed = Message(role="user", content=(Text("a"), Image(url="u"), Text("b")))
    assert (mixed.text, Message(role="user", content="c").text) == ("ab", "c")


def test_secrets_and_contents_stay_out_of_reprs() -> None:
    shown = repr(
        (
            Image(url="data:SECRET"),
            File(data="SECRET"),
            Reasoning(encrypted="SECRET", signature="SECRET"),
        )
    )
    assert "SECRET" not in shown


@pytest.mark.parametrize(
    ("effort", "word"),
    [
        (None, None), ("high", "high"), (-5, "minimal"), (0, "minimal"), (1, "low"), (24, "low"),
        (25, "medium"), (59, "medium"), (60, "high"), (89, "high"), (90, "xhigh"), (100, "xhigh"),
    ],
)  # fmt: skip
def test_effort_is_a_word_or_a_number(effort: Any, word: str | None) -> None:
    assert request(effort=effort).effort_level == word


@pytest.mark.parametrize(
    ("fields", "kind", "what"),
    [
        ({"messages": "hi"}, TypeError, "a list of messages"),
        ({"messages": {"role": "user"}}, TypeError, "a list of messages"),
        ({"timeout": 0}, ValueError, "timeout must be more than 0"),
        ({"attempts": 0}, ValueError, "attempts must be at least 1"),
        ({"max_tokens": 0}, ValueError, "max_tokens must be at least 1"),
        ({"effort": "huge"}, ValueError, "effort must be"),
        ({"tools": [7]}, TypeError, "a tool must be a dict"),
        ({"tools": [{"type": "web_search"}]}, ValueError, "only function tools"),
        ({"tools": [{"type": "function", "function": {}}]}, ValueError, "needs a string 'name'"),
    ],
)
def test_a_request_says_what_is_wrong_with_it(
    fields: dict[str, Any], kind: type[Exception], what: str
) -> None:
    with pytest.raises(kind, match=what):
        request(**fields)


def test_tools_are_taken_flat_and_nested() -> None:
    nested = {"type": "function", "function": {"name": "f", "description": "d", "strict": True}}
    empty = {"type": "object", "properties": {}}
    made = request(tools=[nested, {"name": "g", "parameters": {"type": "object"}}])
    assert made.functions == (
        Tool(name="f", parameters=empty, description="d", strict=True),
        Tool(name="g", parameters={"type": "object"}),
    )
    assert request(stop="END").stop == ("END",)
    assert made.conversation[0].text == "hi"


def test_an_answer_is_text_a_call_or_a_decline() -> None:
    call = ToolCall(id="c", name="f", arguments="{}")
    assert Completion(text="x").answered
    assert Completion(tool_calls=(call,)).answered
    assert Completion(text="", finish="declined").answered
    assert not Completion(text=" \n").answered
    assert Completion(reasoning=(Reasoning(text="a"), Reasoning(text="b"))).reasoning_text == "ab"


def test_narrowing_converts_nothing() -> None:
    assert as_mapping({"a": 1}) == {"a": 1}
    assert as_mapping([1]) is None
    assert as_sequence((1,)) == (1,)
    assert as_sequence("ab") is None
    assert as_iterable({1}) == {1}
    assert as_iterable("ab") is as_iterable({"a": 1}) is None
    assert (as_text("a"), as_text(1)) == ("a", None)


def test_a_key_can_stand_where_a_call_is_asked_for() -> None:
    key = MemoKey(provider="p", model="m")
    assert (key.pair, key.key) == (("p", "m"), key)


@pytest.mark.parametrize("key", ["input_schema", "inputSchema", "parametersJsonSchema"])
def test_a_tool_of_another_vendors_form_does_not_lose_its_schema(key: str) -> None:
    with pytest.raises(ValueError, match=f"goes in 'parameters', got {key}"):
        Request(messages=[], tools=[{"name": "f", key: {"type": "object"}}])


def test_a_thought_signature_on_a_call_is_kept() -> None:
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "s"}}}
    message = Message.of({"role": "assistant", "content": None, "tool_calls": [signed]})
    assert [call.signature for call in message.tool_calls] == ["s"]


def test_a_tool_without_parameters_may_carry_a_vendors_hint() -> None:
    hinted = {"name": "f", "cache_control": {"type": "ephemeral"}}
    assert Request(messages=[], tools=[hinted]).functions[0].name == "f"


class Meeting:
    """Its place is known once two of a kind have come."""

    both = threading.Barrier(2)

    @cached
    def place(self) -> int:
        """Where."""
        return self.both.wait(5.0)


def test_what_is_kept_is_computed_once_and_under_no_lock() -> None:
    """A lock that all share would be held for ever in a child forked meanwhile."""
    one, other = Meeting(), Meeting()
    thread = threading.Thread(target=lambda: other.place)
    thread.start()
    assert one.place in (0, 1)
    thread.join()
    assert one.place + other.place == 1, "asked again, nobody waits"
    assert Meeting.place.__doc__ == "Where."
