"""
Openers that are lost, doubled or of the wrong kind: what the next member tells about them.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import cast

from structguard.reading.closers import close
from structguard.reading.cursor import Cursor, Frame, GiveUp
from structguard.reading.lookahead import COMMAS, QUOTED_KEY, closer_run, key_at, skip
from structguard.types import as_mapping

_ROW = re.compile(r"\[\s{0,40}[^\[\s]")  # a list of values, not of lists
_ITEM = r"(?:\"(?:[^\"\\\n]|\\.){0,400}+\"|-?[0-9][0-9.eE+-]{0,30}|true|false|null)"
_LOST_LIST = re.compile(rf"(?P<more>{_ITEM}\s{{0,80}},\s{{0,80}}){{0,40}}+{_ITEM}\s{{0,80}}(?=\])")


def lost_opener(cursor: Cursor) -> bool:
    """Whether the value of a key has lost the bracket it began with, which is opened now."""
    if cursor.top.key is None:
        return False
    return _lost_list(cursor) or _lost_object(cursor)


def _lost_object(cursor: Cursor) -> bool:
    """`{"a": "b": 1}, "c": 2}`: a key of the schema where a value belongs."""
    if not cursor.known or key_at(cursor.text, cursor.position, cursor.end) not in cursor.known:
        return False
    cursor.push("}")
    cursor.top.implied = True
    return True


def _lost_list(cursor: Cursor) -> bool:
    """`{"a": 1, 2]`: a list that has lost its opening bracket."""
    if cursor.holds("]"):
        return False
    found = _LOST_LIST.match(cursor.text, cursor.position, cursor.end)
    if found is None or not _is_list(cursor, found.end(), several=found.group("more") is not None):
        return False
    cursor.note("missing opener", cursor.position)
    cursor.push("]")
    return True


def _is_list(cursor: Cursor, position: int, *, several: bool) -> bool:
    """Whether structure follows the bracket; behind one item it may close an object by mistake."""
    closers, ended = closer_run(cursor.text, position, cursor.end)
    closed = len(closers)
    after = skip(cursor.text, ended, cursor.end)
    if after >= cursor.end or cursor.text.startswith("```", after):
        return several or closed > len(cursor.stack)
    following = skip(cursor.text, after + 1, cursor.end) if cursor.text[after] in COMMAS else after
    return (several or closed >= len(cursor.stack)) and (
        QUOTED_KEY.match(cursor.text, following, cursor.end) is not None
    )


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
    elif cursor.text[position] == "{" and len(stack) == 1 and _repeats(cursor):
        cursor.note("missing closer", position)
        close(cursor)
    elif cursor.text[position] == "{" and cursor.known and _goes_on_as_list(cursor):
        cursor.note("missing opener", position)
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


def _repeats(cursor: Cursor) -> bool:
    """`{"a": {…}, {"a": {…}}`: the next object begins like this one, whose closer is lost."""
    position = skip(cursor.text, cursor.position + 1, cursor.end)
    first = next(iter(cursor.top.members or ()), None)
    return first is not None and key_at(cursor.text, position, cursor.end) == first


def _goes_on_as_list(cursor: Cursor) -> bool:
    """`"a": {"b": 1}, {"b": 2}]`: the object was the first of a list that has lost its bracket."""
    top = cursor.top
    if not isinstance(top.last, dict) or top.members is None or cursor.holds("]"):
        return False
    key, first = top.members.popitem()
    top.key = key
    cursor.push("]")
    cursor.top.items.append(first)
    return True


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
        if not cursor.known:
            raise GiveUp("a key in a list", cursor.position)
        _begin_object(cursor, key)
        return True
    before = as_mapping(frame.items[-2]) if len(frame.items) > 1 else None
    if before is not None and key in before:
        _begin_object(cursor, key)
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


def _begin_object(cursor: Cursor, key: str) -> None:
    """`[{"a": 1}, "a": 2}]`, `["a": 1}]`: the object has lost its brace, or its list is none."""
    cursor.top.items.pop()
    cursor.push("}")
    cursor.top.key = key
    cursor.top.implied = True
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
