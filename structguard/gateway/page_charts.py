"""
Two small charts as inline SVG: bars only, stretched to the width there is; words stay in HTML.

Source: spec gateway, issue "a status page".
"""

from __future__ import annotations

from collections.abc import Sequence

from structguard.gateway.html import Html, escape, join, tag
from structguard.gateway.numbers import Histogram, Traffic

NONE = "\u2013"  # an en dash: nothing to show
FEW = 9  # buckets that are shown at least
HEIGHT, UNIT, GAP = 100.0, 10.0, 1.5  # of the drawing; a bar's room and what stays free of it


def traffic_chart(traffic: Traffic) -> Html:
    """Requests a step, those that failed in red below; oldest left."""
    most, minutes = max(traffic.requests, default=0), len(traffic.requests) * traffic.step / 60
    if not most:
        return tag("p", "empty", f"No requests in the last {minutes:g} minutes.")
    bars = list[Html]()
    for index, (requests, failed) in enumerate(zip(traffic.requests, traffic.failed, strict=True)):
        share = HEIGHT / most
        bars.append(_bar(index, failed * share, 0.0, "bar bad"))
        bars.append(_bar(index, (requests - failed) * share, failed * share, "bar"))
    caption = (
        f"{sum(traffic.requests):,} requests in the last {minutes:g} minutes,"
        f" {sum(traffic.failed):,} failed; at most {most:,} in {traffic.step:g} seconds"
    )
    return join(
        _drawing(len(traffic.requests), bars, caption),
        _axis((f"{minutes:g} min ago", f"peak {most:,} / {traffic.step:g} s", "now")),
    )


def latency_chart(latency: Histogram) -> Html:
    """How many fell into each bucket, from the first that holds any to the last."""
    filled = [index for index, count in enumerate(latency.counts) if count]
    if not filled:
        return tag("p", "empty", "Nothing measured yet.")
    visible = _visible(min(filled), max(filled), len(latency.counts))
    most = max(latency.counts)
    bars = [
        _bar(
            index - visible.start,
            latency.counts[index] * HEIGHT / most,
            0.0,
            "bar",
            f"{_bucket(latency, index)}: {latency.counts[index]:,}",
        )
        for index in visible
    ]
    caption = "Requests by duration. " + "; ".join(
        f"{_bucket(latency, index)}: {latency.counts[index]:,}" for index in filled
    )
    return join(
        _drawing(len(visible), bars, caption),
        _axis([_edge(latency, index) for index in visible], each=True),
    )


def _visible(first: int, last: int, buckets: int) -> range:
    """The filled buckets with one beside each end, and more where they are few."""
    beside = max(1, (FEW - (last - first + 1) + 1) // 2)
    return range(max(0, first - beside), min(buckets, last + beside + 1))


def seconds(value: float | None) -> str:
    """A duration as people read it; an en dash for none."""
    if value is None:
        return NONE
    if value < 1.0:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 100.0 else f"{value:,.0f} s"


def _bucket(latency: Histogram, index: int) -> str:
    last = index == len(latency.bounds)
    return f"over {seconds(latency.bounds[-1])}" if last else f"up to {_edge(latency, index)}"


def _edge(latency: Histogram, index: int) -> str:
    return seconds(latency.bounds[index]) if index < len(latency.bounds) else "more"


def _bar(index: int, height: float, above: float, kind: str, caption: str = "") -> Html:
    """One bar; what has any height is at least seen."""
    if height <= 0:
        return Html("")
    height = max(height, 1.5)
    box = (
        f'x="{index * UNIT + GAP:g}" y="{HEIGHT - above - height:.2f}"'
        f' width="{UNIT - 2 * GAP:g}" height="{height:.2f}"'
    )
    title = tag("title", "", caption) if caption else ""
    return Html(f'<rect class="{escape(kind)}" {box}>{title}</rect>')


def _drawing(bars: int, drawn: Sequence[Html], caption: str) -> Html:
    base = f'<rect class="base" x="0" y="{HEIGHT - 0.5}" width="{bars * UNIT:g}" height="0.5"/>'
    return tag(
        "svg",
        {
            "class": "chart",
            "viewBox": f"0 0 {bars * UNIT:g} {HEIGHT:g}",
            "preserveAspectRatio": "none",
            "role": "img",
            "aria-label": caption,
        },
        Html(base),
        *drawn,
    )


def _axis(labels: Sequence[str], *, each: bool = False) -> Html:
    marks = [tag("span", "", word) for word in labels]
    return tag("div", {"class": "axis each" if each else "axis", "aria-hidden": "true"}, *marks)
