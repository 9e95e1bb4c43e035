"""openai-python as a program against `structguard serve`: the one client every run has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients_gateway.judging import Case, cases, judge, judge_sockets
from tests.clients_gateway.support import Family, Seen

OPENAI = Family(
    name="openai-python",
    program="openai_python.py",
    needs="openai",
    home=Path(sys.executable),
    ways={
        "chat.parse": "chat",
        "chat.create": "chat",
        "chat.raw": "chat",
        "chat.stream": "chat",
        "chat.chunks": "chat",
        "responses.parse": "responses",
        "responses.create": "responses",
        "responses.raw": "responses",
        "responses.stream": "responses",
        "responses.events": "responses",
        "responses.async": "responses",
        "responses.websocket": "responses",
    },
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", cases(OPENAI))
def test_the_structured_answer_arrives(ran: Callable[[Family], Seen], case: Case) -> None:
    judge(ran(case.family), case)


@pytest.mark.timeout(300)
def test_what_is_asked_over_a_websocket_is(ran: Callable[[Family], Seen]) -> None:
    judge_sockets(ran(OPENAI), OPENAI)
