"""The words of HTML and XML pages: what proxies and older services answer with."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)([A-Za-z!?][\w:.-]{0,40})[^<>]{0,2000}>")
_SILENT = re.compile(r"(?i)<(?:script|style|svg)\b")
_AUDIBLE = re.compile(r"(?i)</(?:script|style|svg)\s*>")
_INLINE = frozenset({"a", "b", "i", "em", "strong", "code", "span", "tt", "u", "small", "kbd"})


def is_page(text: str) -> bool:
    """Whether a text is markup."""
    return text.startswith("<") and _TAG.match(text) is not None


def page_words(text: str, longest: int) -> str:
    """The words of an HTML or XML page, block by block, without scripts."""
    import html  # noqa: PLC0415  its table of entities is large, and pages are rare

    heard: list[str] = []
    at = 0
    while (silent := _SILENT.search(text, at)) is not None:
        heard.append(text[at : silent.start()])
        end = _AUDIBLE.search(text, silent.end())
        at = end.end() if end else len(text)
    bare = "\n".join((*heard, text[at:]))[:longest]
    bare = _TAG.sub(lambda tag: " " if tag.group(2).lower() in _INLINE else "\n", bare)
    return html.unescape(bare)
