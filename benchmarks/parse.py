"""
How well and how fast is JSON read out of answers? Ours and other parsers, in one run.

    python -m benchmarks.parse

Writes docs/parse-benchmark.md and the chart beside it, and prints the same tables.
"""

from __future__ import annotations

import json
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from benchmarks.parse_chart import chart
from benchmarks.parse_peers import Peer, installed, structguard
from benchmarks.parse_speed import clean, hostile_rows, lenient, peer_rows
from structguard import schema as schemas
from tests.reading.reasons import REASONS
from tests.reading.rows import DATA, NONE, TABLES, Row, outputs, own, verdict, yardstick

DOCS = Path(__file__).resolve().parents[1] / "docs"
FUZZ = DOCS / "parse-fuzz.md"
OURS = "structguard"
GIVE_UP = 5.0  # seconds of CPU for one answer; what takes longer is a miss
# right / silent on own rows while they were new
FIRST_SIGHT = (
    "316 / 7 of the first 326, 865 / 27 of 919, 428 / 20 of 455, 377 / 18 of 396, 288 / 10 of 298"
    ", 90 / 0 of 91 and 48 / 3 of the last 51"
)
SHOWN = ("json_repair, schema", "jsonmend", "langchain")  # peers put to hostile texts


def judged(read: Peer, row: Row) -> str:
    """The verdict on one answer; what the schema catches, or an exception, is nothing taken."""
    signal.setitimer(signal.ITIMER_PROF, GIVE_UP)
    try:
        found = read(row.text, row.schema)
        said = verdict(row, found)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return verdict(row, NONE)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if said == "silent" and isinstance(row.schema, dict) and not _fits(found, row.schema):
        return verdict(row, NONE)
    return said


def _too_slow(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _fits(value: object, schema: Mapping[str, object]) -> bool:
    try:
        return schemas.validator(schema).is_valid(value)
    except ValueError:
        return False


def accuracy(
    readers: Mapping[str, Peer], rows: Sequence[Row]
) -> dict[str, dict[str, Counter[str]]]:
    """Verdicts by reader and class."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for name, read in readers.items():
        by_class: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            by_class[row.kind][judged(read, row)] += 1
        found[name] = by_class
    return found


def totals(verdicts: Mapping[str, Counter[str]]) -> tuple[int, int]:
    """Right and silent over all classes."""
    return (
        sum(count["right"] for count in verdicts.values()),
        sum(count["silent"] for count in verdicts.values()),
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    yield ""


def by_class(found: Mapping[str, Mapping[str, Counter[str]]], rows: Sequence[Row]) -> Iterator[str]:
    """Right/silent by class, a column for each reader."""
    sizes = Counter(row.kind for row in rows)
    lines = [
        [kind, str(size), *(f"{v[kind]['right']} / {v[kind]['silent']}" for v in found.values())]
        for kind, size in sorted(sizes.items())
    ]
    lines.append(
        ["**all**", str(len(rows)), *("**{} / {}**".format(*totals(v)) for v in found.values())]
    )
    yield from table(["class", "rows", *found], lines)


def yardsticks(readers: Mapping[str, Peer]) -> Iterator[str]:
    """Other parsers' own tables, beside the recorded result."""
    recorded = json.loads((DATA / "yardstick" / "results.json").read_text(encoding="utf-8"))
    lines: list[list[str]] = []
    for name in TABLES:
        rows = yardstick(name)
        before = Counter(recorded[name].values())
        counts = [Counter(judged(read, row) for row in rows) for read in readers.values()]
        cells = [f"{count['right']} / {count['silent']}" for count in counts]
        lines.append([name, str(len(rows)), f"{before['right']} / {before['silent']}", *cells])
    yield from table(["table", "rows", f"{OURS}, recorded", *readers], lines)


def hostile_table(peers: Sequence[str]) -> Iterator[str]:
    """Seconds for hostile texts; growth and memory are ours."""
    others = peer_rows(peers)
    lines = [
        [
            f"<code>{escape(name)}</code>",
            f"{seconds:.2f} s",
            f"{growth:.2f}",
            f"{times:.1f}x",
            *others[name],
        ]
        for name, seconds, growth, times in hostile_rows()
    ]
    yield from table(["text, 100 kB", OURS, "growth", "memory", *peers], lines)


_HEAD = """\
# The parser, compared

This page is written by `python -m benchmarks.parse`. All figures come from one run on one machine.

![right and silently wrong answers](parse-benchmark.svg)

## Accuracy: right / silently wrong

{rows} answers of the corpus (`tests/data/outputs.jsonl`). *Right* is the value that a careful reader would choose. *Silently
wrong* is another value that matches the schema, the worst outcome. The rest is missed: nothing was taken, or the schema
rejected it.
"""
_TABLES = """\
## Other parsers' own tables

These tables contain opinions, so they are reported, not required; every library does best on its own. Rows that are answered
differently on purpose are listed in `tests/reading/reasons.py`:
"""
_HOSTILE = """\
## Hostile texts

CPU seconds for 100 kB (target: under 0.5 s), the exponent of growth from 100 kB to 1 MB (target: at most 1.1), and peak memory
as a multiple of the text (target: under 20).
"""


def report() -> Iterator[str]:
    """The whole document, line by line."""
    peers, missing = installed()
    readers: dict[str, Peer] = {OURS: structguard, **peers}
    yield from answers(readers)
    yield _TABLES
    yield from (f"- {len(ids.split())}: {reason}" for reason, ids in REASONS.items())
    yield ""
    yield from yardsticks({name: read for name, read in readers.items() if "salvage" not in name})
    yield "## Speed"
    yield ""
    yield from table(["what", "figure", "target"], [*clean(), *lenient()])
    yield _HOSTILE
    yield from hostile_table([name for name in peers if name.startswith(SHOWN)])
    if missing:
        yield f"Not installed, so not compared: {', '.join(missing)}."
        yield ""
    if FUZZ.exists():
        yield FUZZ.read_text(encoding="utf-8")


def answers(readers: Mapping[str, Peer]) -> Iterator[str]:
    """Accuracy on the corpus and on our own rows; draws the chart."""
    rows, mine = outputs(), own()
    found = accuracy(readers, rows)
    names = [(name, *totals(verdicts)) for name, verdicts in found.items()]
    (DOCS / "parse-benchmark.svg").write_text(chart(names, len(rows)), encoding="utf-8")
    yield _HEAD.format(rows=len(rows))
    yield from by_class(found, rows)
    right, silent = totals(accuracy({OURS: structguard}, mine)[OURS])
    yield f"On {len(mine)} more rows of the same classes, written by hand (`tests/data/own_outputs.jsonl`):"
    yield f"{FIRST_SIGHT} at first sight, {right} / {silent} after the faults that they showed were fixed, by kind."
    yield ""


def main() -> None:
    """Print the report and write it."""
    signal.signal(signal.SIGPROF, _too_slow)
    lines: list[str] = []
    for line in report():
        print(line, flush=True)
        lines.append(line)
    (DOCS / "parse-benchmark.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
