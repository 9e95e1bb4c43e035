"""
The repairing reader: one value from text that is nearly JSON, with every repair noted.

A tokenizer with an explicit stack and bounded look-ahead: linear, no recursion, nothing invented.
It reads as far as the value goes and says where it ended. Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from structguard.reading.bare import read_bare
from structguard.reading.closing import lost_colon
from structguard.reading.cursor import MISSING, Cursor, Frame, GiveUp
from structguard.reading.lookahead import (
    CLOSER_RUN,
    CLOSERS,
    COLONS,
    COMMAS,
    ELLIPSIS,
    JUNK_BEFORE_KEY,
    LOOSE_KEY,
    OPENERS,
    QUOTED_KEY,
    QUOTES,
    SURPLUS,
    skip,
)
from structguard.reading.marks import MARK
from structguard.reading.strings import read_string
from structguard.reading.values import Repair

_JUNK = re.compile(r"[\w(][^\n,\[\]{}:\"]{0,60}(?=[\]}])")
_DANGLING = re.compile(r"[^\n:{}\[\]\"]{0,80}\Z")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What the repairing reader found: the value, where it ended, and how sure it may be."""

    value: object
    end: int
    notes: list[Repair]
    complete: bool
    guessed: bool  # nothing in it was quoted: mere prose may look like this


def repair(
    text: str, start: int, end: int, *, known: frozenset[str] = frozenset(), partial: bool = False
) -> Repaired:
    """
    The value that begins with the bracket at `start` and ends before `end`.

    `known` are property names of the schema; they settle whether a quote opens the next key.

    Raises:
        GiveUp: what stands there is not nearly JSON.
    """
    cursor = Cursor(text, start, end, known, partial)
    _open(cursor)
    root = cursor.top
    try:
        while cursor.stack:
            _STEPS[_state(cursor)](cursor)
    except GiveUp as error:
        error.structured = cursor.quoted > 1
        raise
    return Repaired(
        root.value,
        cursor.position,
        cursor.notes,
        not cursor.cut,
        cursor.bare > 0 and cursor.quoted == 0,
    )


def _state(cursor: Cursor) -> str:
    top = cursor.top
    if cursor.expects_separator:
        return "after"
    if top.members is None or top.key is not None:
        return "value"
    return "key"


def _open(cursor: Cursor) -> None:
    char = cursor.text[cursor.position]
    if char not in "{[":
        cursor.note("brackets", cursor.position)
    cursor.push(OPENERS[char], called=char == "(")
    cursor.position += 1
    cursor.expects_separator = False


def _finish_value(cursor: Cursor, value: object) -> None:
    cursor.top.put(value)
    cursor.expects_separator = True


def _close(cursor: Cursor) -> None:
    """Close the innermost container and hand its value to the one around it."""
    frame = cursor.stack.pop()
    if not cursor.stack:
        return
    _finish_value(cursor, frame.value)


def _close_all(cursor: Cursor, kind: str) -> None:
    if cursor.top.key is not None:
        cursor.top.put(MISSING)
    cursor.note(kind, cursor.position)
    while cursor.stack:
        if cursor.top.key is not None and cursor.expects_separator is False:
            cursor.top.put(MISSING)
        _close(cursor)


def _at_end(cursor: Cursor) -> bool:
    """At the end of the text, a fence or a special token: whatever is open is closed."""
    cursor.position = skip(cursor.text, cursor.position, cursor.end)
    position, text = cursor.position, cursor.text
    if position >= cursor.end:
        cursor.cut = cursor.cut or cursor.end == len(text)
        _close_all(cursor, "end of text" if cursor.cut else "missing closer")
        return True
    if text[position] in "`<[" and (
        text.startswith("```", position) or MARK.match(text, position, cursor.end)
    ):
        _close_all(cursor, "missing closer")
        return True
    return False


def _key(cursor: Cursor) -> None:
    """Expect a key or the end of the object."""
    if _at_end(cursor):
        return
    text, position = cursor.text, cursor.position
    char = text[position]
    if char in CLOSERS:
        _closers(cursor)
    elif char in COMMAS:
        cursor.note("stray comma", position)
        cursor.position += 1
    elif ellipsis := ELLIPSIS.match(text, position, cursor.end):
        cursor.note("ellipsis", position)
        cursor.position = ellipsis.end()
    elif char in "{[":
        _bracket_for_key(cursor)
    elif char in QUOTES:
        _quoted_key(cursor)
    else:
        _bare_key(cursor)


def _quoted_key(cursor: Cursor) -> None:
    key = read_string(cursor, is_key=True)
    if key is MISSING:
        _close_all(cursor, "end of text")
        return
    cursor.quoted += 1
    _colon(cursor, str(key))


def _colon(cursor: Cursor, key: str) -> None:
    position = skip(cursor.text, cursor.position, cursor.end)
    if position >= cursor.end:
        cursor.position = position
        cursor.cut = True
        _close_all(cursor, "end of text")
        return
    cursor.top.key = key
    if cursor.text[position] in COLONS:
        cursor.position = position + 1
    elif lost_colon(cursor.text, position, cursor.end):
        cursor.note("missing colon", position)
        cursor.position = position
    else:
        raise GiveUp("a key without a colon", position)


def _bare_key(cursor: Cursor) -> None:
    text, position = cursor.text, cursor.position
    key = LOOSE_KEY.match(text, position, cursor.end)
    junk = JUNK_BEFORE_KEY.match(text, position, cursor.end) if key is None else None
    if junk is not None:
        cursor.note("words left out", position)
        cursor.position = junk.end()
        return
    if key is None:
        rest = _DANGLING.match(text, position, cursor.end)
        if rest and rest.end() == len(text) and (cursor.top.members or len(cursor.stack) > 1):
            cursor.cut = True
            cursor.position = cursor.end
            _close_all(cursor, "end of text")
            return
        raise GiveUp("neither a key nor the end of the object", position)
    name = key.group("a").rstrip()
    if "\\" in name:
        raise GiveUp("a key with a backslash", position)
    cursor.note("unquoted key", position)
    cursor.top.bare = True
    cursor.position = key.end()
    cursor.top.key = name


def _bracket_for_key(cursor: Cursor) -> None:
    """A bracket where a key belongs: a doubled brace, a lost closer, or a lost opener before it."""
    top, stack = cursor.top, cursor.stack
    position = cursor.position
    if cursor.text[position] == "{" and not top.members:
        cursor.note("doubled brace", position)
        cursor.position += 1
    elif cursor.text[position] == "{" and len(stack) > 1 and stack[-2].members is None:
        cursor.note("missing closer", position)
        _close(cursor)
        cursor.expects_separator = False
    elif cursor.text[position] == "[" and _reopen(top):
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


def _value(cursor: Cursor) -> None:
    """Expect a value (or, in an array, its end)."""
    if _at_end(cursor):
        return
    text, position = cursor.text, cursor.position
    char = text[position]
    if char in OPENERS:
        _open(cursor)
    elif char in QUOTES or (char == "\\" and text[position + 1 : position + 2] == '"'):
        _quoted_value(cursor)
    elif char in CLOSERS:
        _missing_value(cursor)
        _closers(cursor)
    elif char in COMMAS:
        _missing_value(cursor)
        cursor.note("stray comma", position)
        cursor.position += 1
        cursor.expects_separator = False
    elif ellipsis := ELLIPSIS.match(text, position, cursor.end):
        cursor.note("ellipsis", position)
        cursor.position = ellipsis.end()
        _finish_value(cursor, MISSING)
    else:
        _bare_value(cursor)


def _missing_value(cursor: Cursor) -> None:
    if cursor.top.key is not None:
        cursor.note("missing value", cursor.position)
        cursor.top.put(MISSING)


def _quoted_value(cursor: Cursor) -> None:
    if cursor.text[cursor.position] == "\\":
        cursor.note("escaped quotes", cursor.position)
        cursor.position += 1
    value = read_string(cursor, is_key=False)
    cursor.quoted += 1
    _finish_value(cursor, value)


def _bare_value(cursor: Cursor) -> None:
    depth = len(cursor.stack)
    value = read_bare(cursor)
    if len(cursor.stack) > depth:  # a call was opened
        cursor.expects_separator = False
        return
    _finish_value(cursor, value)


def _after(cursor: Cursor) -> None:
    """Expect a comma or a closer after a value."""
    if _at_end(cursor):
        return
    text, position, top = cursor.text, cursor.position, cursor.top
    char = text[position]
    if char in COMMAS or char == ";":
        if char != ",":
            cursor.note("comma", position)
        top.called = False  # (1, 2) is a list, (1) only a value in brackets
        cursor.position += 1
        cursor.expects_separator = False
        _trailing(cursor)
    elif char in CLOSERS:
        _closers(cursor)
    elif char == "\\":
        cursor.note("stray backslash", position)
        cursor.position += 1
    elif (char == "+" and _join(cursor)) or (
        char in COLONS and top.members is None and _string_was_key(cursor)
    ):
        pass
    elif top.members is None:
        _after_in_array(cursor)
    else:
        _after_in_object(cursor)


def _join(cursor: Cursor) -> bool:
    """`"one " + "two"`: one string in two parts."""
    position = skip(cursor.text, cursor.position + 1, cursor.end)
    first = cursor.top.last
    if not isinstance(first, str) or cursor.text[position : position + 1] not in ('"', "'"):
        return False
    cursor.note("joined strings", cursor.position)
    cursor.position = position
    second = read_string(cursor, is_key=False)
    if isinstance(second, str):
        cursor.top.last = first + second
    return True


def _trailing(cursor: Cursor) -> None:
    position = skip(cursor.text, cursor.position, cursor.end)
    if position < cursor.end and cursor.text[position] in CLOSERS:
        cursor.note("trailing comma", cursor.position - 1)


def _string_was_key(cursor: Cursor) -> bool:
    """`["a", "b", "key": 1`: the array has lost its closer, the last string is the next key."""
    frame = cursor.top
    key = frame.items[-1] if frame.items else None
    if not isinstance(key, str):
        return False
    before = frame.items[-2] if len(frame.items) > 1 else None
    if isinstance(before, dict):
        _reopen_object(cursor, key)
        return True
    if len(cursor.stack) < 2 or cursor.stack[-2].members is None:
        return False
    frame.items.pop()
    cursor.note("missing closer", cursor.position)
    _close(cursor)
    cursor.expects_separator = False
    cursor.top.key = key
    cursor.position += 1
    return True


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


def _after_in_array(cursor: Cursor) -> None:
    text, position = cursor.text, cursor.position
    if ELLIPSIS.match(text, position, cursor.end):
        cursor.expects_separator = False
        return
    if text[position] in QUOTES or text[position] in OPENERS:
        cursor.note("missing comma", position)
        cursor.expects_separator = False
        return
    _stop_at_prose(cursor)


def _after_in_object(cursor: Cursor) -> None:
    text, position = cursor.text, cursor.position
    if QUOTED_KEY.match(text, position, cursor.end) or _bare_key_on_its_line(cursor):
        cursor.note("missing comma", position)
        cursor.expects_separator = False
        return
    if ELLIPSIS.match(text, position, cursor.end):
        cursor.expects_separator = False
        return
    if text[position] == "{" and len(cursor.stack) > 1 and cursor.stack[-2].members is None:
        cursor.note("missing closer", position)
        _close(cursor)
        return
    _stop_at_prose(cursor)


def _blank_before(cursor: Cursor) -> str:
    before = cursor.text[max(0, cursor.position - 200) : cursor.position]
    return before[len(before.rstrip()) :]


def _bare_key_on_its_line(cursor: Cursor) -> bool:
    """Whether an unquoted key follows, and no sentence such as "Note: …" behind a lost closer."""
    key = LOOSE_KEY.match(cursor.text, cursor.position, cursor.end)
    if key is None or cursor.top.bare:
        return key is not None
    blank = _blank_before(cursor)
    name = key.group("a")
    return blank.count("\n") == 1 and (
        name in cursor.known or (not cursor.known and name.isidentifier())
    )


def _stop_at_prose(cursor: Cursor) -> None:
    """Text after a value: on a new line the value has ended without its closers, else give up."""
    if "\n" in _blank_before(cursor):
        _close_all(cursor, "missing closer")
        return
    junk = _JUNK.match(cursor.text, cursor.position, cursor.end)
    if junk is None or not isinstance(cursor.top.last, str):
        raise GiveUp("text after a value", cursor.position)
    cursor.note("words left out", cursor.position)
    cursor.position = junk.end()


def _closers(cursor: Cursor) -> None:
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
        _close(cursor)
        return
    run = CLOSER_RUN.match(cursor.text, position, cursor.end)
    closers = [CLOSERS[c] for c in run.group() if c in CLOSERS] if run else [closer]
    if _swapped(cursor, closers):
        return
    if not cursor.holds(closer):
        cursor.note("stray closer", position)
        cursor.position += 1
        cursor.expects_separator = True
        return
    if _is_typo(cursor, closer, position + 1):
        cursor.note("wrong closer", position)
        cursor.position += 1
        _close(cursor)
        return
    cursor.note("missing closer", position)
    while cursor.top.closer != closer:
        _close(cursor)


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
                _close(cursor)
            return True
    return False


_STEPS: Mapping[str, Callable[[Cursor], None]] = {"key": _key, "value": _value, "after": _after}
