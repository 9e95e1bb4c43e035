"""
One call of a wrapped `openai` client: how the flow sees it, and what its one or two sends share.

Source: DESIGN "Decisions", spec guard §2.
"""

# pyright: reportPrivateUsage=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import httpx2
from openai import AsyncOpenAI, NotGiven, Omit, OpenAI
from openai._constants import RAW_RESPONSE_HEADER
from openai._models import FinalRequestOptions

from structguard.clients.bodies import api_of, has_format
from structguard.clients.call import BodyCall
from structguard.clients.openai_reply import Exchange
from structguard.clients.openai_state import amender
from structguard.events import Observer
from structguard.flow import Send, Sent, Served, attach, info_of, publish
from structguard.memo import Memo
from structguard.memo.keys import endpoint_id
from structguard.options import Policy
from structguard.refusal import names_format
from structguard.service import Clock
from structguard.types import as_mapping, as_text

_UNREAD = (str, bytes, httpx2.Response)  # what `client.post` may be asked for instead of a reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientGuard:
    """What one wrapped client shares among its calls and its copies."""

    client: OpenAI | AsyncOpenAI
    memo: Memo
    policy: Policy
    observer: Observer
    clock: Clock
    api_version: str | None  # Azure's, wherever the client has it from
    deployment: str | None  # Azure
    before: Mapping[str, object]  # what the instance had under the names we set
    known: list[tuple[object, str | None, str]] = field(
        default_factory=list[tuple[object, str | None, str]]
    )

    def endpoint(self, options: FinalRequestOptions) -> str:
        """The base URL and api-version as the memo names them; the URL may be set anew."""
        url = self.client.base_url
        version = as_text(options.params.get("api-version")) or self.api_version
        for known, at, name in self.known:  # read at once: threads share the client
            if known is url and at == version:  # by identity: comparing addresses is dear
                return name
        name = endpoint_id(f"{url}?api-version={version}" if version else str(url))
        self.known[:] = [(url, version, name)]
        return name

    def plan(self, options: FinalRequestOptions, cast_to: Any) -> BodyCall | None:
        """The call as the flow sees it; None for what is not a chat or responses request."""
        path = options.url.partition("?")[0]  # the beta namespace asks with a query
        api = api_of(f"/{path}") if options.method == "post" else None
        if api not in ("chat", "responses") or cast_to in _UNREAD:
            return None
        body = as_mapping(options.json_data)
        if body is None:
            return None
        extra = options.extra_json
        if extra:  # the SDK merges it over the body; a format in it is the operator's own
            body = {k: v for k, v in {**body, **extra}.items() if not isinstance(v, Omit)}
        guardable = has_format(body, api) and not (extra and names_format(extra))
        base_url = self.endpoint(options)
        deployment = self.deployment if api == "chat" else None  # no part of a Responses URL
        return BodyCall(
            provider=base_url,
            model=str(deployment or body.get("model") or ""),
            base_url=base_url,
            api=api,
            body=body,
            guardable=guardable,
            prompt=self.policy.prompt,
        )


@dataclass(slots=True)
class GuardedCall:
    """One call of a wrapped client: what its one or two sends have in common."""

    guard: ClientGuard
    call: BodyCall
    options: FinalRequestOptions = field(repr=False)  # prompt and headers
    cast_to: Any
    stream: bool
    raw: bool = False  # the caller asked for a raw response
    timeout: float | None = None  # seconds for the whole call; a Timeout object stays per phase
    deadline: float | None = None
    last: Exchange = field(init=False)  # set by `exchange`
    refused: Exception | None = None

    def __post_init__(self) -> None:
        headers = as_mapping(self.options.headers)
        self.raw = headers is not None and bool(headers.get(RAW_RESPONSE_HEADER))
        timeout = self.options.timeout
        if isinstance(
            timeout, NotGiven
        ):  # then the client's own holds, `with_options` set it or not
            timeout = self.guard.client.timeout
        if isinstance(timeout, int | float):
            self.timeout = float(timeout)
            self.deadline = self.guard.clock() + timeout

    @property
    def heals(self) -> bool:
        """Whether replies are looked into; the modes that only look hand on what the SDK gives."""
        return self.guard.policy.mode == "guard"

    def reply_type(self, response: Any) -> Any:
        """What the SDK is asked for: its response object, where the reply is ours to look into."""
        whole = self.heals and not (self.stream or self.raw)
        return _response_of(response, self.cast_to) if whole else self.cast_to

    def exchange(self, effect: Send[BodyCall]) -> tuple[Exchange, FinalRequestOptions]:
        """
        One send and its own options, so that the caller's are never changed.

        The options hold the exchange and not the other way round: a cycle a call would leave all of
        it to the collector.
        """
        self.last = Exchange(
            call=effect.call,
            client=self.guard.client,
            confirm=effect.confirm,
            watch_prose=bool(self.guard.policy.ignored_after),
            must_hold_json=self.guard.policy.on_unusable == "error",
            heals=self.heals,
            raw=self.raw,
            url=self.options.url,
            parser=self.options.post_parser,
        )
        changes: dict[str, object] = {}
        if effect.call is not self.call:
            changes = {"json_data": dict(effect.call.body), "extra_json": None}
            if effect.budget is not None:
                changes["timeout"] = effect.budget
        if self.heals and (self.raw or not self.stream):  # an open stream is healed as it opens
            changes["post_parser"] = self.last.read
        options = self.options.model_copy()
        vars(options).update(changes)  # setting a model's fields one by one is dear
        return self.last, options

    def sent(self, value: Any) -> Sent[Any]:
        """A send that came back."""
        return Sent(value=value, status=200, answered=self.last.answered, prose=self.last.prose)

    def failed(self, error: Exception) -> Sent[Any]:
        """A send that failed, judged by what the first send carried."""
        left = None if self.deadline is None else self.deadline - self.guard.clock()
        refusal, status = self.last.judge(error, self.call.facts, self.guard.policy)
        if refusal is not None:
            self.refused = error
        return Sent(error=error, refusal=refusal, status=status, left=left)

    def finish(self, served: Served[Any]) -> Any:
        """Tell how it was served and hand the value on."""
        exchange = self.last
        info = info_of(self.call.pair, served, exchange.source)
        attach(served.value, info)
        amend = publish(info)
        if self.raw or self.stream:
            exchange.on_source = amender(info, amend, served.value)
        if exchange.unfit is None:
            return served.value
        if self.refused is None:
            raise exchange.unfit
        raise exchange.unfit from self.refused


@lru_cache(maxsize=64)
def _response_of(response: Any, cast_to: Any) -> Any:
    return response[cast_to]
