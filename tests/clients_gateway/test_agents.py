"""
Agents that call a tool and then answer in a shape, over upstreams of three wires: `make clients`.

The second request goes on from the first: by its id on a WebSocket, with its items in the input over
HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest

from tests.clients_gateway.support import VALUE, Family, Seen, gateway, play
from tests.gateway.wires import WIRES, Voice, speaking

WORDS = '{"city":"Bonn","n":3}'
LOOKED = '{"place":"Bonn"}'
FAMILIES: Mapping[Family, Voice] = MappingProxyType(
    {
        Family(
            name="codex",
            program="codex.mjs",
            needs="@openai/codex",
            ways={"sse": "responses", "websocket": "responses"},
        ): Voice(words=WORDS, arguments='{"cmd":"echo looked"}'),
        Family(
            name="openai-agents",
            program="openai_agents.py",
            needs="agents",
            ways={
                "tools.chat": "chat",
                "tools.responses": "responses",
                "tools.websocket": "responses",
            },
        ): Voice(words=WORDS, arguments=LOOKED),
        Family(
            name="ai-sdk",
            program="ai_sdk.mjs",
            needs="ai",
            ways={
                "tools.openai.chat": "chat",
                "tools.openai.responses": "responses",
                "tools.open-responses": "responses",
                "tools.compatible.chat": "chat",
            },
        ): Voice(words=WORDS, arguments=LOOKED),
    }
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Family], Seen]:
    """What a family's program saw over one upstream of each wire."""

    @cache
    def seen(family: Family) -> Seen:
        command = family.command()
        place = tmp_path_factory.mktemp(family.name)
        with ExitStack() as stack:
            providers = {
                wire: stack.enter_context(speaking(wire, FAMILIES[family])) for wire in WIRES
            }
            models = {wire: f"{wire}:m" for wire in WIRES}
            url = stack.enter_context(gateway(place, providers, models))
            return play(command, url, [(way, m) for way in family.ways for m in WIRES], place)

    return seen


def cases() -> Iterator[Any]:
    """Every way of each family over each wire."""
    for family in FAMILIES:
        for way in family.ways:
            for wire in WIRES:
                name = f"{family.name}-{way}-over-{wire}"
                yield pytest.param(
                    family,
                    way,
                    wire,
                    id=name,
                    marks=pytest.mark.xdist_group(f"{family.name} tools"),
                )


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("family", "way", "wire"), list(cases()))
def test_a_tool_is_called_and_the_answer_has_its_shape(
    played: Callable[[Family], Seen], family: Family, way: str, wire: str
) -> None:
    found = played(family).answer(way, wire)
    assert isinstance(found, dict)
    assert {key: found[key] for key in VALUE} == VALUE
    assert found.get("looked", "Bonn") == "Bonn"
