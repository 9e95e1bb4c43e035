"""mem0's own extraction over endpoints that refuse, or do not enforce, its format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from structguard.guard import Guard
from structguard.testing import RefusingEndpoint

pytestmark = pytest.mark.filterwarnings("ignore")
EXTRACTED = {"memory": [{"id": "0", "text": "The user likes trains."}]}
SAID = [{"role": "user", "content": "I like trains."}]


@pytest.fixture
def mem0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:  # a foreign module
    """mem0 without telemetry, at home in a directory of its own."""
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mem0", reason="mem0 is not installed (make test-real)")


@contextmanager
def memory_at(mem0: Any, base_url: str, directory: Path) -> Iterator[Any]:
    """A Memory that asks this endpoint; its vectors need no second one."""
    store = {
        "path": str(directory / "vectors"),
        "embedding_model_dims": 10,
        "collection_name": "test",
    }
    llm = {"model": "m", "api_key": "key", "openai_base_url": base_url}
    memory = mem0.Memory.from_config(
        {
            "llm": {"provider": "openai", "config": llm},
            "embedder": {"provider": "openai", "config": {"api_key": "key"}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(directory / "history.db"),
        }
    )
    mock = pytest.importorskip("mem0.embeddings.mock")
    memory.embedding_model = mock.MockEmbeddings()
    try:
        yield memory
    finally:
        memory.llm.client.close()
        memory.vector_store.client.close()


@pytest.mark.parametrize("behaviour", ["refuse400", "refuse404", "refuse422", "fenced"])
def test_guarded_extraction_succeeds(mem0: Any, tmp_path: Path, behaviour: str) -> None:
    with (
        RefusingEndpoint(behaviour, value=EXTRACTED) as endpoint,
        memory_at(mem0, endpoint.base_url, tmp_path) as memory,
    ):
        Guard(memo="memory:").wrap(memory.llm.client)
        for user in ("ann", "bob"):
            found = memory.add(SAID, user_id=user)["results"]
            assert [item["memory"] for item in found] == ["The user likes trains."]
        assert endpoint.count() == (2 if behaviour == "fenced" else 3)


def test_unguarded_extraction_fails_for_good(mem0: Any, tmp_path: Path) -> None:
    with (
        RefusingEndpoint("refuse400", value=EXTRACTED) as endpoint,
        memory_at(mem0, endpoint.base_url, tmp_path) as memory,
        pytest.raises(Exception, match="response_format"),
    ):
        memory.add(SAID, user_id="u")
