"""
Closing: brackets in order, swapped, of the wrong kind, missing, too many; and containers reopened.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.cursor import MISSING, Cursor, Frame
from structguard.reading.lookahead import CLOSERS, SURPLUS, closer_run, skip
from structguard.types import as_mapping

_NEXT_OBJECT = re.compile(r"\s{0,200}[,\uff0c]\s{0,200}\{\s{0,200}[\"']([^\"'\n]{1,80})[\"']")


def finish_value(cursor: Cursor, value: object) -> None:
    cursor.top.put(value)
    cursor.expects_separator = True


def close(cursor: Cursor) -> None:
    """Close the innermost container and hand its value to the one around it."""
    frame = cursor.stack.pop()
    if frame.implied:
        cursor.note("missing opener", frame.start)
    if not cursor.stack:
        return
    if frame.called and not frame.named and cursor.last_bare and len(frame.items) == 1:
        cursor.note("words left out", frame.start)  # a remark: (and so on)
        frame.items[0] = MISSING
    finish_value(cursor, frame.value)


def close_all(cursor: Cursor, kind: str) -> None:
    if cursor.top.key is not None:
        cursor.top.put(MISSING)
    cursor.note(kind, cursor.position)
    while cursor.stack:
        close(cursor)


def closers(cursor: Cursor) -> None:
    """Closing brackets: in order, swapped, with one missing, or not ours."""
    position = cursor.position
    closer = CLOSERS[cursor.text[position]]
    if cursor.top.closer == closer:
        cursor.position += 1
        if len(cursor.stack) == 1 and closer == "}" and _goes_on(cursor, position + 1):
            cursor.note("surplus closer", position)
            cursor.expects_separator = True
        else:
            close(cursor)
        return
    if cursor.top.implied and closer == "]" and _is_empty_list(cursor.stack[-2]):
        _become_object(cursor)
        return
    following, _ = closer_run(cursor.text, position, cursor.end)
    if not _swapped(cursor, following):
        _mismatched(cursor, closer, following)


def _is_empty_list(frame: Frame) -> bool:
    return frame.members is None and not frame.items


def _become_object(cursor: Cursor) -> None:
    """`["a": 1, "b": 2]`: the brackets of a list around what is one object."""
    members = cursor.stack.pop().members
    cursor.top.members = members
    cursor.note("wrong opener", cursor.top.start)
    cursor.position += 1
    close(cursor)


def _mismatched(cursor: Cursor, closer: str, following: list[str]) -> None:
    """A bracket that does not close what is innermost: too many, of the wrong kind, or one missing."""
    position = cursor.position
    held = cursor.holds(closer)
    if _is_typo(cursor, following) if held else _is_wrong(cursor, closer, following):
        cursor.note("wrong closer", position)
        cursor.position += 1
        close(cursor)
    elif not held:
        cursor.note("stray closer", position)
        cursor.position += 1
        cursor.expects_separator = True
    elif _is_surplus(cursor, closer, position + 1):
        cursor.note("surplus closer", position)
        cursor.position += 1
    else:
        cursor.note("missing closer", position)
        while cursor.top.closer != closer:
            close(cursor)


def _goes_on(cursor: Cursor, position: int) -> bool:
    """Whether another member follows the brace that would end the whole value."""
    after = SURPLUS.match(cursor.text, position, cursor.end)
    return after is not None


def _is_wrong(cursor: Cursor, closer: str, closers: list[str]) -> bool:
    """Whether a bracket of a kind that is not open closes what is: at the end, or before a member."""
    if closer != ")" and len(cursor.stack) > 1:
        following = SURPLUS.match(cursor.text, cursor.position + 1, cursor.end)
        if following is not None:
            return True
    text, end = cursor.text, cursor.end
    _, position = closer_run(text, cursor.position, end)
    position = skip(text, position, end)
    if ")" in closers or len(closers) > len(cursor.stack):
        return False
    return position >= end or text.startswith("```", position)


def _is_surplus(cursor: Cursor, closer: str, position: int) -> bool:
    """`[{"a": 1}}, {"a": 2}]`: the object was closed twice, its list goes on."""
    last = as_mapping(cursor.top.last)
    following = _NEXT_OBJECT.match(cursor.text, position, cursor.end)
    return (
        closer == "}"
        and cursor.top.closer == "]"
        and last is not None
        and following is not None
        and following.group(1) in last
    )


def _is_typo(cursor: Cursor, closers: list[str]) -> bool:
    """A closer of the other kind: what follows belongs to the container it would skip."""
    expected = [frame.closer for frame in reversed(cursor.stack)]
    rest = len(closers)
    if rest > 1 and closers[1:] == expected[1:rest] and closers != expected[1 : rest + 1]:
        return True
    if rest > 1 or len(expected) < 2:
        return False
    outer = cursor.stack[-2].members
    position = cursor.position + 1
    if closers[0] == "]":
        following = _NEXT_OBJECT.match(cursor.text, position, cursor.end)
        return (
            outer is None
            and following is not None
            and following.group(1) in (cursor.top.members or ())
        )
    beyond = cursor.stack[-3].members if len(expected) > 2 else None
    return (
        outer is not None
        and beyond is None
        and SURPLUS.match(cursor.text, position, cursor.end) is not None
    )


def _swapped(cursor: Cursor, closers: list[str]) -> bool:
    """A run of closers that has the right ones in another order closes as many containers."""
    for count in range(min(len(closers), len(cursor.stack)), 1, -1):
        wanted = [frame.closer for frame in cursor.stack[-count:]]
        if sorted(wanted) == sorted(closers[:count]):
            cursor.note("swapped closers", cursor.position)
            taken = 0
            while taken < count:
                taken += cursor.text[cursor.position] in CLOSERS
                cursor.position += 1
            for _ in range(count):
                close(cursor)
            return True
    return False
