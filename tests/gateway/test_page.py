"""The status page says what there is, and lets no text of others become more than text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings, strategies as st

from structguard.gateway.html import Html, escape, join, tag
from structguard.gateway.numbers import Histogram, Traffic
from structguard.gateway.page import (
    HEADERS,
    STYLE_PATH,
    STYLESHEET,
    ChainRow,
    Csrf,
    ProviderRow,
    render,
)
from structguard.gateway.page_charts import latency_chart, seconds, traffic_chart
from structguard.gateway.page_parts import ago
from tests.gateway.page_sample import BUSY, CHAINS, ENTRIES, FRESH, NOW

HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;</td></table>\u202e\x00\ud800"
)


class Read(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for element, attributes in self.elements if element == name]

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def shape(html: str) -> list[tuple[str, list[str]]]:
    """What the page is made of, without what it says."""
    return [(name, sorted(attributes)) for name, attributes in Read(html).elements]


def test_every_memo_entry_is_shown_with_its_evidence_and_a_button_to_forget_it() -> None:
    read = Read(render(BUSY))
    for entry in ENTRIES:
        assert entry.provider in read.text
        assert entry.evidence in read.text
    assert len(read.all("button")) == len(ENTRIES)
    forms = read.all("form")
    assert all(form == {"method": "post", "action": "/forget"} for form in forms)
    hidden = [(one["name"], one["value"]) for one in read.all("input")]
    newest = sorted(ENTRIES, key=lambda entry: -entry.confirmed)
    assert hidden == [pair for one in newest for pair in (("csrf", "token"), ("entry", one.id))]


def test_a_large_memo_shows_its_newest_entries_and_says_how_many_are_left() -> None:
    many = [replace(ENTRIES[0], model=f"model-{n}", confirmed=NOW - n) for n in range(1234)]
    read = Read(render(replace(FRESH, entries=many[::-1])))
    assert len(read.all("form")) == 200
    assert "model-0 " in read.text
    assert "1,034 older not shown: structguard memo list" in read.text


@pytest.mark.parametrize(
    "said",
    [
        "128,409", "93.4 %", "1,874", "worker 2 of 4", "up 3 d", "Links: 1 cooling, 1 half-open",
        "cooling 42 s", "half-open, probing", "3 failures: groq: Rate limit reached",
        "json_schema refused", "json_schema ignored", "served on responses", "combination · tools",
        "schema 9f2c4e77a1b0", "now due", "in 22 h", "24 min ago", "314 ms", "4.7 s",
        "https://openrouter.ai/api/v1", "redis://cache.internal:6379/1", "peak 418 / 10 s",
    ],
)  # fmt: skip
def test_a_busy_gateway_says(said: str) -> None:
    assert said in Read(render(BUSY)).text


def test_a_fresh_gateway_says_so() -> None:
    text = Read(render(FRESH)).text
    for said in ("Serving", "Nothing measured yet.", "Nothing is remembered", "No requests in the"):
        assert said in text
    assert "Chains" not in text
    assert "Providers" not in text


def test_nothing_is_serving_when_every_link_cools() -> None:
    links = [replace(link, mode="cooling", cools_for=5.0) for link in CHAINS[0].links]
    page = render(replace(BUSY, chains=[ChainRow(alias="a", links=links)], message="Forgot it."))
    assert "Every link is cooling" in page
    assert "Forgot it." in page


def test_hostile_text_stays_text_wherever_it_comes_from() -> None:
    link = replace(CHAINS[0].links[0], link=HOSTILE, reason=HOSTILE)
    entry = replace(
        ENTRIES[0],
        provider=HOSTILE,
        model=HOSTILE,
        base_url=HOSTILE,
        evidence=HOSTILE,
        schema=HOSTILE,
    )
    hostile = replace(
        BUSY,
        version=HOSTILE,
        worker=HOSTILE,
        message=HOSTILE,
        memo=HOSTILE,
        store=HOSTILE,
        csrf=HOSTILE,
        entries=[entry],
        chains=[ChainRow(alias=HOSTILE, links=[link])],
        providers=[ProviderRow(id=HOSTILE, base_url=HOSTILE, api=HOSTILE)],
    )
    tame = replace(
        hostile,
        version="x", worker="x", message="x", memo="x", store="x", csrf="x",
        entries=[replace(entry, provider="x", model="x", base_url="x", evidence="x", schema="x")],
        chains=[ChainRow(alias="x", links=[replace(link, link="x", reason="x")])],
        providers=[ProviderRow(id="x", base_url="x", api="x")],
    )  # fmt: skip
    page = render(hostile)
    assert shape(page) == shape(render(tame))
    assert "<script" not in page
    assert "\u202e" not in page
    page.encode()  # no lone surrogate is left
    assert Read(page).text.count("<script>alert(1)</script>") >= 12


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters()))
def test_any_evidence_leaves_the_page_s_shape_alone(evidence: str) -> None:
    def page(text: str) -> str:
        return render(replace(FRESH, entries=[replace(ENTRIES[0], evidence=text)], message=text))

    made = page(f"x{evidence}")
    made.encode()
    assert shape(made) == shape(page("x"))


@given(st.text(st.characters()), st.text(st.characters()))
def test_text_comes_back_as_it_was_but_for_what_is_never_seen(text: str, value: str) -> None:
    element = tag("p", {"title": value}, text)
    read = Read(element)
    assert len(read.elements) == 1
    assert "<" not in escape(text)
    assert join(Html("<b>"), "<b>") == "<b>&lt;b&gt;"


def test_the_page_needs_no_script_no_inline_style_and_nothing_from_elsewhere() -> None:
    read = Read(render(BUSY))
    assert not read.all("script")
    assert not read.all("style")
    for name, attributes in read.elements:
        assert not any(key.startswith("on") or key == "style" for key in attributes), name
        for key in ("href", "src", "action"):
            value = attributes.get(key)
            assert value is None or value.startswith(("/", "data:,")), (name, value)
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "unsafe" not in policy + STYLESHEET
    assert "url(" not in STYLESHEET
    assert STYLE_PATH in render(BUSY)


def test_charts_are_told_to_who_cannot_see_them() -> None:
    labels = [svg["aria-label"] or "" for svg in Read(render(BUSY)).all("svg")]
    assert re.search(r"requests in the last 10 minutes, .* failed; at most 418", labels[0])
    assert "up to 250 ms: 31,000" in labels[1]


def test_bars_are_as_high_as_their_counts_and_never_vanish() -> None:
    chart = traffic_chart(Traffic(step=10.0, requests=(0, 50, 100_000), failed=(0, 0, 50_000)))
    heights = [float(one["height"] or 0) for one in Read(chart).all("rect")]
    assert heights == [0.5, 1.5, 50.0, 50.0]


def test_a_chart_of_few_durations_shows_the_buckets_beside_them() -> None:
    bounds = tuple(float(n) for n in range(1, 20))
    for place, words in ((0, "1 s 2 s 3 s 4 s 5 s"), (10, "7 s 8 s 9 s 10 s 11 s 12 s 13 s")):
        counts = tuple(5 if n == place else 0 for n in range(20))
        assert words in Read(latency_chart(Histogram(bounds=bounds, counts=counts))).text


def test_what_lies_above_the_last_bound_is_shown_too() -> None:
    chart = latency_chart(Histogram(bounds=(1.0, 200.0), counts=(0, 0, 3)))
    assert "over 200 s: 3" in chart
    assert "more" in Read(chart).text


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, "\u2013"), (0.0, "0 ms"), (0.0123, "12.3 ms"), (0.5, "500 ms"), (1.0, "1 s"),
     (12.34, "12.3 s"), (1234.0, "1,234 s")],
)  # fmt: skip
def test_durations_are_told_as_people_read_them(value: float | None, told: str) -> None:
    assert seconds(value) == told


@pytest.mark.parametrize(
    ("span", "told"),
    [
        (-5.0, "0 s"),
        (59.0, "59 s"),
        (60.0, "1 min"),
        (7200.0, "2 h"),
        (90_000.0, "25 h"),
        (180_000.0, "2 d"),
    ],
)
def test_spans_are_told_in_the_largest_unit(span: float, told: str) -> None:
    assert ago(span) == told


def test_an_entry_that_never_expires_says_so() -> None:
    assert ">never<" in render(replace(FRESH, entries=[replace(ENTRIES[0], expires=None)]))
    assert "now due" in render(replace(FRESH, entries=[replace(ENTRIES[0], expires=NOW)]))


def test_a_form_s_token_is_for_one_caller_and_one_secret() -> None:
    csrf = Csrf(b"s" * 16)
    token = csrf.token("alice")
    assert csrf.check("alice", token)
    assert Csrf(b"s" * 16).check("alice", token)
    for scope, wrong in (
        ("bob", token),
        ("alice", token[:-1]),
        ("alice", ""),
        ("alice", "é\ud800"),
    ):
        assert not csrf.check(scope, wrong)
    assert not Csrf(b"t" * 16).check("alice", token)
    assert token not in repr(csrf)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Csrf(b"short")


def test_the_token_of_a_form_is_not_in_a_snapshot_s_repr() -> None:
    assert "sesame" not in repr(replace(FRESH, csrf="sesame"))
