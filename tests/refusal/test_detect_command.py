"""`structguard detect`: verdict, rule and consequence, and an exit code that says it too."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from structguard.cli import detect

REFUSED = json.dumps({"error": {"message": "response_format is not supported with tools"}})


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="structguard")
    detect.register(parser.add_subparsers())
    args = parser.parse_args(["detect", *arguments])
    result = args.run(args)
    assert isinstance(result, int)
    return result


@pytest.fixture
def body(tmp_path: Path) -> str:
    path = tmp_path / "error.json"
    path.write_text(REFUSED)
    return str(path)


def test_a_refusal_is_explained(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "400", body) == 0
    told = capsys.readouterr().out
    assert "HTTP 400 refuses json_schema" in told
    assert "not_supported" in told
    assert "response_format is not supported with tools" in told
    assert "send once more without the format" in told


def test_the_flag_is_told(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "400", "--tools", body) == 0
    told = capsys.readouterr().out
    assert "combination (tools)" in told
    assert "calls that carry tools only" in told


def test_another_error_is_exit_code_1(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "429", body) == 1
    assert "not a refusal" in capsys.readouterr().out


def test_json_is_one_object(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "400", "--json", body) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["refusal"], told["scope"], told["rule"]) == (True, "capability", "not_supported")


def test_json_of_no_refusal(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "500", "--json", body) == 1
    assert json.loads(capsys.readouterr().out)["refusal"] is False


def test_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REFUSED.encode())))
    assert run("--status", "400", "-") == 0
    assert "refuses" in capsys.readouterr().out


def test_also_status_admits_a_server_that_refuses_with_500(body: str) -> None:
    assert run("--status", "500", body) == 1
    assert run("--status", "500", "--also-status", "500", body) == 0


def test_unnamed_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_text("")
    assert run("--status", "400", str(tmp_path / "empty")) == 1
    assert run("--status", "400", "--unnamed", str(tmp_path / "empty")) == 0
    assert "five minutes" in capsys.readouterr().out


def test_a_status_that_never_refuses_cannot_be_admitted(
    body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--status", "429", "--also-status", "429", body) == 2
    assert "never a refusal" in capsys.readouterr().err


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status", "400", "/nowhere/at/all") == 2
    assert "/nowhere/at/all" in capsys.readouterr().err


def test_a_missing_status_is_wrong_usage() -> None:
    with pytest.raises(SystemExit, match="2"):
        run("-")


def test_help_documents_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        run("--help")
    told = capsys.readouterr().out
    assert "examples:" in told
    assert "exit codes:" in told
