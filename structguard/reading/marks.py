"""
What surrounds an answer: reasoning, harmony channels, special tokens, tool-call markup, fences.

Nothing is cut out here: the scanner meets these marks outside of values and acts on them, so a tag
inside a string stays what it is, content. Source: spec parse, step 5; the chat templates of the
open models (DeepSeek, Qwen, GLM, Kimi, Mistral, Llama, gpt-oss).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_THINK: Final = r"(?:think|thinking|thought|thoughts|reasoning|reason|reflection|scratchpad|analysis|seed:think|mm:think)"
REASONING_OPEN = re.compile(rf"<{_THINK}(?:\s[^<>]{{0,80}})?>|\[THINK\]|◁think▷", re.IGNORECASE)
REASONING_CLOSE = re.compile(rf"</{_THINK}\s*>|\[/THINK\]|◁/think▷", re.IGNORECASE)

SEPARATOR: Final = (
    r"<\|[A-Za-z][\w ]{0,40}\|?>"  # <|im_end|>, <|python_tag|>, <|tool_call_begin|>
    r"|</?\uff5c[^<>\n]{0,80}?>|<\uff5c[^<>\n]{0,40}"  # DeepSeek's full-width tokens
    r"|\[/?(?:TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|INST|ARGS|CALL_ID|CONTENT|JSON)\]"
    r"|</?(?:[\w-]{1,20}:)?(?:tool_calls?|function_calls?|functioncall|invoke|function|parameters?"
    r"|arg_key|arg_value|answer|output|result|response|json|final|final_answer|tool_code)"
    r"(?:[=\s][^<>\n]{0,120})?>"
    r"|</?s>|<(?:start|end)_of_turn>|<eos>|<bos>"
)
MARK = re.compile(SEPARATOR + rf"|</?{_THINK}\s*>|\[/?THINK\]", re.IGNORECASE)
FENCE = re.compile(r"(?<!`)(`{2,})(?!`)[ \t]*([A-Za-z][\w+#.-]{0,15})?")


@dataclass(frozen=True, slots=True)
class Event:
    """Something between values: its kind, where it begins and ends, and the fence's language."""

    kind: str  # opener · fence · reasoning · closer · separator
    start: int
    end: int
    language: str = ""


_TAG_OR_OPENER = re.compile(
    rf"(?P<separator>{SEPARATOR})"
    rf"|(?P<reasoning><{_THINK}(?:\s[^<>]{{0,80}})?>|\[THINK\]|◁think▷)"
    rf"|(?P<closer></{_THINK}\s*>|\[/THINK\]|◁/think▷)"
    r"|(?P<fence>(?<!`)`{2,}(?!`)[ \t]*(?P<language>[A-Za-z][\w+#.-]{0,15}(?![\w{\[\"]))?)"
    r"|(?P<opener>[{\[\uff5b\uff3b])",
    re.IGNORECASE,
)


def next_event(text: str, start: int, end: int) -> Event | None:
    """The first mark or opener at or after `start`, before `end`."""
    found = _TAG_OR_OPENER.search(text, start, end)
    if found is None or found.lastgroup is None:
        return None
    kind = "fence" if found.lastgroup == "language" else found.lastgroup
    return Event(kind, found.start(), found.end(), (found.group("language") or "").lower())


def without_reasoning(text: str) -> str:
    """The text with closed reasoning blocks left out, for a caller's own reader."""
    kept: list[str] = []
    position = 0
    for opened in REASONING_OPEN.finditer(text):
        if opened.start() < position:
            continue
        closed = REASONING_CLOSE.search(text, opened.end())
        kept.append(text[position : opened.start()])
        if closed is None:
            position = len(text)
            break
        position = closed.end()
    rest = text[position:]
    lone = [closer.end() for closer in REASONING_CLOSE.finditer(rest)]
    if lone:
        return rest[lone[-1] :]
    return "".join([*kept, rest])
