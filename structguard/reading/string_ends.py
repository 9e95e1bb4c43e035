"""
Strings that have lost their end: the next key, the next item, a fence or brackets end them.

What runs to the end of the text without any of these is cut, not closed. Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.closing import lost_colon
from structguard.reading.cursor import MISSING, Cursor, GiveUp
from structguard.reading.lookahead import CLOSERS, QUOTED_KEY, TAIL, VALUE_START, skip
from structguard.reading.marks import FENCE, MARK
from structguard.reading.string_state import Text

_CLOSED = re.compile(r"\s*\n[\s}\]]*[}\]]\Z")  # brackets on lines of their own
# Between a closing quote and the next key: a remark in brackets, a fence, marks without letters.
_REMARK = re.compile(r"(?:\([^()\"\n]{0,120}\)|```\w{0,20}|[^\w\"(`])*+")
_DUE = re.compile(r"(?P<a>[\s}\]]{0,40}[}\]])\s{0,40},\s{0,40}\Z")  # brackets before a key
_ITEM = re.compile(r"\"[^\"\n]{1,120}\"\s{0,40}(?:\]|,\s{0,40}\")")  # a string and what ends it


def key_without_end(text: Text, at: int) -> bool:
    """`{"name: "Ada"}`: the quote opens the value, the key has lost its own."""
    content = text.parts[0] if len(text.parts) == 1 else ""
    key = content.rstrip()
    if not key.endswith(":") or "\n" in content or not key[:-1].strip():
        return False
    cursor = text.cursor
    cursor.note("missing end quote", at)
    cursor.position = text.start + content.rindex(":")
    text.parts[:] = [key[:-1].rstrip()]
    return True


def ended_by_key(text: Text, at: int) -> bool:
    """
    Whether this quote opens the next key, so that the string has lost its end.

    Certain after a comma or on a new line; right after text only for a property of the schema.
    """
    cursor = text.cursor
    key = QUOTED_KEY.match(cursor.text, at, cursor.end)
    if key is None or cursor.top.members is None:
        return False
    if VALUE_START.match(cursor.text, key.end(), cursor.end) is None:
        return False
    name = next(group for group in key.groups() if group is not None)
    content = "".join(text.parts[-40:])
    stripped = content.rstrip()
    if stripped.endswith("{"):
        _restarted(cursor, name, at)
        return False
    if text.nested or (cursor.named and name not in cursor.named):
        return False
    own_line = "\n" in content[len(stripped) :]
    separated = stripped.endswith(",") or _is_new_property(cursor, name)
    if not own_line and (not separated or _is_mentioned(cursor, key.end())):
        return False
    _end_before_key(text, at)
    return True


def ended_by_item(text: Text, at: int) -> bool:
    """In an array: a quote after a comma, on its own line or at once, opens the next string."""
    cursor = text.cursor
    if cursor.top.members is not None or not text.parts or text.nested:
        return False
    if _ended_by_next_key(text, at):
        return True
    content = text.parts[-1]
    stripped = content.rstrip()
    if not stripped.endswith(","):
        return False
    at_once = content == stripped and not text.inner and _ITEM.match(cursor.text, at, cursor.end)
    if not at_once and "\n" not in content[len(stripped) :]:
        return False
    _end_before_key(text, at)
    return True


def _ended_by_next_key(text: Text, at: int) -> bool:
    """`["a", "b], "next": 1`: a key stands here, and before it the bracket that is due."""
    cursor = text.cursor
    key = QUOTED_KEY.match(cursor.text, at, cursor.end)
    content = "".join(text.parts[-4:])
    due = _DUE.search(content[-200:])
    if key is None or due is None or not _are_due(cursor, due.group("a")):
        return False
    outer = cursor.stack[-1 - sum(char in CLOSERS for char in due.group("a")) :][:1]
    if not outer or outer[0].members is None:
        return False
    cursor.note("missing end quote", at - len(due.group()))
    cursor.position = at - len(due.group())
    text.parts[:] = ["".join(text.parts)[: -len(due.group())]]
    return True


def _is_new_property(cursor: Cursor, name: str) -> bool:
    """A property of the schema that this object does not have yet."""
    return (
        name in cursor.known and name not in (cursor.top.members or {}) and name != cursor.top.key
    )


def _is_mentioned(cursor: Cursor, position: int) -> bool:
    """`the "n": 2 field`: a key in a sentence, for words follow its number or literal."""
    position = skip(cursor.text, position, cursor.end)
    return cursor.text[position].isalnum() and not lost_colon(cursor.text, position, cursor.end)


def _end_before_key(text: Text, at: int) -> None:
    cursor = text.cursor
    content = "".join(text.parts)
    raw = cursor.text[text.start : at]  # an escaped line end at the end of the content stays
    value = content[: len(content) - len(raw) + len(raw.rstrip().removesuffix(",").rstrip())]
    position = at
    closed = _CLOSED.search(value, max(0, len(value) - 200))
    if closed is not None and _are_due(cursor, closed.group()):
        value, position = value[: closed.start()], at - len(content) + closed.start()
    before = cursor.text[max(0, at - 200) : at].rstrip().removesuffix(",").rstrip()
    quoted = _ended_at_quote(text, at)
    if quoted is not None:
        value, position = quoted
        text.inner = '"' in value
    elif value.endswith('"') and before.endswith('\\"') and value.count('"') % 2:
        value = value[:-1] + "\\"  # "C:\dir\", "next": the backslash was content
    cursor.note("missing end quote", position)
    cursor.position = position
    text.parts[:] = [value]


def _ended_at_quote(text: Text, at: int) -> tuple[str, int] | None:
    """
    `"Ann" (a remark), "next": 1`: the one quote inside closed the string, no letters follow it.

    The value and where it ended; None when quotes inside are in pairs, or words follow.
    """
    cursor = text.cursor
    begin = max(text.start, at - 400)
    raw = cursor.text[begin:at]
    content = "".join(text.parts)
    last = raw.rfind('"')
    if text.quote != '"' or last < 0 or content.count('"') % 2 == 0 or not content.strip():
        return None
    if raw[:last].endswith("\\") or _REMARK.fullmatch(raw, last + 1) is None:
        return None
    return content[: content.rindex('"')], begin + last + 1


def _are_due(cursor: Cursor, tail: str) -> bool:
    """Whether brackets are the ones that close what is open, innermost first."""
    closers = [CLOSERS[char] for char in tail if char in CLOSERS]
    return closers == [frame.closer for frame in reversed(cursor.stack)][: len(closers)]


def _restarted(cursor: Cursor, name: str, at: int) -> None:
    """`{"city": "Par{"city": "Paris"}`: the model began again; give up what came before."""
    for frame in cursor.stack:
        members = frame.members
        if members is None:
            continue
        first = next(iter(members), frame.key)
        if first == name:
            brace = cursor.text.rindex("{", 0, at)
            if _is_content(cursor, brace):
                return
            root = frame is cursor.stack[0]
            raise GiveUp("the object begins anew inside a string", at, brace if root else None)


def _is_content(cursor: Cursor, brace: int) -> bool:
    """Whether the object at this brace ends inside the string: more quotes follow it."""
    stop = cursor.brackets.end_of(brace, cursor.end)
    return stop > 0 and cursor.text.find('"', stop, cursor.end) >= 0


def unclosed(text: Text) -> object:
    """No closing quote up to the end: a fence, closing brackets or the cut ends the string."""
    cursor = text.cursor
    if text.is_key:
        if text.inner or text.doubled:
            raise GiveUp("a key without a colon", text.start)
        cursor.cut = True
        return MISSING
    content = "".join(text.parts)
    raw = cursor.text[text.start : cursor.end]
    bound = _bound(raw)
    tail = _closing_tail(raw[:bound], [frame.closer for frame in reversed(cursor.stack)])
    if tail is not None and (bound < len(raw) or "\n" in raw[tail:]):
        return _end_at(text, tail, content, raw)
    if bound < len(raw):
        return _end_at(text, bound, content, raw)
    if text.inner and tail is not None:
        raise GiveUp("a string whose end cannot be told", text.start)
    cursor.cut = True
    return content if cursor.partial else MISSING


def _closing_tail(raw: str, expected: list[str]) -> int | None:
    """Where the brackets begin that close all that is open, with the blank before; None without."""
    tail = TAIL.search(raw)
    at = [
        index
        for index in range(tail.start() if tail else len(raw), len(raw))
        if raw[index] in CLOSERS
    ]
    due = at[len(at) - len(expected) :] if len(at) >= len(expected) else []
    if not due or [CLOSERS[raw[index]] for index in due] != expected:
        return None
    return len(raw[: due[0]].rstrip())


def _bound(raw: str) -> int:
    """Where a closing fence or a special token stands in a string that has no end."""
    mark = MARK.search(raw)
    bound = mark.start() if mark else len(raw)
    inner = 0
    for fence in FENCE.finditer(raw, 0, bound):
        if fence.group(2):
            inner += 1  # a block of code inside the string
        elif inner:
            inner -= 1
        else:
            return len(raw[: fence.start()].rstrip())
    return bound


def _end_at(text: Text, length: int, content: str, raw: str) -> str:
    """End the string after `length` characters of its raw text."""
    cursor = text.cursor
    dropped = len(raw) - length
    cursor.note("missing end quote", text.start + length)
    cursor.position = text.start + length
    return content[: len(content) - dropped].rstrip()


def key_after_run(text: Text, at: int) -> bool:
    """`"…""next": 1`: the second quote opens the next key, only the comma is lost."""
    cursor = text.cursor
    key = QUOTED_KEY.match(cursor.text, at, cursor.end)
    return (
        key is not None
        and cursor.top.members is not None
        and not text.nested
        and VALUE_START.match(cursor.text, key.end(), cursor.end) is not None
    )
