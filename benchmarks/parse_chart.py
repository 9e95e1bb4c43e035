"""An SVG bar chart of right against silently wrong answers, drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, BAR, GAP, LEFT, TOP = 860, 18, 16, 260, 64
RIGHT_COLOUR, SILENT_COLOUR, MISS_COLOUR = "#2a7f62", "#c8553d", "#d9d9d9"


def chart(rows: Sequence[tuple[str, int, int]], total: int) -> str:
    """One bar for each (name, right, silent): right, silently wrong, and the rest is nothing taken."""
    scale = (WIDTH - LEFT - 90) / total
    height = TOP + len(rows) * (BAR + GAP) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<style>text { font: 13px system-ui, sans-serif }</style>",
        f"<title>Right and silently wrong answers on {total} rows</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600">What {total} answers of models became</text>',
        *_legend(),
    ]
    for index, (name, right, silent) in enumerate(rows):
        parts += _bar(name, right, silent, total, TOP + index * (BAR + GAP), scale)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    found: list[str] = []
    x = 16
    for colour, label in (
        (RIGHT_COLOUR, "right"),
        (SILENT_COLOUR, "silently wrong: fits the schema, is not what was meant"),
        (MISS_COLOUR, "missed: nothing, or caught by the schema"),
    ):
        found.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colour}"/>')
        found.append(f'<text x="{x + 18}" y="47">{label}</text>')
        x += 40 + round(6.6 * len(label))
    return found


def _bar(name: str, right: int, silent: int, total: int, y: int, scale: float) -> list[str]:
    widths = (right * scale, silent * scale, (total - right - silent) * scale)
    found = [f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(name)}</text>']
    x = float(LEFT)
    for width, colour in zip(widths, (RIGHT_COLOUR, SILENT_COLOUR, MISS_COLOUR), strict=True):
        found.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
        )
        x += width
    found.append(f'<text x="{x + 8:.1f}" y="{y + 14}">{right} / {silent}</text>')
    return found
