"""Framing of server-sent events, whatever the reads cut through."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from structguard.wire.sse import SseReader


def read(*chunks: bytes) -> list[tuple[str, bytes]]:
    """All events of these reads."""
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


def test_a_crlf_that_two_reads_share_ends_one_line_only() -> None:
    assert read(b"data: a\r", b"\ndata: b\r\n\r\n") == [("", b"a\nb")]


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
        (b"data: a\r\rdata: b\r\r", [("", b"a"), ("", b"b")]),
        (b"data: a\r\n\ndata: b\n\r\n", [("", b"a"), ("", b"b")]),
        (b"event: x\ndata: a\n\n", [("x", b"a")]),
        (b"data:a\nevent:x\n\n", [("x", b"a")]),
        (b"data: a\ndata:  b\ndata:\ndata: c\n\n", [("", b"a\n b\n\nc")]),
        (b": ping\n\ndata: a\n\n: bye\n\n", [("", b"a")]),
        (b"id: 1\nretry: 5\ndata: a\nunknown: x\nnocolon\n\n", [("", b"a")]),
        (b"event: x\n\ndata: a\n\n", [("", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
        (b"\xef\xbbdata: a\n\n", []),
        (b"data: \xef\xbb\xbf\n\n", [("", b"\xef\xbb\xbf")]),
        (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
        (b"data: left over", [("", b"left over")]),
        (b"data: left over\n", [("", b"left over")]),
        (b"data: left\ndata: over\r", [("", b"left\nover")]),
        (b"data\n\n", [("", b"")]),
        (b"data: a: b\n\n", [("", b"a: b")]),
        (b"", []),
        (b"\xef\xbb", []),
        (b"{}", []),
    ],
)
def test_events_are_the_same_wherever_the_bytes_are_cut(
    raw: bytes, events: list[tuple[str, bytes]]
) -> None:
    assert read(raw) == events
    assert read(*(raw[at : at + 1] for at in range(len(raw)))) == events
    for cut in range(len(raw) + 1):
        assert read(raw[:cut], raw[cut:]) == events


PIECES = st.sampled_from(
    [
        b"data: x",
        b"data:y",
        b"event: e",
        b": c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"z",
    ]
)


@given(st.lists(PIECES), st.lists(st.integers(0, 60)))
def test_cuts_never_matter(pieces: list[bytes], cuts: list[int]) -> None:
    raw = b"".join(pieces)
    places = sorted({0, len(raw), *(cut for cut in cuts if cut <= len(raw))})
    chunks = [raw[a:b] for a, b in pairwise(places)]
    assert read(*chunks) == read(raw)


def test_a_long_event_in_many_reads_stays_cheap() -> None:
    reader = SseReader()
    assert reader.feed(b"data: ") == []
    for _ in range(20_000):
        assert reader.feed(b"x") == []
    [(name, data)] = reader.feed(b"\n\n")
    assert (name, len(data)) == ("", 20_000)


def test_an_event_that_never_ends_costs_no_more_for_its_length() -> None:
    reader, line = SseReader(), b"data: 0123456789\n"
    began = time.process_time()
    for _ in range(20_000):
        assert reader.feed(line) == []
    assert time.process_time() - began < 1.0  # joined anew at each read it took four
    assert reader.feed(b"\n") == [("", b"\n".join([b"0123456789"] * 20_000))]
