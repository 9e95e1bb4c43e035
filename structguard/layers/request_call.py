"""A Request to one provider as the flow sees it. Source: DESIGN "One algorithm, several drivers"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from structguard.flow.prompt import instruction
from structguard.memo.keys import routing_digest
from structguard.refusal import RequestFacts
from structguard.schema import advise, digest
from structguard.service import Provider
from structguard.types import Format, JsonSchema, MemoKey, Message, Place, Request


@dataclass(frozen=True, slots=True)
class RequestCall:
    """A Request as the flow sees it."""

    provider: Provider
    request: Request
    format: Format | None
    streaming: bool
    guardable: bool
    instruct: bool = False  # say the schema in the prompt once the format is left out

    @property
    def pair(self) -> tuple[str, str]:
        """The memo's first level."""
        return (self.provider.id, self.request.model or "")

    @property
    def facts(self) -> RequestFacts:
        """What the call carries, as the detector asks it: its provider knows best."""
        facts_of: Callable[..., RequestFacts] | None = getattr(self.provider, "facts_of", None)
        if facts_of is not None:
            return facts_of(self.request, stream=self.streaming)
        return RequestFacts(
            sent="json_schema" if isinstance(self.format, JsonSchema) else "json_object",
            tools=bool(self.request.tools),
            stream=self.streaming,
            reasoning=self.request.effort is not None,
            api=self.provider.api_for(self.request.model),
        )

    @property
    def leaves_out(self) -> bool:
        """Whether it goes out without its format: `tools_first` on an endpoint that takes one."""
        has_both = self.format is not None and self.request.tools_first
        return has_both and self.facts.sent is None

    @property
    def place(self) -> Place:
        """The memo's second level."""
        return self.key.place

    @property
    def key(self) -> MemoKey:
        """The whole key."""
        facts = self.facts
        json_schema = self.format if isinstance(self.format, JsonSchema) else None
        return MemoKey(
            provider=self.provider.id,
            model=self.request.model or "",
            base_url=self.provider.base_url,
            api=facts.api,
            format="json_schema" if json_schema else "json_object",
            routing=routing_digest(self.request.extra_body.get("provider")),
            flags=facts.flags,
            schema=digest(json_schema.schema) if json_schema else "",
            strict=json_schema.strict if json_schema else None,
        )

    def degraded(self) -> RequestCall:
        """The same request without the format; the prompt is left alone unless `instruct`."""
        request = replace(self.request, response_format=None)
        if self.instruct and self.format is not None:
            system = Message(role="system", content=instruction(self.format))
            request = replace(request, messages=(system, *request.messages))
        return replace(self, request=request, guardable=False)

    def prompted(self) -> RequestCall:
        """The same request: this face leaves the prompt alone."""
        return self

    def advice(self) -> str:
        """What the schema would have to change to fit OpenAI's strict mode."""
        return advise(self.format.schema) if isinstance(self.format, JsonSchema) else ""
