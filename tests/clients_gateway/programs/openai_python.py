"""openai-python: chat and responses, parsed, streamed, raw, async, over a WebSocket."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

from openai import AsyncOpenAI, OpenAI
from openai.lib._parsing._responses import type_to_text_format_param
from openai.lib._pydantic import to_strict_json_schema
from ways import ASK, MESSAGES, TOKEN, URL, City, main

client = OpenAI(base_url=URL, api_key=TOKEN, max_retries=0)
CHAT = {"type": "json_schema", "json_schema": {
    "name": "city", "strict": True, "schema": to_strict_json_schema(City)}}  # fmt: skip
TEXT = {"format": type_to_text_format_param(City)}


def chat_parse(model):
    done = client.chat.completions.parse(model=model, messages=MESSAGES, response_format=City)
    return done.choices[0].message.parsed


def chat_create(model):
    done = client.chat.completions.create(model=model, messages=MESSAGES, response_format=CHAT)
    return done.choices[0].message.content


def chat_raw(model):
    raw = client.chat.completions.with_raw_response.create(
        model=model, messages=MESSAGES, response_format=CHAT
    )
    assert raw.headers["x-structguard-enforced"] == str("refuses" not in model).lower()
    return raw.parse().choices[0].message.content


def chat_stream(model):
    with client.chat.completions.stream(
        model=model, messages=MESSAGES, response_format=City
    ) as stream:
        return stream.get_final_completion().choices[0].message.parsed


def chat_chunks(model):
    chunks = client.chat.completions.create(
        model=model, messages=MESSAGES, response_format=CHAT, stream=True
    )
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def responses_parse(model):
    return client.responses.parse(model=model, input=ASK, text_format=City).output_parsed


def responses_create(model):
    return client.responses.create(model=model, input=ASK, text=TEXT).output_text


def responses_raw(model):
    raw = client.responses.with_raw_response.create(model=model, input=ASK, text=TEXT)
    assert raw.headers["x-structguard-enforced"] == str("refuses" not in model).lower()
    return raw.parse().output_text


def responses_stream(model):
    with client.responses.stream(model=model, input=ASK, text_format=City) as stream:
        return stream.get_final_response().output_parsed


def responses_events(model):
    events = client.responses.create(model=model, input=ASK, text=TEXT, stream=True)
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


async def async_parse(model):
    async with AsyncOpenAI(base_url=URL, api_key=TOKEN, max_retries=0) as made:
        return (await made.responses.parse(model=model, input=ASK, text_format=City)).output_parsed


def responses_socket(model):
    with client.responses.connect() as socket:
        socket.response.create(model=model, input=ASK, text=TEXT)
        for event in socket:
            if event.type == "response.completed":
                return event.response.output[0].content[0].text
            assert event.type != "error", event
    raise EOFError("no response was completed")


main(
    {
        "chat.parse": chat_parse,
        "chat.create": chat_create,
        "chat.raw": chat_raw,
        "chat.stream": chat_stream,
        "chat.chunks": chat_chunks,
        "responses.parse": responses_parse,
        "responses.create": responses_create,
        "responses.raw": responses_raw,
        "responses.stream": responses_stream,
        "responses.events": responses_events,
        "responses.async": async_parse,
        "responses.websocket": responses_socket,
    }
)
