"""
HTTP requests of anybody's client, seen as guarded calls: address and body in, a changed request out.

A request is only looked at when it is a POST to one of the five wires with a JSON body in memory; a
body that is streamed is never read. Source: spec guard §2, §3 "Look-up", the vendors' API references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import httpx2
import jiter

from structguard.clients.bodies import Body, api_of, has_format
from structguard.clients.call import BodyCall
from structguard.memo.keys import endpoint_id
from structguard.options import Policy
from structguard.refusal import request_facts
from structguard.types import Api, as_mapping

# Base URL and, where the address names it, the model; Azure's deployment is one.
_OPENAI = r"(?P<base>.*?)(?:/deployments/(?P<model>[^/]+))?"
_ADDRESSES: Mapping[Api, re.Pattern[str]] = {
    "chat": re.compile(_OPENAI + "/chat/completions"),
    "responses": re.compile(_OPENAI + "/responses"),
    "messages": re.compile("(?P<base>.*)/v1/messages(?P<model>)"),
    "converse": re.compile("(?P<base>.*)/model/(?P<model>.+)/converse(?:-stream)?"),
    "generate_content": re.compile("(?P<base>.*)/[^/]+/(?P<model>[^/]+):[a-zA-Z]+"),
}
_STREAMED = (":streamGenerateContent", "/converse-stream")  # the others say it in the body
_SIGNING = frozenset(
    (b"x-amz-content-sha256", b"content-digest", b"repr-digest", b"digest", b"content-md5",
     b"signature")
)  # fmt: skip
_BODY_HEADERS = ("content-length", "transfer-encoding")
_PHASES = ("connect", "read", "write", "pool")


@dataclass(frozen=True, slots=True)
class HttpCall:
    """
    A request and what the flow sees of it. `stream`: the reply is asked for as events. `signed`: a
    changed body would break its signature, so it is sent as it is. `timeout`: seconds for the whole
    call where the client gave one number, None where it set the phases apart or gave none.
    """

    request: httpx2.Request
    call: BodyCall
    stream: bool
    signed: bool
    timeout: float | None

    def sent(self, call: BodyCall, budget: float | None) -> httpx2.Request:
        """The request for one send: the client's own, or one with the changed body."""
        if call is self.call:
            return self.request
        headers = self.request.headers.copy()
        for name in _BODY_HEADERS:
            headers.pop(name, None)
        extensions = dict(self.request.extensions)
        if budget is not None:
            extensions["timeout"] = dict.fromkeys(_PHASES, budget)
        return httpx2.Request(
            self.request.method,
            self.request.url,
            headers=headers,
            content=json.dumps(call.body, separators=(",", ":")).encode(),
            extensions=extensions,
        )


def read_call(request: httpx2.Request, policy: Policy) -> HttpCall | None:
    """What a request asks of a model; None for what is no JSON POST to one of the five wires."""
    path = request.url.path
    api = api_of(path) if request.method == "POST" else None
    address = _ADDRESSES[api].fullmatch(path) if api else None
    body = _body(request) if address else None
    if api is None or address is None or body is None:
        return None
    base_url = _base_url(request.url, address["base"])
    stream = path.endswith(_STREAMED) or body.get("stream") is True
    call = BodyCall(
        provider=base_url,
        model=address["model"] or str(body.get("model") or ""),
        base_url=base_url,
        api=api,
        body=body,
        guardable=has_format(body, api),
        prompt=policy.prompt,
    )
    if stream and call.guardable and "stream" not in body:  # the address says it, the facts must
        call = replace(call, _facts=replace(request_facts(body, api), stream=True))
    return HttpCall(request, call, stream, _is_signed(request), _timeout(request))


def _base_url(url: httpx2.URL, base: str) -> str:
    """The endpoint as the memo names it: the URL without the wire's path."""
    url_ = f"{url.scheme}://{url.netloc.decode('ascii')}{base}"
    if b"api-version=" in url.query:  # Azure; other queries may hold a key and are kept nowhere
        return endpoint_id(f"{url_}?{url.query.decode('ascii')}")
    return _known(url_)


_known = lru_cache(maxsize=256)(endpoint_id)


def _body(request: httpx2.Request) -> Body | None:
    if not isinstance(request.stream, httpx2.ByteStream):
        return None
    try:
        return as_mapping(jiter.from_json(request.read()))
    except ValueError:
        return None


def _is_signed(request: httpx2.Request) -> bool:
    """Whether a header or the address vouches for the body (AWS SigV4, RFC 9421, RFC 9530)."""
    for name, value in request.headers.raw:
        key = name.lower()
        if key in _SIGNING or (key == b"authorization" and value.startswith(b"AWS4-")):
            return True
    return b"X-Amz-Signature=" in request.url.query


def _timeout(request: httpx2.Request) -> float | None:
    """One number given for the whole client arrives here as four equal phases."""
    phases = as_mapping(request.extensions.get("timeout")) or {}
    values = {phases.get(phase) for phase in _PHASES}
    only = values.pop() if len(values) == 1 else None
    return float(only) if isinstance(only, int | float) else None
