"""README and docs: every Python block runs and says the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from structguard.testing import RefusingEndpoint
from tests.documents.blocks import run

ROOT = Path(__file__).resolve().parents[2]
CITY = {"name": "Lisbon", "population": 545796}


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, object]]:
    """What the documents take for granted: an endpoint that refuses, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with RefusingEndpoint("refuse404", value=CITY) as endpoint:

        def call_the_endpoint(messages: list[str], model: str, response_format: Any) -> str:
            given = {} if response_format is None else {"response_format": {"type": "json_object"}}
            with OpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0) as client:
                answer = client.chat.completions.create(
                    model=model,
                    messages=[{"role": "user", "content": text} for text in messages],
                    **given,  # type: ignore[call-overload]
                )
            return str(answer.choices[0].message.content)

        names: dict[str, object] = {
            "endpoint": endpoint.base_url,
            "call_the_endpoint": call_the_endpoint,
        }
        yield names
        for left in names.values():
            if isinstance(left, OpenAI):
                left.close()


def test_the_readme_runs(namespace: dict[str, object]) -> None:
    assert run(ROOT / "README.md", namespace) > 10


@pytest.mark.parametrize("name", ["memo.md", "refusals.md"])
def test_the_document_runs(name: str, namespace: dict[str, object]) -> None:
    assert run(ROOT / "docs" / name, namespace) > 0
