"""The side-by-side table's bar, for every client that is installed: right, or truthful."""

from __future__ import annotations

import pytest

from benchmarks.compare.clients import CLIENTS, Face
from benchmarks.compare.endpoints import BEHAVIOURS
from benchmarks.compare.outcome import Pair, Verdict, guarded, without
from tests.plugins.support import optional

pytestmark = pytest.mark.filterwarnings("ignore")
MODULES = {
    "openai": "openai",
    "instructor": "instructor",
    "LangChain": "langchain_openai",
    "pydantic-ai": "pydantic_ai.models.openai",
    "agents": "agents",
    "litellm": "litellm",
    "Router": "litellm",
    "any-llm": "any_llm",
}


@pytest.mark.parametrize("face", ["wrap", "transport"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_guarded_client_is_right_or_truthful(client: str, behaviour: str, face: Face) -> None:
    optional(MODULES[client])
    asked = BEHAVIOURS[behaviour]
    pair = guarded(CLIENTS[client], asked, face)
    assert pair.holds, pair
    assert not asked.has_object or pair.first.verdict is Verdict.RIGHT
    assert pair.second.requests <= pair.first.requests <= 4


def test_the_same_client_without_a_guard_is_neither() -> None:
    """What the table would show if the endpoints were harmless."""

    def marks(pair: Pair) -> str:
        return pair.first.verdict.value + pair.second.verdict.value

    found = {key: marks(without(CLIENTS["openai"], one)) for key, one in BEHAVIOURS.items()}
    assert found == {
        **dict.fromkeys(("400", "404", "422", "405", "500", "fenced"), "✗✗"),
        **dict.fromkeys(("error200", "cut"), "✗✗"),
        **dict.fromkeys(("empty", "reasoning"), "≈≈"),
        "prose": "●●",
        "enforced": "✓✓",
    }
