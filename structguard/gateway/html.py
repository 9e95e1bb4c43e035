"""
HTML in which text is escaped unless it was made here: forgetting to escape is not possible.

Source: OWASP "Cross Site Scripting Prevention"; Unicode UAX 9 (text that reorders its surroundings).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

_VOID = frozenset({"input", "link", "meta", "rect", "line", "br"})
# what has no business in a page: controls, lone surrogates, marks that reorder what follows
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


class Html(str):
    """Markup: text that `tag` puts in as it is."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Markup that shows a text, whatever it holds."""
    return Html(html.escape(_UNSEEN.sub("\ufffd", text), quote=True))


def join(*children: str) -> Html:
    """The children one after the other; whatever is not Html is escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in children))


def tag(name: str, attributes: Mapping[str, str] | str = "", /, *children: str) -> Html:
    """An element; `attributes` is its class or a mapping, values and children are escaped."""
    if isinstance(attributes, str):
        attributes = {"class": attributes} if attributes else {}
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")
