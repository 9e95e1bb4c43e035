"""A shallow copy of a wrapped client is a client of its own: nothing of it asks through the original."""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

import structguard as sg
from structguard.clients.openai_sdk import is_guarded
from structguard.memo import Memo
from tests.clients.endpoint import FORMAT, MESSAGES, REFUSED, VALUE, Upstream, chat


@pytest.fixture
def client(upstream: Upstream, memo: Memo, keep: ExitStack) -> OpenAI:
    plain = OpenAI(base_url=upstream.server.url_for("/old"), api_key="k", max_retries=0)
    return sg.wrap(keep.enter_context(plain), memo=memo)


def ask(client: OpenAI) -> Any:
    create: Any = client.chat.completions.create
    return create(model="m", messages=MESSAGES, response_format=FORMAT)


@pytest.mark.parametrize("used", [False, True])
def test_a_shallow_copy_asks_its_own_base_url_and_is_plain(
    client: OpenAI, upstream: Upstream, *, used: bool
) -> None:
    """Whether the original was used before or not: the SDK keeps its resources on the instance."""
    if used:
        assert client.chat.completions is not None
    copied = copy.copy(client)
    copied.base_url = upstream.base_url
    assert not is_guarded(copied)
    upstream.answers((400, REFUSED))
    with pytest.raises(openai.BadRequestError):
        ask(copied)
    assert len(upstream.bodies) == 1
    assert is_guarded(client)


def test_a_shallow_copy_is_wrapped_and_unwrapped_on_its_own(
    client: OpenAI, upstream: Upstream, memo: Memo
) -> None:
    copied = copy.copy(client)
    copied.base_url = upstream.base_url
    sg.wrap(copied, memo=memo)
    upstream.answers((400, REFUSED), chat(VALUE))
    assert ask(copied).choices[0].message.content == VALUE
    assert [entry.provider for entry in memo.entries()] == [upstream.provider]
    sg.unwrap(copied)
    assert (is_guarded(client), is_guarded(copied)) == (True, False)


def test_an_unwrapped_client_is_copied_as_the_sdk_copies_it(client: OpenAI) -> None:
    sg.unwrap(client)
    assert "__getstate__" not in vars(client)
    assert vars(copy.copy(client)).keys() == vars(client).keys()


async def test_a_shallow_copy_of_an_async_client_is_plain(upstream: Upstream, memo: Memo) -> None:
    async with sg.wrap(
        AsyncOpenAI(base_url=upstream.server.url_for("/old"), api_key="k", max_retries=0), memo=memo
    ) as client:
        assert client.chat.completions is not None
        copied = copy.copy(client)
        copied.base_url = upstream.base_url
        upstream.answers(chat(VALUE))
        create: Any = copied.chat.completions.create
        answer = await create(model="m", messages=MESSAGES, response_format=FORMAT)
        assert answer.choices[0].message.content == VALUE
        assert not is_guarded(copied)
