"""A 2xx that nobody can read is a bad response: somebody else should be asked."""

from __future__ import annotations

import httpx2
import openai

import structguard as sg
from structguard.layers.outage import kind_of
from structguard.types import Kind


def test_a_reply_that_the_sdk_cannot_read_counts_as_an_outage() -> None:
    response = httpx2.Response(200, request=httpx2.Request("POST", "http://127.0.0.1/v1"))
    error = openai.APIResponseValidationError(response=response, body=None)
    assert kind_of(error) is Kind.BAD_RESPONSE
    assert sg.is_outage(error)


def test_a_redirect_s_exception_says_nothing() -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    error = httpx2.HTTPStatusError("", request=request, response=httpx2.Response(302))
    assert kind_of(error) is None
