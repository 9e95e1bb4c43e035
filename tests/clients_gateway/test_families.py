"""
Everybody else's clients against `structguard serve`: `make clients`.

A client that is not installed is skipped by its name.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients_gateway.judging import Case, cases, judge, judge_sockets
from tests.clients_gateway.support import Family, Seen

FAMILIES = (
    Family(
        name="instructor",
        program="instructor_python.py",
        needs="instructor",
        ways={"json_schema": "chat", "json": "chat", "json_schema.partial": "chat"},
    ),
    Family(
        name="openai-agents",
        program="openai_agents.py",
        needs="agents",
        ways={
            "chat": "chat",
            "chat.stream": "chat",
            "responses": "responses",
            "responses.stream": "responses",
            "responses.websocket": "responses",
        },
    ),
    Family(
        name="langchain",
        program="langchain_python.py",
        needs="langchain_openai",
        ways={
            "chat": "chat",
            "chat.stream": "chat",
            "chat.json_mode": "chat",
            "responses": "responses",
            "responses.stream": "responses",
        },
    ),
    Family(
        name="pydantic-ai",
        program="pydantic_ai_python.py",
        needs="pydantic_ai",
        ways={
            "chat": "chat",
            "chat.stream": "chat",
            "responses": "responses",
            "responses.stream": "responses",
        },
    ),
    Family(
        name="litellm",
        program="litellm_python.py",
        needs="litellm",
        ways={
            "chat": "chat",
            "chat.stream": "chat",
            "responses": "responses",
            "responses.stream": "responses",
        },
    ),
    Family(
        name="llm",
        program="llm_python.py",
        needs="llm",
        ways={
            "chat": "chat",
            "chat.stream": "chat",
            "responses": "responses",
            "responses.stream": "responses",
        },
    ),
    Family(
        name="llama-index",
        program="llama_index_python.py",
        needs="llama_index.llms.openai_like",
        ways={
            "chat": "chat",
            "chat.predict": "chat",
            "chat.stream": "chat",
            "responses.predict": "responses",
        },
    ),
    Family(
        name="mem0",
        program="mem0_python.py",
        needs="mem0",
        ways={"chat": "chat"},
        own={"memory": [{"id": "0", "text": "The user likes trains."}]},
    ),
    Family(
        name="graphiti",
        program="graphiti_python.py",
        needs="graphiti_core",
        ways={"chat": "chat", "responses": "responses"},
        own={
            "extracted_entities": [
                {"name": "Ann", "entity_type_id": 0, "episode_indices": [0]},
                {"name": "trains", "entity_type_id": 0, "episode_indices": [0]},
            ]
        },
    ),
    Family(
        name="openai-node",
        program="openai_node.mjs",
        needs="openai",
        ways={
            "chat.parse": "chat",
            "chat.stream": "chat",
            "chat.chunks": "chat",
            "responses.parse": "responses",
            "responses.stream": "responses",
            "responses.events": "responses",
        },
    ),
    Family(
        name="ai-sdk",
        program="ai_sdk.mjs",
        needs="ai",
        ways={
            "openai.chat": "chat",
            "openai.chat.stream": "chat",
            "openai.responses": "responses",
            "openai.responses.stream": "responses",
            "compatible.chat": "chat",
            "compatible.chat.stream": "chat",
            "open-responses": "responses",
            "open-responses.stream": "responses",
        },
    ),
    Family(
        name="codex",
        program="codex.mjs",
        needs="@openai/codex",
        ways={"sse": "responses", "websocket": "responses"},
    ),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", cases(*FAMILIES))
def test_the_structured_answer_arrives(ran: Callable[[Family], Seen], case: Case) -> None:
    judge(ran(case.family), case)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, id=family.name, marks=pytest.mark.xdist_group(family.name))
        for family in FAMILIES
        if any("websocket" in way for way in family.ways)
    ],
)
def test_what_is_asked_over_a_websocket_is(ran: Callable[[Family], Seen], family: Family) -> None:
    judge_sockets(ran(family), family)
