"""
What surrounds an answer: reasoning, harmony channels, special tokens, tool-call markup, fences.

Nothing is cut out here: the scanner meets these marks outside of values and acts on them, so a tag
inside a string stays what it is, content. Source: spec parse, step 5; the chat templates of the
open models (DeepSeek, Qwen, GLM, Kimi, Mistral, Llama, gpt-oss).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_THINK: Final = (
    r"(?:think|thinking|thoughts?|reasoning|reason|rationale|reflection|scratch_?pad|analysis"
    r"|chain_of_thought|thought_process|inner_thoughts?|(?:internal_)?monologue|draft"
    r"|seed:think|mm:think)"
)
# Tokens of reasoning: Cohere's, OpenThinker's, Apertus's, those of Gemma's medical models, …
_OPEN: Final = (
    rf"<{_THINK}(?:\s[^<>]{{0,80}})?>|\[THINK\]|◁think▷|<unused94>"
    r"|<\|(?:start_?(?:of_?)?|begin_?(?:of_?)?)?(?:think|thinking|thought|reasoning)(?:_start|_begin)?\|>"
    r"|<\|inner_prefix\|>"
)
_CLOSE: Final = (
    rf"</{_THINK}\s*>|\[/THINK\]|◁/think▷|<unused95>"
    r"|<\|(?:end_?(?:of_?)?|/)(?:think|thinking|thought|reasoning)\|>"
    r"|<\|(?:think|thinking|thought|reasoning)_end\|>|<\|inner_suffix\|>"
)
REASONING_OPEN = re.compile(_OPEN, re.IGNORECASE)
REASONING_CLOSE = re.compile(_CLOSE, re.IGNORECASE)

SEPARATOR: Final = (
    r"<\|[A-Za-z][\w ]{0,40}\|?>"  # <|im_end|>, <|python_tag|>, <|tool_call_begin|>
    r"|</?\uff5c[^<>\n]{0,80}?>|<\uff5c[^<>\n]{0,40}"  # DeepSeek's full-width tokens
    r"|\[/?(?:TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|INST|ARGS|CALL_ID|CONTENT|JSON|DONE)\]"
    r"|</?(?:[\w-]{1,20}:)?(?:tool_calls?|function_calls?|functioncall|invoke|function|parameters?"
    r"|arg_key|arg_value|answer|output|result|response|json|final|final_answer|tool_code)"
    r"(?:[=\s][^<>\n]{0,120})?>"
    r"|</?s>|<(?:start|end)_of_turn>|<eos>|<bos>|<unused\d{1,4}>"
)
MARK = re.compile(SEPARATOR + rf"|</?{_THINK}\s*>|\[/?THINK\]", re.IGNORECASE)
FENCE = re.compile(r"(?<!`)(`{2,})(?!`)[ \t]*([A-Za-z][\w+#.-]{0,15})?")


_OPENERS: Final = "{[\uff5b\uff3b"


class Event(NamedTuple):
    """Something between values: its kind, where it begins and ends, and the fence's language."""

    kind: str  # opener · fence · reasoning · closer · separator
    start: int
    end: int
    language: str = ""


# What a mark or an opener begins with: found far faster than the marks themselves.
_FIRST = re.compile("[<{\\[`\u25c1\uff5b\uff3b]")
_MARK = re.compile(
    rf"(?P<reasoning>{_OPEN})"
    rf"|(?P<closer>{_CLOSE})"
    rf"|(?P<separator>{SEPARATOR})"
    r"|(?P<fence>(?<!`)`{2,}(?!`)[ \t]*(?P<language>[A-Za-z][\w+#.-]{0,15}(?![\w{\[\"]))?)",
    re.IGNORECASE,
)


def next_event(text: str, start: int, end: int) -> Event | None:
    """The first mark or opener at or after `start`, before `end`."""
    while (first := _FIRST.search(text, start, end)) is not None:
        at = first.start()
        char, start = text[at], at + 1
        is_tag = char in "<`\u25c1" or (char == "[" and text[at + 1 : at + 2].isalpha())
        found = _MARK.match(text, at, end) if is_tag or text.startswith("[/", at) else None
        if found is not None and found.lastgroup is not None:
            kind = "fence" if found.lastgroup == "language" else found.lastgroup
            return Event(kind, at, found.end(), (found.group("language") or "").lower())
        if char in _OPENERS:
            return Event("opener", at, at + 1)
    return None


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
