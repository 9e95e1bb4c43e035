"""A provider under a credential's own name: the name is all that differs."""

from __future__ import annotations

from structguard import OpenAICompat, Request
from structguard.gateway.upstream import Named
from structguard.testing import Script
from structguard.types import Tool

ASKED = Request(
    model="m",
    messages=[{"role": "user", "content": "x"}],
    response_format={"type": "json_object"},
    tools=[Tool(name="look", parameters={"type": "object"})],
)


def test_a_refusal_is_judged_by_what_the_provider_really_sends() -> None:
    provider = OpenAICompat(base_url="http://127.0.0.1:9/v1", api_key="k")
    named = Named(provider, "p#1")
    assert named.facts_of(ASKED, stream=True) == provider.facts_of(ASKED, stream=True)
    assert named.facts_of(ASKED, stream=True).tools


def test_one_that_does_not_say_is_not_made_to() -> None:
    assert not hasattr(Named(Script(), "p#1"), "facts_of")
