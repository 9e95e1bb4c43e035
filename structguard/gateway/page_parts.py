"""
The parts of the status page, each from what the snapshot says of it.

Source: spec gateway, issue "a status page".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from structguard.gateway.html import Html, escape, join, tag
from structguard.gateway.numbers import Numbers
from structguard.gateway.page_charts import NONE, latency_chart, seconds, traffic_chart
from structguard.gateway.snapshot import ChainRow, ProviderRow, Snapshot
from structguard.layers.partition import LinkView
from structguard.memo.entry import Entry

SHOWN = 200  # memo entries, the last confirmed first
FORGET_PATH = "/forget"
"""POST here, urlencoded: `csrf` and `entry`, the id of a memo entry; answered by a 303 to the page."""


def header(snapshot: Snapshot) -> Html:
    """The name, how it goes in one pill, and since when."""
    modes = Counter(link.mode for chain in snapshot.chains for link in chain.links)
    away = [f"{modes[mode]} {mode}" for mode in ("cooling", "half-open") if modes[mode]]
    kind, label = ("warn", f"Links: {', '.join(away)}") if away else ("good", "Serving")
    if modes and set(modes) == {"cooling"}:
        kind, label = "bad", "Every link is cooling"
    about = [
        tag("span", "", f"version {snapshot.version}"),
        tag("span", "", f"up {ago(snapshot.now - snapshot.started)}"),
        tag("span", "", snapshot.worker) if snapshot.worker else "",
        tag("a", {"href": "/"}, "Refresh"),
    ]
    title = tag("h1", "", "structguard")
    return tag("header", "", title, tag("span", f"pill {kind}", label), tag("div", "about", *about))


def tiles(numbers: Numbers) -> Html:
    """The counters."""
    ratio = numbers.enforced_ratio
    tiles = (
        ("Requests", f"{numbers.requests:,}", False),
        ("Failed (5xx)", f"{numbers.failed:,}", numbers.failed > 0),
        ("In flight", f"{numbers.in_flight:,}", False),
        ("Enforced", NONE if ratio is None else f"{ratio * 100:.3g} %", False),
        ("Refusals", f"{numbers.refusals:,}", False),
        ("Saved", f"{numbers.saved:,}", False),
        ("Provider errors", f"{numbers.provider_errors:,}", numbers.provider_errors > 0),
        ("Recovered", f"{numbers.recovered:,}", False),
    )
    items = [
        tag("div", "tile bad" if bad else "tile", tag("dt", "", name), tag("dd", "", value))
        for name, value, bad in tiles
    ]
    return tag("dl", "tiles", *items)


def charts(numbers: Numbers) -> Html:
    """Traffic, and how long answers took."""
    traffic = _card(
        "Traffic",
        "Requests of the last minutes, failed ones in red",
        traffic_chart(numbers.traffic),
    )
    rows = (
        ("Whole answer", numbers.latency),
        ("First byte of streams", numbers.first_byte),
        ("Upstream", numbers.upstream),
    )
    table = _table(
        "quantiles",
        (("", ""), ("num", "p50"), ("num", "p95"), ("num", "p99"), ("num", "count")),
        [
            [
                ("", "", tag("span", "", name)),
                *(
                    ("num", "", tag("span", "", seconds(found.quantile(q))))
                    for q in (0.5, 0.95, 0.99)
                ),
                ("num", "", tag("span", "", f"{found.total:,}")),
            ]
            for name, found in rows
        ],
    )
    latency = _card("Latency", "How long whole answers took", latency_chart(numbers.latency), table)
    return tag("div", "two", traffic, latency)


def chains(chains: Sequence[ChainRow]) -> Html:
    """Each alias with its links; nothing without any."""
    if not chains:
        return Html("")
    items = [
        tag("div", "chain", tag("h3", "", chain.alias), tag("ol", "", *map(_link, chain.links)))
        for chain in chains
    ]
    return _card(
        "Chains", "Each alias, its links in order, and their breakers", tag("div", "chains", *items)
    )


_MODES: Mapping[str, str] = MappingProxyType(
    {"closed": "good", "half-open": "warn", "cooling": "bad"}
)


def _link(link: LinkView) -> Html:
    mode = link.mode if link.mode != "cooling" else f"cooling {ago(link.cools_for)}"
    name = tag("span", "serving" if link.serving else "", link.link)
    pill = tag("span", f"pill {_MODES[link.mode]}", f"{mode}, probing" if link.probing else mode)
    note = f"{_many(link.failures, 'failure')}: {link.reason}" if link.failures else ""
    return tag("li", "", tag("div", "row", name, pill), tag("div", "dim", note) if note else "")


def memo(snapshot: Snapshot) -> Html:
    """What is remembered, with a way to forget each."""
    sub = "What endpoints are known to refuse, ignore or serve elsewhere, and the evidence"
    if not snapshot.entries:
        return _card(
            "Memo",
            sub,
            tag("p", "empty", "Nothing is remembered: no endpoint has refused a format."),
        )
    heads = (
        ("", "Endpoint"),
        ("", "Verdict"),
        ("", "Evidence"),
        ("", "Confirmed"),
        ("", "Expires"),
        ("num", "Saved"),
        ("", ""),
    )
    newest = sorted(snapshot.entries, key=lambda entry: -entry.confirmed)[:SHOWN]
    left = len(snapshot.entries) - len(newest)
    more = f"{left:,} older not shown: structguard memo list" if left else ""
    return _card(
        "Memo",
        sub,
        _table("stack memo", heads, [_entry(entry, snapshot) for entry in newest]),
        tag("p", "empty", more) if more else Html(""),
    )


def _entry(entry: Entry, snapshot: Snapshot) -> list[tuple[str, str, Html]]:
    due = "never" if entry.expires is None else f"in {ago(entry.expires - snapshot.now)}"
    if entry.expires is not None and entry.expires <= snapshot.now:
        due = "now due"
    where = " · ".join(part for part in (entry.model, entry.base_url) if part)
    return [
        ("", "", join(tag("div", "who", entry.provider), tag("div", "dim", where))),
        ("", "", join(*_verdict(entry))),
        (
            "",
            "",
            tag("p", {"class": "evidence", "dir": "auto"}, entry.evidence)
            if entry.evidence
            else tag("span", "dim", NONE),
        ),
        ("when", "Confirmed", tag("span", "", f"{ago(snapshot.now - entry.confirmed)} ago")),
        ("when", "Expires", tag("span", "", due)),
        ("num", "Saved requests", tag("span", "", f"{entry.saved:,}")),
        ("act", "", _forget(entry, snapshot.csrf)),
    ]


def _verdict(entry: Entry) -> list[Html]:
    """What is known, and what narrows it."""
    if entry.verdict == "use_api":
        return [tag("span", "pill", f"served on {entry.api}")]
    kind, narrow = ("warn", entry.scope.value) if entry.verdict == "refused" else ("", "")
    details = (
        narrow,
        entry.flag,
        entry.schema and f"schema {entry.schema[:12]}",
        entry.status and f"HTTP {entry.status}",
    )
    return [
        tag("span", f"pill {kind}".strip(), f"{entry.format or 'format'} {entry.verdict}"),
        tag("div", "dim", " · ".join(str(detail) for detail in details if detail)),
    ]


def _forget(entry: Entry, csrf: str) -> Html:
    hidden = [
        tag("input", {"type": "hidden", "name": name, "value": value})
        for name, value in (("csrf", csrf), ("entry", entry.id))
    ]
    label = {"type": "submit", "aria-label": f"Forget {entry.provider} {entry.model}"}
    return tag(
        "form", {"method": "post", "action": FORGET_PATH}, *hidden, tag("button", label, "Forget")
    )


def providers(providers: Sequence[ProviderRow]) -> Html:
    """Where requests go; nothing without any."""
    if not providers:
        return Html("")
    heads = (("", "Provider"), ("", "Base URL"), ("", "API"))
    rows = [
        [
            ("who", "", escape(provider.id)),
            ("dim", "", escape(provider.base_url)),
            ("", "API", tag("span", "", provider.api)),
        ]
        for provider in providers
    ]
    return _card("Providers", "", _table("stack", heads, rows))


def footer(snapshot: Snapshot) -> Html:
    """Where memo and responses are kept."""
    places = (f"Memo {snapshot.memo}", f"Responses {snapshot.store}")
    return tag(
        "footer",
        "",
        *(tag("span", "", place) for place in places),
        tag("a", {"href": "/metrics"}, "Metrics"),
    )


def _card(title: str, sub: str, *children: Html) -> Html:
    subtitle = tag("p", "sub", sub) if sub else ""
    return tag("section", "card", tag("h2", "", title), subtitle, *children)


def _table(
    kind: str, heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[tuple[str, str, Html]]]
) -> Html:
    """A table; each cell is its class, its label on narrow screens, and what it holds."""
    head = tag(
        "tr", "", *(tag("th", {"scope": "col", "class": kind}, name) for kind, name in heads)
    )
    body = [
        tag(
            "tr",
            "",
            *(
                tag("td", {"class": kind} | ({"data-label": label} if label else {}), cell)
                for kind, label, cell in row
            ),
        )
        for row in rows
    ]
    return tag("table", kind, tag("thead", "", head), tag("tbody", "", *body))


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def ago(span: float) -> str:
    """A span of time in the largest unit that fits, days from two on; never negative."""
    span = max(0.0, span)
    for least, size, unit in ((172800.0, 86400.0, "d"), (3600.0, 3600.0, "h"), (60.0, 60.0, "min")):
        if span >= least:
            return f"{span / size:.0f} {unit}"
    return f"{span:.0f} s"
