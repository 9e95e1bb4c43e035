"""
What a load asks, and how each reply is judged: by the marker of its own request, and by that alone.

A reply is `answered` (its own text, once, whole), `failed` (an error in the one form, cleanly ended),
`lost` (cut, empty or late without a word of why) or `wrong` (another's text, twice, or too much).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.gateway.load.echo import MARKER, text_of, value_of
from tests.gateway.load.wire import Got
from tests.gateway.support import CHAT_FORMAT, TEXT_FORMAT

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
Outcome = Literal["answered", "failed", "left", "lost", "wrong"]
TERMINAL = ("response.completed", "response.incomplete", "response.failed")
KEYS = {"message", "type", "param", "code"}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of request; `wants` is its outcome where nothing disturbs; `goes_on`: a second turn."""

    name: str
    path: str
    model: str = "up:x/echo"
    stream: bool = False
    format: bool = False
    goes_on: bool = False
    wants: Outcome = "answered"

    def body(self, marker: str, previous: str | None = None) -> dict[str, object]:
        """The request of a marker."""
        prompt = f"Please read <<{marker}>>."
        made: dict[str, object] = {"model": self.model, "stream": self.stream}
        if self.path == CHAT:
            made["messages"] = [{"role": "user", "content": prompt}]
            if self.format:
                made["response_format"] = CHAT_FORMAT
            return made
        made |= {"input": prompt, "store": self.goes_on}
        if self.format:
            made["text"] = {"format": TEXT_FORMAT}
        if self.goes_on and previous:
            made["previous_response_id"] = previous
        return made

    def stop(self, got: Got) -> bool:
        """Whether a client of this kind goes away now."""
        return self.wants == "left" and len(got.body) > 0

    def judge(self, marker: str, got: Got) -> Outcome:
        """The outcome of a reply."""
        others = {found.decode() for found in MARKER.findall(bytes(got.body))} - {marker}
        if got.extra or others:
            return "wrong"
        if got.reason == "left":
            return "left"
        if not got.whole:
            return "lost"
        if got.status != 200:
            return "failed" if is_error(got.json()) else "wrong"
        return self._streamed(marker, got) if self.stream else self._whole(marker, got)

    def _whole(self, marker: str, got: Got) -> Outcome:
        value: Any = got.json()
        try:
            if self.path == CHAT:
                text = value["choices"][0]["message"]["content"]
            else:
                text = value["output"][-1]["content"][0]["text"]
        except (KeyError, IndexError, TypeError):
            return "wrong"
        return "answered" if self._fits(marker, text) else "wrong"

    def _streamed(self, marker: str, got: Got) -> Outcome:
        events = list(objects(got.text))
        ended = got.text.endswith("data: [DONE]\n\n")
        if self.path == CHAT:
            failed = bool(events) and "error" in events[-1]
            text = "".join(_chat_delta(event) for event in events)
            finishes = 1
        else:
            finishes = sum(event.get("type") in TERMINAL for event in events)
            failed = any(event.get("type") == "response.failed" for event in events)
            text = "".join(
                event["delta"]
                for event in events
                if event.get("type") == "response.output_text.delta"
            )
        if got.text.count("[DONE]") > 1 or finishes > 1:
            return "wrong"
        if failed:
            return "failed"
        if not ended or not finishes:
            return "lost"
        return "answered" if self._fits(marker, text) else "wrong"

    def _fits(self, marker: str, text: str) -> bool:
        if not self.format:
            return text == text_of(marker)
        try:
            return bool(json.loads(text) == value_of(marker))
        except ValueError:
            return False


def is_error(value: dict[str, Any]) -> bool:
    """Whether a body is an error with its four keys and nothing that is nobody's business."""
    error = value.get("error")
    text = json.dumps(value)
    return (
        isinstance(error, dict)
        and set(error) == KEYS
        and "Traceback" not in text
        and "127.0.0.1" not in text
    )


def objects(text: str) -> Iterator[Any]:
    """The JSON of an event stream."""
    for line in text.split("\n"):
        if line.startswith("data: {"):
            yield json.loads(line[6:])


def _chat_delta(event: Any) -> str:
    return "".join(
        (choice.get("delta") or {}).get("content") or "" for choice in event.get("choices") or ()
    )


MIX: Sequence[Kind] = (
    Kind(name="chat", path=CHAT),
    Kind(name="chat, format", path=CHAT, format=True),
    Kind(name="chat, stream", path=CHAT, stream=True),
    Kind(name="chat, refused", path=CHAT, model="up:x/refuse", format=True),
    Kind(name="chat, refused stream", path=CHAT, model="up:x/refuse", format=True, stream=True),
    Kind(name="chat over a chain", path=CHAT, model="chain", format=True),
    Kind(name="responses", path=RESPONSES, format=True),
    Kind(name="responses, stream", path=RESPONSES, stream=True),
    Kind(name="responses, turns", path=RESPONSES, goes_on=True),
    Kind(name="responses over chat", path=RESPONSES, model="chat:x/echo", goes_on=True, stream=True),
    Kind(name="responses, refused", path=RESPONSES, model="up:x/refuse", format=True, stream=True),
    Kind(name="responses, slow", path=RESPONSES, model="up:x/slow", stream=True),
    Kind(name="cut whole", path=CHAT, model="up:x/cut", wants="failed"),
    Kind(name="cut stream", path=CHAT, model="up:x/cut", stream=True, wants="failed"),
    Kind(name="cut responses", path=RESPONSES, model="up:x/cut", stream=True, wants="failed"),
    Kind(name="cut over chat", path=RESPONSES, model="chat:x/cut", stream=True, wants="failed"),
    Kind(name="upstream error", path=CHAT, model="up:x/fail", wants="failed"),
    Kind(name="upstream busy", path=RESPONSES, model="up:x/busy", wants="failed"),
    Kind(name="client leaves", path=CHAT, model="up:x/hang", stream=True, wants="left"),
    Kind(name="client leaves responses", path=RESPONSES, model="chat:x/hang", stream=True, wants="left"),
)  # fmt: skip
