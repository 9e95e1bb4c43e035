"""What the engine asks of a provider: a credential for each request, and where a call goes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol, TypeAlias

from structguard.providers.call import Call, Fault, Outgoing, Route
from structguard.types import Api, StreamEvent
from structguard.wire.base import WireOptions

Headers: TypeAlias = Mapping[str, str]
Feed: TypeAlias = Callable[[bytes], list[StreamEvent]]


class Authorise(Protocol):
    """
    Puts the credential on one request; may sign it, may wait.

    `rejected` are the headers of a request that was turned down (401): get another credential than
    theirs. Gives None when there is no other one to get.

    Raises:
        Unauthorised: there is no credential.
    """

    async def __call__(
        self, outgoing: Outgoing, /, *, rejected: Headers | None = None
    ) -> Headers | None: ...


class Router(Protocol):
    """Says where a call goes; providers with one wire have one answer."""

    def api_for(self, model: str | None, /) -> Api:
        """The wire API of a model, as far as it is known without asking anybody."""
        ...

    def dialect(self, model: str, /) -> tuple[Api, WireOptions]:
        """How a model is asked, as far as it is known without asking anybody."""
        ...

    async def choose(self, call: Call, /) -> Route: ...
    def other(self, call: Call, route: Route, /) -> Route | None:
        """Where else, after `unsupported_api`; None to leave it at that."""
        ...

    async def learned(self, call: Call, route: Route, fault: Fault, /) -> None:
        """The other route served: remember it."""
        ...

    def renewal(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """What should be looked up again beside the call, if it is time to."""
        ...
