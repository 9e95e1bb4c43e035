"""
Structured outputs that survive endpoints which refuse, ignore or mangle them.

Everything public is here and is loaded when it is first touched: importing this package imports
no SDK, no validator and no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structguard.errors import ParseError, ProviderError
    from structguard.flow.report import Info, info, watch
    from structguard.guard import Guard, guarded, unwrap, wrap
    from structguard.options import Policy
    from structguard.reading import ABSTAIN, NOTHING, Parsed, Read, parse, readers
    from structguard.refusal import detect_refusal, is_refusal
    from structguard.types import Completion, Refusal, Request

__version__ = "0.1.0"

_HOMES = {
    "ABSTAIN": "reading",
    "Completion": "types",
    "Guard": "guard",
    "Info": "flow.report",
    "NOTHING": "reading",
    "ParseError": "errors",
    "Parsed": "reading",
    "Policy": "options",
    "ProviderError": "errors",
    "Read": "reading",
    "Refusal": "types",
    "Request": "types",
    "detect_refusal": "refusal",
    "guarded": "guard",
    "info": "flow.report",
    "is_refusal": "refusal",
    "parse": "reading",
    "readers": "reading",
    "unwrap": "guard",
    "watch": "flow.report",
    "wrap": "guard",
}

__all__ = [  # noqa: RUF022  as the design lists them
    "ABSTAIN",
    "Completion",
    "Guard",
    "Info",
    "NOTHING",
    "ParseError",
    "Parsed",
    "Policy",
    "ProviderError",
    "Read",
    "Refusal",
    "Request",
    "detect_refusal",
    "guarded",
    "info",
    "is_refusal",
    "parse",
    "readers",
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
