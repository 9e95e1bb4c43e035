"""
Fuzz the parser: spoiled answers, for so many minutes; nothing but ParseError, no leaf out of nothing.

    python -m benchmarks.fuzz_parse --minutes 10 --seed 1

Each round takes an answer of the corpus (or JSON made at random), spoils it (drops, doubles, swaps,
cuts, splices in pieces of other answers) and parses it with and without a schema, whole and as a
stream. Checked: only ParseError comes out, within a time that is linear in the text; every leaf of a
value stands in the text; a shown value only grows. Findings are printed and are exit code 1.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path

from structguard.reading import ABSTAIN, ParseError, PartialParser, parse

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
PIECES = (
    "{", "}", "[", "]", '"', "'", ",", ":", "\\", "\\u12", "```", "```json\n", "</think>", "<think>",
    "<|im_end|>", "//", "/*", "*/", "#", "\n", "...", "null", "NaN", "1e400", "\u201c", "\uff1a",
    "<tool_call>", "<|channel|>final<|message|>", '{"a": ', "\ud800", "\x00",
)  # fmt: skip
SLOW = 0.1, 40e-6  # seconds a text may cost, and per character


def corpus() -> list[tuple[str, object]]:
    """Answers up to 4,000 characters with their schemas."""
    found: list[tuple[str, object]] = []
    for path in (DATA / "outputs.jsonl", DATA / "own_outputs.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if len(row["text"]) <= 4000:
                found.append((row["text"], row["schema"]))
    return found


def made_up(rng: random.Random, depth: int = 3) -> object:
    """A JSON value at random."""
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [made_up(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {word(rng): made_up(rng, depth - 1) for _ in range(rng.randrange(4))}
    return (None, True, rng.randrange(-9999, 9999), round(rng.uniform(-99, 99), 3), word(rng))[kind]


def word(rng: random.Random) -> str:
    """A string of what JSON strings hold, quotes and brackets among it."""
    return "".join(rng.choice("abcde 01.,:'{}[]\n\u00e9\u6f22-/") for _ in range(rng.randrange(12)))


def spoiled(text: str, rng: random.Random, other: str) -> str:
    """The text with up to six changes."""
    for _ in range(rng.randrange(7)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((1, 1, 1, 2, 5, 40)))
        match rng.randrange(7):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + text[at:]
            case 2:
                text = text[:at] + text[at + 1 : to] + text[at : at + 1] + text[to:]
            case 3:
                text = text[:at]
            case 4:
                cut = rng.randrange(len(other) + 1)
                text = text[:at] + other[cut : cut + 60] + text[at:]
            case _:
                text = text[:at] + rng.choice(PIECES) + text[at:]
    return text


NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?")
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
UNIT = re.compile(r"\\u([0-9a-fA-F]{4})")
PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def decoded(text: str) -> str:
    """The text with its escapes decoded, surrogate pairs joined."""
    plain = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else PLAIN.get(m[2], m[2]), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bare(text: str) -> str:
    """Only letters and digits: what no repair of quotes and escapes may add to."""
    return "".join(char for char in text if char.isalnum())


def invented(value: object, text: str, schema: object) -> object:
    """A leaf that stands neither in the text nor, as a wrapper's key or an enum, in the schema."""
    once = decoded(text)
    joined = PAIR.sub(lambda m: json.loads(f'"{m[0]}"'), text)
    kept = UNIT.sub(
        lambda m: m[0] if 0xD800 <= int(m[1], 16) < 0xE000 else chr(int(m[1], 16)), joined
    )
    haystacks = [bare(text), bare(once), bare(kept), bare(decoded(once)), bare(json.dumps(schema))]
    if "&" in text:
        haystacks += [bare(unescape(text)), bare(unescape(once))]
    rough = bare(ESCAPE.sub("", kept))  # where some escapes are decoded and others kept
    waiting = [value]
    while waiting:
        leaf = waiting.pop()
        if isinstance(leaf, dict):
            waiting += [*leaf, *leaf.values()]
        elif isinstance(leaf, list):
            waiting += leaf
        elif leaf in ("true", "false"):  # the coercion of a literal, in Python's spelling perhaps
            if leaf not in text.lower():
                return leaf
        elif (
            isinstance(leaf, str)
            and not any(bare(leaf) in hay for hay in haystacks)
            and bare(ESCAPE.sub("", leaf)) not in rough
        ) or (isinstance(leaf, int | float) and not number_stands_in(leaf, text)):
            return leaf
    return None


def number_stands_in(leaf: float, text: str) -> bool:
    """Whether a number or literal can be read somewhere in the text."""
    if isinstance(leaf, bool):
        return str(leaf).lower() in text.lower()
    return str(leaf) in text or any(
        float(found.group().replace("_", "")) == leaf
        for at in range(len(text))
        if (found := NUMBER.match(text, at))
    )


def grows(before: object, after: object) -> bool:
    """Whether one snapshot only adds to the other."""
    match before, after:
        case dict(), dict():
            return all(key in after and grows(item, after[key]) for key, item in before.items())
        case list(), list():
            return len(before) <= len(after) and all(map(grows, before, after))
        case str(), str():
            return after.startswith(before)
        case _:
            return before == after


def whole(text: str, schema: object, rng: random.Random) -> str:
    """Parse the text with random options; a fault in words, or ""."""
    started = time.process_time()
    try:
        found = parse(
            text, schema, coerce=rng.random() < 0.5, partial=rng.random() < 0.5,
            markup=rng.random() < 0.3,
        )  # fmt: skip
    except ParseError:
        found = None
    spent = time.process_time() - started
    if spent > SLOW[0] + SLOW[1] * len(text):
        return f"slow: {spent:.2f} s"
    if found is None or found.value is ABSTAIN:
        return ""
    leaf = invented(found.value, text, schema)
    return "" if leaf is None else f"invented: {leaf!r}"


def streamed(text: str, rng: random.Random) -> str:
    """Feed the text in pieces; a fault in words, or ""."""
    stream, last, at = PartialParser(partial=True), None, 0
    while at < len(text):
        step = rng.randrange(1, 30)
        shown = stream.feed(text[at : at + step])
        at += step
        if shown is not None and last is not None and not grows(last, shown):
            return f"shrank: {last!r} to {shown!r}"
        last = last if shown is None else shown
    try:
        stream.close()
    except ParseError:
        return ""
    return ""


def tried(check: Callable[[], str]) -> str:
    """The fault a check finds, an exception among them."""
    try:
        return check()
    except Exception:  # noqa: BLE001  any exception is a finding
        return "crash: " + traceback.format_exc(limit=-3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz until the time is over; print what was done and found."""
    parser = argparse.ArgumentParser(description="Fuzz the parser.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    rng = random.Random(args.seed)  # noqa: S311  repeatable on purpose
    rows = corpus()
    for _, schema in rows:  # imports and compiled validators are not what is measured
        tried(lambda schema=schema: whole("{}", schema, rng))  # type: ignore[misc]
    end = time.monotonic() + args.minutes * 60
    counts: Counter[str] = Counter()
    while time.monotonic() < end:
        text, schema = rng.choice(rows)
        if rng.random() < 0.3:
            text = json.dumps(made_up(rng), ensure_ascii=rng.random() < 0.5)
            schema = None
        text = spoiled(text, rng, rng.choice(rows)[0])
        checks: tuple[Callable[[], str], ...] = (
            lambda text=text, schema=schema: whole(text, schema, rng),  # type: ignore[misc]
            lambda text=text: whole(text, None, rng),  # type: ignore[misc]
            lambda text=text: streamed(text, rng),  # type: ignore[misc]
        )
        counts["texts"] += 1
        for check in checks:
            counts["parses"] += 1
            fault = tried(check)
            if fault:
                counts[fault.split(":", 1)[0]] += 1
                print(json.dumps({"fault": fault, "text": text, "schema": schema}), flush=True)
    print(f"seed {args.seed}, {args.minutes:g} minutes: {dict(counts)}")
    return 1 if len(counts) > 2 else 0


if __name__ == "__main__":
    sys.exit(main())
