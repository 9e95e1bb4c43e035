"""LangChain: a guarded client inside ChatOpenAI, `with_fallbacks` outside."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from structguard.guard import Guard
from structguard.testing import RefusingEndpoint
from tests.plugins.support import Answer, endpoints, optional

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]


def model(endpoint: RefusingEndpoint, *, guarded: bool) -> Any:  # a foreign class
    """A chat model that answers in the format."""
    chat = optional("langchain_openai").ChatOpenAI(
        model="m", base_url=endpoint.base_url, api_key="key", max_retries=0
    )
    if guarded:
        guard = Guard(memo="memory:")
        guard.wrap(chat.root_client)
        guard.wrap(chat.root_async_client)
    return chat.with_structured_output(Answer, method="json_schema")


async def test_a_rescued_refusal_does_not_fall_back(anyio_backend: str) -> None:
    with endpoints() as (refusing, serving):
        chain = model(refusing, guarded=True).with_fallbacks(
            [model(serving, guarded=False)], exceptions_to_handle=(openai.APIError,)
        )
        assert isinstance(await chain.ainvoke("hi"), Answer)
        assert isinstance(chain.invoke("hi"), Answer)
        assert (refusing.count(), serving.count()) == (3, 0)


async def test_without_the_guard_the_same_refusal_leaves_for_the_fallback(
    anyio_backend: str,
) -> None:
    with endpoints() as (refusing, serving):
        chain = model(refusing, guarded=False).with_fallbacks([model(serving, guarded=False)])
        assert isinstance(await chain.ainvoke("hi"), Answer)
        assert (refusing.count(), serving.count()) == (1, 1)
