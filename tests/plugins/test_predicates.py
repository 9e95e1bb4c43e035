"""`is_refusal` and `is_outage` in breakers and retries of others: purgatory, tenacity, stamina."""

from __future__ import annotations

import openai
import pytest

from structguard.errors import provider_error
from structguard.layers.outage import is_outage
from structguard.refusal import is_refusal
from structguard.types import Failure, Kind
from tests.plugins.support import Answer, async_client, client, endpoints, optional

DOWN = provider_error(
    kind=Kind.UNAVAILABLE,
    message="down",
    failure=Failure(status=503),
    provider="p",
    model=None,
    operation="complete",
)
INVALID = provider_error(
    kind=Kind.INVALID_REQUEST,
    message="bad",
    failure=Failure(status=400),
    provider="p",
    model=None,
    operation="complete",
)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_purgatory_opens_on_outages_and_not_on_refusals(anyio_backend: str) -> None:
    purgatory = optional("purgatory")
    factory = purgatory.AsyncCircuitBreakerFactory(
        default_threshold=2, exclude=[(Exception, is_refusal)]
    )
    with endpoints() as (refusing, _):
        async with async_client(refusing) as sdk:

            @factory("refusing")  # type: ignore[untyped-decorator]
            async def ask() -> object:
                return await sdk.chat.completions.parse(
                    model="m",
                    messages=[{"role": "user", "content": "hi"}],
                    response_format=Answer,
                )

            for _ in range(5):
                with pytest.raises(openai.NotFoundError):
                    await ask()
        assert refusing.count() == 5
    assert (await factory.get_breaker("refusing")).context.state == "closed"

    @factory("down")  # type: ignore[untyped-decorator]
    async def fail() -> None:
        raise DOWN

    for _ in range(2):
        with pytest.raises(type(DOWN)):
            await fail()
    with pytest.raises(purgatory.domain.model.OpenedState):
        await fail()


@pytest.mark.parametrize(("error", "attempts"), [(DOWN, 3), (INVALID, 1)])
def test_tenacity_retries_outages_only(error: Exception, attempts: int) -> None:
    tenacity = optional("tenacity")
    tried: list[int] = []

    @tenacity.retry(  # type: ignore[untyped-decorator]
        retry=tenacity.retry_if_exception(is_outage),
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_none(),
        reraise=True,
    )
    def ask() -> None:
        tried.append(1)
        raise error

    with pytest.raises(type(error)):
        ask()
    assert len(tried) == attempts


def test_tenacity_does_not_retry_an_sdks_refusal() -> None:
    tenacity = optional("tenacity")
    with endpoints() as (refusing, _), client(refusing) as sdk:

        @tenacity.retry(  # type: ignore[untyped-decorator]
            retry=tenacity.retry_if_exception(is_outage),
            stop=tenacity.stop_after_attempt(3),
            reraise=True,
        )
        def ask() -> object:
            return sdk.chat.completions.parse(
                model="m", messages=[{"role": "user", "content": "hi"}], response_format=Answer
            )

        with pytest.raises(openai.NotFoundError):
            ask()
        assert refusing.count() == 1


@pytest.mark.parametrize(("error", "attempts"), [(DOWN, 3), (INVALID, 1)])
def test_stamina_retries_outages_only(error: Exception, attempts: int) -> None:
    stamina = optional("stamina")
    tried: list[int] = []

    @stamina.retry(on=is_outage, attempts=3, wait_initial=0.0, wait_max=0.0, wait_jitter=0.0)  # type: ignore[untyped-decorator]
    def ask() -> None:
        tried.append(1)
        raise error

    with pytest.raises(type(error)):
        ask()
    assert len(tried) == attempts
