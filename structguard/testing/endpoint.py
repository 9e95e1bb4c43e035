"""
A real HTTP server on 127.0.0.1 that refuses, ignores or mangles formats as real endpoints do.

It speaks Chat Completions and Responses, whole and streamed, over HTTP/1.1 with keep-alive, on its own
threads; nothing of `wire` or `http` is used in it. What it does is a table: `behaviours`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Self

from structguard.refusal import request_facts
from structguard.testing.behaviours import (
    BEHAVIOURS,
    SAYS,
    Ask,
    Behaviour,
    Canned,
    Say,
    Transport,
    behaviour_of,
    value_for,
)
from structguard.testing.server import Reply, Server
from structguard.testing.speech import (
    Said,
    chat_events,
    chat_reply,
    response_events,
    response_reply,
)
from structguard.types import Api, FormatKind, as_mapping, as_text

_SECRET = frozenset({"authorization", "api-key", "x-api-key", "cookie", "proxy-authorization"})
_SHOWN = 2_000  # characters of a reply that are kept
_APIS: Mapping[str, Api] = MappingProxyType(
    {"/chat/completions": "chat", "/responses": "responses"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    One request that arrived: path, headers (lower case, without credentials) and JSON body.

    `model` and `sent` are the model and the format in it. `status` is what it was answered with (0:
    the connection was closed instead), and `reply` the beginning of that answer.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]
    status: int
    model: str = ""
    sent: FormatKind | None = None
    reply: str = ""


class RefusingEndpoint:
    """
    A local HTTP endpoint that misbehaves on demand, for the openai client and others.

    Use it as a context manager, or call `start` and `stop`, and point a client at `base_url`. It
    speaks Chat Completions and Responses, streamed or not. It is served by threads, which end when
    it is stopped.

    Args:
        behaviour: A name in `BEHAVIOURS`, such as "refuse404". A request whose model ends in such a
            name ("vendor/refuse422") gets that behaviour instead. "A+B" refuses formats like A and
            answers everything else like B, a name in `SAYS`.
        answer: How it answers: a name in `SAYS`, or a callable that takes the `Ask` and returns what
            is `Said`.
        value: What an obedient model answers. None is a sample for the schema in the format or in the
            prompt.
        delay: Seconds that the behaviour "slow" waits.
        failures: Number of requests that each model fails with the behaviour "flaky429".

    Raises:
        ValueError: A name that is in neither table.
    """

    def __init__(
        self,
        behaviour: str = "refuse400",
        *,
        answer: str | Say = "fenced",
        value: object = None,
        delay: float = 1.0,
        failures: int = 1,
    ) -> None:
        found = behaviour_of(behaviour)
        if found is None:
            raise ValueError(f"a behaviour is one of {', '.join(BEHAVIOURS)}, got {behaviour!r}")
        if isinstance(answer, str) and answer not in SAYS:
            raise ValueError(f"an answer is one of {', '.join(SAYS)}, got {answer!r}")
        self.value = value
        self.delay = delay
        self.failures = failures
        self._behaviour = found
        self._answer: Say = SAYS[answer] if isinstance(answer, str) else answer
        self._lock = threading.Lock()
        self._requests: list[Asked] = []
        self._failed: Counter[str] = Counter()
        self._served = 0
        self._server: Server | None = None
        self._stopping = threading.Event()

    @property
    def base_url(self) -> str:
        """The base URL for clients: `http://127.0.0.1:PORT/v1`."""
        if self._server is None:
            raise RuntimeError("the endpoint is not running: use it as a context manager")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> list[Asked]:
        """The requests so far, oldest first, as a copy."""
        with self._lock:
            return list(self._requests)

    def count(self, model: str | None = None, *, status: int | None = None) -> int:
        """The number of requests so far; optionally only of one model, or with one status."""
        return sum(
            model in (None, request.model) and status in (None, request.status)
            for request in self.requests
        )

    def clear(self) -> None:
        """Forget the requests so far, and which models have failed already."""
        with self._lock:
            self._requests.clear()
            self._failed.clear()

    def start(self) -> Self:
        """Start to listen on a free port, and return itself."""
        if self._server is not None:
            raise RuntimeError("the endpoint is running already")
        self._stopping.clear()
        self._server = Server(self.answer_to)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def stop(self) -> None:
        """Close every connection and end every thread; twice is once."""
        server, self._server = self._server, None
        if server is not None:
            self._stopping.set()
            server.shutdown()
            server.cut_connections()
            server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def answer_to(
        self, path: str, headers: Iterable[tuple[str, str]], content: bytes | None
    ) -> Reply:
        """Decide on a reply and keep the request; `content` None for a GET."""
        body: Mapping[str, object] | None = {} if content is None else _json_object(content)
        api = None if content is None else _api(path)
        ask = None if api is None or body is None else self._read(api, body)
        if ask is not None:
            reply = self._reply(ask)
        else:
            reply = _models(path) if content is None else _no_such(path, body)
        request = Asked(
            path=path,
            headers={k.lower(): v for k, v in headers if k.lower() not in _SECRET},
            body=body or {},
            status=0 if reply.transport == "hang_up" else reply.status,
            model=ask.model if ask else "",
            sent=ask.sent if ask else None,
            reply="".join(reply.pieces)[:_SHOWN],
        )
        with self._lock:
            self._requests.append(request)
        if reply.transport == "slow":
            self._stopping.wait(self.delay)
        return reply

    def _read(self, api: Api, body: Mapping[str, object]) -> Ask:
        facts = request_facts(body, api)
        schema = _schema_of(body)
        value: object
        try:
            value = value_for(schema, body, self.value)
        except ValueError:  # a broken schema: nothing fits it
            value = None
        return Ask(
            api=api,
            model=as_text(body.get("model")) or "",
            body=body,
            sent=facts.sent,
            schema=schema,
            value=value,
            stream=facts.stream,
            tools=facts.tools,
        )

    def _reply(self, ask: Ask) -> Reply:
        try:
            behaviour = behaviour_of(ask.model) or self._behaviour
        except ValueError as error:
            return _error(400, str(error))
        canned = self._canned(behaviour, ask)
        if canned is not None:
            return _refused_reply(canned, ask, behaviour.transport)
        accepted = behaviour.accepted if ask.sent is not None else None
        content = (accepted or behaviour.says or self._answer)(ask)
        with self._lock:
            self._served += 1
            number = self._served
        return _accepted_reply(content, ask, number, behaviour.transport)

    def _canned(self, behaviour: Behaviour, ask: Ask) -> Canned | None:
        if behaviour.fails is not None:
            with self._lock:
                self._failed[ask.model] += 1
                failing = behaviour.for_ever or self._failed[ask.model] <= self.failures
            if failing:
                return behaviour.fails
        return behaviour.refusal if ask.sent is not None and behaviour.when(ask) else None


def _api(path: str) -> Api | None:
    address = path.partition("?")[0]
    return next((api for end, api in _APIS.items() if address.endswith(end)), None)


def _schema_of(body: Mapping[str, object]) -> Mapping[str, object] | None:
    """The schema that the request's format carries."""
    chat = as_mapping(body.get("response_format")) or {}
    text = as_mapping((as_mapping(body.get("text")) or {}).get("format")) or {}
    holder = as_mapping(chat.get("json_schema")) or text
    return as_mapping(holder.get("schema"))


def _accepted_reply(content: Said, ask: Ask, number: int, transport: Transport) -> Reply:
    if not ask.stream:
        whole = (chat_reply if ask.api == "chat" else response_reply)(content, ask.model, number)
        return Reply(200, "application/json", (json.dumps(whole),), transport=transport)
    if ask.api == "chat":
        options = as_mapping(ask.body.get("stream_options")) or {}
        usage = options.get("include_usage") is True
        events = chat_events(content, ask.model, number, usage=usage)
    else:
        events = response_events(content, ask.model, number)
    return Reply(200, "text/event-stream", tuple(events), streamed=True, transport=transport)


def _refused_reply(canned: Canned, ask: Ask, transport: Transport) -> Reply:
    body = canned.body.replace("FORMAT", ask.sent or "json_schema")
    if ask.api == "responses":
        body = body.replace("response_format", "text.format")
    if ask.stream and canned.status == 200:
        return Reply(200, "text/event-stream", (f"data: {body}\n\n",), streamed=True)
    return Reply(
        canned.status, canned.content_type, (body,), transport=transport, headers=canned.headers
    )


def _models(path: str) -> Reply:
    if not path.partition("?")[0].endswith("/models"):
        return _no_such(path, {})
    rows = [
        {"id": name, "object": "model", "created": 0, "owned_by": "structguard", "about": row.about}
        for name, row in BEHAVIOURS.items()
    ]
    return Reply(200, "application/json", (json.dumps({"object": "list", "data": rows}),))


def _no_such(path: str, body: Mapping[str, object] | None) -> Reply:
    if body is None:
        return _error(400, "the body is not a JSON object")
    return _error(404, f"no such path: {path}")


def _error(status: int, message: str) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Reply(status, "application/json", (json.dumps({"error": error}),))


def _json_object(content: bytes) -> Mapping[str, object] | None:
    try:
        return as_mapping(json.loads(content))
    except (ValueError, RecursionError):
        return None
