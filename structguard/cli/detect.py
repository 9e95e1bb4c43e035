"""
`structguard detect`: is this error answer a refusal of the format, by which rule, and what follows?

Exit codes: 0 a refusal, 1 not a refusal, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from structguard.cli.command import add_command
from structguard.cli.console import error_text
from structguard.errors import redact
from structguard.options import Policy
from structguard.refusal import detect_refusal
from structguard.types import Refusal, Scope

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers

_APIS = ("chat", "chat_completions", "responses", "messages", "converse", "generate_content")

_EXAMPLES = """\
examples:
  structguard detect --status 400 error.json
  curl -s $URL -d @request.json | structguard detect --status 404 -
  structguard detect --status 422 --sent json_object --tools --json error.json
  structguard detect --status 400 --api messages --unnamed error.json
  structguard detect --status 500 --also-status 500 error.json

exit codes:
  0  the format was refused
  1  the format was not refused
  2  wrong usage, or the file cannot be read
"""

_CONSEQUENCES = {
    Scope.CAPABILITY: (
        "send once more without the format; when that succeeds, remember it for this endpoint and "
        "model, so that later calls leave the format out"
    ),
    Scope.SCHEMA: (
        "send once more without the format; when that succeeds, remember it for this one schema "
        "only"
    ),
    Scope.COMBINATION: (
        "send once more without the format; when that succeeds, remember it for calls that carry "
        "{flag} only"
    ),
    Scope.UNNAMED: (
        "send once more without the format; when that succeeds, remember it for five minutes"
    ),
}
_NOTHING = "pass the error on unchanged, after this one request"


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    parser = add_command(
        subparsers,
        "detect",
        description=(
            "Tell whether an error response refuses the response format, which rule says so, and\n"
            "what the guard would do."
        ),
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "--status", type=_status, required=True, help="HTTP status of the error response"
    )
    parser.add_argument(
        "--sent",
        choices=("json_schema", "json_object"),
        default="json_schema",
        help="response format that the request carried (default: json_schema)",
    )
    parser.add_argument(
        "--api", choices=_APIS, default="chat", help="API that the request used (default: chat)"
    )
    for flag in ("tools", "stream", "reasoning"):
        parser.add_argument(f"--{flag}", action="store_true", help=f"the request carried {flag}")
    parser.add_argument(
        "--unnamed", action="store_true", help="also accept 400 and 422 bodies that give no reason"
    )
    parser.add_argument(
        "--also-status",
        type=_status,
        action="append",
        default=[],
        metavar="N",
        help="also accept this status, for servers that refuse with it; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="file with the response body (default: standard input)",
    )
    parser.set_defaults(run=run)


def _status(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 100 <= int(text) <= 599):
        raise argparse.ArgumentTypeError(f"must be an HTTP status from 100 to 599, got {text!r}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Judge the body and print the verdict; the exit code says it too."""
    try:
        also = Policy(also_statuses=frozenset(args.also_status)).also_statuses
        body = sys.stdin.buffer.read() if args.file == "-" else Path(args.file).read_bytes()
    except (OSError, ValueError) as error:
        print(f"structguard detect: {error_text(error)}", file=sys.stderr)
        return 2
    refusal = detect_refusal(
        args.status,
        body,
        sent=args.sent,
        api=args.api,
        tools=args.tools,
        stream=args.stream,
        reasoning=args.reasoning,
        unnamed=args.unnamed,
        also_statuses=also,
    )
    print(_as_json(refusal) if args.json else _as_text(refusal, args.status, args.sent))
    return 1 if refusal is None else 0


def _then(refusal: Refusal | None) -> str:
    return _NOTHING if refusal is None else _CONSEQUENCES[refusal.scope].format(flag=refusal.flag)


def _as_json(refusal: Refusal | None) -> str:
    facts = {} if refusal is None else asdict(refusal)
    return json.dumps(
        {"refusal": refusal is not None, **facts, "then": _then(refusal)}, ensure_ascii=False
    )


def _as_text(refusal: Refusal | None, status: int, sent: str) -> str:
    if refusal is None:
        return f"not a refusal: HTTP {status} does not say that {sent} cannot be served\nthen      {_then(None)}"
    reach = f"{refusal.scope} ({refusal.flag})" if refusal.flag else f"{refusal.scope}"
    rows = {
        "refusal": f"HTTP {status} refuses {sent}",
        "scope": reach,
        "rule": refusal.rule,
        "feature": refusal.feature,
        "evidence": redact(refusal.evidence) or "(none)",
        "then": _then(refusal),
    }
    return "\n".join(f"{name:<9} {value}" for name, value in rows.items())
