"""
`structguard demo`: an endpoint that refuses, and what structguard makes of it, step by step.

The endpoint is real (loopback HTTP, bodies as vendors send them), so are the `openai` client, the memo
on disk and the second process. Exit codes: 0 all went as it should, 1 something did not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from structguard.cli.command import add_command
from structguard.cli.console import Console, shorten
from structguard.cli.scenes import Exchange, Scene, play

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers

_EXAMPLES = """\
examples:
  structguard demo
  structguard demo --json
  structguard demo --no-color

exit codes:
  0  everything went as expected
  1  something did not
"""


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    demo = add_command(
        subparsers,
        "demo",
        description="Start an endpoint on this machine that refuses formats, call it with the openai"
        " client,\nand show step by step what went over the wire, what was remembered and the"
        " parsed value.",
        examples=_EXAMPLES,
    )
    demo.add_argument("--json", action="store_true", help="print the result as JSON")
    demo.add_argument("--no-color", action="store_true", help="print no colour, even on a terminal")
    demo.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play all scenes; the exit code."""
    console = Console(sys.stdout, colour=False if args.no_color else None)
    scenes: list[Scene] = []
    if not args.json:
        _print_opening(console)
    with tempfile.TemporaryDirectory(prefix="structguard-demo-") as memo:
        for scene in play(f"disk:{memo}"):
            scenes.append(scene)
            if not args.json:
                _print_scene(console, len(scenes), scene)
    good = all(scene.as_expected for scene in scenes)
    if args.json:
        print(json.dumps({"ok": good, "scenes": [asdict(scene) for scene in scenes]}, indent=2))
    else:
        _print_summary(console, scenes)
    return 0 if good else 1


def _print_opening(console: Console) -> None:
    console.line("structguard demo", "bold")
    console.wrapped(
        "A local endpoint that answers with real error bodies, the openai client, and a memo on"
        " disk. Nothing leaves this machine.",
        "dim",
    )


def _print_scene(console: Console, number: int, scene: Scene) -> None:
    console.heading(f"{number}. {scene.title}")
    console.wrapped(scene.says)
    console.line(f"  {scene.call}", "blue")
    console.line()
    for exchange in scene.wire:
        _print_exchange(console, exchange)
    for warning in scene.warnings:
        console.wrapped(f"warned once: {warning}", "yellow", indent="  ! ", hang="    ")
    for note in scene.notes:
        console.wrapped(note, "dim", indent="  · ", hang="    ")
    if scene.error:
        console.wrapped(scene.error, "red", indent="  ✗ ", hang="    ")
    if scene.value:
        how = f"   read as {scene.source}, enforced={scene.enforced}"
        console.line(
            f"  ✓ {console.paint(scene.value, 'green', 'bold')}{console.paint(how, 'dim')}"
        )
    if not scene.as_expected:
        console.line("  This is not what should have happened: please report it.", "red", "bold")


def _print_exchange(console: Console, exchange: Exchange) -> None:
    carries = f"response_format: {exchange.sent_format}" if exchange.sent_format else "no format"
    prompt = ", the schema in the prompt" if exchange.schema_in_prompt else ""
    console.line(f"  → POST /v1/chat/completions   {carries}{prompt}")
    good = exchange.status < 400
    text = shorten(exchange.answer, max(20, console.width - 10))
    console.line(f"  ← {console.paint(str(exchange.status), 'green' if good else 'red')} {text}")


def _print_summary(console: Console, scenes: Sequence[Scene]) -> None:
    console.heading("Summary")
    rows = [
        [
            scene.title,
            str(len(scene.wire)),
            "value" if scene.value else "lost",
            scene.source or "-",
            "-" if scene.enforced is None else "yes" if scene.enforced else "no",
        ]
        for scene in scenes
    ]
    console.table(["step", "requests", "outcome", "read as", "enforced"], rows)
    console.line()
    console.line("Your turn:  client = structguard.wrap(client)", "bold")
