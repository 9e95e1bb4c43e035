"""The composition root, the public names, and what importing costs in packages."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from openai import OpenAI

import structguard as sg
from structguard.events import Event
from structguard.memo import open_memo

HEAVY = ("openai", "jsonschema", "pydantic", "aiohttp", "httpx2", "diskcache")


def test_every_public_name_exists_and_says_what_it_is() -> None:
    for name in sg.__all__:
        value = getattr(sg, name)
        assert name in dir(sg)
        if callable(value):
            assert (value.__doc__ or "").strip(), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sg.nothing  # noqa: B018


def test_touching_the_main_names_loads_nothing_heavy() -> None:
    code = (
        "import sys, structguard as sg; sg.wrap, sg.parse, sg.detect_refusal, sg.guarded;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert run.stdout.strip() == "[]"


def test_one_guard_hands_the_same_memo_to_every_face(tmp_path: Path) -> None:
    seen: list[Event] = []
    with sg.Guard(memo=f"disk:{tmp_path}", observer=seen.append, wall=time.time) as guard:
        with guard.wrap(OpenAI(api_key="k")) as client:
            assert "request" in vars(client)
        assert guard.memo.entries() == []
    assert seen == []


async def test_a_guard_is_an_async_context_manager_too() -> None:
    async with sg.Guard(memo="memory:") as guard:
        assert guard.memo.entries() == []


def test_a_memo_is_taken_as_it_is() -> None:
    memo = open_memo("memory:")
    assert sg.Guard(memo=memo).memo is memo


def test_unwrapping_anything_else_hands_it_back() -> None:
    thing = object()
    assert sg.unwrap(thing) is thing


def test_watching_nests_and_ends() -> None:
    @sg.guarded("p", memo="memory:")
    def ask(model: str, response_format: object = None) -> str:
        return model

    with sg.watch() as outer:
        ask("m", response_format={"type": "json_object"})
        with sg.watch() as inner:
            ask("n", response_format={"type": "json_object"})
    ask("o", response_format={"type": "json_object"})
    assert [call.model for call in outer] == ["m", "n"]
    assert [call.model for call in inner] == ["n"]
    assert sg.info("m") is None


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mode": "on"}, "mode must be one of"),
        ({"prompt": "maybe"}, "prompt must be one of"),
        ({"on_unusable": "raise"}, "on_unusable must be one of"),
        ({"expiry": 0}, "expiry must be more than 0"),
        ({"expiry": "1d"}, "expiry must be a number"),
        ({"expiry": float("inf")}, "expiry must be at most"),
        ({"expiry": 10**400}, "expiry must be at most"),
        ({"retry_floor": -1}, "retry_floor must be at least 0"),
        ({"ignored_after": -1}, "ignored_after must be at least 0"),
        ({"ignored_after": 1.5}, "ignored_after must be a whole number"),
        ({"unnamed": 1}, "unnamed must be True or False"),
        ({"also_statuses": 500}, "also_statuses must be a set"),
        ({"also_statuses": {200}}, "also_statuses holds HTTP error statuses"),
        ({"also_statuses": {429}}, "cannot hold 429: it is never a refusal"),
        ({"also_statuses": {True}}, "also_statuses holds HTTP error statuses"),
    ],
)
def test_a_policy_says_what_is_wrong_with_it(options: dict[str, object], what: str) -> None:
    with pytest.raises((ValueError, TypeError), match=what):
        sg.Policy(**options)  # type: ignore[arg-type]


def test_a_memo_that_many_open_keeps_nobody_s_observer(tmp_path: Path) -> None:
    """A client wrapped for each request would leave one behind each time."""
    (tmp_path / "store").write_text("in the way")
    seen: list[str] = []

    def named(name: str) -> Callable[[object], None]:
        return lambda event: seen.append(f"{name}: {type(event).__name__}")

    url = f"disk:{tmp_path}/store"
    lasting, gone = (
        sg.Guard(memo=url, observer=named("lasting")),
        sg.Guard(url, observer=named("gone")),
    )
    assert lasting.memo is gone.memo
    wrapped = sg.Guard(url, observer=named("wrapped")).guarded("p")(
        lambda model, response_format: 0
    )
    kept = weakref.ref(gone.observer)
    del gone
    gc.collect()
    assert kept() is None
    lasting.memo.refresh()
    assert sorted(seen) == ["lasting: MemoTrouble", "wrapped: MemoTrouble"]
    del wrapped
