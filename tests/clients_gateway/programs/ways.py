"""What every Python program here shares: jobs in, one JSON line out for each."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

import inspect
import json
import sys
import traceback
import warnings
from pathlib import Path

import anyio
from pydantic import BaseModel

warnings.simplefilter("ignore")
TOLD = json.loads(Path(sys.argv[1]).read_text())
URL: str = TOLD["url"]
TOKEN: str = TOLD["token"]
PLACE = Path(TOLD["place"])
ASK = "Where is the Beethoven house, and how many floors has it?"
MESSAGES = [{"role": "user", "content": ASK}]


class City(BaseModel):
    """What is asked for."""

    city: str
    n: int


def answer(way: object, model: str) -> object:
    """One way's answer as JSON."""
    value = way(model)
    if inspect.isawaitable(value):

        async def awaited() -> object:
            return await value

        value = anyio.run(awaited)
    if isinstance(value, str | bytes):
        value = json.loads(value)
    return value.model_dump() if isinstance(value, BaseModel) else value


def main(ways: dict[str, object]) -> None:
    """Do every job; a way that fails says how."""
    with Path(sys.argv[2]).open("w") as out:
        for job in TOLD["jobs"]:
            try:
                row = {**job, "value": answer(ways[job["way"]], job["model"])}
            except Exception:  # noqa: BLE001  whatever the client raises is the result
                row = {**job, "error": traceback.format_exc(limit=-6)}
            out.write(json.dumps(row, default=str) + "\n")
            out.flush()
