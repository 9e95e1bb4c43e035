"""`structguard demo` shows what it claims, over real HTTP, with the real SDK and a second process."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from structguard.cli import demo, demo_calls, main, scenes
from structguard.testing import RefusingEndpoint


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[scenes.Scene]:
    return list(scenes.play(f"disk:{tmp_path_factory.mktemp('memo')}"))


def test_every_scene_goes_as_it_should(played: list[scenes.Scene]) -> None:
    assert [(scene.title, scene.as_expected) for scene in played] == [
        ("Without structguard", True),
        ("With structguard", True),
        ("The next call, in another process", True),
        ("An endpoint that accepts the format and ignores it", True),
        ("An endpoint that rejects one schema", True),
        ("The same endpoint, with the schema corrected", True),
    ]


def test_the_wire_shows_one_lost_two_rescued_one_remembered(played: list[scenes.Scene]) -> None:
    wire = [[(e.status, e.sent_format, e.schema_in_prompt) for e in s.wire] for s in played[:3]]
    refused, degraded = (404, "json_schema", False), (200, None, True)
    assert wire == [[refused], [refused, degraded], [degraded]]


def test_values_sources_and_enforcement_are_told(played: list[scenes.Scene]) -> None:
    told = [(bool(s.value), s.source, s.enforced) for s in played]
    assert told == [
        (False, None, None),
        (True, "fenced", False),
        (True, "fenced", False),
        (True, "fenced", True),
        (True, "fenced", False),
        (True, "json", True),
    ]


def test_warnings_and_the_memo_are_shown_once(played: list[scenes.Scene]) -> None:
    assert [len(scene.warnings) for scene in played] == [0, 1, 0, 0, 1, 0]
    assert "rule no_route" in played[1].notes[0]
    assert "additionalProperties" in played[4].warnings[0]


def test_the_log_is_given_back_as_it_was(played: list[scenes.Scene]) -> None:
    del played
    logger = logging.getLogger("structguard")
    assert logger.propagate
    assert not [handler for handler in logger.handlers if type(handler).__name__ == "Capture"]


def arguments(**given: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"json": False, "no_color": True, **given})


@pytest.fixture
def again(played: list[scenes.Scene], monkeypatch: pytest.MonkeyPatch) -> list[scenes.Scene]:
    """The scenes, played already, for what only prints them."""
    monkeypatch.setattr(demo, "play", lambda _memo: iter(played))
    return played


def test_the_text_reads_from_top_to_bottom(
    again: list[scenes.Scene], capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.run(arguments()) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    for part in ("1. Without structguard", "← 404", "no format, the schema in the prompt",
                 "✓ City(name='Lisbon'", "read as fenced, enforced=False", "Summary",
                 "structguard.wrap(client)"):  # fmt: skip
        assert part in told
    assert max(map(len, told.splitlines())) <= 130
    assert len(again) == 6


def test_json_is_one_object_with_every_fact(
    again: list[scenes.Scene], capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.run(arguments(json=True)) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert len(told["scenes"]) == len(again)
    assert told["scenes"][1]["wire"][0]["status"] == 404


def test_what_goes_wrong_is_said_and_is_exit_code_1(
    again: list[scenes.Scene], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = scenes.Scene(title="T", says="S", call="C", error="boom")
    monkeypatch.setattr(demo, "play", lambda _memo: iter([*again, wrong]))
    assert demo.run(arguments()) == 1
    assert "not what should have happened" in capsys.readouterr().out
    assert demo.run(arguments(json=True)) == 1


def test_a_second_process_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = demo_calls.in_another_process("http://127.0.0.1:9/v1", f"disk:{tmp_path}")
    assert (told["error"] or "").startswith("APIConnectionError")
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    assert demo_calls.in_another_process("http://127.0.0.1:9/v1", "disk:")["error"]


def test_what_the_second_process_does_is_told_as_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with RefusingEndpoint(value=demo_calls.CITY) as endpoint:
        demo_calls.another_process(endpoint.base_url, f"disk:{tmp_path}")
    told = json.loads(capsys.readouterr().out)
    assert told["value"].startswith("City(")
    assert told["source"] == "fenced"
    demo_calls.another_process("http://127.0.0.1:9/v1", "memory:")
    assert "APIConnectionError" in json.loads(capsys.readouterr().out)["error"]


def test_the_command_is_registered_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--help"]) == 0
    told = capsys.readouterr().out
    assert "structguard demo --json" in told
    assert "exit codes" in told
