"""
An incremental reader of strict JSON: fed with pieces, it holds what is certain so far.

A string is shown as it grows; a number or literal only when a comma or bracket was seen behind it; a
key with the beginning of its value. At the first thing strict JSON does not have, or the schema does
not name among the values of a place, it stops and shows no more.
Source: spec parse, "Streams".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from structguard.reading.cursor import DEPTH
from structguard.reading.leaves import Stop, escape, scalar
from structguard.reading.target import Schema, Target, allowed, json_type, only_names

_BLANK = re.compile(r"[ \t\r\n]*+")
_PLAIN = re.compile(r'[^"\\]*+')
_SCALAR = re.compile(r"[-+.0-9A-Za-z]*+")
_NOT_YET: Final = object()


@dataclass(slots=True)
class _Open:
    """An open container: its finished members, the key that waits, what the schema allows in it."""

    value: dict[str, object] | list[object]
    alternatives: list[Schema] | None
    key: str | None = None

    def put(self, item: object) -> None:
        """Add a finished member."""
        if isinstance(self.value, list):
            self.value.append(item)
        else:
            self.value[cast("str", self.key)] = item
            self.key = None


@dataclass(slots=True)
class Growing:
    """The reader's state: open containers, the string or scalar that is being read."""

    target: Target | None = None
    stack: list[_Open] = field(default_factory=list[_Open])
    state: str = "value"
    parts: list[str] = field(default_factory=list[str])  # of the string or scalar being read
    names: tuple[str, ...] = ()  # the only strings the schema has for the one being read
    scalar: object = None  # a number or literal that waits for what follows it
    held: str = ""  # a piece that cannot be decoded before more has come
    root: object = _NOT_YET
    limited: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    seen: dict[tuple[int, str | int], list[Schema]] = field(
        default_factory=dict[tuple[int, str | int], list[Schema]]
    )

    @property
    def done(self) -> bool:
        """Whether the value is complete, or reading has stopped."""
        return self.state in ("done", "stopped")

    def feed(self, piece: str) -> int:
        """Read a piece; how much of it was used (less than all only once it is done)."""
        text = self.held + piece
        kept, self.held = len(self.held), ""
        position = 0
        try:
            while position < len(text) and not self.done:
                position = _STATES[self.state](self, text, position)
        except Stop:
            self.state = "stopped"
        return max(0, position - kept)

    def snapshot(self) -> object:
        """What is certain so far, as a value of its own; open strings as far as they go."""
        if not self.stack:
            return self.root
        inner: object = "".join(self.parts) if self.state == "string" else _NOT_YET
        for open_ in reversed(self.stack):
            if isinstance(open_.value, list):
                inner = [*open_.value] if inner is _NOT_YET else [*open_.value, inner]
            elif inner is _NOT_YET or open_.key is None:
                inner = dict(open_.value)
            else:
                inner = {**open_.value, open_.key: inner}
        return inner

    def finish(self, value: object) -> None:
        """A value is complete: give it to its container, or it is all."""
        if self.stack:
            self.stack[-1].put(value)
            self.state = "after"
        else:
            self.root = value
            self.state = "done"

    def allow(self, kind: str) -> list[Schema] | None:
        """
        What the schema says of the value that begins here; None where it says nothing.

        Raises Stop where it forbids the type: conversions may change such a value at the end.
        """
        alternatives = self._alternatives()
        types = None if alternatives is None else allowed(alternatives)
        if (
            types is not None
            and kind not in types
            and not (kind == "integer" and "number" in types)
        ):
            raise Stop
        return alternatives

    def names_of(self, alternatives: list[Schema] | None) -> tuple[str, ...]:
        """The only strings that may stand at a place, looked up once."""
        if alternatives is None:
            return ()
        names = self.limited.get(id(alternatives))
        if names is None:
            names = self.limited[id(alternatives)] = only_names(alternatives)
        return names

    def _alternatives(self) -> list[Schema] | None:
        if self.target is None:
            return None
        if not self.stack:
            return self.target.root
        outer = self.stack[-1]
        if outer.alternatives is None:
            return None
        name: str | int = outer.key if outer.key is not None else len(outer.value)
        if isinstance(name, int) and not any("prefixItems" in p for p in outer.alternatives):
            name = 0  # all items are alike
        slot = (id(outer.alternatives), name)
        if slot not in self.seen:
            self.seen[slot] = (
                self.target.items(outer.alternatives, name)
                if isinstance(name, int)
                else self.target.members(outer.alternatives, name)
            )
        return self.seen[slot] or None


def _value(state: Growing, text: str, position: int) -> int:
    """A value begins, or (in an array) the array ends."""
    position = _skip(text, position)
    if position == len(text):
        return position
    char = text[position]
    if char in "{[":
        _open(state, char)
    elif char == '"':
        state.names = state.names_of(state.allow("string"))
        state.parts = []
        state.state = "string"
    elif char == "]" and state.stack and state.stack[-1].value == []:
        _close(state, list)
    elif char in "-0123456789tfn":
        state.parts = []
        state.state = "scalar"
        return position
    else:
        raise Stop
    return position + 1


def _open(state: Growing, char: str) -> None:
    if len(state.stack) >= DEPTH:
        raise Stop
    alternatives = state.allow("object" if char == "{" else "array")
    empty: dict[str, object] | list[object] = {} if char == "{" else []
    state.stack.append(_Open(empty, alternatives))
    state.state = "key" if char == "{" else "value"


def _close(state: Growing, kind: type) -> None:
    closed = state.stack.pop()
    if not isinstance(closed.value, kind):
        raise Stop
    state.finish(closed.value)


def _key(state: Growing, text: str, position: int) -> int:
    """A key begins, or the object ends."""
    position = _skip(text, position)
    if position == len(text):
        return position
    if text[position] == '"':
        state.parts = []
        state.state = "key string"
    elif text[position] == "}" and not state.stack[-1].value:
        _close(state, dict)
    else:
        raise Stop
    return position + 1


def _colon(state: Growing, text: str, position: int) -> int:
    position = _skip(text, position)
    if position == len(text):
        return position
    if text[position] != ":":
        raise Stop
    state.state = "value"
    return position + 1


def _after(state: Growing, text: str, position: int) -> int:
    """A comma or a closer."""
    position = _skip(text, position)
    if position == len(text):
        return position
    char = text[position]
    if char == ",":
        state.state = "value" if isinstance(state.stack[-1].value, list) else "key"
    elif char in "}]":
        _close(state, dict if char == "}" else list)
    else:
        raise Stop
    return position + 1


def _string(state: Growing, text: str, position: int) -> int:
    """Part of a string or of a key."""
    plain = _PLAIN.match(text, position)
    end = plain.end() if plain else position
    if end > position:
        state.parts.append(text[position:end])
    if state.names and state.state == "string":
        _check_name(state)
    if end == len(text):
        return end
    if text[end] == "\\":
        found = escape(text, end)
        if found is None:
            state.held = text[end:]
            return len(text)
        state.parts.append(found[0])
        return found[1]
    whole = "".join(state.parts)
    if state.state == "string":
        state.finish(whole)
    else:
        _named(state, whole)
    return end + 1


def _check_name(state: Growing) -> None:
    """A name in another case may become the one of the schema at the end: it is not shown."""
    begun = "".join(state.parts)
    if not any(name.startswith(begun) for name in state.names):
        raise Stop


def _named(state: Growing, key: str) -> None:
    """A key is complete. One that is there twice would change what was shown."""
    open_ = state.stack[-1]
    if key in open_.value or (len(state.stack) == 1 and not _is_known(state, open_, key)):
        raise Stop
    open_.key = key
    state.state = "colon"


def _is_known(state: Growing, open_: _Open, key: str) -> bool:
    """Whether the first key at the top is one the schema names: else it may be a wrapper."""
    return state.target is None or bool(open_.value) or state.target.unknown({key: None}) == 0


def _scalar(state: Growing, text: str, position: int) -> int:
    """Part of a number or literal; its end is the first character that cannot belong to it."""
    found = _SCALAR.match(text, position)
    end = found.end() if found else position
    state.parts.append(text[position:end])
    if end == len(text):
        return end
    state.scalar = scalar("".join(state.parts))
    state.allow(json_type(state.scalar))
    state.state = "ended"
    return _ended(state, text, end)


def _ended(state: Growing, text: str, position: int) -> int:
    """A number or literal waits for what follows it: words would make a string of it (3 kg, 1 000)."""
    position = _skip(text, position)
    if position == len(text):
        return position
    state.finish(state.scalar)  # a comma or bracket comes next, else nothing more is shown
    return position


def _skip(text: str, position: int) -> int:
    return cast("re.Match[str]", _BLANK.match(text, position)).end()


_STATES: Mapping[str, Callable[[Growing, str, int], int]] = {
    "value": _value,
    "key": _key,
    "key string": _string,
    "colon": _colon,
    "string": _string,
    "scalar": _scalar,
    "ended": _ended,
    "after": _after,
}
