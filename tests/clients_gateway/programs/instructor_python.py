"""instructor: its JSON modes, whole and partial."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

import instructor
from openai import OpenAI
from ways import MESSAGES, TOKEN, URL, City, main


def made(mode):
    return instructor.from_openai(OpenAI(base_url=URL, api_key=TOKEN, max_retries=0), mode=mode)


def whole(mode):
    def ask(model):
        return made(mode).chat.completions.create(
            model=model, messages=MESSAGES, response_model=City, max_retries=0
        )

    return ask


def partial(model):
    *_, last = made(instructor.Mode.JSON_SCHEMA).chat.completions.create_partial(
        model=model, messages=MESSAGES, response_model=City, max_retries=0
    )
    return last.model_dump()


main(
    {
        "json_schema": whole(instructor.Mode.JSON_SCHEMA),
        "json": whole(instructor.Mode.JSON),
        "json_schema.partial": partial,
    }
)
