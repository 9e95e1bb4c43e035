"""A LiteLLM Router: a refusal that a guarded client rescues cools no deployment down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from structguard.guard import Guard
from structguard.testing import RefusingEndpoint
from tests.plugins.support import Answer, async_client, endpoints, optional

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]


def router(refusing: RefusingEndpoint, serving: RefusingEndpoint) -> Any:  # a foreign class
    """A router that cools a deployment at its first failure and has one to fall back to."""
    litellm = optional("litellm")

    def deployment(name: str, endpoint: RefusingEndpoint) -> dict[str, object]:
        params = {"model": "openai/m", "api_base": endpoint.base_url, "api_key": "key"}
        return {"model_name": name, "litellm_params": params}

    return litellm.Router(
        model_list=[deployment("main", refusing), deployment("spare", serving)],
        fallbacks=[{"main": ["spare"]}],
        num_retries=0,
        allowed_fails=0,
        cooldown_time=60,
    )


async def cooling(routed: Any) -> Sequence[object]:
    """The deployments the router leaves alone."""
    handlers = optional("litellm.router_utils.cooldown_handlers")
    found: Sequence[object] = await handlers._async_get_cooldown_deployments(
        litellm_router_instance=routed, parent_otel_span=None
    )
    return found


async def test_a_rescued_refusal_cools_nothing_down(anyio_backend: str) -> None:
    with endpoints() as (refusing, serving):
        routed = router(refusing, serving)
        async with async_client(refusing) as sdk:
            guarded = Guard(memo="memory:").wrap(sdk)
            for _ in range(3):
                reply = await routed.acompletion(
                    "main",
                    [{"role": "user", "content": "hi"}],
                    response_format=Answer,
                    client=guarded,
                )
                Answer.model_validate_json(reply.choices[0].message.content)
        assert await cooling(routed) == []
        assert (refusing.count(), serving.count()) == (4, 0)


async def test_without_the_guard_the_same_refusal_cools_the_deployment(anyio_backend: str) -> None:
    with endpoints() as (refusing, serving):
        routed = router(refusing, serving)
        for _ in range(3):
            await routed.acompletion(
                "main", [{"role": "user", "content": "hi"}], response_format=Answer
            )
        assert len(await cooling(routed)) == 1
        assert (refusing.count(), serving.count()) == (1, 3)


def test_a_format_that_litellm_refuses_by_itself_costs_no_request(anyio_backend: str) -> None:
    """Its `volcengine` provider knows no response_format; guarded, the function is called without."""
    litellm = optional("litellm")
    with RefusingEndpoint("enforce") as serving:
        asked = {
            "model": "volcengine/m",
            "messages": [{"role": "user", "content": "hi"}],
            "response_format": Answer,
            "api_base": serving.base_url,
            "api_key": "key",
        }
        with pytest.raises(litellm.UnsupportedParamsError):
            litellm.completion(**asked)
        safe = Guard(memo="memory:").guarded("volcengine")(litellm.completion)
        for count in (1, 2):
            assert "answer" in safe(**asked).choices[0].message.content
            assert serving.count() == count
