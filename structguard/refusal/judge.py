"""
The judgement: was the *format* refused? Pure; every verdict names the rule it was read from.

Order: gate, status, unwrap, location, exclusions, schema evidence, lists, feature words, routing.
Source: spec guard §1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from structguard.errors import redact
from structguard.options import NEVER_REFUSALS
from structguard.refusal.bodies import first_words, inner_status, says_nothing
from structguard.refusal.exclusions import NEVER, never_code
from structguard.refusal.lists import types_listed
from structguard.refusal.places import Place, place_in, place_of
from structguard.refusal.routing import no_route
from structguard.refusal.rules import Rule, Sentence, feature_in, rule_for
from structguard.refusal.schema_words import SCHEMA_SIZE, SCHEMA_WORD
from structguard.refusal.statements import Body, Statement, read
from structguard.refusal.text import plain, sentences, spaced
from structguard.refusal.words import FLAGS, UNSUPPORTED
from structguard.types import Api, Flag, FormatKind, Refusal, Scope, cached

EVIDENCE = 200  # characters
LONGEST = 1_000  # characters of one statement that are judged, around the first cue
JUDGED = 2_600  # characters of all statements that are judged
LINE_COST = 60  # characters a statement counts beside its own
_CUES = (
    *("format", "json", "schema", "structur", "grammar", "guided", "output", "mime", "constrained"),
    *("controlled", "propert", "regex", "regular exp", "in context", "pattern", "$ref", "$defs"),
    *("outlines", "llguidance", "anyof", "allof", "oneof", "items", "minlength", "maxlength"),
    *(
        "minimum",
        "maximum",
        "#/",
        "look-a",
        "look-b",
        "lookahead",
        "lookbehind",
        "estrut",
        "estruct",
    ),
    *("strukturiert", "结构化", "格式", "模式", "输出", "出力", "レスポンス", "구조화"),
)
"""A statement without any of these names neither the format nor a schema."""
_APIS: Mapping[str, Api | None] = {
    **{api: api for api in get_args(Api)},
    "chat_completions": "chat",
    "images": None,
    "audio": None,
}
_FINAL = frozenset({"moved", "media", "size"})
"""Exclusions that claim the whole line."""
_LINE_WIDE = _FINAL | {"json_word", "failed_generation"}
"""Exclusions that claim the line but for an explicit "… is not supported"; the others claim their
own sentence."""


@dataclass(frozen=True)
class _Line:
    """A statement with its place, ready for the rules."""

    statement: Statement
    place: Place
    sent: FormatKind

    @cached
    def text(self) -> str:
        """The whole line as patterns read it."""
        return plain(self.statement.text)

    @cached
    def excluded(self) -> frozenset[str]:
        """The exclusions that hold for the line as a whole."""
        return _excluded(self.text)

    def sentences(self) -> Iterator[Sentence]:
        """Its sentences; a statement without words is one empty sentence."""
        texts = sentences(self.statement.text) if self.statement.text else ("",)
        for index, raw in enumerate(dict.fromkeys(texts)):
            yield Sentence(raw, self.place, self.sent, first=index == 0)


@dataclass(frozen=True, slots=True)
class _Finding:
    rule: Rule
    sentence: Sentence
    statement: Statement


def detect_refusal(
    status: int | None,
    body: bytes | str,
    *,
    sent: FormatKind | None,
    api: str = "chat",
    tools: bool = False,
    stream: bool = False,
    reasoning: bool = False,
    unnamed: bool = False,
    also_statuses: Collection[int] = frozenset(),
) -> Refusal | None:
    """
    Judge whether an error response refuses the requested format; None if it does not.

    The function is pure: it does no I/O, takes time linear in the body, and no body makes it raise.

    Args:
        status: The HTTP status. None means that no response arrived, which is never a refusal.
        body: The whole raw body. At most 64 KiB are read; invalid UTF-8 is tolerated.
        sent: The format that the request carried, or None.
        api: The API that the request used.
        tools: Whether the request carried tools. With `stream` and `reasoning`, this decides between
            the scopes capability and combination.
        stream: Whether the request asked for a stream.
        reasoning: Whether the request asked for reasoning.
        unnamed: Also accept a 400 or 422 that gives no reason.
        also_statuses: Further statuses that may be refusals, such as 500 and 501 of local servers.

    Raises:
        ValueError: An unknown `sent` or `api`.
        TypeError: A body that has been parsed already.
    """
    wire = _wire(api)
    if not isinstance(body, bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"body must be the raw bytes or text of the response, got {type(body).__name__};"
            " the body that an SDK has parsed lacks what is needed"
        )
    if sent is None:
        return None
    if sent not in get_args(FormatKind):
        raise ValueError(f"sent must be 'json_schema', 'json_object' or None, got {sent!r}")
    if status is None or wire is None or not _admitted(status, also_statuses):
        return None
    whole = read(body)
    code = status if status >= 300 else inner_status(whole)
    if code is None or not _admitted(code, also_statuses):
        return None
    flags: dict[Flag, bool] = {"tools": tools, "stream": stream, "reasoning": reasoning}
    refusal = _judge(code, whole, sent, wire, flags)
    if refusal is None and unnamed and code in {400, 422} and says_nothing(whole, wire):
        return _refusal(Scope.UNNAMED, "unnamed", sent, first_words(whole))
    return refusal


def _wire(api: str) -> Api | None:
    if api not in _APIS:
        raise ValueError(f"api must be one of {', '.join(map(repr, _APIS))}, got {api!r}")
    return _APIS[api]


def _admitted(status: int, also: Collection[int]) -> bool:
    return status in {200, 400, 404, 405, 422} or (status in also and status not in NEVER_REFUSALS)


def _judge(
    code: int, body: Body, sent: FormatKind, api: Api, flags: Mapping[Flag, bool]
) -> Refusal | None:
    routed = no_route(body)
    if routed is not None:
        feature = feature_in(spaced(plain(routed.text))) or sent
        return _refusal(Scope.CAPABILITY, "no_route", feature, routed.text)
    if code == 404:
        return None
    lines = list(_lines(body.statements, sent, api))
    finding = _weightiest(lines, explicit=code == 405)
    listed, evidence = _listed(lines)
    if finding is not None and finding.rule.scope is Scope.SCHEMA:
        others = listed & {"json_schema", "json_object", "text"}
        if not (finding.rule.wordless and others and sent not in listed):
            return _verdict(finding, sent, flags)
    if sent in listed:
        return None  # the endpoint takes the type: our block was malformed
    if evidence is not None and code != 405:
        feature = feature_in(spaced(evidence.text)) or sent
        return _refusal(Scope.CAPABILITY, "list_without_ours", feature, evidence.statement.text)
    return _verdict(finding, sent, flags) if finding is not None else None


def _weightiest(lines: Sequence[_Line], *, explicit: bool) -> _Finding | None:
    """The first finding about the schema, else the first of all; only explicit ones if so asked."""
    first: _Finding | None = None
    for line in lines:
        for finding in _findings(line):
            if explicit and not finding.rule.explicit:
                continue
            first = first or finding
            if finding.rule.scope is Scope.SCHEMA:
                return finding
            if finding.sentence.sent == "json_object":
                return first  # no schema was sent
    return first


def _lines(statements: Sequence[Statement], sent: FormatKind, api: Api) -> Iterator[_Line]:
    """The statements that may be about the format, cut to what is judged."""
    left = JUDGED
    for statement in statements:
        cue = _cue(statement.text)
        if cue < 0 and not statement.where:
            continue
        told = _window(statement, cue)
        place = _place(told, api)
        if place is Place.ELSEWHERE or (cue < 0 and place is Place.NOWHERE):
            continue
        if any(never_code(code) for code in statement.codes):
            continue
        yield _Line(told, place, sent)
        left -= len(told.text) + LINE_COST
        if left <= 0:
            return


def _cue(text: str) -> int:
    """Where the first word stands that may name the format or a schema; -1 for none."""
    lower = text.lower()
    return min((at for cue in _CUES if (at := lower.find(cue)) >= 0), default=-1)


def _window(statement: Statement, cue: int) -> Statement:
    """A statement longer than is judged, cut around the first word that may name the format."""
    if len(statement.text) <= LONGEST:
        return statement
    start = max(0, cue - LONGEST // 4)
    return replace(statement, text=statement.text[start : start + LONGEST])


def _place(statement: Statement, api: Api) -> Place:
    """The place the object names; the words may only add that it is inside the schema."""
    place = place_of(statement.where, api)
    if place is Place.NOWHERE:
        return place_in(statement.text, api)
    if place is Place.FORMAT and place_in(statement.text, api) is Place.SCHEMA:
        return Place.SCHEMA
    return place


def _findings(line: _Line) -> Iterator[_Finding]:
    for sentence in line.sentences():
        rule = rule_for(sentence)
        if rule is not None and _stands(sentence, line):
            yield _Finding(rule, sentence, line.statement)


def _excluded(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in NEVER if pattern.search(text))


def _stands(sentence: Sentence, line: _Line) -> bool:
    """Whether no exclusion claims the sentence."""
    whole = sentence.plain == line.text
    own, wide = line.excluded if whole else _excluded(sentence.plain), line.excluded & _LINE_WIDE
    if (
        "size" in own | wide
        and SCHEMA_SIZE.search(sentence.bare)
        and "token" not in sentence.bare
        and (sentence.place is not Place.NOWHERE or SCHEMA_WORD.search(sentence.bare))
    ):
        own, wide = own - {"size"}, wide - {"size"}
    if own or wide & _FINAL:
        return False
    return not wide or (
        sentence.feature is not None and UNSUPPORTED.search(sentence.spaced) is not None
    )


def _listed(lines: Sequence[_Line]) -> tuple[frozenset[str], _Line | None]:
    """All format types the body lists as accepted, and the first line that lists any."""
    found: frozenset[str] = frozenset()
    first: _Line | None = None
    for line in lines:
        if line.place is Place.NOWHERE and not feature_in(spaced(line.text)):
            continue
        types = types_listed(line.text)
        if types and not line.excluded & (_LINE_WIDE | {"tools_path"}):
            first = first or line
            found |= types
    return found, first


def _verdict(finding: _Finding, sent: FormatKind, flags: Mapping[Flag, bool]) -> Refusal:
    sentence, scope = finding.sentence, finding.rule.scope
    flag = _flag(sentence, flags) if scope is Scope.CAPABILITY else None
    return _refusal(
        Scope.COMBINATION if flag else scope,
        finding.rule.name,
        sentence.feature or sent,
        sentence.raw or finding.statement.where or " ".join(finding.statement.codes),
        flag,
    )


def _flag(sentence: Sentence, flags: Mapping[Flag, bool]) -> Flag | None:
    return next(
        (flag for flag, pattern in FLAGS if flags[flag] and pattern.search(sentence.spaced)),
        None,
    )


def _refusal(
    scope: Scope, rule: str, feature: str, evidence: str, flag: Flag | None = None
) -> Refusal:
    told = redact(" ".join(evidence.split()))
    if len(told) > EVIDENCE:
        told = told[: EVIDENCE - 1] + "…"
    return Refusal(scope, rule, feature, told, flag)
