"""pydantic-ai: a guarded client inside, `fallback_on=is_outage` outside."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from structguard.guard import Guard
from structguard.layers.outage import is_outage
from structguard.testing import RefusingEndpoint
from tests.plugins.support import Answer, async_client, endpoints, optional

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]


def model(sdk: openai.AsyncOpenAI) -> Any:  # a foreign class
    """A chat model over this client."""
    optional("pydantic_ai")
    models = optional("pydantic_ai.models.openai")
    provider = optional("pydantic_ai.providers.openai").OpenAIProvider(openai_client=sdk)
    return models.OpenAIChatModel("m", provider=provider)


async def answered(first: openai.AsyncOpenAI, second: RefusingEndpoint) -> Answer:
    """One answer over a chain of both."""
    ai = optional("pydantic_ai")
    fallback = optional("pydantic_ai.models.fallback").FallbackModel
    async with async_client(second) as spare:
        chain = fallback(model(first), model(spare), fallback_on=is_outage)
        agent = ai.Agent(chain, output_type=ai.NativeOutput(Answer))
        output = (await agent.run("hi")).output
    assert isinstance(output, Answer)
    return output


async def test_a_rescued_refusal_does_not_fall_back(anyio_backend: str) -> None:
    with endpoints() as (refusing, serving):
        async with async_client(refusing) as sdk:
            guarded = Guard(memo="memory:").wrap(sdk)
            await answered(guarded, serving)
        assert (refusing.count(), serving.count()) == (2, 0)


async def test_an_outage_falls_back(anyio_backend: str) -> None:
    with RefusingEndpoint("hang_up") as down, RefusingEndpoint("enforce") as serving:
        async with async_client(down) as sdk:
            guarded = Guard(memo="memory:").wrap(sdk)
            await answered(guarded, serving)
        assert serving.count() == 1


async def test_a_refusal_that_nobody_handles_is_no_outage(anyio_backend: str) -> None:
    errors = optional("pydantic_ai.exceptions")
    with endpoints() as (refusing, serving):
        async with async_client(refusing) as sdk:
            with pytest.raises(errors.ModelHTTPError):
                await answered(sdk, serving)
        assert (refusing.count(), serving.count()) == (1, 0)
