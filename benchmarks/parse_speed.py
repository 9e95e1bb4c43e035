"""
How fast: clean, validated, fenced, cut and streamed answers as ratios, and hostile texts.

CPU time of this thread. Two calls are compared turn by turn and the median of the ratios is shown:
what else the machine does slows both of a pair alike.
"""

from __future__ import annotations

import json
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, TimeoutError as TooLate
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from multiprocessing import get_context

import jiter

from benchmarks.parse_peers import installed, structguard
from structguard.reading import PartialParser, parse

PERSON = {
    "name": "Ada Lovelace",
    "age": 36,
    "tags": ["math", "poetry", "engines"],
    "address": {"street": "12 St James's Square", "city": "London", "zip": "SW1Y 4JH"},
    "active": True,
    "score": 9.75,
    "notes": "Wrote the first program; corresponded with Babbage for years about the Engine.",
}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "active": {"type": "boolean"},
        "score": {"type": "number"},
        "notes": {"type": "string"},
    },
    "required": ["name", "age", "tags", "address"],
}
HOSTILE: Mapping[str, str] = {
    "[ …": "[",
    '{"a": …': '{"a":',
    '{"a": "" "" …': '"',
    'x" x" … in a string': 'x" ',
    "prose {x : x > 0} …": "The set {x : x > 0} is open. ",
    "``` …": "```json\n",
    "\\ …": "\\",
    "{foo: [} …": "{foo: [}",
    "[ … ]": "",
}
SIZES = (100_000, 300_000, 1_000_000)
GIVE_UP = 15.0  # seconds a peer may take for one hostile text


def hostile(name: str, size: int) -> str:
    """A hostile text of about this many characters."""
    piece = HOSTILE[name]
    if name == "[ … ]":
        return "[" * (size // 2) + "]" * (size // 2)
    start = '{"a": "' if piece in ('"', 'x" ') else ""
    return start + piece * (size // len(piece))


def cost(call: Callable[[], object], runs: int = 11, number: int = 1) -> float:
    """Microseconds of CPU for one call: the median of several runs."""
    times: list[float] = []
    for _ in range(runs):
        start = time.thread_time_ns()
        for _ in range(number):
            call()
        times.append((time.thread_time_ns() - start) / number / 1e3)
    return statistics.median(times)


def versus(
    one: Callable[[], object], other: Callable[[], object], runs: int, number: int = 1
) -> float:
    """How many times the other's CPU a call takes: the median over turns."""
    ratios = (cost(one, 1, number) / cost(other, 1, number) for _ in range(runs))
    return statistics.median(ratios)


def quiet(call: Callable[[], object]) -> object:
    """The call, whatever it raises."""
    try:
        return call()
    except Exception:  # noqa: BLE001  peers raise what they like on hostile texts
        return None


def large() -> str:
    """1 MB of the kind of list models are asked for."""
    item = {"tags": ["a", "b", "c"], "text": 'Lorem ipsum "dolor" sit amet, ' * 3, "price": 4.5}
    items = [{"id": index, "name": f"name {index}", **item} for index in range(5_400)]
    return json.dumps({"items": items})


def clean() -> list[tuple[str, str, str]]:
    """Rows (what, figure, target) of the clean paths."""
    small, big = json.dumps(PERSON), large()
    raw_small, raw_big = small.encode(), big.encode()
    ours = versus(lambda: parse(small), lambda: jiter.from_json(raw_small), 41, 500)
    rows = [(f"clean, {len(small)} B, against jiter", f"{ours:.2f}x", "≤ 5x")]
    ours = versus(lambda: parse(big), lambda: jiter.from_json(raw_big), 61)
    rows.append((f"clean, {len(big) / 1e6:.1f} MB, against jiter", f"{ours:.2f}x", "≤ 1.3x"))
    base = cost(lambda: jiter.from_json(raw_small), number=2000)
    value: object = jiter.from_json(raw_small)
    with_schema = cost(lambda: parse(small, SCHEMA), number=300)
    slow = import_module("jsonschema").Draft202012Validator(SCHEMA)
    total = base + cost(lambda: slow.is_valid(value), number=300)
    rows.append(("with a schema, against jiter + jsonschema", ratio(with_schema, total), "≤ 1.2x"))
    try:
        fast = import_module("jsonschema_rs").Draft202012Validator(SCHEMA)
    except ImportError:
        rows.append(("with jsonschema-rs", "not installed", "≤ sum + 40 µs"))
    else:
        over = with_schema - base - cost(lambda: fast.is_valid(value), number=2000)
        rows.append(("with jsonschema-rs, over the sum", f"{over:.0f} µs", "≤ 40 µs"))
    return rows


def lenient() -> list[tuple[str, str, str]]:
    """Rows of the fenced, cut and streamed answers, against json_repair where it is installed."""
    words = "Here is what you asked for, as JSON, checked twice and then once more. " * 10
    fenced = f"{words}\n```json\n{json.dumps(PERSON)}\n```\nAnything else?"
    cut = json.dumps([PERSON] * 16)[:4096]
    ours_fenced = cost(lambda: parse(fenced, SCHEMA), number=50)
    ours_cut = cost(lambda: parse(cut), number=200)
    rows: list[tuple[str, str, str]] = []
    try:
        loads = import_module("json_repair").loads
    except ImportError:
        rows.append(
            ("prose and a fence, 1 KB", f"{ours_fenced:.0f} µs", "json_repair not installed")
        )
    else:
        theirs = cost(lambda: loads(fenced, schema=SCHEMA), number=5)
        rows.append(
            (
                "prose and a fence, 1 KB, with a schema: json_repair against ours",
                ratio(theirs, ours_fenced),
                "> 1x",
            )
        )
        theirs = cost(lambda: loads(cut), number=3)
        rows.append(("cut at 4 KB: json_repair against ours", ratio(theirs, ours_cut), "≥ 20x"))
    rows.append(("16 KB streamed in steps of 16 characters", f"{streaming():.3f} s", "≤ 0.1 s"))
    return rows


def streaming() -> float:
    """Seconds of CPU for a reply of 16 KB that comes in steps of 16 characters."""
    text = json.dumps([PERSON] * 60)[: 16 * 1024]

    def stream() -> None:
        parser = PartialParser(partial=True)
        for at in range(0, len(text), 16):
            parser.feed(text[at : at + 16])
        parser.close()

    return cost(stream, 5) / 1e6


def ratio(one: float, other: float) -> str:
    """How many times the other, to two digits."""
    return f"{one / other:.2f}x"


def hostile_rows() -> list[tuple[str, float, float, float]]:
    """Rows (text, seconds at 100 kB, growth exponent to 1 MB, memory in times the text)."""
    rows: list[tuple[str, float, float, float]] = []
    for name in HOSTILE:
        times = [seconds(hostile(name, size)) for size in SIZES]
        floor = 1e-3  # below a millisecond growth is noise
        growth = math.log(max(times[2], floor) / max(times[0], floor)) / math.log(
            SIZES[2] / SIZES[0]
        )
        rows.append((name, times[0], growth, memory(hostile(name, SIZES[0]))))
    return rows


def seconds(text: str) -> float:
    """Seconds of CPU that ours takes for a text with a schema."""
    return cost(lambda: quiet(lambda: structguard(text, SCHEMA)), 3) / 1e6


def memory(text: str) -> float:
    """The most memory a parse holds, in times the length of the text."""
    tracemalloc.start()
    quiet(lambda: parse(text, coerce=True, partial=True, markup=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / len(text)


def peer_time(peer: str, name: str) -> float:
    """Seconds of CPU a peer takes for a hostile text of 100 kB; runs in a process of its own."""
    read = installed()[0][peer]
    text = hostile(name, SIZES[0])
    return cost(lambda: quiet(lambda: read(text, None)), 1) / 1e6


def peer_rows(peers: Sequence[str]) -> dict[str, list[str]]:
    """What peers take for the hostile texts: seconds, a time-out, or a crash of the process."""
    return {name: [in_own_process(peer, name) for peer in peers] for name in HOSTILE}


def in_own_process(peer: str, name: str) -> str:
    """One peer, one text, in a process that may be lost."""
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    try:
        return f"{pool.submit(peer_time, peer, name).result(GIVE_UP):.2f} s"
    except TooLate:
        for process in list(getattr(pool, "_processes", {}).values()):
            process.kill()
        return f"> {GIVE_UP:.0f} s"
    except BrokenProcessPool:
        return "crash"
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
