"""A next link that speaks another wire: everything is translated, or the call fails loudly."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from structguard.errors import ProviderError
from structguard.events import Event
from structguard.layers.fallback import FallbackChain, Link
from structguard.options import RetryOptions
from structguard.providers import OpenAI, OpenAICompat
from structguard.testing import RefusingEndpoint
from structguard.types import Kind, Request, as_mapping


class Answer(BaseModel):
    """The format asked for."""

    answer: str


ONCE = RetryOptions(attempts=1)
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look it up.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    },
}


def chain_of(down: RefusingEndpoint, other: RefusingEndpoint, events: list[Event]) -> FallbackChain:
    """Chat Completions first, Responses second."""
    return FallbackChain(
        [
            Link(
                OpenAICompat(down.base_url, id="chat", retry=ONCE, observer=events.append), "large"
            ),
            Link(
                OpenAI(
                    api_key="key",
                    base_url=other.base_url,
                    id="responses",
                    retry=ONCE,
                    observer=events.append,
                ),
                "small",
            ),
        ],
        observer=events.append,
    )


async def test_format_tools_and_messages_are_translated_for_the_next_link() -> None:
    events: list[Event] = []
    request = Request(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function",
                     "function": {"name": "look", "arguments": '{"what": "it"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "It is."},
        ],
        response_format=Answer,
        tools=[TOOL],
        max_tokens=50,
    )  # fmt: skip
    with RefusingEndpoint("hang_up") as down, RefusingEndpoint("enforce") as other:
        chain = chain_of(down, other, events)
        reply = await chain.complete(request)
        await chain.aclose()
        first, second = down.requests[0], other.requests[0]
    assert (reply.provider, reply.enforced) == ("responses", True)
    assert (first.path, second.path) == ("/v1/chat/completions", "/v1/responses")
    asked, body = first.body, second.body
    assert (asked["model"], body["model"]) == ("large", "small")
    assert body["instructions"] == "Be brief."
    items = body["input"]
    assert isinstance(items, list)
    kinds = [as_mapping(item) or {} for item in items]
    assert [item.get("type", "message") for item in kinds] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert kinds[1]["arguments"] == '{"what": "it"}'
    assert body["max_output_tokens"] == 50
    asked_format = as_mapping((as_mapping(asked["response_format"]) or {})["json_schema"]) or {}
    other_format = as_mapping((as_mapping(body["text"]) or {})["format"]) or {}
    assert other_format["schema"] == asked_format["schema"]
    tools = body["tools"]
    assert isinstance(tools, list)
    assert (as_mapping(tools[0]) or {})["name"] == "look"


async def test_what_the_next_wire_cannot_carry_fails_loudly_with_the_first_error_kept() -> None:
    request = Request(messages=[{"role": "user", "content": "Is it?"}], stop=["."])
    with RefusingEndpoint("hang_up") as down, RefusingEndpoint("enforce") as other:
        chain = chain_of(down, other, [])
        with pytest.raises(ProviderError, match="stop") as caught:
            await chain.complete(request)
        await chain.aclose()
        assert other.count() == 0
    assert caught.value.kind is Kind.INVALID_REQUEST
    assert [name for name, _ in caught.value.attempts] == ["chat", "responses"]
    assert chain.state()[1].failures == 0
