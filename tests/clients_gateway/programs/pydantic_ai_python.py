"""pydantic-ai: native output over both APIs, run and streamed."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from ways import ASK, TOKEN, URL, City, main


def agent(kind, model):
    provider = OpenAIProvider(base_url=URL, api_key=TOKEN)
    return Agent(kind(model, provider=provider), output_type=NativeOutput(City), retries=0)


def run(kind):
    async def ask(model):
        return (await agent(kind, model).run(ASK)).output

    return ask


def stream(kind):
    async def ask(model):
        async with agent(kind, model).run_stream(ASK) as result:
            return await result.get_output()

    return ask


main(
    {
        "chat": run(OpenAIChatModel),
        "chat.stream": stream(OpenAIChatModel),
        "responses": run(OpenAIResponsesModel),
        "responses.stream": stream(OpenAIResponsesModel),
    }
)
