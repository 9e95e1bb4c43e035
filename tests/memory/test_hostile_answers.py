"""What a broken or hostile model may write costs a sub-call no time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import pytest

from structguard.memory import (
    Episode,
    Memory,
    Surfaced,
    distiller,
    link_generator,
    rewriter,
    vote_runner,
)
from structguard.subcalls import Outcome
from structguard.testing import Script

LINES = 20_000
ANSWERS = {
    "blank lines": "\n" * LINES,
    "empty bullets": "* \n" * LINES,
    "quotes that never close": "LESSON activation=“\n" * LINES,
    "one endless line": "UPVOTE a" + " b" * LINES,
    "dots": "LINK 1 2" + "." * LINES + "x",
    "tags": "<rewritten_query>" * LINES,
    "numbers": "1. " * LINES,
}


async def _vote(script: Script) -> Outcome[object]:
    return await vote_runner()(script, [Surfaced("fact", 1)], "message", "reply")  # type: ignore[return-value]


async def _link(script: Script) -> Outcome[object]:
    return await link_generator()(script, [Memory(1, "a"), Memory(2, "b")])  # type: ignore[return-value]


async def _distil(script: Script) -> Outcome[object]:
    return await distiller()(script, [Episode("it happened")])  # type: ignore[return-value]


async def _rewrite(script: Script) -> Outcome[object]:
    return await rewriter()(script, ["user: I have a cat."], "how old is it?")  # type: ignore[return-value]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("ask", [_vote, _link, _distil, _rewrite])
async def test_an_answer_of_nothing_takes_no_time(
    ask: Callable[[Script], Awaitable[Outcome[object]]], answer: str
) -> None:
    began = time.process_time()
    outcome = await ask(Script([ANSWERS[answer]]))
    assert time.process_time() - began < 2.0  # it was 4 to 50 s
    assert not outcome.ok
