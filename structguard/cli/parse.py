"""
`structguard parse`: the value in what a model wrote, how it was found, and why no other was taken.

Exit codes: 0 a value (with several inputs: in each of them), 1 nothing usable, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from structguard.cli.command import add_command
from structguard.cli.console import Console, error_text
from structguard.errors import ParseError
from structguard.reading import ABSTAIN, Parsed, parse
from structguard.reading.explain import Judged, explain
from structguard.reading.finding import Job
from structguard.reading.target import Target
from structguard.types import as_mapping, as_text

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers

_EXAMPLES = """\
examples:
  structguard parse answer.txt
  structguard parse --schema schema.json --coerce answer.txt
  echo '{"n": "4"' | structguard parse --schema '{"type": "object"}' --partial --explain -
  structguard parse --jsonl --json --schema schema.json answers.jsonl > values.jsonl

Each line of --jsonl input is a JSON string, or an object that holds the answer under "text" and,
optionally, a JSON Schema of its own under "schema".

exit codes:
  0  a value was found in every input
  1  at least one input holds no usable value
  2  wrong usage, a broken schema, or a file that cannot be read
"""
_LONG = 200  # lines of JSONL from which on a terminal sees a progress bar
_BAR = 30  # characters of the bar
_STEP = 25  # answers between two drawings of it


@dataclass(frozen=True)
class _Input:
    """One answer, the name it is shown by, and its own schema if it brought one."""

    name: str
    text: str
    schema: object = None


class _WrongInput(ValueError):
    """An input that is not what the options say it is."""


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    parser = add_command(
        subparsers,
        "parse",
        description=(
            "Extract the JSON value from a model's answer. Strict JSON is taken as it is, damaged\n"
            "JSON is repaired, and the schema decides between several candidates. Nothing is made\n"
            "up: every part of the value is in the text."
        ),
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "--schema", metavar="FILE|JSON", help="JSON Schema that the value must match"
    )
    for flag, about in (
        ("coerce", 'convert types where the schema requires it and nothing is lost: "42" to 42'),
        ("partial", "keep a string or number that is cut off at the end of the answer"),
        ("markup", "read XML-style tool arguments"),
        ("latex", "restore LaTeX commands that JSON decoding turned into escapes"),
        ("jsonl", "treat each line of the input as one answer, encoded as JSON"),
        ("explain", "print every candidate and why it was taken or rejected"),
        ("json", "print the result as JSON, one line per answer"),
    ):
        parser.add_argument(f"--{flag}", action="store_true", help=about)
    parser.add_argument(
        "files",
        nargs="*",
        default=["-"],
        metavar="FILE",
        help="file with the answer (default: standard input)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Parse each input and print what was found; the exit code says whether all had a value."""
    try:
        schema = _schema(args.schema)
        Target.of(schema)  # a broken schema is told before anything is read
        inputs = [item for name in args.files for item in _inputs(name, jsonl=args.jsonl)]
        missing = 0
        for item in _progress(inputs, sys.stderr, visible=args.jsonl):
            missing += _parse_one(item, schema, args) != 0
    except BrokenPipeError:  # of the output: `main` knows what to do
        raise
    except (OSError, ValueError) as error:
        print(f"structguard parse: {error_text(error)}", file=sys.stderr)
        return 2
    return 1 if missing else 0


def _schema(option: str | None) -> object:
    """The schema of the option: JSON, or the file that holds it."""
    if option is None:
        return None
    schema = _json(option if option.lstrip().startswith("{") else _text(option), "--schema")
    return _object(schema, "--schema")


def _object(schema: object, name: str) -> object:
    if as_mapping(schema) is None:
        raise _WrongInput(f"{name} must be a JSON object, got {_short(schema)}")
    return schema


def _json(text: str, name: str) -> object:
    try:
        return json.loads(text.removeprefix("\ufeff"))  # a BOM, as some editors write it
    except RecursionError as error:
        raise _WrongInput(f"{name} is nested too deeply") from error
    except ValueError as error:
        raise _WrongInput(f"{name} is not JSON: {error}") from error


def _text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _WrongInput(f"{name} is not UTF-8 text: {error}") from error


def _inputs(name: str, *, jsonl: bool) -> Iterator[_Input]:
    text = _text(name)
    if not jsonl:
        yield _Input(name, text)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _from_line(f"{name}:{number}", line)


def _from_line(name: str, line: str) -> _Input:
    value = _json(line, name)
    mapping = as_mapping(value) or {}
    text = as_text(value) if isinstance(value, str) else as_text(mapping.get("text"))
    if text is None:
        raise _WrongInput(f'{name} is neither a JSON string nor an object with "text"')
    own = mapping.get("schema")
    return _Input(name, text, None if own is None else _object(own, f"{name}: its schema"))


def _progress(inputs: list[_Input], out: TextIO, *, visible: bool) -> Iterator[_Input]:
    """The inputs; a terminal sees how far they are when there are many."""
    visible = visible and len(inputs) >= _LONG and out.isatty()
    for number, item in enumerate(inputs):
        if visible and number % _STEP == 0:
            done = _BAR * number // len(inputs)
            bar = "█" * done + "·" * (_BAR - done)
            print(f"\r{bar} {number}/{len(inputs)}", end="", file=out, flush=True)
        yield item
    if visible:
        print(f"\r{' ' * (_BAR + 24)}\r", end="", file=out, flush=True)


def _parse_one(item: _Input, schema: object, args: argparse.Namespace) -> int:
    """Parse and print one input; 0 for a value, 1 for none."""
    wanted_schema = schema if item.schema is None else item.schema
    options = {name: bool(getattr(args, name)) for name in ("coerce", "partial", "markup", "latex")}
    found: Parsed | ParseError
    try:
        target = Target.of(wanted_schema)  # a line's own may be broken: kept for the next two uses
    except ValueError as error:
        raise _WrongInput(f"{item.name}: {error}") from error
    try:
        found = parse(item.text, wanted_schema, **options)  # type: ignore[arg-type]  # all are flags
    except ParseError as error:
        found = error
    judged = explain(Job(item.text, target, **options)) if args.explain else ()  # type: ignore[arg-type]  # all are flags
    if args.json:
        print(json.dumps(_facts(item, found, judged), ensure_ascii=False, default=str))
    else:
        several = len(args.files) > 1 or args.jsonl
        _as_text(Console(sys.stdout), item, found, judged, several=several)
    return 1 if isinstance(found, ParseError) else 0


def _facts(
    item: _Input, found: Parsed | ParseError, judged: Iterable[Judged]
) -> Mapping[str, object]:
    """One answer as a JSON object."""
    facts: dict[str, object] = {"input": item.name, "found": not isinstance(found, ParseError)}
    if isinstance(found, ParseError):
        facts |= {"reason": found.reason, "attempts": [_attempt(a) for a in found.attempts]}
    else:
        facts |= found._asdict() | {
            "value": None if found.value is ABSTAIN else found.value,
            "warnings": list(found.warnings),
        }
    if explained := [_judged(j) for j in judged]:
        facts["candidates"] = explained
    return facts


def _attempt(attempt: object) -> Mapping[str, object]:
    return {name: getattr(attempt, name) for name in ("source", "span", "why")}


def _judged(judged: Judged) -> Mapping[str, object]:
    return {name: getattr(judged, name) for name in ("source", "span", "value", "verdict", "why")}


def _as_text(
    console: Console,
    item: _Input,
    found: Parsed | ParseError,
    judged: Iterable[Judged],
    *,
    several: bool,
) -> None:
    if several:
        console.heading(item.name)
    if isinstance(found, ParseError):
        console.line(f"nothing usable: {found}", "red")
    else:
        console.line(json.dumps(found.value, ensure_ascii=False, indent=2, default=str))
        for name, lines in _details(found):
            for line in lines:
                console.line(f"{name:<12} {line}")
    _explained(console, judged)


def _details(found: Parsed) -> Iterator[tuple[str, list[str]]]:
    cut = "" if found.complete else ", its end is missing"
    yield "source", [f"{found.source}, characters {found.span[0]} to {found.span[1]}{cut}"]
    yield "repair", [f"{kind} at {offset}" for kind, offset in found.repairs]
    yield "coercion", [f"{_path(path)}: {old!r} → {new!r}" for path, old, new in found.coercions]
    yield "alternative", [_short(value) for value in found.alternatives]
    yield "warning", list(found.warnings)


def _path(path: tuple[str | int, ...]) -> str:
    return "/" + "/".join(map(str, path))


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _explained(console: Console, judged: Iterable[Judged]) -> None:
    colours: Mapping[str, Callable[[str], str]] = {
        "taken": lambda text: console.paint(text, "green"),
        "lost": lambda text: console.paint(text, "yellow"),
        "refused": lambda text: console.paint(text, "red"),
    }
    for number, candidate in enumerate(judged):
        if number == 0:
            console.heading("candidates")
        start, end = candidate.span
        verdict = colours[candidate.verdict](f"{candidate.verdict:<8}")
        console.line(f"{verdict} {candidate.source} at {start}..{end}: {candidate.why}")
        if candidate.value is not None:
            console.line(f"         {_short(candidate.value)}", "dim")
