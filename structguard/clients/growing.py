"""
A held answer that is already plain enough to be shown: growing prefixes of its bare JSON.

Only a value whose first key the schema knows is shown before its end, so that a wrapper or an example
in prose is not taken for the answer. What was shown cannot be taken back: if all the steps of the
parser choose another value at the end, the shown one is finished if it is an answer too, else the
stream fails. Source: spec guard §2, row "streaming"; spec parse "Streams".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from structguard.clients.healing import Healed, compact, heal
from structguard.errors import ParseError, StructguardError
from structguard.reading import PartialParser, parse
from structguard.reading.strict import strict
from structguard.types import Format, JsonSchema, as_mapping, as_sequence


class AnswerChanged(StructguardError):
    """A stream showed the beginning of one value and ended with another, which alone fits."""


class Growing:
    """One answer's text on its way out: `feed` gives what can be shown now, `finish` the rest."""

    def __init__(self, get_format: Callable[[], Format | None], *, degraded: bool) -> None:
        self._get_format, self._degraded = get_format, degraded
        self._schema: Mapping[str, object] = {"type": "object"}
        self._parser: PartialParser | None = None
        try:
            format = get_format()  # noqa: A001  the field's word
            if isinstance(format, JsonSchema):
                self._schema = format.schema
            self._parser = PartialParser(self._schema)
        except ValueError:  # a schema that only we cannot read: nothing is shown before the end
            pass
        self.text: str = ""
        self.shown: str = ""

    def feed(self, delta: str) -> str:
        """Take a piece of text; what may be handed on of it as bare JSON, often nothing."""
        self.text += delta
        snapshot = self._parser.feed(delta) if self._parser is not None else None
        if snapshot is None or not _is_known(snapshot, self._schema):
            return ""
        prefix = open_prefix(snapshot)
        if not prefix.startswith(self.shown):
            return ""  # a key came twice: wait for the end
        fresh, self.shown = prefix[len(self.shown) :], prefix
        return fresh

    def finish(self, *, cut: bool = False) -> Healed:
        """
        The rest of the bare JSON; all of it where nothing was shown. `cut`: see `heal`.

        Raises:
            AnswerChanged: what was shown is not the answer.
        """
        healed = heal(self.text, self._get_format, degraded=self._degraded, cut=cut)
        if self.shown and healed.source == "json":  # handed on as it came: shown it was compact
            healed = Healed(compact(strict(healed.text)[0]), healed.source)
        if self.shown and healed.source is None:  # cut: what was shown stays the part it is
            return Healed("", None)
        if healed.text.startswith(self.shown):
            return Healed(healed.text[len(self.shown) :], healed.source)
        for other in self._alternatives():
            if other.startswith(self.shown):
                return Healed(other[len(self.shown) :], healed.source)
        raise AnswerChanged(
            "the stream showed the beginning of one value and ended with another; ask again without"
            f" streaming (shown so far: {len(self.shown)} characters)"
        )

    @property
    def is_whole(self) -> bool:
        """Whether the text holds the shown value to its end, though the stream may say no more."""
        try:
            parsed = parse(self.text, self._schema)
        except ValueError:  # a ParseError, or a schema that only we cannot read
            return False
        return parsed.complete and compact(parsed.value).startswith(self.shown)

    def _alternatives(self) -> list[str]:
        try:
            return [compact(value) for value in parse(self.text, self._schema).alternatives]
        except ParseError:
            return []


def open_prefix(value: object) -> str:
    """The value's compact JSON without what closes it: a later, grown value starts with it."""
    closers = 0
    node = value
    while True:
        mapping, items = as_mapping(node), as_sequence(node)
        if mapping is None and items is None:
            break
        closers += 1
        children = list(mapping.values()) if mapping is not None else list(items or ())
        if not children:
            node = None
            break
        node = children[-1]
    if isinstance(node, str):
        closers += 1
    text = compact(value)
    return text[: len(text) - closers]


def _is_known(snapshot: object, schema: Mapping[str, object]) -> bool:
    """Whether a snapshot begins the way the schema's values do."""
    mapping = as_mapping(snapshot)
    if mapping is not None:
        properties = as_mapping(schema.get("properties"))
        first = next(iter(mapping), None)
        return first is not None and (properties is None or first in properties)
    return isinstance(snapshot, list) and schema.get("type") == "array"
