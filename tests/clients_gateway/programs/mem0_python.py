"""mem0: its own extraction of memories, the model behind the gateway, the vectors in a local file."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from mem0 import Memory
from mem0.embeddings.mock import MockEmbeddings
from ways import PLACE, TOKEN, URL, main


def add(model):
    place = PLACE / model
    place.mkdir()
    store = {"path": str(place / "vectors"), "embedding_model_dims": 10, "collection_name": "t"}
    llm = {"model": model, "api_key": TOKEN, "openai_base_url": URL}
    memory = Memory.from_config(
        {
            "llm": {"provider": "openai", "config": llm},
            "embedder": {"provider": "openai", "config": {"api_key": TOKEN}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(place / "history.db"),
        }
    )
    memory.embedding_model = MockEmbeddings()
    try:
        found = memory.add([{"role": "user", "content": "I like trains."}], user_id="ann")
        texts = [one["memory"] for one in found["results"]]
        return {"memory": [{"id": str(at), "text": text} for at, text in enumerate(texts)]}
    finally:
        memory.vector_store.client.close()


main({"chat": add})
