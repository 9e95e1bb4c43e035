"""
Which wire APIs an endpoint lists for its models: `GET {base}/models`, asked once for all who wait.

Source: spec api-choice, rows "look-up" to "failure".
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio
import jiter

from structguard.errors import ProviderError, redact
from structguard.events import ApiLookupFailed, Observer
from structguard.http import ExchangeFailed, Response
from structguard.http.loops import PerLoop
from structguard.service import Clock
from structguard.types import Api, as_mapping, as_sequence

TIMEOUT = 2.0  # seconds one look-up may take
EXPIRY = 3600.0  # seconds an answer is good for; twice that while it cannot be renewed
_BACKOFF = (5.0, 15.0, 60.0, 300.0)  # seconds until a failed look-up is asked again
_KEPT = 8  # credentials whose answers are kept

Models: TypeAlias = Mapping[str, frozenset[str]]
Listed: TypeAlias = Api | Literal["neither"]
_PATHS: Mapping[str, Api] = {"chat/completions": "chat", "responses": "responses"}


@dataclass(slots=True)
class _Answer:
    models: Models = field(default_factory=dict[str, frozenset[str]])
    asked: float = 0.0  # when, on the clock
    failures: int = 0  # in a row
    again: float = 0.0  # not before, after a failure
    known: bool = False


class Lookup:
    """
    The answers of one endpoint, one a credential.

    `ask` sends one GET and gives its reply; it is called by one caller at a time. A failure is told
    once, everybody goes on without, and the endpoint is asked again after a growing pause.
    """

    def __init__(self, *, provider: str, base_url: str, observer: Observer, clock: Clock) -> None:
        self._provider = provider
        self._base_url = base_url
        self._observer = observer
        self._clock = clock
        self._answers: dict[str, _Answer] = {}
        self._locks = PerLoop(anyio.Lock)

    async def ensure(self, credential: str, ask: Callable[[], Awaitable[Response]]) -> None:
        """Ask, unless there is a usable answer or it is too early after a failure."""
        if self._settled(credential):
            return
        async with self._locks.get():
            if not self._settled(credential):
                await self.renew(credential, ask)

    async def renew(self, credential: str, ask: Callable[[], Awaitable[Response]]) -> None:
        """
        Ask once; what is known stays until a new answer is there.

        Cut short by the end of the call it ran beside, it is tried again beside a later one.
        """
        answer = self._answers.setdefault(credential, _Answer())
        if answer.known:
            answer.again = self._clock() + _BACKOFF[0]
        while len(self._answers) > _KEPT:
            del self._answers[next(iter(self._answers))]
        try:
            with anyio.fail_after(TIMEOUT):
                models = await _listed(await ask())
        except TimeoutError:
            self._failed(answer, f"no answer within {TIMEOUT:g} s")
        except (ExchangeFailed, ProviderError, ValueError) as error:
            self._failed(answer, redact(str(error)))
        except Exception as error:  # noqa: BLE001  nobody's call fails for a look-up
            self._failed(answer, type(error).__name__)
        else:
            answer.models, answer.asked, answer.known = models, self._clock(), True
            answer.failures, answer.again = 0, 0.0

    def due(self, credential: str) -> bool:
        """Whether a known answer is old enough to be asked for anew, beside a call."""
        answer = self._answers.get(credential)
        now = self._clock()
        return (
            answer is not None
            and answer.known
            and now >= answer.asked + EXPIRY
            and now >= answer.again
        )

    def listed(self, model: str, credential: str | None = None) -> Listed | None:
        """
        The API to use for a model: responses where it lists that and not chat, chat where it lists
        both or nothing that we know of; "neither" where it lists others only; None if not known.
        """
        answers = [self._answers.get(credential)] if credential else self._answers.values()
        for answer in answers:
            if answer is not None and answer.known:
                return _choice(answer.models.get(model))
        return None

    def _settled(self, credential: str) -> bool:
        answer = self._answers.get(credential)
        if answer is None:
            return False
        now = self._clock()
        return (answer.known and now < answer.asked + 2 * EXPIRY) or now < answer.again

    def _failed(self, answer: _Answer, reason: str) -> None:
        pause = _BACKOFF[min(answer.failures, len(_BACKOFF) - 1)]
        answer.failures += 1
        answer.again = self._clock() + pause
        if answer.failures == 1:
            self._observer(
                ApiLookupFailed(provider=self._provider, base_url=self._base_url, reason=reason)
            )


def _choice(paths: frozenset[str] | None) -> Listed:
    if not paths:  # absent, or it says nothing
        return "chat"
    known = {_PATHS[path] for path in paths if path in _PATHS}
    if not known:
        return "neither"
    return "responses" if known == {"responses"} else "chat"


async def _listed(response: Response) -> Models:
    """
    Model id → the endpoints it lists, as `responses`, `chat/completions`, …

    Raises:
        ValueError: the reply is no list of models.
    """
    try:
        raw = await response.aread()
    finally:
        await response.aclose()
    if not 200 <= response.status < 300:
        raise ValueError(f"HTTP {response.status}")
    body: object = jiter.from_json(raw)
    found = as_mapping(body)
    items = as_sequence(found.get("data", found.get("models")) if found is not None else body)
    if not items:
        raise ValueError("the reply holds no list of models" if items is None else "an empty list")
    return dict(pair for item in items if (pair := _endpoints(as_mapping(item) or {})) is not None)


def _endpoints(item: Mapping[str, object]) -> tuple[str, frozenset[str]] | None:
    """One item's id and endpoints; None for an item without a string id or a list of endpoints."""
    name, endpoints = item.get("id"), as_sequence(item.get("supported_endpoints"))
    if not isinstance(name, str) or endpoints is None:
        return None
    return name, frozenset(_path(endpoint) for endpoint in endpoints if isinstance(endpoint, str))


def _path(spelling: str) -> str:
    """
    The API's own path of `/v1/chat/completions`, `POST /Responses/`, `https://host/openai/v1/responses`,
    …; another scheme (`ws:`) is another API.
    """
    path = spelling.strip().lower().rpartition(" ")[2]
    path = re.sub(r"^https?://[^/]+", "", path).strip("/")
    known = (api for api in _PATHS if f"/{path}".endswith(f"/{api}") and ":" not in path)
    return next(known, path)
