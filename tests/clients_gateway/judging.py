"""Each way of each family over each treatment, on the client's wire and across: what must be true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.clients_gateway.support import TREATMENTS, Family, Seen, Wire, models_for


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way of asking, one upstream."""

    family: Family
    way: str
    wire: Wire
    upstream: str
    treatment: str
    model: str


def cases(*families: Family) -> list[Any]:
    """Every case of these families, as parameters; those of one family keep together."""
    return list(_cases(families))


def _cases(families: Sequence[Family]) -> Iterator[Any]:
    for family in families:
        for way, wire in family.ways.items():
            for treatment, upstream, model in models_for(wire):
                case = Case(
                    family=family, way=way, wire=wire, upstream=upstream,
                    treatment=treatment, model=model,
                )  # fmt: skip
                name = f"{family.name}-{way}-{treatment}-{wire}-over-{upstream}"
                yield pytest.param(case, id=name, marks=pytest.mark.xdist_group(family.name))


def judge(seen: Seen, case: Case) -> None:
    """The value arrived; it was asked for with a format, which went upstream while it was taken."""
    assert seen.answer(case.way, case.model) == case.family.own
    path = "/chat/completions" if case.upstream == "chat" else "/responses"
    asked = [
        one
        for one in seen.asked
        if one.model == TREATMENTS[case.treatment] and one.path.endswith(path)
    ]
    assert any(one.sent for one in asked), "no format ever reached the upstream"


def judge_sockets(seen: Seen, family: Family) -> None:
    """What is asked over a WebSocket was: every POST belongs to another way."""
    ways = [
        way for way, wire in family.ways.items() if wire == "responses" and "websocket" not in way
    ]
    assert seen.posts == len(ways) * 2 * len(TREATMENTS)
