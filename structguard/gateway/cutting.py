"""
A chat body without its format, cut out of its bytes: what a remembered refusal sends, again and again.

Only where the bytes say for certain what is what: the format is the last member, the first message is a
system text. For the rest the body is written anew. Source: spec guard §2, row "prompt"; spec gateway
"Speed bar".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import orjson

from structguard.clients.bodies import format_of
from structguard.flow.prompt import instruction
from structguard.types import Format

_NAME, _MESSAGES = b'"response_format"', b'"messages"'
_LARGE = 16 * 1024  # bytes of a format that is not remembered; 64 of the others are
_SYSTEM_TEXT = re.compile(
    rb'\{\s*(?:"model"\s*:\s*"[^"\\]*"\s*,\s*)?"messages"\s*:\s*\[\s*\{\s*'
    rb'"role"\s*:\s*"(?:system|developer)"\s*,\s*"content"\s*:\s*"(?!")[^"\\]*(?:\\.[^"\\]*)*'
    rb'(?="\s*\})'
).match
"""From a body's first byte to the end of its first message's text, which no other field follows."""


class Member(NamedTuple):
    """
    The format that ends a body: where it begins, what it is, and its instruction as it stands within a
    JSON string.
    """

    at: int
    format: Format
    told: bytes


def last_member(raw: bytes) -> Member | None:
    """
    The format that ends a body, which is valid JSON; None where it stands anywhere else.

    What follows the name up to the body's last brace is a whole value, so the name stands outside of
    any string and at the depth of that brace: it is the body's own. It stands there once.

    Raises:
        ValueError: a format that says json_schema and holds none.
    """
    at = raw.rfind(_NAME)
    if at < 0 or not raw.endswith(b"}") or len(raw) - at > _LARGE or raw.find(_NAME, 0, at) >= 0:
        return None
    found = _read(raw[at:-1])
    return None if found is None else Member(at, *found)


@lru_cache(maxsize=64)
def _read(member: bytes) -> tuple[Format, bytes] | None:
    try:
        body: dict[str, object] = orjson.loads(b"{%b}" % member)
    except orjson.JSONDecodeError:
        return None
    format_ = format_of(body, "chat") if len(body) == 1 else None
    if format_ is None:
        return None
    return format_, orjson.dumps(f"\n\n{instruction(format_)}")[1:-1]


def cut(raw: bytes, member: Member, *, told: bool) -> bytes | None:
    """The body without the member, its instruction behind the system text if it is to be `told`."""
    comma = member.at - 1
    while raw[comma] in b" \t\r\n":
        comma -= 1
    if raw[comma] != ord(","):  # there is no other member
        return None
    if not told:
        return raw[:comma] + b"}"
    text = _SYSTEM_TEXT(raw)
    if text is None or raw.find(_MESSAGES, text.end(), comma) >= 0:
        return None
    return b"".join((raw[: text.end()], member.told, raw[text.end() : comma], b"}"))
