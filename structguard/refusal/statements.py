"""
From an error body to plain statements, each with the location its own object names.

Vendors and relays wrap an error in envelopes, strings in strings, event streams and pages; here all
of it is unwrapped. Only keys that carry words of the endpoint are walked: a request printed back
(`input`, `failed_generation`, the schema) never becomes a statement. Source: spec guard §1.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from structguard.refusal.lenient import embedded, scraps, whole
from structguard.refusal.pages import is_page, page_words
from structguard.refusal.text import unwrapped
from structguard.types import as_mapping, as_sequence

CAP = 65_536  # bytes or characters of a body that are read
LEVELS = 6  # strings in strings
DEPTH = 24  # objects in objects
STATEMENTS = 50  # different ones; a body that says more is not read further
LONGEST = 8_000  # characters of one text: head and tail

MESSAGE_KEYS = frozenset(
    {
        *("error", "errors", "message", "detail", "details", "msg", "raw", "reason", "description"),
        *("errordescription", "errormessage", "errormsg", "errmsg", "title", "metadata", "cause"),
        *("response", "innererror", "previouserrors", "attempts", "issues", "unionerrors", "hint"),
        *("fieldviolations", "violations", "validationerrors", "upstreamerror", "providererror"),
        *("upstream", "exception", "fault", "faultstring", "statusmsg", "baseresp", "err", "data"),
        *("upstreambody", "body", "invalidparams", "failures", "causes"),
        *("externalmodelerror", "externalmodelmessage"),
    }
)
"""Keys whose text is the endpoint's own words (lower case, without underscores and hyphens)."""

SPEAKING_KEYS = MESSAGE_KEYS - {"data", "body", "response", "metadata", "hint", "description"}
"""Keys that make an object found inside prose an error object."""

FIELD_MAPS = frozenset({"errors", "fields", "fielderrors", "detail", "details", "validationerrors"})
"""Keys under which complaints may be filed by field."""

CODE_KEYS = ("code", "type", "errorcode", "errortype", "status", "kind", "errorcodename")
LOCATION_KEYS = (
    *("param", "loc", "path", "field", "property", "propertyname", "pointer", "instancepath"),
    *("datapath", "location", "parameter", "parametername", "paramname", "argument", "keys"),
    *("target", "additionalproperty", "propertypath", "fieldname", "name"),
)

_ECHO = re.compile(
    r"""["'](?:messages|contents|model|properties|prompt|temperature|input)\\{0,8}["']\s*:"""
)
_KNOWN = re.compile(
    r"""(?i)(?:\b(?:expected one of|known (?:propert|field|param)\w*:?"""
    r"""|(?:valid|allowed|supported|accepted) (?:propert|field|param|key)\w*(?: are)?:?))"""
    r"""[ (\[]{1,2}(?=[^\n]{0,400}["'`](?:messages|input)["'`])(?:["'`][\w.$-]{1,60}["'`][, ]{0,2}(?:or |and )?){2,60}"""
)
"""A list of the fields that a request may have: it names the format without speaking of it."""
_TELLING = re.compile(r"(?i)format|json|schema|structured|grammar|guided")
_DATA = re.compile(r"(?m)^data:[ \t]?(.*)$")
_FRAMED = re.compile(r"(?m)\A(?::.*\n|\s)*(?:(?:event|id|retry):.*\n)*data:")
_JSONISH = re.compile(r"""[{\[]\s{0,99}["'{\[]""")
_LINE = re.compile(r"[\r\n]+")
_HANGING = re.compile(r":[ \t]*[\r\n]+[ \t]*[-*•]?[ \t]*")
_PLACED = re.compile(
    r"(?m)^(\w[\w.\[\]]{0,120}(?: ?-> ?[\w.\[\]]{1,80}){0,20})[ \t]*\r?\n[ \t]{2,20}(?=\S)"
)
"""A path on a line of its own with the complaint indented below, as pydantic prints its errors."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of the endpoint's words. `where` and `codes` are those of its own object."""

    text: str
    where: str = ""
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it was read: its statements, and its JSON object when it is one."""

    statements: tuple[Statement, ...]
    root: Mapping[str, object] | None
    empty: bool = False


def read(body: bytes | str) -> Body:
    """Read a body, whatever it is. Never raises on any content."""
    text = body[:CAP].decode("utf-8", "replace") if isinstance(body, bytes) else body[:CAP]
    text = text.lstrip("\ufeff").strip()
    reader = _Reader()
    reader.text(text, Statement(""), 0)
    return Body(tuple(reader.found), as_mapping(whole(text)), empty=not text)


def flat(key: str) -> str:
    """A key in one spelling: lower case, without underscores and hyphens."""
    return key.lower().replace("_", "").replace("-", "")


class _Reader:
    """Collects statements; the walk is cut off by depth and by the number of statements."""

    def __init__(self) -> None:
        self.found: dict[Statement, None] = {}  # in order, each once: relays repeat themselves

    def text(self, text: str, near: Statement, level: int) -> None:
        """Words of the endpoint: JSON, a page, an event stream, or prose with any of these in it."""
        text = text.strip()
        if not text or len(self.found) >= STATEMENTS:
            return
        if level > LEVELS:
            self.say(text, near)
        elif _FRAMED.match(text):
            for frame in _DATA.findall(text)[:STATEMENTS]:
                self.text(frame, near, level + 1)
        elif is_page(text):
            self.say(page_words(text, LONGEST), near)
        else:
            self.prose(text, near, level)

    def prose(self, text: str, near: Statement, level: int) -> None:
        """Prose; an error object inside it is read on its own, what stands around it as words."""
        value = whole(text)
        if value is not None:
            self.value(value, near, level + 1, 0)
            return
        # Broken JSON is not searched for a whole object in it: that would lose what is around.
        found = embedded(text, speaks, tries=1) if _JSONISH.match(text) else embedded(text, speaks)
        if found is not None:
            start, end, value = found
            self.say(text[:start], near)
            self.value(value, near, level + 1, 0)
            self.text(text[end:], near, level + 1)
            return
        start, objects = scraps(text, MESSAGE_KEYS, (*LOCATION_KEYS, *CODE_KEYS))
        self.say(text[:start] if objects else text, near)
        for scrap in objects[:STATEMENTS]:
            self.value(scrap, near, level + 1, 0)

    def value(self, value: object, near: Statement, level: int, depth: int) -> None:
        """A JSON value under a key that carries words."""
        if depth > DEPTH or len(self.found) >= STATEMENTS:
            return
        if isinstance(value, str):
            self.text(value, near, level)
        elif (mapping := as_mapping(value)) is not None:
            if _filed(mapping):
                self.fields(mapping, lists=True)
            else:
                self.mapping(mapping, level, depth)
        else:
            for item in (as_sequence(value) or ())[:STATEMENTS]:
                self.value(item, near, level, depth + 1)

    def mapping(self, mapping: Mapping[str, object], level: int, depth: int) -> None:
        """One object: its own location and codes go with everything its own keys say."""
        facts = {flat(key): value for key, value in mapping.items()}
        codes = tuple(
            str(facts[key])[:200]
            for key in CODE_KEYS
            if isinstance(facts.get(key), str | int) and not isinstance(facts.get(key), bool)
        )
        near = Statement("", _where(facts), codes)
        before = len(self.found)
        for key, value in facts.items():
            if key in MESSAGE_KEYS or (key == "status" and as_mapping(value) is not None):
                self.value(value, near, level, depth + 1)
                if key in FIELD_MAPS or key == "error":
                    self.fields(as_mapping(value) or {}, lists=key == "error")
            elif key in FIELD_MAPS:
                self.fields(as_mapping(value) or {})
            elif key == "choices":
                self.choices(value, level, depth)
            elif key == "messages":
                self.notices(value, level, depth)
        if len(self.found) == before and (near.where or codes) and not _nested(facts):
            self.say(next((code for code in codes if not code.isdigit()), ""), near, silent=True)
        else:
            self.named_codes(codes, near)

    def fields(
        self, mapping: Mapping[str, object], *, lists: bool = False, above: str = ""
    ) -> None:
        """Complaints filed under the field they are about: `{"response_format": ["…"]}`."""
        for field, told in mapping.items():
            if not above and flat(field) not in MESSAGE_KEYS:
                self.fields(as_mapping(told) or {}, lists=True, above=f"{field}.")
            single = (told,) if isinstance(told, str) and not lists else ()
            for text in single or as_sequence(told) or ():
                if flat(field) not in MESSAGE_KEYS and isinstance(text, str) and " " in text:
                    self.say(text, Statement("", above + field))

    def notices(self, value: object, level: int, depth: int) -> None:
        """Messages to the caller; never a conversation that is printed back."""
        for notice in (as_sequence(value) or ())[:8]:
            if _told(notice):
                self.value(notice, Statement(""), level, depth + 1)

    def choices(self, value: object, level: int, depth: int) -> None:
        """The errors of a completion's choices; never the model's own text."""
        for choice in (as_sequence(value) or ())[:8]:
            inner = as_mapping(choice)
            if inner is not None and inner.get("error"):
                self.value({"error": inner["error"]}, Statement(""), level, depth + 1)

    def named_codes(self, codes: tuple[str, ...], near: Statement) -> None:
        """A code that is a sentence in itself (`response_format_not_supported`)."""
        for code in codes:
            if _TELLING.search(code):
                self.say(code, near)

    def say(self, text: str, near: Statement, *, silent: bool = False) -> None:
        """Keep words, line by line, without a request or a schema that is printed back."""
        text = text.strip()
        if len(text) > LONGEST:
            text = text[: LONGEST * 3 // 4] + "\n" + text[-LONGEST // 4 :]
        text = _without_echo(text)
        if "messages" in text or "input" in text:
            text = _KNOWN.sub("…", text)
        text = _PLACED.sub(r"\1: ", _HANGING.sub(": ", text))
        lines = list(unwrapped(_LINE.split(text))) if text else []
        for line in lines or ([""] if silent else []):
            if (line or silent) and len(self.found) < STATEMENTS:
                self.found[Statement(line, near.where, near.codes)] = None


def speaks(value: object) -> bool:
    """Whether a value found inside prose is an error object, or a list of sentences or errors."""
    mapping = as_mapping(value)
    if mapping is not None:
        if any(flat(key) in SPEAKING_KEYS for key in mapping) or _filed(mapping):
            return True
        return any(_told(notice) for notice in (as_sequence(mapping.get("messages")) or ())[:8])
    items = as_sequence(value)
    return bool(items) and all(
        (isinstance(item, str) and " " in item) or (as_mapping(item) is not None and speaks(item))
        for item in items or ()
    )


def _filed(value: object, deep: int = 1) -> bool:
    """Whether an object is nothing but complaints filed by field: `{"response_format": ["…"]}`."""
    return (
        all(
            flat(field) not in MESSAGE_KEYS and (_sentences(told) or (deep > 0 and _filed(told, 0)))
            for field, told in mapping.items()
        )
        if (mapping := as_mapping(value))
        else False
    )


def _told(value: object) -> bool:
    """Whether an item of `messages` speaks to the caller, and is no turn of a conversation."""
    keys = {flat(key) for key in as_mapping(value) or ()}
    return "message" in keys and not keys & {"role", "content"}


def _sentences(value: object) -> bool:
    items = as_sequence(value) or ()
    return bool(items) and all(isinstance(item, str) and " " in item for item in items)


def _where(facts: Mapping[str, object]) -> str:
    for key in LOCATION_KEYS:
        place = _path(facts[key]) if key in facts else ""
        if place:
            return f"loc:{place}" if key == "loc" else place
    for key in ("params", "source", "ctx"):
        inner = as_mapping(facts.get(key))
        if inner is not None:
            place = _where({flat(k): v for k, v in inner.items() if k != key})
            if place:
                return place
    return ""


def _path(value: object) -> str:
    if isinstance(value, str):
        return value[:300]
    items = as_sequence(value) or ()
    return ".".join(str(item)[:100] for item in items[:40] if isinstance(item, str | int))


def _nested(facts: Mapping[str, object]) -> bool:
    return any(
        as_mapping(value) is not None or as_sequence(value)
        for key, value in facts.items()
        if key in MESSAGE_KEYS
    )


def _without_echo(text: str) -> str:
    start = text.find("{")
    if start < 0 or not _ECHO.search(text, start):
        return text
    end = text.rfind("}")
    return text[:start] + "{…}" + (text[end + 1 :] if end > start else "")
