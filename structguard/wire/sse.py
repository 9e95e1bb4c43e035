"""
Server-sent events: bytes in, whole events out, whatever the reads cut through.

CRLF, CR and LF end a line, a CRLF may be split between reads; comments, id and retry lines are
ignored; several data lines are joined; a BOM is skipped; what is left at the end is an event too.
Lines are cut on bytes, so a UTF-8 character split between reads is whole again before it is decoded.

Source: WHATWG HTML, "Server-sent events"; spec wire, "Streams".
"""

from __future__ import annotations

from functools import lru_cache

_BOM = b"\xef\xbb\xbf"


class SseReader:
    """Cuts a byte stream into `(event name, data)`; the name is "" where none was given."""

    __slots__ = ("_after_cr", "_held", "_start")

    def __init__(self) -> None:
        self._held: list[bytes] = []  # bytes of the event that is not whole yet
        self._after_cr = False
        self._start = True

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """The events these bytes complete, in order."""
        if found := self._at_once(data):
            return found
        if self._start:
            data = self._without_bom(data)
        if self._after_cr or b"\r" in data:
            data = self._with_plain_ends(data)
        held = self._held
        if b"\n\n" not in data and not (held and _meet(held[-1], data)):
            if data:  # no event ends here: joined only once, however many reads it takes
                held.append(data)
            return []
        if held:
            held.append(data)
            data = b"".join(held)
            held.clear()
        blocks = data.split(b"\n\n")
        if blocks[-1]:
            held.append(blocks.pop())
        return [event for block in blocks if block and (event := _event(block)) is not None]

    def close(self) -> list[tuple[str, bytes]]:
        """The event that was begun and never ended by a blank line, if there is one."""
        rest, self._held = b"".join(self._held), []
        event = _event(rest) if rest else None
        return [] if event is None else [event]

    def _at_once(self, data: bytes) -> list[tuple[str, bytes]]:
        """
        Events of one data line each, all named or all without a name, nothing pending before or after
        them, as servers flush; else nothing.
        """
        if self._after_cr or self._held or not data.endswith(b"\n\n") or b"\r" in data:
            return []
        found: list[tuple[str, bytes]] = []
        if data.startswith(b"data: "):
            pieces = data[6:-2].split(b"\n\ndata: ")
            if data.count(b"\n") == 2 * len(pieces):
                found = [("", data_) for data_ in pieces]
        elif data.startswith(b"event: "):
            blocks = [block.split(b"\ndata: ", 1) for block in data[7:-2].split(b"\n\nevent: ")]
            if data.count(b"\n") == 3 * len(blocks) and all(len(block) == 2 for block in blocks):
                found = [(_name(name), data_) for name, data_ in blocks]
        if found:
            self._start = False
        return found

    def _with_plain_ends(self, data: bytes) -> bytes:
        """LF for CRLF and CR; an LF that opens a read belongs to the CR that ended the last one."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _without_bom(self, data: bytes) -> bytes:
        data = b"".join((*self._held, data))
        self._held.clear()
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._held.append(data)
            return b""
        self._start = False
        return data.removeprefix(_BOM)


def _meet(before: bytes, after: bytes) -> bool:
    """Whether a blank line lies just between two reads."""
    return after.startswith(b"\n") and before.endswith(b"\n")


def _event(block: bytes) -> tuple[str, bytes] | None:
    """One event's lines → name and data; None where it has no data line (a comment, a ping)."""
    first, _, rest = block.partition(b"\n")
    if not rest and first.startswith(b"data: "):
        return "", first[6:]
    if first.startswith(b"event: ") and rest.startswith(b"data: ") and b"\n" not in rest:
        return _name(first[7:]), rest[6:]
    name, data = b"", list[bytes]()
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    return (_name(name), b"\n".join(data)) if data else None


@lru_cache(maxsize=256)
def _name(raw: bytes) -> str:
    """An event's name; there are few."""
    return raw.decode("utf-8", "replace")
