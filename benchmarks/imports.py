"""
What `import structguard` costs, against `import asyncio, dataclasses, typing, json`.

    python -m benchmarks.imports

Each import runs in a fresh process, in turns; user + system CPU, medians. Also shows which heavy
packages the public names load when they are only touched.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

ROUNDS = 15
HEAVY = ("openai", "jsonschema", "pydantic", "aiohttp", "httpx2", "diskcache", "anyio")
CASES = {
    "asyncio, dataclasses, typing, json": "import asyncio, dataclasses, typing, json",
    "structguard": "import asyncio, dataclasses, typing, json, structguard",
    "… and touch wrap, parse, detect_refusal": (
        "import asyncio, dataclasses, typing, json, structguard as sg;"
        " sg.wrap, sg.parse, sg.detect_refusal"
    ),
    "openai (for comparison)": "import asyncio, dataclasses, typing, json, openai",
}


def cpu_of(code: str) -> float:
    """Milliseconds of CPU of one fresh interpreter."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    after = os.times()
    spent = after.children_user + after.children_system
    return 1000.0 * (spent - before.children_user - before.children_system)


def main() -> None:
    samples: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS + 1):
        for name, code in CASES.items():
            samples[name].append(cpu_of(code))
    base = statistics.median(samples["asyncio, dataclasses, typing, json"][1:])
    print(f"import, CPU ms a fresh process, {ROUNDS} rounds in turns\n")
    print(f"{'import':42} {'median':>8} {'min':>8} {'max':>8} {'over base':>10}")
    for name, values in samples.items():
        kept = values[1:]
        median = statistics.median(kept)
        print(f"{name:42} {median:8.1f} {min(kept):8.1f} {max(kept):8.1f} {median - base:10.1f}")
    code = CASES["… and touch wrap, parse, detect_refusal"]
    listing = f"{code}; import sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    loaded = subprocess.run(  # noqa: S603
        [sys.executable, "-c", listing], check=True, capture_output=True, text=True
    ).stdout.strip()
    print(f"\nheavy packages loaded by touching the names: {loaded or 'none'}")


if __name__ == "__main__":
    main()
