"""How a command joins the command line: its line in the help, its examples as they were written."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  it has no public name

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "watch a refused call being rescued, remembered and read, on this machine only",
        "detect": "tell whether an error response refuses the response format",
        "parse": "extract the JSON value from a model's answer",
        "memo": "list, forget or add what endpoints are known to refuse",
        "probe": "find out which formats an endpoint supports",
        "serve": "run the gateway: an HTTP server that guards clients in any language",
    }
)
"""Every command with its line in the help; one whose module is not installed is not offered."""


def add_command(
    subparsers: Subparsers, name: str, *, description: str, examples: str
) -> argparse.ArgumentParser:
    """The parser of one of `COMMANDS`; description and examples keep their lines."""
    return subparsers.add_parser(
        name,
        help=COMMANDS[name],
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
