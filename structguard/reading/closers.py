"""
Closing: brackets in order, swapped, of the wrong kind, missing, too many; and containers reopened.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import cast

from structguard.reading.cursor import MISSING, Cursor, Frame, GiveUp
from structguard.reading.lookahead import CLOSER_RUN, CLOSERS, SURPLUS
from structguard.types import as_mapping

_ROW = re.compile(r"\[\s{0,40}[^\[\s]")  # a list of values, not of lists


def finish_value(cursor: Cursor, value: object) -> None:
    cursor.top.put(value)
    cursor.expects_separator = True


def close(cursor: Cursor) -> None:
    """Close the innermost container and hand its value to the one around it."""
    frame = cursor.stack.pop()
    if not cursor.stack:
        return
    finish_value(cursor, frame.value)


def close_all(cursor: Cursor, kind: str) -> None:
    if cursor.top.key is not None:
        cursor.top.put(MISSING)
    cursor.note(kind, cursor.position)
    while cursor.stack:
        if cursor.top.key is not None and cursor.expects_separator is False:
            cursor.top.put(MISSING)
        close(cursor)


def closers(cursor: Cursor) -> None:
    """Closing brackets: in order, swapped, with one missing, or not ours."""
    position = cursor.position
    if cursor.top.key is not None:
        cursor.top.put(MISSING)
    closer = CLOSERS[cursor.text[position]]
    if cursor.top.closer == closer:
        if len(cursor.stack) == 1 and closer == "}" and _goes_on(cursor, position + 1):
            cursor.note("surplus closer", position)
            cursor.position += 1
            cursor.expects_separator = True
            return
        cursor.position += 1
        close(cursor)
        return
    run = CLOSER_RUN.match(cursor.text, position, cursor.end)
    following = [CLOSERS[c] for c in run.group() if c in CLOSERS] if run else [closer]
    if _swapped(cursor, following):
        return
    if not cursor.holds(closer):
        cursor.note("stray closer", position)
        cursor.position += 1
        cursor.expects_separator = True
        return
    if _is_typo(cursor, closer, position + 1):
        cursor.note("wrong closer", position)
        cursor.position += 1
        close(cursor)
        return
    cursor.note("missing closer", position)
    while cursor.top.closer != closer:
        close(cursor)


def _goes_on(cursor: Cursor, position: int) -> bool:
    """Whether another member follows the brace that would end the whole value."""
    after = SURPLUS.match(cursor.text, position, cursor.end)
    return after is not None


def _is_typo(cursor: Cursor, closer: str, position: int) -> bool:
    """A closer of the other kind: what follows belongs to the container it would skip."""
    if len(cursor.stack) < 2 or closer != "}" or cursor.stack[-2].members is None:
        return False
    outer = cursor.stack[-3].members if len(cursor.stack) > 2 else None
    return outer is None and SURPLUS.match(cursor.text, position, cursor.end) is not None


def _swapped(cursor: Cursor, closers: list[str]) -> bool:
    """A run of closers that has the right ones in another order closes as many containers."""
    for count in range(len(closers), 1, -1):
        wanted = [frame.closer for frame in cursor.stack[-count:]]
        if len(wanted) == count and sorted(wanted) == sorted(closers[:count]):
            cursor.note("swapped closers", cursor.position)
            taken = 0
            while taken < count:
                taken += cursor.text[cursor.position] in CLOSERS
                cursor.position += 1
            for _ in range(count):
                close(cursor)
            return True
    return False


def bracket_for_key(cursor: Cursor) -> None:
    """A bracket where a key belongs: a doubled brace, a lost closer, or a lost opener before it."""
    top, stack = cursor.top, cursor.stack
    position = cursor.position
    if cursor.text[position] == "{" and not top.members:
        cursor.note("doubled brace", position)
        cursor.position += 1
    elif cursor.text[position] == "{" and len(stack) > 1 and stack[-2].members is None:
        cursor.note("missing closer", position)
        close(cursor)
        cursor.expects_separator = False
    elif _ROW.match(cursor.text, position, cursor.end) and _reopen(top):
        cursor.note("missing opener", position)
        last = next(reversed(top.members or {}))
        array = (top.members or {}).pop(last)
        top.key = last
        cursor.push("]")
        cursor.top.items = array if isinstance(array, list) else []
        cursor.expects_separator = False
    else:
        raise GiveUp("a bracket where a key belongs", position)


def _reopen(top: Frame) -> bool:
    """
    An array ended too early: after containers it holds loose values, whose own opener was lost.

    `[["a"], "b", "c"], ["d"]` was meant as `[["a"], ["b", "c"], ["d"]]`.
    """
    members = top.members
    array = members[next(reversed(members))] if members else None
    if not isinstance(array, list):
        return False
    return _regroup(cast("list[object]", array))


def _regroup(array: list[object]) -> bool:
    """Gather the loose values at the end of an array of arrays into one more array."""
    if not array or not isinstance(array[0], list):
        return False
    loose = len(array)
    while not isinstance(array[loose - 1], list):
        loose -= 1
    if loose == len(array):
        return False
    array[loose:] = [array[loose:]]
    return True


def string_was_key(cursor: Cursor) -> bool:
    """`["a", "b", "key": 1`: the array has lost its closer, the last string is the next key."""
    frame = cursor.top
    key = frame.items[-1] if frame.items else None
    if not isinstance(key, str):
        return False
    if len(frame.items) == 1 and frame.closer == "]":
        _become_object(cursor, key)
        return True
    if _was_closed_early(cursor, key):
        _reopen_object(cursor, key)
        return True
    if len(cursor.stack) < 2 or cursor.stack[-2].members is None:
        return False
    frame.items.pop()
    cursor.note("missing closer", cursor.position)
    close(cursor)
    cursor.expects_separator = False
    cursor.top.key = key
    cursor.position += 1
    return True


def _become_object(cursor: Cursor, key: str) -> None:
    """`["a": 1, "b": 2]`: an object or a list of one; the schema knows which, if there is any."""
    if not cursor.known:
        raise GiveUp("a key in a list", cursor.position)
    frame = cursor.top
    cursor.note("wrong opener", frame.start)
    frame.items.clear()
    frame.members = {}
    frame.key = key
    cursor.expects_separator = False
    cursor.position += 1


def _was_closed_early(cursor: Cursor, key: str) -> bool:
    """Whether the key belongs to the object before it: objects beside that one have it too."""
    objects = [as_mapping(item) for item in cursor.top.items[-40:-1]]
    if not objects or objects[-1] is None:
        return False
    if len(cursor.stack) < 2 or cursor.stack[-2].members is None:
        return True
    return any(item is not None and key in item for item in objects[:-1])


def _reopen_object(cursor: Cursor, key: str) -> None:
    """`[{"a": 1}, "b": 2}`: the object was closed too early; it goes on with this key."""
    frame = cursor.top
    cursor.note("surplus closer", cursor.position)
    frame.items.pop()
    members = cast("dict[str, object]", frame.items.pop())
    cursor.push("}")
    cursor.top.members = members
    cursor.top.key = key
    cursor.expects_separator = False
    cursor.position += 1
