"""openai-agents: an agent with an output type over chat, responses and a WebSocket, run and streamed."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from agents import (
    Agent,
    OpenAIProvider,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from ways import ASK, TOKEN, URL, City, main

set_tracing_disabled(True)


def provider(**options):
    client = AsyncOpenAI(base_url=URL, api_key=TOKEN, max_retries=0)
    return OpenAIProvider(openai_client=client, **options)


def run(**options):
    async def ask(model):
        config = RunConfig(model_provider=provider(**options))
        agent = Agent(name="a", model=model, output_type=City)
        return (await Runner.run(agent, ASK, run_config=config)).final_output

    return ask


def streamed(**options):
    async def ask(model):
        config = RunConfig(model_provider=provider(**options))
        agent = Agent(name="a", model=model, output_type=City)
        result = Runner.run_streamed(agent, ASK, run_config=config)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return ask


def with_a_tool(**options):
    async def ask(model):
        places = []

        @function_tool
        def look_up(place: str) -> str:
            """Look a place up."""
            places.append(place)
            return "three floors"

        config = RunConfig(model_provider=provider(**options))
        agent = Agent(name="a", model=model, output_type=City, tools=[look_up])
        done = await Runner.run(agent, ASK, run_config=config)
        return {**done.final_output.model_dump(), "looked": ",".join(places)}

    return ask


main(
    {
        "chat": run(use_responses=False),
        "chat.stream": streamed(use_responses=False),
        "responses": run(use_responses=True),
        "responses.stream": streamed(use_responses=True),
        "responses.websocket": run(use_responses=True, use_responses_websocket=True),
        "tools.chat": with_a_tool(use_responses=False),
        "tools.responses": with_a_tool(use_responses=True),
        "tools.websocket": with_a_tool(use_responses=True, use_responses_websocket=True),
    }
)
