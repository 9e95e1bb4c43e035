"""Every face asks the same question at a place; each gives the checked answer or raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import anyio
import httpx2
from openai import AsyncOpenAI, OpenAI

import structguard
from benchmarks.e2e.places import QUESTION, Answer, Place
from benchmarks.e2e.servers import KEY
from structguard import FallbackChain, Guard, Link, OpenAICompat, Request
from structguard.options import RetryOptions

MESSAGES: Any = [{"role": "user", "content": QUESTION}]
_CAP = 80  # tokens


@dataclass(frozen=True, slots=True)
class Scene:
    """One face at one place. `gateway` and `spare` are base URLs: in front, and to fall back to."""

    place: Place
    guard: Guard
    gateway: str = ""
    spare: str = ""

    def asked(self) -> dict[str, Any]:
        """The call's arguments without its format."""
        fields: dict[str, Any] = {"model": self.place.model}
        if self.place.api == "responses":
            return {**fields, "input": QUESTION, "max_output_tokens": _CAP}
        return {**fields, "messages": MESSAGES, "max_tokens": _CAP}


def without(scene: Scene) -> Answer:
    """Nobody guards: the SDK as it is."""
    with OpenAI(base_url=scene.place.tap.url, api_key=KEY, max_retries=0) as client:
        return _create(client, scene)


def wrap(scene: Scene) -> Answer:
    """A wrapped client: `parse` where the schema is a model's, else `create`."""
    with OpenAI(base_url=scene.place.tap.url, api_key=KEY, max_retries=0) as client:
        return _parse(scene.guard.wrap(client), scene)


def wrap_async(scene: Scene) -> Answer:
    """A wrapped async client."""

    async def ask() -> str:
        plain = AsyncOpenAI(base_url=scene.place.tap.url, api_key=KEY, max_retries=0)
        async with scene.guard.wrap(plain) as client:
            given = scene.asked()
            if scene.place.api == "responses":
                made = await client.responses.create(**given, text={"format": scene.place.wanted})
                return str(made.output_text)
            reply: Any = await client.chat.completions.create(
                **given, response_format=scene.place.wanted
            )
            return str(reply.choices[0].message.content)

    return Answer.model_validate_json(anyio.run(ask))


def wrap_stream(scene: Scene) -> Answer:
    """A wrapped client's stream, its deltas put together."""
    with OpenAI(base_url=scene.place.tap.url, api_key=KEY, max_retries=0) as plain:
        client: Any = scene.guard.wrap(plain)
        given = {**scene.asked(), "stream": True}
        if scene.place.api == "responses":
            events = client.responses.create(**given, text={"format": scene.place.wanted})
            pieces = [one.delta for one in events if one.type == "response.output_text.delta"]
        else:
            chunks = client.chat.completions.create(**given, response_format=scene.place.wanted)
            pieces = [choice.delta.content or "" for one in chunks for choice in one.choices]
    return Answer.model_validate_json("".join(pieces))


def transport(scene: Scene) -> Answer:
    """An HTTP client that knows of no SDK, over a guarded transport."""
    with httpx2.Client(transport=scene.guard.transport(), timeout=60) as http:
        return Answer.model_validate_json(_posted(http, scene, scene.place.wanted))


def guarded(scene: Scene) -> Answer:
    """A function of one's own that takes the format."""

    @scene.guard.guarded("e2e")
    def ask(*, model: str, response_format: Mapping[str, Any] | None = None) -> str:
        assert model == scene.place.model
        with httpx2.Client(timeout=60) as http:
            return _posted(http, scene, response_format)

    text = ask(model=scene.place.model, response_format=scene.place.wanted)
    return structguard.parse(text, Answer).value


def protect(scene: Scene) -> Answer:
    """A protected provider."""

    async def ask() -> str:
        async with _provider(scene) as provider:
            return (await scene.guard.protect(provider).complete(_request(scene))).text

    return structguard.parse(anyio.run(ask), Answer).value


def subcall(scene: Scene) -> Answer:
    """A sub-call over a protected provider."""

    @structguard.subcall(schema=Answer, name="e2e")
    def describe() -> Request:
        return _request(scene)

    async def ask() -> Answer:
        async with _provider(scene) as provider:
            return (await describe(scene.guard.protect(provider))).require()

    return anyio.run(ask)


def chain(scene: Scene) -> Answer:
    """A chain with a spare that would answer, and must not be asked."""

    async def ask() -> str:
        async with (
            _provider(scene) as first,
            OpenAICompat(scene.spare, api_key=KEY, id="spare") as spare,
        ):
            links = [Link(first, model=scene.place.model), Link(spare, model="tiny")]
            reply = await FallbackChain(links, guard=scene.guard).complete(_request(scene))
            assert reply.provider == first.id, f"{reply.provider} answered"
            return reply.text

    return structguard.parse(anyio.run(ask), Answer).value


def gateway(scene: Scene) -> Answer:
    """The SDK as it is, with a gateway as its base URL."""
    with OpenAI(base_url=scene.gateway, api_key=KEY, max_retries=0) as client:
        return _parse(client, scene)


FACES: Mapping[str, Callable[[Scene], Answer]] = MappingProxyType(
    {
        "wrap": wrap,
        "wrap, async": wrap_async,
        "wrap, streamed": wrap_stream,
        "transport": transport,
        "guarded": guarded,
        "protect": protect,
        "sub-call": subcall,
        "chain": chain,
        "gateway": gateway,
    }
)
"""By name, in the order of the tables."""


def _parse(client: Any, scene: Scene) -> Answer:
    if "$defs" in scene.place.schema:  # no model makes such a schema
        return _create(client, scene)
    if scene.place.api == "responses":
        reply = client.responses.parse(**scene.asked(), text_format=Answer)
        found = reply.output_parsed
    else:
        reply = client.chat.completions.parse(**scene.asked(), response_format=Answer)
        found = reply.choices[0].message.parsed
    assert isinstance(found, Answer)
    return found


def _create(client: Any, scene: Scene) -> Answer:
    if scene.place.api == "responses":
        made = client.responses.create(**scene.asked(), text={"format": scene.place.wanted})
        return Answer.model_validate_json(made.output_text)
    reply = client.chat.completions.create(**scene.asked(), response_format=scene.place.wanted)
    return Answer.model_validate_json(reply.choices[0].message.content)


def _posted(http: httpx2.Client, scene: Scene, wanted: Mapping[str, Any] | None) -> str:
    responses = scene.place.api == "responses"
    body = scene.asked()
    if wanted is not None:
        body |= {"text": {"format": wanted}} if responses else {"response_format": wanted}
    path = "/responses" if responses else "/chat/completions"
    reply = http.post(
        f"{scene.place.tap.url}{path}", json=body, headers={"authorization": f"Bearer {KEY}"}
    )
    reply.raise_for_status()
    got = reply.json()
    return str(
        got["output"][-1]["content"][0]["text"]
        if responses
        else got["choices"][0]["message"]["content"]
    )


def _provider(scene: Scene) -> OpenAICompat:
    place = scene.place
    once = RetryOptions(attempts=1)
    return OpenAICompat(place.tap.url, api_key=KEY, api=place.api, retry=once)


def _request(scene: Scene) -> Request:
    return Request(
        model=scene.place.model,
        messages=MESSAGES,
        max_tokens=_CAP,
        response_format=_chat_format(scene.place),
    )


def _chat_format(place: Place) -> dict[str, Any]:
    inner = {"name": "Answer", "strict": True, "schema": place.schema}
    return {"type": "json_schema", "json_schema": inner}
