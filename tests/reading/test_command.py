"""`structguard parse`: what it prints and the exit codes it promises."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from structguard.cli import main

SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_text("As in {\"n\": 1}:\n```json\n{'n': '2',}\n```\nor {y -> z}", encoding="utf-8")
    return path


def test_the_value_its_source_and_its_repairs_are_shown(
    answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", "--schema", SCHEMA, "--coerce", str(answer)]) == 0
    shown = capsys.readouterr().out
    assert '"n": 2' in shown
    assert "source       repaired" in shown
    assert "repair       quotes at" in shown
    assert "coercion     /n: '2' → 2" in shown
    assert 'alternative  {"n": 1}' in shown


def test_explain_says_why_each_candidate_won_or_lost(
    answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", "--schema", SCHEMA, "--coerce", "--explain", str(answer)]) == 0
    shown = capsys.readouterr().out
    assert "taken" in shown
    assert "does not open a code fence" in shown
    assert main(["parse", "--schema", SCHEMA, "--explain", "--json", str(answer)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["verdict"] for one in facts["candidates"]] == ["taken", "refused"]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('{"n": 5, "m": "x', "truncated"),
        ('[{"type": "text", "text": "It is {\\"n\\": 5}."}]', "embedded"),
        ("'n': 5, 'm': 6", "repaired"),
    ],
)
def test_explain_names_what_is_taken_whatever_step_found_it(
    text: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(text, encoding="utf-8")
    assert main(["parse", "--schema", SCHEMA, "--explain", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    taken = [one for one in facts["candidates"] if one["verdict"] == "taken"]
    assert [(one["source"], one["value"]["n"]) for one in taken] == [(source, 5)]


def test_nothing_usable_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no.txt"
    path.write_text("no", encoding="utf-8")
    assert main(["parse", "--schema", SCHEMA, str(path)]) == 1
    assert "no JSON" in capsys.readouterr().out
    assert main(["parse", "--json", str(path)]) == 1
    assert json.loads(capsys.readouterr().out)["reason"] == "no_json"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--schema", '{"type": 5}', "-"],
        ["--schema", "{broken", "-"],
        ["--schema", "/nowhere.json", "-"],
        ["/nowhere.txt"],
    ],
)
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    assert main(["parse", *arguments]) == 2
    assert "structguard parse:" in capsys.readouterr().err


def test_standard_input_and_a_schema_file_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(SCHEMA, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"n": 5'))
    assert main(["parse", "--schema", str(schema), "--partial"]) == 0
    assert "its end is missing" in capsys.readouterr().out


def test_each_line_of_jsonl_is_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.jsonl"
    lines = ['"{\\"n\\": 1} \u2028"', "", '{"text": "[1]", "schema": {"type": "array"}}', '"none"']
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main(["parse", "--jsonl", "--json", "--schema", SCHEMA, str(path)]) == 1
    facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["found"] for one in facts] == [True, True, False]
    assert facts[0]["input"].endswith(":1")
    assert main(["parse", "--jsonl", "--schema", SCHEMA, str(path)]) == 1
    assert "answers.jsonl:3" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["{", "5", '{"other": 1}'])
def test_a_line_that_is_no_answer_is_wrong_usage(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(line, encoding="utf-8")
    assert main(["parse", "--jsonl", str(path)]) == 2
    assert "answers.jsonl:1" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_a_bar_on_long_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('"[1]"\n' * 220, encoding="utf-8")
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["parse", "--jsonl", "--json", str(path)]) == 0
    assert "100/220" in terminal.getvalue()
    assert "█" in terminal.getvalue()


@pytest.mark.parametrize(
    ("schema", "lines", "told"),
    [
        ("true", "", "--schema must be a JSON object, got true"),
        ("null", "", "--schema must be a JSON object, got null"),
        ("[" * 100_000, "", "--schema is nested too deeply"),
        (None, "[" * 100_000, "lines.jsonl:1 is nested too deeply"),
        (None, '{"text": "1", "schema": "x"}', 'lines.jsonl:1: its schema must be a JSON object, got "x"'),
        (None, '"1"\n{"text": "1", "schema": {"type": "x"}}', "lines.jsonl:2: the JSON Schema is broken at /type"),
        (None, b'"\xff"', "lines.jsonl is not UTF-8 text"),
    ],
    ids=["true", "null", "deep schema", "deep line", "line's schema", "broken schema", "bytes"],
)  # fmt: skip
def test_input_of_the_wrong_shape_is_told_with_its_place(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    schema: str | None,
    lines: str | bytes,
    told: str,
) -> None:
    """It is wrong usage: a traceback's exit code would say that no value was found."""
    file, answers = tmp_path / "schema.json", tmp_path / "lines.jsonl"
    file.write_text(schema or "{}")
    answers.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    chosen = [] if schema is None else ["--schema", str(file)]
    assert main(["parse", "--jsonl", *chosen, str(answers)]) == 2
    assert told in capsys.readouterr().err


def test_a_byte_order_mark_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, answers = tmp_path / "schema.json", tmp_path / "answers.jsonl"
    schema.write_text(SCHEMA, encoding="utf-8-sig")
    answers.write_text('"{\\"n\\": 1}"\r\n', encoding="utf-8-sig")
    assert main(["parse", "--jsonl", "--json", "--schema", str(schema), str(answers)]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == {"n": 1}
