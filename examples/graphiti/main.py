"""
graphiti-core over an endpoint that refuses its format: hand it a wrapped client, and its own
extraction works.

    pip install structguard graphiti-core httpx && python examples/graphiti/main.py
"""

from __future__ import annotations

import anyio
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.prompts.extract_nodes import ExtractedEntities
from graphiti_core.prompts.models import Message
from openai import AsyncOpenAI

import structguard as sg
from structguard.testing import RefusingEndpoint

EXTRACTED = {"extracted_entities": [{"name": "Ann", "entity_type_id": 0, "episode_indices": [0]}]}


async def main() -> None:
    """Extract entities, unguarded and guarded."""
    for guarded in (False, True):
        with RefusingEndpoint("refuse400", value=EXTRACTED) as endpoint:
            async with AsyncOpenAI(base_url=endpoint.base_url, api_key="key") as client:
                if guarded:
                    sg.wrap(client, memo="memory:")
                config = LLMConfig(model="vendor/model", small_model="vendor/model")
                graphiti = OpenAIGenericClient(config, client=client)
                asked = [
                    Message(role="system", content="Extract entities."),
                    Message(role="user", content="Ann: I like trains."),
                ]
                try:
                    found = await graphiti.generate_response(
                        asked, response_model=ExtractedEntities
                    )
                    print("guarded:", found)
                except Exception as error:  # noqa: BLE001  whatever comes out is shown
                    print("unguarded:", str(error)[:100])


if __name__ == "__main__":
    anyio.run(main)
