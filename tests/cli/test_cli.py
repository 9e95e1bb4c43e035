"""The command line's shell: commands, exit codes, interruptions; and what it prints with."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import structguard
from structguard import cli
from structguard.cli.console import Console, shorten
from structguard.errors import MissingExtra


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    command = [sys.executable, "-m", "structguard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A command of our own in place of `demo`: it gives the exit code or raises what is put here."""
    wanted: list[object] = []
    command = ModuleType("structguard.cli.demo")

    def act(_args: argparse.Namespace) -> int:
        if isinstance(wanted[0], BaseException):
            raise wanted[0]
        assert isinstance(wanted[0], int)
        return wanted[0]

    def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        subparsers.add_parser("demo").set_defaults(run=act)

    command.register = register  # type: ignore[attr-defined]
    monkeypatch.setattr(cli, "import_module", lambda _name: command)
    return wanted


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (0, 0),
        (1, 1),
        (KeyboardInterrupt(), 130),
        (MissingExtra("it", "gateway"), 2),
        (SystemExit(3), 3),
        (SystemExit("words"), 2),
    ],
)
def test_what_a_command_does_becomes_the_exit_code(
    outcome: list[object], given: object, code: int
) -> None:
    outcome.append(given)
    assert cli.main(["demo"]) == code


def test_a_missing_extra_is_told_with_the_pip_line(
    outcome: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome.append(MissingExtra("the gateway", "gateway"))
    cli.main(["demo"])
    assert (
        "structguard demo: the gateway needs an optional package: pip install"
        in capsys.readouterr().err
    )


def test_a_reader_that_goes_away_is_no_traceback(
    outcome: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome.append(BrokenPipeError())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["demo"]) == 141
    assert sys.stdout.name == os.devnull
    sys.stdout.close()


def test_a_closed_pipe_of_a_real_process_is_quiet() -> None:
    command = f"{sys.executable} -m structguard --help | head -c 1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", command], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == ""


def test_help_lists_the_commands_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    told = capsys.readouterr().out
    assert "demo" in told
    assert "detect" in told
    assert "130" in told


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"structguard {structguard.__version__}\n"


def test_no_command_prints_the_help_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "commands" in capsys.readouterr().err


def test_help_imports_no_command_and_nothing_heavy() -> None:
    script = (
        "import sys, structguard.cli as cli; cli.main(['--help'])\n"
        "commands = {f'structguard.cli.{name}' for name in cli.COMMANDS}\n"
        "heavy = {'openai', 'pydantic', 'diskcache', 'jsonschema', 'anyio'}\n"
        "print(sorted((commands | heavy) & sys.modules.keys()), file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr.strip() == "[]"


def test_only_the_command_that_is_asked_for_is_imported() -> None:
    script = (
        "import sys, structguard.cli as cli; cli.main(['demo', '--help'])\n"
        "print([m for m in sys.modules if m.startswith('structguard.cli.')], file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert "structguard.cli.demo" in done.stderr
    assert "structguard.cli.memo" not in done.stderr


def test_python_dash_m_gives_version_usage_and_codes() -> None:
    assert run("--version").stdout == f"structguard {structguard.__version__}\n"
    assert run("nonsense").returncode == 2
    nothing = run()
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "commands" in nothing.stderr


def test_a_command_whose_module_is_missing_is_not_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", {"demo": "shown", "nowhere": "hidden"})
    assert cli.main(["--help"]) == 0
    told = capsys.readouterr().out
    assert "shown" in told
    assert "hidden" not in told


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    coloured: bool,  # noqa: FBT001
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Console(Terminal()).colour is coloured
    assert Console(io.StringIO()).colour is False
    assert Console(io.StringIO(), colour=True).colour is True


def test_paint_adds_codes_only_with_colour() -> None:
    assert Console(io.StringIO(), colour=True).paint("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert Console(io.StringIO(), colour=True).paint("x") == "x"
    assert Console(io.StringIO(), colour=False).paint("x", "bold") == "x"


def test_a_table_lines_up_and_stays_on_the_screen() -> None:
    out = io.StringIO()
    Console(out, width=30).table(["name", "what"], [["a", "short"], ["bbb", "long " * 20]])
    lines = out.getvalue().splitlines()
    assert lines[0] == "name  what"
    assert lines[1] == "a     short"
    assert lines[2].startswith("bbb   long long")
    assert lines[2].endswith("…")
    assert all(len(line) <= 30 for line in lines)


def test_text_is_wrapped_with_its_indents() -> None:
    out = io.StringIO()
    Console(out, width=20).wrapped("one two three four five", indent="- ", hang="  ")
    Console(out, width=20).wrapped("", indent="- ")
    assert out.getvalue() == "- one two three four\n  five\n- \n"


def test_a_heading_is_underlined_after_an_empty_line() -> None:
    out = io.StringIO()
    Console(out).heading("Title")
    assert out.getvalue() == "\nTitle\n─────\n"


def test_shorten_keeps_one_line() -> None:
    assert shorten("a\n b", 10) == "a b"
    assert shorten("abcdef", 4) == "abc…"


def test_output_that_cannot_be_written_is_told_and_not_taken_for_a_no(
    outcome: list[object], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback's exit code is 1, which says "not a refusal", "no value"."""
    outcome.append(OSError(28, "No space left on device"))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["demo"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    sys.stdout.close()


def test_a_reader_of_many_values_that_goes_away_is_told_by_its_own_code(tmp_path: Path) -> None:
    lines = tmp_path / "answers.jsonl"
    lines.write_text('"{}"\n' * 5_000)
    command = (
        f"{sys.executable} -m structguard parse --jsonl --json {lines} | head -n 1;"
        " exit ${PIPESTATUS[0]}"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", command], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_locale_without_unicode_reads_utf8_and_prints_escapes(tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text('{"n": "ž 😀"}', encoding="utf-8")
    command = f"{sys.executable} -m structguard parse --json < {answer}"
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    for encoding in ("ascii", "latin-1"):
        done = subprocess.run(  # noqa: S603
            ["/bin/bash", "-c", command],
            capture_output=True,
            check=False,
            env={**environment, "PYTHONIOENCODING": encoding},
        )
        assert json.loads(done.stdout.decode(encoding))["value"] == {"n": "ž 😀"}, done.stderr
    told = run("demo", "--no-color", PYTHONIOENCODING="ascii")
    assert (told.returncode, told.stderr) == (0, "")
    assert "-----" in told.stdout


@pytest.mark.parametrize(("closed", "code"), [("<&-", 1), (">&-", 0)])
def test_streams_that_were_closed_beforehand_crash_nothing(
    tmp_path: Path, closed: str, code: int
) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text("{}")
    source = "-" if closed == "<&-" else str(answer)
    environment = {**os.environ, "PYTHONPATH": str(Path(structguard.__file__).parents[1])}
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", f"{sys.executable} -m structguard parse {source} {closed}"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (code, "")
