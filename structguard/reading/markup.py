"""
XML-style tool arguments of the known open models, as objects.

GLM's <arg_key>/<arg_value>, DeepSeek's and Anthropic's <parameter name="…">, Qwen's
<parameter=name>. Values are strings unless the schema wants another type and they are JSON.
Source: spec parse, step 5 (`markup=True`); the models' chat templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from structguard.reading.harmony import Region
from structguard.reading.strict import NotStrict, strict
from structguard.reading.target import Target, allowed, json_type
from structguard.reading.values import Candidate

_CALL = re.compile(
    r"<tool_call>|<\uff5cDSML\uff5cinvoke[^<>]*>|<(?:[\w-]+:)?invoke[^<>]*>|<function=[^<>]*>"
)
_ARGUMENT = re.compile(
    r"<arg_key>(?P<a>[^<]{1,200})</arg_key>\s{0,200}<arg_value>(?P<av>.*?)</arg_value>"
    r"|<(?P<ns>\uff5cDSML\uff5c|[\w-]+:)?parameter\s+name=[\"'](?P<b>[^\"'<>]{1,200})[\"'](?P<battr>[^<>]{0,200})>"
    r"(?P<bv>.*?)</(?:\uff5cDSML\uff5c|[\w-]+:)?parameter>"
    r"|<parameter=(?P<c>[^<>]{1,200})>(?P<cv>.*?)</parameter>",
    re.DOTALL,
)
_CLOSERS = re.compile(r"</(?:arg_value|(?:\uff5cDSML\uff5c|[\w-]+:)?parameter)>")


def markup_candidates(text: str, region: Region, target: Target | None) -> Iterator[Candidate]:
    """One object for each call's arguments."""
    if _CLOSERS.search(text, region.start, region.end) is None:
        return
    last = max(m.end() for m in _CLOSERS.finditer(text, region.start, region.end))
    begin, end = -1, -1
    arguments: dict[str, object] = {}
    for call_at, argument in _events(text, region.start, last):
        if argument is None:
            if arguments:
                yield _candidate(arguments, begin, end)
            arguments, begin = {}, call_at
            continue
        begin = argument.start() if begin < 0 else begin
        end = argument.end()
        key = argument.group("a") or argument.group("b") or argument.group("c")
        arguments[key.strip()] = _typed(argument, key.strip(), target)
    if arguments:
        yield _candidate(arguments, begin, end)


def _events(text: str, start: int, end: int) -> Iterator[tuple[int, re.Match[str] | None]]:
    """Calls and arguments in the order of the text."""
    arguments = list(_ARGUMENT.finditer(text, start, end))
    position = start
    for argument in [*arguments, None]:
        stop = argument.start() if argument else end
        calls = [call.start() for call in _CALL.finditer(text, position, stop)]
        if calls:
            yield calls[-1], None
        if argument:
            yield argument.start(), argument
            position = argument.end()


def _candidate(arguments: dict[str, object], start: int, end: int) -> Candidate:
    return Candidate(dict(arguments), (start, end), "embedded", repairs=[("markup", start)])


def _typed(argument: re.Match[str], key: str, target: Target | None) -> object:
    """The text of an argument, or the JSON it is where another type than a string is wanted."""
    raw = next(
        v
        for v in (argument.group("av"), argument.group("bv"), argument.group("cv"))
        if v is not None
    )
    text = raw.removeprefix("\n").removesuffix("\n") if argument.group("c") else raw
    types = allowed(target.members(target.root, key)) if target is not None else {"string"}
    said = argument.group("battr") or ""
    if 'string="true"' in said or (types and "string" in types and 'string="false"' not in said):
        return text
    try:
        value, _ = strict(text.strip())
    except NotStrict:
        return text
    return value if types is None or json_type(value) in types or 'string="false"' in said else text
