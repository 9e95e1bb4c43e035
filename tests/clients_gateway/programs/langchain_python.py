"""LangChain: with_structured_output over both APIs, invoked and streamed."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from langchain_openai import ChatOpenAI
from ways import ASK, TOKEN, URL, City, main


def made(model, **options):
    llm = ChatOpenAI(model=model, base_url=URL, api_key=TOKEN, max_retries=0, **options)
    return llm.with_structured_output(City, method="json_schema")


def invoke(**options):
    return lambda model: made(model, **options).invoke(ASK)


def stream(**options):
    def ask(model):
        *_, last = made(model, **options).stream(ASK)
        return last

    return ask


def json_mode(model):
    llm = ChatOpenAI(model=model, base_url=URL, api_key=TOKEN, max_retries=0)
    return llm.with_structured_output(City, method="json_mode").invoke(ASK + " Answer in JSON.")


main(
    {
        "chat": invoke(use_responses_api=False),
        "chat.stream": stream(use_responses_api=False),
        "chat.json_mode": json_mode,
        "responses": invoke(use_responses_api=True),
        "responses.stream": stream(use_responses_api=True),
    }
)
