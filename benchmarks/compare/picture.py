"""The table as a picture: each cell is cut in two, without on the left, with on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.compare.outcome import Pair, Verdict

COLOURS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.RIGHT: ("#2a7f62", "the object"),
    Verdict.TRUTHFUL: ("#86b6a5", "none to be had, and it says so"),
    Verdict.LOST: ("#e0a458", "an error: it was to be had, or it misleads"),
    Verdict.SILENT: ("#c8553d", "prose, None, cut JSON as the answer"),
}
LEFT, TOP, WIDTH, HEIGHT, GAP = 150, 96, 96, 30, 4
Cell = tuple[Pair, Pair]  # without, with


def picture(
    rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[str, str], Cell]
) -> str:
    """An SVG; `cells` by (row, column)."""
    width, height = LEFT + len(columns) * WIDTH + 16, TOP + len(rows) * HEIGHT + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        (
            "<style>text { font: 12px system-ui, sans-serif; fill: #222222 }"
            " .in { font-weight: 600 } .dark { fill: #ffffff }</style>"
        ),
        "<title>Clients and endpoints, without and with structguard</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(),
    ]
    for at, column in enumerate(columns):
        x = LEFT + at * WIDTH + (WIDTH - GAP) / 2
        parts.append(
            f'<text x="{x:.0f}" y="{TOP - 10}" text-anchor="middle">{escape(column)}</text>'
        )
    for down, row in enumerate(rows):
        y = TOP + down * HEIGHT
        parts.append(f'<text x="{LEFT - 10}" y="{y + 18}" text-anchor="end">{escape(row)}</text>')
        for across, column in enumerate(columns):
            parts += _cell(LEFT + across * WIDTH, y, cells[row, column])
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    found = [
        (
            '<text x="16" y="24" style="font-size:15px;font-weight:600">'
            "What came out: left without structguard, right with it; the number is requests sent"
            "</text>"
        )
    ]
    x = 16
    for colour, label in COLOURS.values():
        found.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{colour}"/>')
        found.append(f'<text x="{x + 18}" y="48">{escape(label)}</text>')
        x += 36 + round(6.1 * len(label))
    return found


def _cell(x: int, y: int, cell: Cell) -> list[str]:
    found: list[str] = []
    half = (WIDTH - GAP) / 2
    for at, pair in enumerate(cell):
        left = x + at * half
        colour, _ = COLOURS[pair.first.verdict]
        dark = " dark" if pair.first.verdict in (Verdict.RIGHT, Verdict.SILENT) else ""
        found.append(
            f'<rect x="{left:.0f}" y="{y}" width="{half:.0f}" height="{HEIGHT - GAP}" fill="{colour}"/>'
        )
        found.append(
            f'<text class="in{dark}" x="{left + half / 2:.0f}" y="{y + 18}" text-anchor="middle">{pair.first.requests}</text>'
        )
    return found
