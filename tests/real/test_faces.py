"""Every face at the real server: right both times, a refusal costs one request, once (`make e2e`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.e2e import places, scenes, servers
from benchmarks.e2e.tap import Tap, tapped


@pytest.fixture(scope="module")
def tap(llama: str) -> Iterator[Tap]:
    with tapped(llama) as made:
        yield made


@pytest.fixture(scope="module")
def gateway(tap: Tap, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.gateway(tmp_path_factory.mktemp("gateway"), tap.url) as url:
        yield url


@pytest.mark.parametrize("at", range(3), ids=["enforcing", "ignoring", "refusing"])
def test_every_face_gets_the_answer_for_what_it_should_cost(
    llama: str, tap: Tap, gateway: str, at: int
) -> None:
    with tapped(llama) as spare:
        rows = list(scenes.rows(places.at_llama(tap)[at], gateway, spare))
        assert spare.seen == []
    assert [row.face for row in rows if row.face != scenes.PLAIN and not row.holds] == []
    plain = next(row for row in rows if row.face == scenes.PLAIN)
    assert (plain.first.answer is None) is (at > 0)


def test_what_one_face_learned_the_others_know(tap: Tap, tmp_path: Path) -> None:
    learned = scenes.shared(places.at_llama(tap)[2], tmp_path)
    assert [len(call.seen) for _, call in learned] == [2, 1, 1]
