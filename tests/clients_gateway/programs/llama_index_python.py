"""LlamaIndex: as_structured_llm and structured_predict over an OpenAI-like endpoint."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike
from ways import ASK, TOKEN, URL, City, main


def made(model):
    return OpenAILike(
        model=model, api_base=URL, api_key=TOKEN, is_chat_model=True,
        should_use_structured_outputs=True, max_retries=0, context_window=8000,
    )  # fmt: skip


def complete(model):
    return made(model).as_structured_llm(City).complete(ASK).raw


def predict(model):
    return made(model).structured_predict(City, PromptTemplate(ASK))


def stream(model):
    *_, last = made(model).stream_structured_predict(City, PromptTemplate(ASK))
    return last.model_dump()


def responses(model):
    llm = OpenAIResponses(
        model=model, api_base=URL, api_key=TOKEN, max_retries=0, context_window=8000
    )
    return llm.structured_predict(City, PromptTemplate(ASK))


main(
    {
        "chat": complete,
        "chat.predict": predict,
        "chat.stream": stream,
        "responses.predict": responses,
    }
)
