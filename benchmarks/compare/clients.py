"""
The clients, each as its own documentation shows it, with or without a guard.

Every function asks one question and gives what the client gives. HTTP retries are off on both sides;
what a framework asks again of its own accord is left on. Where there is a guard, one of two things
differs: the SDK client is wrapped, or the HTTP client has a guarded transport.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

import anyio
import httpx2
from openai import AsyncOpenAI, OpenAI

import structguard
from benchmarks.compare.endpoints import QUESTION, City
from structguard.options import Policy

Face = Literal["wrap", "transport"]
MESSAGES: Any = [{"role": "user", "content": QUESTION}]

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no look-up on import
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where to ask, and how it is guarded, if it is."""

    url: str
    guard: structguard.Guard | None = None
    face: Face = "wrap"

    @property
    def wraps(self) -> bool:
        """Whether the SDK client is to be wrapped."""
        return self.guard is not None and self.face == "wrap"

    def http(self) -> httpx2.Client | None:
        """A guarded HTTP client, where that is the face."""
        if self.guard is None or self.face == "wrap":
            return None
        return httpx2.Client(transport=self.guard.transport())

    def async_http(self) -> httpx2.AsyncClient | None:
        """The same, on the event loop."""
        if self.guard is None or self.face == "wrap":
            return None
        return httpx2.AsyncClient(transport=self.guard.async_transport())

    def wrapped(self, client: Any) -> Any:
        """The SDK client, wrapped where that is the face."""
        return self.guard.wrap(client) if self.guard is not None and self.wraps else client

    def sdk(self) -> Any:
        """An openai client."""
        return self.wrapped(
            OpenAI(base_url=self.url, api_key="key", max_retries=0, http_client=self.http())
        )

    def async_sdk(self) -> Any:
        """An async one."""
        http = self.async_http()
        return self.wrapped(
            AsyncOpenAI(base_url=self.url, api_key="key", max_retries=0, http_client=http)
        )


def openai(at: Setting) -> object:
    """`parse` of the SDK itself."""
    with at.sdk() as client:
        reply = client.chat.completions.parse(model="m", messages=MESSAGES, response_format=City)
    return reply.choices[0].message.parsed


def instructor(at: Setting) -> object:
    """Its JSON Schema mode; it asks again when an answer does not validate."""
    library: Any = import_module("instructor")
    with at.sdk() as sdk:
        client = library.from_openai(sdk, mode=library.Mode.JSON_SCHEMA)
        return client.chat.completions.create(model="m", messages=MESSAGES, response_model=City)


def langchain(at: Setting) -> object:
    """`with_structured_output` of ChatOpenAI."""
    library: Any = import_module("langchain_openai")
    chat = library.ChatOpenAI(
        model="m", base_url=at.url, api_key="key", max_retries=0, http_client=at.http()
    )
    at.wrapped(chat.root_client)
    return chat.with_structured_output(City, method="json_schema").invoke(QUESTION)


def pydantic_ai(at: Setting) -> object:
    """An agent with a native output; it asks again when an answer does not validate."""
    library: Any = import_module("pydantic_ai")
    models: Any = import_module("pydantic_ai.models.openai")
    providers: Any = import_module("pydantic_ai.providers.openai")

    async def ask() -> object:
        async with at.async_sdk() as sdk:
            model = models.OpenAIChatModel(
                "m", provider=providers.OpenAIProvider(openai_client=sdk)
            )
            agent = library.Agent(model, output_type=library.NativeOutput(City))
            return (await agent.run(QUESTION)).output

    return anyio.run(ask)


def agents(at: Setting) -> object:
    """openai-agents over chat completions."""
    library: Any = import_module("agents")

    async def ask() -> object:
        async with at.async_sdk() as sdk:
            model = library.OpenAIChatCompletionsModel("m", openai_client=sdk)
            agent = library.Agent(name="geographer", output_type=City, model=model)
            return (await library.Runner.run(agent, QUESTION)).final_output

    return anyio.run(ask)


def litellm(at: Setting) -> object:
    """litellm's `completion`, which hands the text on."""
    library: Any = import_module("litellm")
    library.suppress_debug_info = True
    with at.sdk() as sdk:
        reply = library.completion(
            "openai/m",
            MESSAGES,
            response_format=City,
            api_base=at.url,
            api_key="key",
            max_retries=0,
            client=None if at.guard is None else sdk,
        )
    return reply.choices[0].message.content


def router(at: Setting) -> object:
    """Its Router; cooldowns off, else the second call of a refused one is not even sent."""
    library: Any = import_module("litellm")
    library.suppress_debug_info = True
    params = {"model": "openai/m", "api_base": at.url, "api_key": "key", "max_retries": 0}

    async def ask() -> object:
        routed = library.Router(
            model_list=[{"model_name": "main", "litellm_params": params}],
            num_retries=0,
            disable_cooldowns=True,
        )
        async with at.async_sdk() as sdk:
            given = {} if at.guard is None else {"client": sdk}
            reply = await routed.acompletion("main", MESSAGES, response_format=City, **given)
        return reply.choices[0].message.content

    return anyio.run(ask)


def any_llm(at: Setting) -> object:
    """any-llm's openai provider."""
    library: Any = import_module("any_llm")

    async def ask() -> object:
        http = at.async_http()
        given = {} if http is None else {"http_client": http}
        llm = library.AnyLLM.create(
            "openai", api_key="key", api_base=at.url, max_retries=0, **given
        )
        async with at.wrapped(llm.client):
            reply = await llm.acompletion("m", MESSAGES, response_format=City)
        return reply.choices[0].message.parsed

    return anyio.run(ask)


CHECKS = Policy(also_statuses=frozenset({500}), ignored_after=1)
"""For a client that checks the answer itself, and asks again by its own rules."""
HANDS_ON = Policy(also_statuses=frozenset({500}), ignored_after=1, on_unusable="error")
"""For one that hands on what it got: text, None, or an empty turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One column: its name, its package, how it is asked, and the policy that suits it."""

    name: str
    package: str
    ask: Callable[[Setting], object]
    policy: Policy
    how: str  # the line that guards it


CLIENTS: Mapping[str, Client] = MappingProxyType(
    {
        one.name: one
        for one in (
            Client(name="openai", package="openai", ask=openai, policy=HANDS_ON,
                   how="`guard.wrap(client)`"),
            Client(name="instructor", package="instructor", ask=instructor, policy=CHECKS,
                   how="`instructor.from_openai(guard.wrap(client))`"),
            Client(name="LangChain", package="langchain-openai", ask=langchain, policy=CHECKS,
                   how="`guard.wrap(chat.root_client)`, or `ChatOpenAI(http_client=…)`"),
            Client(name="pydantic-ai", package="pydantic-ai-slim", ask=pydantic_ai, policy=CHECKS,
                   how="`OpenAIProvider(openai_client=guard.wrap(client))`"),
            Client(name="agents", package="openai-agents", ask=agents, policy=HANDS_ON,
                   how="`OpenAIChatCompletionsModel(openai_client=guard.wrap(client))`"),
            Client(name="litellm", package="litellm", ask=litellm, policy=HANDS_ON,
                   how="`completion(client=guard.wrap(client))`"),
            Client(name="Router", package="litellm", ask=router, policy=HANDS_ON,
                   how="`router.acompletion(client=guard.wrap(client))`"),
            Client(name="any-llm", package="any-llm-sdk", ask=any_llm, policy=HANDS_ON,
                   how="`guard.wrap(llm.client)`, or `AnyLLM.create(http_client=…)`"),
        )
    }
)  # fmt: skip
"""By name, in the order of the tables."""
