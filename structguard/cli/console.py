"""
What all commands print with: colour on a terminal only, headings, wrapped text, tables.

Colour is off with NO_COLOR (https://no-color.org), with TERM=dumb, or where the output is no terminal.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Literal, TextIO, TypeAlias

Style: TypeAlias = Literal["bold", "dim", "red", "green", "yellow", "blue", "cyan"]
_CODES: Final = MappingProxyType(
    {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}
)
_WIDEST = 100  # columns; longer lines are hard to read


def error_text(error: Exception) -> str:
    """An error as a command says it: of a file, its name and what is the matter with it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class Console:
    """
    Prints to one stream. `colour` None asks the stream and the environment; `width` in columns, None:
    the terminal's, at most 100.
    """

    def __init__(
        self, out: TextIO, *, colour: bool | None = None, width: int | None = None
    ) -> None:
        self._out = out
        self._rule = "─" if (out.encoding or "utf-8").lower().startswith("utf") else "-"
        self.colour: bool = _wants_colour(out) if colour is None else colour
        self.width: int = width or min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)

    def paint(self, text: str, *styles: Style) -> str:
        """The text in these styles, or as it is where there is no colour."""
        if not self.colour or not styles:
            return text
        codes = ";".join(str(_CODES[style]) for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: Style) -> None:
        """One line."""
        print(self.paint(text, *styles), file=self._out)

    def heading(self, text: str) -> None:
        """A line that opens a part, with an empty one before it."""
        self.line()
        self.line(text, "bold", "cyan")
        self.line(self._rule * min(len(text), self.width), "cyan")

    def wrapped(self, text: str, *styles: Style, indent: str = "", hang: str | None = None) -> None:
        """Text in as many lines as it takes; `hang` indents all but the first (None: as `indent`)."""
        for line in textwrap.wrap(
            text,
            self.width,
            initial_indent=indent,
            subsequent_indent=indent if hang is None else hang,
            break_on_hyphens=False,
        ) or [indent]:
            self.line(line, *styles)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they need; a cell that would leave the screen ends in an ellipsis."""
        widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
        over = sum(widths) + 2 * (len(widths) - 1) - self.width
        if over > 0:
            widest = widths.index(max(widths))
            widths[widest] = max(8, widths[widest] - over)
        self.line(_row(head, widths), "bold")
        for row in rows:
            self.line(_row(row, widths))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (shorten(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def shorten(text: str, width: int) -> str:
    """The text on one line, cut with an ellipsis where it is longer than `width`."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def _wants_colour(out: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return out.isatty()
