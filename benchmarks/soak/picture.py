"""The soak as a picture: memory, file handles, latency and calls over time, drawn by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.soak.watch import Sample

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 860, 110, 64, 24, 44, 46
COLOURS = ("#2a7f62", "#c8553d")


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: its title, and a line for each name."""

    title: str
    lines: Sequence[tuple[str, Callable[[Sample], float]]]


PANELS = (
    Panel(
        "memory, MB",
        [("faces", lambda s: s.memory["faces"]), ("gateway", lambda s: s.memory["gateway"])],
    ),
    Panel(
        "file handles",
        [("faces", lambda s: s.handles["faces"]), ("gateway", lambda s: s.handles["gateway"])],
    ),
    Panel(
        "latency, ms",
        [("median", lambda s: s.median), ("99 of 100", lambda s: s.slowest)],
    ),
    Panel("calls a second", [("calls", lambda s: s.calls)]),
)


def picture(samples: Sequence[Sample], marks: Sequence[float]) -> str:
    """An SVG of the samples; `marks` are the seconds at which the memo's files were removed."""
    height = TOP + len(PANELS) * (PANEL + GAP)
    end = samples[-1].at
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<style>text { font: 12px system-ui, sans-serif; fill: #222222 }</style>",
        "<title>Memory, file handles and latency during the soak</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        (
            f'<text x="16" y="22" style="font-size:15px;font-weight:600">All faces, faults on,'
            f" {end:.0f} seconds; a dashed line: the memo's files are removed</text>"
        ),
    ]
    for at, panel in enumerate(PANELS):
        parts += _panel(panel, samples, marks, TOP + at * (PANEL + GAP) + 18, end)
    return "\n".join([*parts, "</svg>", ""])


def _panel(
    panel: Panel, samples: Sequence[Sample], marks: Sequence[float], y: int, end: float
) -> list[str]:
    top = max(value(sample) for _, value in panel.lines for sample in samples) * 1.08 or 1.0
    found = [f'<text x="{LEFT}" y="{y - 6}" style="font-weight:600">{escape(panel.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        line = y + PANEL * (1 - share)
        found.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{line:.1f}" y2="{line:.1f}"'
            ' stroke="#dddddd"/>'
        )
        found.append(
            f'<text x="{LEFT - 8}" y="{line + 4:.1f}" text-anchor="end">{top * share:.0f}</text>'
        )
    for mark in marks:
        x = _x(mark, end)
        found.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + PANEL}" stroke="#999999"'
            ' stroke-dasharray="3 3"/>'
        )
    x = LEFT + 120
    for (name, value), colour in zip(panel.lines, COLOURS, strict=False):
        points = " ".join(
            f"{_x(sample.at, end):.1f},{y + PANEL * (1 - value(sample) / top):.1f}"
            for sample in samples
        )
        found.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        )
        found.append(f'<rect x="{x}" y="{y - 15}" width="10" height="10" fill="{colour}"/>')
        found.append(f'<text x="{x + 15}" y="{y - 6}">{escape(name)}</text>')
        x += 30 + 8 * len(name)
    return found


def _x(at: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * at / end
