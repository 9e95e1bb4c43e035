# ruff: noqa: INP001  mkdocs loads it by its path
"""What the pages leave out of the docstrings: where in the design a rule is written down."""

import re

SOURCE = re.compile(r"\s*Source: (?:spec|DESIGN|STYLE)[^<]*(?=</p>)")


def on_page_content(html: str, **_: object) -> str:
    """A page's HTML without these references."""
    return SOURCE.sub("", html).replace("<p></p>", "")
