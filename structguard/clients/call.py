"""
One guarded call whose request is a JSON body: what the flow asks about it.

Shared by the wrapped SDK client, the transport and the gateway; only they add the instruction.
Source: spec guard §2 (rows "prompt", "no format", "extra_body"), §3 "Look-up".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from structguard.clients.bodies import (
    Body,
    carries_schema,
    format_of,
    with_instruction,
    without_format,
)
from structguard.flow.prompt import instruction
from structguard.memo.keys import routing_digest
from structguard.options import PromptMode
from structguard.refusal import RequestFacts, request_facts
from structguard.schema import advise, digest
from structguard.types import Api, Format, FormatKind, JsonSchema, MemoKey, Place


@dataclass(slots=True)
class BodyCall:
    """
    A call with a JSON body. `guardable` says whether it carries a format that is ours to remove;
    `format` is that of the first send, once `resolve` was asked, and stays with the degraded call; `read` gives it.
    `quotes`: a text of the body may hold a quotation mark, and so a schema.
    """

    provider: str
    model: str
    base_url: str
    api: Api
    body: Body = field(repr=False)  # the prompt is nobody's business
    guardable: bool
    prompt: PromptMode = "auto"
    format: Format | None = None
    quotes: bool = True
    read: Callable[[Body, Api], Format | None] = field(
        default=format_of,
        repr=False,
        compare=False,  # of a turn, say, which holds the prompt
    )
    _first: BodyCall | None = field(default=None, repr=False)  # what a changed call was made from
    _facts: RequestFacts | None = field(default=None, repr=False)
    _key: MemoKey | None = field(default=None, repr=False)
    _place: Place | None = field(default=None, repr=False)

    @property
    def pair(self) -> tuple[str, str]:
        """The memo's first level."""
        return (self.provider, self.model)

    def resolve(self) -> Format | None:
        """
        The format the caller asked for, made when it first matters: not on the happy path.

        Raises:
            ValueError: the caller's schema is broken; the message names the place.
        """
        if self.format is None:
            self.format = self.read(self.body, self.api)
        return self.format

    @property
    def facts(self) -> RequestFacts:
        """What the first send carried: the detector judges by it."""
        if self._first is not None:
            return self._first.facts
        if self._facts is None:
            self._facts = request_facts(self.body, self.api)
        return self._facts

    @property
    def place(self) -> Place:
        """The memo's second level: all that most look-ups ask."""
        if self._place is None:
            kind: FormatKind = (
                "json_schema" if isinstance(self.resolve(), JsonSchema) else "json_object"
            )
            routing = routing_digest(self.body.get("provider"))
            self._place = (self.base_url, self.api, kind, routing)
        return self._place

    @property
    def key(self) -> MemoKey:
        """The whole key, computed when an entry asks for it or a refusal must be remembered."""
        if self._first is not None:
            return self._first.key
        if self._key is None:
            resolved = self.resolve()
            json_schema = resolved if isinstance(resolved, JsonSchema) else None
            self._key = MemoKey(
                provider=self.provider,
                model=self.model,
                base_url=self.base_url,
                api=self.api,
                format="json_schema" if json_schema else "json_object",
                routing=routing_digest(self.body.get("provider")),
                flags=self.facts.flags,
                schema=digest(json_schema.schema) if json_schema else "",
                strict=json_schema.strict if json_schema else None,
            )
        return self._key

    @property
    def is_degraded(self) -> bool:
        """Whether the format was left out."""
        return not self.guardable

    def degraded(self) -> BodyCall:
        """The same call without the format, the schema in the prompt unless it is there already."""
        body = without_format(self.body, self.api)
        return self._with(body, guardable=False)

    def prompted(self) -> BodyCall:
        """The same call, the schema in the prompt beside the format."""
        return self._with(dict(self.body), guardable=True)

    def _with(self, body: dict[str, object], *, guardable: bool) -> BodyCall:
        format_ = self.resolve()
        if format_ is not None and self.must_tell(format_):
            body = with_instruction(body, self.api, instruction(format_))
        return BodyCall(
            provider=self.provider,
            model=self.model,
            base_url=self.base_url,
            api=self.api,
            body=body,
            guardable=guardable,
            prompt=self.prompt,
            format=format_,
            quotes=self.quotes,
            _first=self._first or self,
        )

    def must_tell(self, format_: Format) -> bool:
        """Whether the prompt has to say what the format would: it does not show the schema already."""
        if self.prompt != "auto":
            return self.prompt == "always"
        if isinstance(format_, JsonSchema) and format_.schema and not self.quotes:
            return True
        return not carries_schema(self.body, format_)

    def advice(self) -> str:
        """What the schema would have to change to fit OpenAI's strict mode."""
        return advise(self.format.schema) if isinstance(self.format, JsonSchema) else ""
