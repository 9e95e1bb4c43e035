"""What the plug-in tests share: optional imports, and two real endpoints."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from structguard.testing import RefusingEndpoint


class Answer(BaseModel):
    """The format asked for."""

    answer: str


def optional(name: str) -> Any:  # a foreign module: the type checkers do not see it
    """The module, or a skip that names what is missing. What it warns of on import is its own."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no look-up on import
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (make test-plugins)")


@contextmanager
def endpoints() -> Iterator[tuple[RefusingEndpoint, RefusingEndpoint]]:
    """One that refuses every format with 404, and one that serves it."""
    with RefusingEndpoint("refuse404") as refusing, RefusingEndpoint("enforce") as serving:
        yield refusing, serving


def async_client(endpoint: RefusingEndpoint) -> AsyncOpenAI:
    """An SDK client for an endpoint."""
    return AsyncOpenAI(base_url=endpoint.base_url, api_key="key", max_retries=0)


def client(endpoint: RefusingEndpoint) -> OpenAI:
    """The sync one."""
    return OpenAI(base_url=endpoint.base_url, api_key="key", max_retries=0)
