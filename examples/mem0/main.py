"""
mem0 over an endpoint that refuses its format: wrap the client that mem0 made, and its own
extraction works.

    pip install structguard mem0ai && python examples/mem0/main.py
"""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp())

from mem0 import Memory
from mem0.embeddings.mock import MockEmbeddings

import structguard as sg
from structguard.testing import RefusingEndpoint

EXTRACTED = {"memory": [{"id": "0", "text": "The user likes trains."}]}


def memory_at(base_url: str, directory: str) -> Memory:
    """A mem0 Memory that asks this endpoint and keeps everything in one directory."""
    store = {"path": directory, "embedding_model_dims": 10, "collection_name": "demo"}
    llm = {"model": "vendor/model", "api_key": "key", "openai_base_url": base_url}
    memory = Memory.from_config(
        {
            "llm": {"provider": "openai", "config": llm},
            "embedder": {"provider": "openai", "config": {"api_key": "key"}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": f"{directory}/history.db",
        }
    )
    memory.embedding_model = MockEmbeddings()  # no second endpoint in an example
    return memory


def main() -> None:
    """Add one message, unguarded and guarded."""
    for guarded in (False, True):
        with RefusingEndpoint("refuse400", value=EXTRACTED) as endpoint:
            memory = memory_at(endpoint.base_url, tempfile.mkdtemp())
            if guarded:
                sg.wrap(memory.llm.client, memo="memory:")
            try:
                found = memory.add([{"role": "user", "content": "I like trains."}], user_id="u")
                print("guarded:", [item["memory"] for item in found["results"]])
            except Exception as error:  # noqa: BLE001  whatever mem0 makes of it is shown
                print("unguarded:", str(error)[:100])


if __name__ == "__main__":
    main()
