"""
The composition root: one `Guard` hands the same memo and policy to every face.

Source: DESIGN "Public face".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, cast

from structguard.clients.kinds import is_openai, what_it_is
from structguard.options import Policy

if TYPE_CHECKING:
    import httpx2

    from structguard.clients.transport import AsyncGuardedTransport, GuardedTransport
    from structguard.events import Observer
    from structguard.memo import Memo
    from structguard.service import Clock, Provider

_PROVIDES = ("id", "base_url", "api_for", "complete", "stream")

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., object])


class _Shared(TypedDict):
    """What every guarded thing is given of its guard."""

    memo: Memo
    policy: Policy
    observer: Observer
    clock: Clock


class Guard:
    """
    One memo and one policy, shared by everything that is guarded through this object.

    Use its methods `wrap`, `guarded`, `protect`, `transport` and `async_transport`. A Guard is a
    context manager, sync and async; leaving it writes what the memo has not written yet.

    Args:
        memo: Where refusals are remembered: a URL (`disk:`, `disk:PATH`, `memory:`,
            `redis://HOST`) or a `Memo`. None is `disk:`, your cache directory.
        policy: What the guard may do. None is `Policy()`.
        observer: A callable that receives every event. None is the `structguard` logger. If it
            raises, the error is logged and the call goes on.
        clock: Returns monotonic seconds; for tests.
        wall: Returns wall-clock seconds; for tests.

    Raises:
        ValueError: The memo URL cannot be opened.
        MissingExtra: A Redis URL without the extra `redis`.
    """

    def __init__(
        self,
        memo: Memo | str | None = "disk:",
        policy: Policy | None = None,
        observer: Observer | None = None,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        from structguard.memo import open_memo  # noqa: PLC0415  naming `wrap` costs nothing yet
        from structguard.observe import Careful, log_events  # noqa: PLC0415

        self.policy: Policy = _checked_policy(policy)
        self.observer: Observer = log_events if observer is None else Careful(observer)
        self.clock = clock
        self.memo: Memo = open_memo(memo, clock=clock, wall=wall)
        if self.memo is not memo:  # a memo that was handed in has its own observer
            self.memo.add_observer(self.observer, keep=False)  # it may outlive this guard

    @property
    def _shared(self) -> _Shared:
        return _Shared(memo=self.memo, policy=self.policy, observer=self.observer, clock=self.clock)

    def wrap(self, client: C) -> C:
        """Guard an openai client in place and return it (see `structguard.wrap`)."""
        if is_openai(client):
            from structguard.clients import openai_sdk  # noqa: PLC0415  needs the SDK

            openai_sdk.guard_client(
                client,
                **self._shared,
            )
            return client
        raise TypeError(
            "wrap takes an openai client (OpenAI, AsyncOpenAI, AzureOpenAI, AsyncAzureOpenAI), got"
            f" {what_it_is(client)}; for a function that takes response_format use structguard.guarded,"
            " for another SDK's client Guard.transport()"
        )

    def guarded(
        self,
        provider: str,
        *,
        model: str | Callable[..., str] = "model",
        format: str = "response_format",  # noqa: A002  the field's word
    ) -> Callable[[F], F]:
        """
        Decorate a function that takes the format as an argument (see `structguard.guarded`).

        Of a base URL as `provider`, host and path are the name.

        Raises:
            TypeError: `provider` is not a string, for example because the parentheses are missing.
            ValueError: `provider` is empty, or a URL without a host.
        """
        if not isinstance(provider, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"guarded needs the provider's name, got {type(provider).__name__}:"
                ' write @guarded("openrouter") above the function'
            )
        if not provider:
            raise ValueError("guarded needs the provider's name, got ''")
        from structguard.memo import provider_id  # noqa: PLC0415  as in `__init__`

        named = provider_id(provider)

        def decorate(function: F) -> F:
            from structguard.clients import function as functions  # noqa: PLC0415  lazy as above

            if isinstance(function, staticmethod | classmethod):  # what they hold is the function
                held = cast("staticmethod[..., object]", function)
                return cast("F", type(held)(decorate(cast("F", held.__func__))))
            if functions.is_guarded(function):
                return function
            signature = functions.checked_signature(function, model, format)
            guard = functions.FunctionGuard(
                function=function,
                signature=signature,
                provider=named,
                model=model,
                format=format,
                **self._shared,
            )
            return cast("F", functions.guard_function(guard))

        return decorate

    def protect(self, provider: Provider, *, model: str | None = None) -> Provider:
        """
        Return a provider whose `complete` and `stream` survive a refused format.

        It has the same interface and returns the same texts. A provider that is protected already
        is returned as it is. `model` is used for requests that name none.

        Raises:
            TypeError: Not a provider; the message names what is missing.
        """
        from structguard.layers.degrade import Degrade, Protected  # noqa: PLC0415  callers of wrap need none

        if getattr(provider, "protected", False):
            return provider
        lacks = [name for name in _PROVIDES if not hasattr(provider, name)]
        if lacks:
            raise TypeError(
                f"{type(provider).__qualname__} is not a provider: it has no {', '.join(lacks)}; guard a"
                ' foreign `complete` with structguard.guarded("its name")(provider.complete)'
            )
        degrade = Degrade(
            provider=provider,
            **self._shared,
            model=model,
        )
        return Protected(provider, degrade)

    def transport(self, transport: httpx2.BaseTransport | None = None) -> GuardedTransport:
        """
        Return a guarding transport for `httpx2.Client`, and so for any SDK that uses one.

        `transport` is the inner transport, which sends (None: `httpx2.HTTPTransport()`). It is
        closed together with this one.

        Raises:
            TypeError: `transport` is not a sync transport.
        """
        from structguard.clients.transport import GuardedTransport  # noqa: PLC0415  needs httpx2

        return GuardedTransport(
            transport,
            **self._shared,
        )

    def async_transport(
        self, transport: httpx2.AsyncBaseTransport | None = None
    ) -> AsyncGuardedTransport:
        """
        Return the same as `transport` for an `httpx2.AsyncClient`, on asyncio and trio.

        Raises:
            TypeError: `transport` is not an async transport.
        """
        from structguard.clients.transport import AsyncGuardedTransport  # noqa: PLC0415  needs httpx2

        return AsyncGuardedTransport(
            transport,
            **self._shared,
        )

    def close(self) -> None:
        """Write what the memo has not written yet, and close its store."""
        self.memo.close()

    async def aclose(self) -> None:
        """Do the same as `close`, without blocking the event loop."""
        await self.memo.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def wrap(client: C, *, memo: Memo | str | None = None, policy: Policy | None = None) -> C:
    """
    Guard an openai client in place and return it.

    Afterwards `chat.completions` and `responses` (create, parse, stream, raw responses) survive an
    endpoint that refuses, ignores or mangles the format. Copies made by `with_options` are guarded
    too, and wrapping twice changes nothing. The client's `max_retries` is not changed, so a rescued
    call takes at most 2 * (max_retries + 1) HTTP requests.

    Args:
        client: An OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI client of openai 3.x.
        memo: Where refusals are remembered: a URL or a `Memo` (see `Guard`). None is `disk:`, your
            cache directory.
        policy: What the guard may do. None is `Policy()`.

    Raises:
        TypeError: Not such a client.
        ValueError: The memo URL cannot be opened.

    Source: spec guard §2.
    """
    return Guard(memo=memo, policy=policy).wrap(client)


def unwrap(client: C) -> C:
    """Remove the guard from a wrapped client and return it; any other client stays as it is."""
    if is_openai(client):
        from structguard.clients import openai_sdk  # noqa: PLC0415  needs the SDK

        openai_sdk.unguard_client(client)
    return client


def guarded(
    provider: str,
    *,
    model: str | Callable[..., str] = "model",
    format: str = "response_format",  # noqa: A002  the field's word
    memo: Memo | str | None = None,
    policy: Policy | None = None,
) -> Callable[[F], F]:
    """
    Decorate a function that takes the format as an argument.

    The function may be sync or async, a plain function or a bound method. Its signature, types,
    result and prompt stay as they are. After a refusal it is called once more without the format:
    the argument is left out if it has a default, otherwise it is None. If the function has a
    `timeout` argument, that is the budget of both calls, in seconds. If it returns a stream, a
    rescued refusal is not remembered, because the stream cannot be checked.

    Args:
        provider: The endpoint's name in the memo; of a base URL, its host and path.
        model: Name of the function's argument that holds the model, or a callable that takes the
            function's arguments and returns the model.
        format: Name of the function's argument that holds the format.
        memo: Where refusals are remembered: a URL or a `Memo` (see `Guard`). None is `disk:`.
        policy: What the guard may do. None is `Policy()`.

    Raises:
        TypeError: `provider` is not a string, or the function is not callable or a generator.
        ValueError: The function does not have these arguments, or `provider` is empty or a
            URL without a host.

    Source: spec guard §2.
    """
    return Guard(memo=memo, policy=policy).guarded(provider, model=model, format=format)


def _checked_policy(policy: Policy | None) -> Policy:
    if policy is None:
        return Policy()
    if not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"policy must be a Policy, such as Policy(mode='observe'), got {policy!r}")
    return policy
