"""
Gzip, the one content coding that is asked for: member after member, and never more than is allowed.

Source: RFC 9110 §8.4.1.3, RFC 1952 §2.2 (a file is a series of members).
"""

from __future__ import annotations

import zlib

from structguard.http.seam import ExchangeFailed, unreadable

_GZIP = 31  # zlib's window bits for gzip, with its header


class Unpack:
    """Gzip, member after member, never more than asked for at once."""

    __slots__ = ("_begun", "_member")

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    def __call__(self, data: bytes, most: int) -> bytes:
        """
        What these bytes hold, `most` bytes of it at most; then the body is over its limit anyway.

        Raises:
            zlib.error: this is not gzip.
        """
        out = b""
        while data and len(out) < most:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
            self._begun = True
            out += self._member.decompress(data, most - len(out))
            data = self._member.unused_data
        return out

    @property
    def is_cut(self) -> bool:
        """Whether more should have come."""
        return self._begun and not self._member.eof


def undecodable(status: int | None) -> ExchangeFailed:
    """A body packed in a way that was not offered, or badly."""
    return unreadable("the reply's content-encoding cannot be decoded", status)
