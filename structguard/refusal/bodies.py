"""
Questions about a body as a whole: is it an error object, which status does it name, does it say anything?

Source: spec guard §1.2 (a 200 with an error object) and §1.10 (unnamed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from structguard.refusal.exclusions import never_code
from structguard.refusal.places import Place, place_of
from structguard.refusal.statements import Body
from structguard.refusal.text import plain
from structguard.types import Api, as_mapping, as_sequence


def inner_status(body: Body) -> int | None:
    """The status an error object inside a 200 names; 400 when it names none; None for an answer."""
    error = _error_object(body)
    if error is None:
        return None
    for key in ("code", "status", "status_code", "http_code", "statusCode"):
        value = error.get(key)
        text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if text.isdecimal() and 400 <= int(text[:9]) <= 599:
            return int(text)
    return 400


def _error_object(body: Body) -> Mapping[str, object] | None:
    if body.root is None:
        return {} if any(line.where or line.codes for line in body.statements) else None
    root = {key.lower(): value for key, value in body.root.items()}
    for holder in (root, as_mapping(root.get("response")) or {}, *_choices(root)):
        error = holder.get("error") or holder.get("errors") or holder.get("Error")
        if error:
            return as_mapping(error) or root
    told = as_mapping(root.get("base_resp")) or {}
    if told.get("status_code") or (root.get("error_code") and root.get("error_msg")):
        return told or root
    answered = {"choices", "output", "content", "candidates", "message"} & root.keys()
    coded = root.get("type") == "error" or root.get("object") == "error"
    return root if coded or ("code" in root and answered <= {"message"} and answered) else None


def _choices(root: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for choice in (as_sequence(root.get("choices")) or ())[:8]:
        mapping = as_mapping(choice)
        if mapping is not None:
            yield mapping


_GENERIC = frozenset(
    [
        "a",
        "again",
        "all",
        "an",
        "api",
        "apierror",
        "argument",
        "arguments",
        "bad",
        "badrequest",
        "badrequesterror",
        "body",
        "center",
        "check",
        "client",
        "code",
        "detail",
        "documentation",
        "error",
        "errors",
        "exception",
        "failed",
        "failure",
        "from",
        "h",
        "has",
        "html",
        "http",
        "id",
        "input",
        "invalid",
        "is",
        "later",
        "litellm",
        "message",
        "nginx",
        "no",
        "none",
        "null",
        "occurred",
        "of",
        "param",
        "parameter",
        "parameters",
        "params",
        "please",
        "provider",
        "providers",
        "request",
        "requests",
        "returned",
        "server",
        "something",
        "status",
        "target",
        "the",
        "title",
        "trace",
        "try",
        "unexpected",
        "unknown",
        "upstream",
        "validation",
        "was",
        "went",
        "with",
        "wrong",
        "your",
    ]
)
_WORD = re.compile(r"[^\W\d_]+")
_ID = re.compile(r"\b(?:trace|request|req)[ _-]?id:? ?[\w-]+|\b[0-9a-f-]{16,}\b")


def says_nothing(body: Body, api: Api) -> bool:
    """
    Whether a body holds no word beyond the generic ("Provider returned error", an echo), and names no
    other field of the request as the one at fault.
    """
    return all(
        not statement.where.startswith("loc:")
        and place_of(statement.where, api) is not Place.ELSEWHERE
        and not any(never_code(code) for code in statement.codes)
        and _GENERIC.issuperset(_WORD.findall(_ID.sub("", plain(statement.text))))
        for statement in body.statements
    )


def first_words(body: Body) -> str:
    """The first words of a body, for the evidence of an unnamed refusal."""
    return next((s.text for s in body.statements if s.text), "(the body names nothing)")
