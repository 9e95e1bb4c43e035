"""graphiti-core's own extraction over endpoints that refuse, or do not enforce, its format."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from openai import AsyncOpenAI

from structguard.guard import Guard
from structguard.testing import Ask, RefusingEndpoint
from structguard.testing.behaviours import schema_in
from structguard.testing.speech import Said

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]
ANSWERS = {
    "ExtractedEntities": {
        "extracted_entities": [
            {"name": "Ann", "entity_type_id": 0, "episode_indices": [0]},
            {"name": "trains", "entity_type_id": 0, "episode_indices": [0]},
        ]
    },
    "ExtractedEdges": {
        "edges": [
            {
                "source_entity_name": "Ann",
                "target_entity_name": "trains",
                "relation_type": "LIKES",
                "fact": "Ann likes trains.",
                "valid_at": None,
                "invalid_at": None,
                "episode_indices": [0],
            }
        ]
    },
}


def model(ask: Ask) -> Said:
    """What the model says: the value for the schema that the prompt shows, in a fence."""
    value = ANSWERS[str((schema_in(ask.body) or {}).get("title"))]
    return Said(text=f"Here you are:\n```json\n{json.dumps(value)}\n```\nAnything else?")


def need(name: str) -> Any:  # a foreign module
    """The module, or a skip that names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (make test-real)")


@asynccontextmanager
async def clients(kind: str, base_url: str, *, guarded: bool) -> AsyncIterator[Any]:
    """graphiti's clients around an SDK client of ours."""
    types = need("graphiti_core.graphiti_types")
    llm = need("graphiti_core.llm_client.openai_client").OpenAIClient
    if kind == "chat":
        llm = need("graphiti_core.llm_client.openai_generic_client").OpenAIGenericClient
    config = need("graphiti_core.llm_client.config").LLMConfig(
        model="m", small_model="m", api_key="key"
    )
    async with AsyncOpenAI(base_url=base_url, api_key="key", max_retries=0) as sdk:
        if guarded:
            Guard(memo="memory:").wrap(sdk)
        yield types.GraphitiClients.model_construct(
            llm_client=llm(config, client=sdk), tracer=need("graphiti_core.tracer").NoOpTracer()
        )


def episode() -> Any:
    """One message."""
    nodes = need("graphiti_core.nodes")
    now = datetime.now(UTC)
    return nodes.EpisodicNode(
        name="e",
        group_id="g",
        source=nodes.EpisodeType.message,
        source_description="chat",
        content="Ann: I like trains.",
        valid_at=now,
        created_at=now,
    )


async def extracted(found: Any) -> tuple[list[str], list[str]]:
    """Names of the entities and facts of the relations that graphiti extracts."""
    node_operations = need("graphiti_core.utils.maintenance.node_operations")
    edge_operations = need("graphiti_core.utils.maintenance.edge_operations")
    said = episode()
    nodes, _ = await node_operations.extract_nodes(found, said, [])
    edges, _ = await edge_operations.extract_edges(found, said, nodes, [], {}, "g")
    return [node.name for node in nodes], [edge.fact for edge in edges]


@pytest.mark.parametrize("kind", ["chat", "responses"])
@pytest.mark.parametrize("behaviour", ["refuse400", "refuse404"])
async def test_guarded_extraction_succeeds_where_the_format_is_refused(
    anyio_backend: str, kind: str, behaviour: str
) -> None:
    with RefusingEndpoint(behaviour, answer=model) as endpoint:
        async with clients(kind, endpoint.base_url, guarded=True) as found:
            assert await extracted(found) == (["Ann", "trains"], ["Ann likes trains."])
        assert endpoint.count() == 3  # one refusal, then it is known


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_guarded_extraction_succeeds_where_the_format_is_not_enforced(
    anyio_backend: str, kind: str
) -> None:
    node_operations = need("graphiti_core.utils.maintenance.node_operations")
    with RefusingEndpoint("fenced", value=ANSWERS["ExtractedEntities"]) as endpoint:
        async with clients(kind, endpoint.base_url, guarded=True) as found:
            nodes, _ = await node_operations.extract_nodes(found, episode(), [])
        assert [node.name for node in nodes] == ["Ann", "trains"]
        assert endpoint.count() == 1


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_unguarded_extraction_fails_for_good(anyio_backend: str, kind: str) -> None:
    with RefusingEndpoint("refuse400", answer=model) as endpoint:
        async with clients(kind, endpoint.base_url, guarded=False) as found:
            with pytest.raises(Exception, match=r"not supported with this model"):
                await extracted(found)
