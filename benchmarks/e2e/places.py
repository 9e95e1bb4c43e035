"""What the real servers do with a format, as places to ask at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from benchmarks.e2e.tap import Tap

QUESTION = "What is the answer, and how sure are you? Reply in JSON."  # the word steers the model


class Answer(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid")
    answer: str
    score: float


PLAIN: dict[str, Any] = Answer.model_json_schema()
UNTAKEN: dict[str, Any] = {  # valid, and more than llama.cpp's grammar maker can do
    **PLAIN,
    "properties": {**PLAIN["properties"], "answer": {"$ref": "#word"}},
    "$defs": {"word": {"$anchor": "word", "type": "string"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where and how to ask. `costs` is what a guarded call costs there, the first and the second:
    a refusal costs one request, once.
    """

    name: str
    about: str
    tap: Tap
    model: str
    costs: tuple[int, int]
    api: Literal["chat", "responses"] = "chat"
    schema: dict[str, Any]

    @property
    def wanted(self) -> dict[str, Any]:
        """The format on the wire of its API."""
        inner = {"name": "Answer", "strict": True, "schema": self.schema}
        if self.api == "responses":
            return {"type": "json_schema", **inner}
        return {"type": "json_schema", "json_schema": inner}


def at_llama(tap: Tap) -> list[Place]:
    """Three ways of the llama.cpp server."""
    return [
        Place(
            name="llama.cpp, enforcing",
            about="chat completions with a schema: a grammar holds the model to it",
            tap=tap, model="tiny", costs=(1, 1), schema=PLAIN,
        ),
        Place(
            name="llama.cpp, ignoring",
            about="the Responses API takes `text.format` and does nothing with it: a fenced answer",
            tap=tap, model="tiny", costs=(1, 1), api="responses", schema=PLAIN,
        ),
        Place(
            name="llama.cpp, refusing",
            about="a schema that its grammar maker cannot take: 400",
            tap=tap, model="tiny", costs=(2, 1), schema=UNTAKEN,
        ),
    ]  # fmt: skip


def at_proxy(tap: Tap) -> list[Place]:
    """Two ways of the litellm proxy, whose provider `volcengine` knows no `response_format`."""
    return [
        Place(
            name="litellm proxy, refusing",
            about="`UnsupportedParamsError`: 400",
            tap=tap, model="refusing", costs=(2, 1), schema=PLAIN,
        ),
        Place(
            name="litellm proxy, dropping",
            about="`drop_params: true` takes the format off unsaid: a fenced answer",
            tap=tap, model="dropping", costs=(1, 1), schema=PLAIN,
        ),
    ]  # fmt: skip
