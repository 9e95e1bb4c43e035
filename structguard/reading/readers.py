"""
Text readers for prompts that ask for a tag, for lines, for one of several choices or for a scalar.

A reader takes the text and returns `Read(value, rejected)`, NOTHING (not its format) or ABSTAIN (the
model said NONE). A reader with a `marker` is called before JSON is looked for, others after that.
Source: spec parse, steps 3 and 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from structguard.reading.values import ABSTAIN, NOTHING, Mark, Read

_NONE = re.compile(r"[\s*_`\"'(\[]*(?:none|n/a|null|nothing)[\s*_`\"')\].!]*\Z", re.IGNORECASE)


class Reader(Protocol):
    """A text reader. It may have an attribute `marker`, a compiled pattern."""

    def __call__(self, text: str, /) -> object:
        """Read, NOTHING, ABSTAIN; any other value counts as Read(value)."""
        ...


@runtime_checkable
class Marked(Protocol):
    """A reader that knows by a pattern that a text is its own."""

    marker: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Marked:
    """A reader with its marker."""

    read: Callable[[str], Read | Mark]
    marker: re.Pattern[str] = field(repr=False)

    def __call__(self, text: str, /) -> Read | Mark:
        return self.read(text)


def tag(name: str) -> _Marked:
    """
    Read the text between <name> and </name> as {name: text}; the last such pair counts.

    If the tag contains only NONE, the reader abstains. A tag that is not closed is not read, because
    its end may be missing.
    """
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise ValueError(f"a tag's name must be a single word, got {name!r}")
    escaped = re.escape(name)
    marker = re.compile(rf"<{escaped}(?:\s[^<>]{{0,200}})?>", re.IGNORECASE)
    closer = re.compile(rf"</{escaped}\s*>", re.IGNORECASE)

    def read(text: str) -> Read | Mark:
        inner = _last_pair(text, marker, closer)
        if inner is None:
            return NOTHING
        return ABSTAIN if _NONE.fullmatch(inner) else Read({name: inner.strip()})

    return _Marked(read, marker)


def _last_pair(text: str, opener: re.Pattern[str], closer: re.Pattern[str]) -> str | None:
    """The text of the last closed pair."""
    inner, position = None, 0
    while (opened := opener.search(text, position)) is not None:
        closed = closer.search(text, opened.end())
        if closed is None:
            break
        inner = text[opened.end() : closed.start()]
        position = closed.end()
    return inner


def lines(pattern: str | re.Pattern[str]) -> Callable[[str], Read | Mark]:
    """
    Read one item from each line that the pattern matches as a whole.

    The item is an object of the pattern's named groups, or else its first group, or else the whole
    match. Other lines with text are `rejected`. If the text is NONE, the reader abstains.
    """
    compiled = re.compile(pattern)

    def read(text: str) -> Read | Mark:
        if _NONE.fullmatch(text):
            return ABSTAIN
        taken: list[object] = []
        rejected: list[str] = []
        for line in filter(None, map(str.strip, text.splitlines())):
            found = compiled.fullmatch(line)
            if found is None:
                rejected.append(line)
            else:
                taken.append(_item(found))
        return Read(taken, tuple(rejected)) if taken else NOTHING

    return read


def _item(found: re.Match[str]) -> object:
    if found.groupdict():
        return found.groupdict()
    return found.group(1) if found.re.groups else found.group()


_DECORATION: Final = " \t\r\n*_`\"'.:!()[]<>#-"


def choice(options: Sequence[str]) -> Callable[[str], Read | Mark]:
    """
    Read the option that makes up the whole text, apart from case and decoration ("Answer: B").

    Two different options in one sentence are not a choice. If the text is NONE and that is not an
    option, the reader abstains.
    """
    known = {option.casefold(): option for option in options}
    if not known:
        raise ValueError("choice() needs at least one option")
    if len(known) != len(set(options)):
        raise ValueError(f"options differ only in case: {list(options)!r}")

    def read(text: str) -> Read | Mark:
        bare = _last_word_line(text)
        if bare.casefold() in known:
            return Read(known[bare.casefold()])
        return ABSTAIN if _NONE.fullmatch(text) else NOTHING

    return read


_LABEL = re.compile(r"[\s*_#>-]*(?:(?:final|my|the)\s+)?(?:answer|choice|vote|verdict|label|category"
                    r"|result|decision)(?:\s+is)?\s*(?:[:=\uff1a]|\bis\b)?[\s*_]*", re.IGNORECASE)  # fmt: skip


def _last_word_line(text: str) -> str:
    bare = text.strip(_DECORATION)
    label = _LABEL.match(bare)
    return bare[label.end() :].strip(_DECORATION) if label else bare


_SCALARS: Final[dict[type, re.Pattern[str]]] = {
    int: re.compile(r"[-+]?[0-9]{1,4300}"),
    float: re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"),
    bool: re.compile(r"true|false", re.IGNORECASE),
    str: re.compile(r"(?s)\S.*"),
}


def scalar(kind: type) -> Callable[[str], Read | Mark]:
    """Read one int, float, bool or str that is the whole text, or follows "Answer:". NONE abstains."""
    pattern = _SCALARS.get(kind)
    if pattern is None:
        raise TypeError(f"scalar() reads int, float, bool or str, not {kind!r}")

    def read(text: str) -> Read | Mark:
        if _NONE.fullmatch(text):
            return ABSTAIN
        bare = text.strip() if kind is str else _last_word_line_keeping_sign(text)
        if not pattern.fullmatch(bare):
            return NOTHING
        if kind is bool:
            return Read(bare.lower() == "true")
        value: object = kind(bare)
        return NOTHING if value in (float("inf"), float("-inf")) else Read(value)

    return read


def _last_word_line_keeping_sign(text: str) -> str:
    bare = text.strip(" \t\r\n*_`\"'")
    label = _LABEL.match(bare)
    bare = bare[label.end() :] if label and label.end() else bare
    return bare.strip(" \t\r\n*_`\"'").rstrip(".!")


def marker_of(reader: object) -> re.Pattern[str] | None:
    """A reader's marker, None when it has none."""
    return reader.marker if isinstance(reader, Marked) else None
