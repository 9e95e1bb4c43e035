"""litellm: completion and responses with a format, whole and streamed."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

import litellm
from ways import ASK, MESSAGES, TOKEN, URL, City, main

litellm.suppress_debug_info = True
AT = {"api_base": URL, "api_key": TOKEN, "max_retries": 0}
SCHEMA = {**City.model_json_schema(), "additionalProperties": False}
TEXT = {"format": {"type": "json_schema", "name": "city", "strict": True, "schema": SCHEMA}}


def chat(model):
    done = litellm.completion(
        model=f"openai/{model}", messages=MESSAGES, response_format=City, **AT
    )
    return done.choices[0].message.content


def chat_stream(model):
    chunks = litellm.completion(
        model=f"openai/{model}", messages=MESSAGES, response_format=City, stream=True, **AT
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def responses(model):
    done = litellm.responses(model=f"openai/{model}", input=ASK, text=TEXT, **AT)
    return done.output[0].content[0].text


def responses_stream(model):
    events = litellm.responses(model=f"openai/{model}", input=ASK, text=TEXT, stream=True, **AT)
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


main(
    {
        "chat": chat,
        "chat.stream": chat_stream,
        "responses": responses,
        "responses.stream": responses_stream,
    }
)
