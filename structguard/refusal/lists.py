"""
Enumerations decide by what was sent (spec guard §1.6).

A list of format types without ours refuses ours; with ours, our block was malformed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from structguard.refusal.text import Words

_LIST_OPENING = Words(
    (
        "be|equal",
        r"\b(?:must|should|has to|needs? to|can(?: only)?|may only|expects?|got to) (?:\w+ ){0,2}?(?:be|equal)\b(?! (?:set|used|a valid dict|valid))",
    ),
    ("expect", r"\bexpect(?:ed|s|ing)?\b"),
    (" of", r"\b(?:one|any) of\b"),
    ("choose ", r"\bchoose (?:from|between)\b"),
    ("permitted", r"\bpermitted\b(?=:| values| types)|\bpermitted values\b"),
    (
        "accept|allow|available|known|legal|permitted|possible|support|valid",
        (
            r"\b(?:support(?:ed|s)|allow(?:ed|s)|valid|accept(?:ed|able|s)|possible|available|legal|known|permitted)"
            r"(?: (?:response|output|format|json))*(?: (?:values?|types?|formats?|options?|modes?|variants?|choices?|mime ?types?|tags?))\b"
        ),
    ),
    (
        " only|only ",
        r"\b(?:allowed|supports?|accepts?|takes|understands|serves|offers) only\b|\bonly (?:supports?|accepts?|allows?|takes|understands|serves|offers|handles|works with)\b",
    ),
    ("allowed mime|expected tags", r"\bexpected tags\b|\ballowed mime ?types\b"),
    (
        "允许的值|取值|可用值|可选值|应|必须|支持",
        r"(?:只|仅|目前|暂)(?:能)?支持|支持的(?:类型|格式|值)|必须(?:为|是)|应(?:为|该是)|可选值|取值(?:范围|应|必须|只能|仅|可|为)|可用值|允许的值",
    ),
    ("为|使用|允许|接受|是", r"(?:仅|只)(?:能|可)?(?:为|是|使用|接受|允许)"),
)
_ONLY_BEFORE = re.compile(
    r"\bonly (?P<list>[^.;]{1,120}?)(?: (?:response )?(?:formats?|types?|values?|modes?|is|are))* "
    r"(?:is|are|supported|allowed|accepted|available|permitted|valid)\b"
)
_LIST_END = re.compile(
    r"\b(?:received|got|but|instead|found|given|input[_ ]value|input[_ ]type|actual|you sent|provided|was)\b"
    r"|\[type="
    r"|'?[\w/.-]{1,40}'? (?:is|are|was)(?:n't| not| un[as]| found| given| provided| received| sent)"
    r"|\bnot\b|\b(?:if|when|while|with)\b"
    r"|\bfor (?:more|details)"
    r"|[,.]? ?(?:收到|但|而|实际|不可|不能|不支持|不得)"
)
_TYPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("json_schema", re.compile(r"json[_ -]?schema|application/json")),
    (
        "json_object",
        re.compile(r"json object(?!s)|json[_-]?object|application/json|json[_ -]?mode"),
    ),
    ("text", re.compile(r"\btext(?:/plain)?\b(?![._ -]?(?:format|generation|model|config))|文本")),
    ("other", re.compile(r"\b(?:regex|ebnf|grammar|structural[_ -]?tag|lark|text/x\.enum|xml)\b")),
)

_VALUE = re.compile(r"\b(?:an?|valid)(?: [\w-]+){0,2} json object\b")  # a value, not a type
_LISTS = 8  # lists of one line that are read
_REACH = 200  # characters after "must be one of" that may hold the list


def types_listed(text: str) -> frozenset[str]:
    """The format types that a line of plain text lists as the ones it takes."""
    found: set[str] = set()
    text = _VALUE.sub("…", text)
    for part in _parts(text):
        found.update(name for name, pattern in _TYPES if pattern.search(part))
    return frozenset(found)


def _parts(text: str) -> Iterator[str]:
    for opening in islice(_LIST_OPENING.all(text), _LISTS):
        part = text[opening.end() : opening.end() + _REACH]
        end = _LIST_END.search(part)
        yield part[: end.start()] if end else part
    for only in islice(_ONLY_BEFORE.finditer(text), _LISTS):
        yield only.group("list")
