"""
Structured outputs that survive endpoints which refuse, ignore or mangle them.

    client = structguard.wrap(OpenAI(...))       # the same client, guarded
    structguard.info(answer)                     # how a call was served

`wrap` guards an openai client, `guarded` a function, `Guard().protect` a provider and
`Guard().transport` any other client built on httpx2. `parse` and `detect_refusal` work on their own.
On the command line: `structguard --help`.

Names are loaded when they are first used: importing this package imports no SDK, no validator and no
HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structguard.errors import ParseError, ProviderError
    from structguard.flow.report import Info, info, watch
    from structguard.guard import Guard, guarded, unwrap, wrap
    from structguard.layers.fallback import FallbackChain
    from structguard.layers.links import Link
    from structguard.layers.outage import is_outage
    from structguard.options import Policy
    from structguard.providers import Anthropic, Bedrock, Google, OpenAI, OpenAICompat
    from structguard.reading import ABSTAIN, NOTHING, Parsed, PartialParser, Read, parse, readers
    from structguard.refusal import detect_refusal, is_refusal
    from structguard.subcalls import Outcome, Skip, subcall
    from structguard.types import Completion, Refusal, Request

__version__ = "0.1.0"

_HOMES = {
    "ABSTAIN": "reading",
    "Anthropic": "providers",
    "Bedrock": "providers",
    "Completion": "types",
    "FallbackChain": "layers.fallback",
    "Google": "providers",
    "Guard": "guard",
    "Info": "flow.report",
    "Link": "layers.links",
    "NOTHING": "reading",
    "OpenAI": "providers",
    "OpenAICompat": "providers",
    "Outcome": "subcalls",
    "ParseError": "errors",
    "Parsed": "reading",
    "PartialParser": "reading",
    "Policy": "options",
    "ProviderError": "errors",
    "Read": "reading",
    "Refusal": "types",
    "Request": "types",
    "Skip": "subcalls",
    "detect_refusal": "refusal",
    "guarded": "guard",
    "info": "flow.report",
    "is_outage": "layers.outage",
    "is_refusal": "refusal",
    "parse": "reading",
    "readers": "reading",
    "subcall": "subcalls",
    "unwrap": "guard",
    "watch": "flow.report",
    "wrap": "guard",
}

__all__ = [
    "ABSTAIN",
    "NOTHING",
    "Anthropic",
    "Bedrock",
    "Completion",
    "FallbackChain",
    "Google",
    "Guard",
    "Info",
    "Link",
    "OpenAI",
    "OpenAICompat",
    "Outcome",
    "ParseError",
    "Parsed",
    "PartialParser",
    "Policy",
    "ProviderError",
    "Read",
    "Refusal",
    "Request",
    "Skip",
    "detect_refusal",
    "guarded",
    "info",
    "is_outage",
    "is_refusal",
    "parse",
    "readers",
    "subcall",
    "unwrap",
    "watch",
    "wrap",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structguard' has no attribute {name!r}")
    value: object = getattr(import_module(f"structguard.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
