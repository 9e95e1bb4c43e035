"""graphiti-core: its own extraction of entities, over chat and over responses."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from datetime import UTC, datetime

from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_client import OpenAIClient
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EpisodeType, EpisodicNode
from graphiti_core.tracer import NoOpTracer
from graphiti_core.utils.maintenance.node_operations import extract_nodes
from ways import TOKEN, URL, main


def extract(kind):
    async def ask(model):
        config = LLMConfig(model=model, small_model=model, api_key=TOKEN, base_url=URL)
        found = GraphitiClients.model_construct(llm_client=kind(config), tracer=NoOpTracer())
        now = datetime.now(UTC)
        said = EpisodicNode(
            name="e", group_id="g", source=EpisodeType.message, source_description="chat",
            content="Ann: I like trains.", valid_at=now, created_at=now,
        )  # fmt: skip
        nodes, *_ = await extract_nodes(found, said, [])
        return {"extracted_entities": [
            {"name": node.name, "entity_type_id": 0, "episode_indices": [0]} for node in nodes
        ]}  # fmt: skip

    return ask


main({"chat": extract(OpenAIGenericClient), "responses": extract(OpenAIClient)})
