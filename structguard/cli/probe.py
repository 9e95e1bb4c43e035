"""
`structguard probe`: ask an endpoint what it can do, and what that cost; at most ten small requests.

Exit codes: 0 the model answered, 1 it answered over no API, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING

from structguard.cli.command import add_command
from structguard.cli.console import Console
from structguard.errors import MissingExtra, redact
from structguard.events import Event
from structguard.memo import endpoint_id, open_memo
from structguard.options import RetryOptions
from structguard.providers import OpenAICompat
from structguard.providers.capabilities import ProbeApi, Result, ask_all, entries, serving

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers

_EXAMPLES = """\
examples:
  structguard probe http://localhost:11434/v1 --model llama3.2
  structguard probe https://openrouter.ai/api/v1 --model org/model --api-key-env OPENROUTER_API_KEY
  structguard probe $URL --model m --remember            # record what was refused
  structguard probe $URL --model m --api responses --json

verdicts:
  yes        it works; for a format: the answer was JSON that matches the schema
  ignored    the endpoint accepted it and did not act on it
  refused    an error says that the endpoint does not support it; the guard would leave it out
  error      something else went wrong
  not asked  no API answered, so the question was not asked

exit codes:
  0  the model answered over at least one API
  1  it answered over none of them
  2  wrong usage
"""


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    parser = add_command(
        subparsers,
        "probe",
        description="Find out what an OpenAI-compatible endpoint supports, with at most ten small requests.",
        examples=_EXAMPLES,
    )
    parser.add_argument("url", help="base URL of the endpoint, such as http://localhost:11434/v1")
    parser.add_argument("--model", required=True, help="model to test")
    parser.add_argument(
        "--api-key-env", metavar="NAME", help="environment variable that holds the API key"
    )
    parser.add_argument("--api", choices=("chat", "responses"), help="test this API only")
    parser.add_argument(
        "--remember", action="store_true", help="record the refused formats in the memo"
    )
    parser.add_argument(
        "--memo", metavar="URL", help="memo for --remember (default: disk:, your cache directory)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="time limit of each request (default: 60)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, print, remember; the exit code."""
    import anyio  # noqa: PLC0415  after --help, which needs none of it

    try:
        providers = _providers(args)
        memo = open_memo(args.memo, observer=_quiet) if args.remember else None
    except (ValueError, MissingExtra) as error:
        print(f"structguard probe: {redact(str(error))}", file=sys.stderr)
        return 2
    results = anyio.run(_ask, providers, args.model)
    remembered = 0
    if memo is not None:
        with memo:
            new_entries = entries(results, endpoint_id(args.url), args.model, wall=time.time())
            remembered = sum([memo.remember(entry) for entry in new_entries])
    _print(args, results, remembered)
    return 0 if serving(results) else 1


async def _ask(providers: Mapping[ProbeApi, OpenAICompat], model: str) -> list[Result]:
    numbers = count(1)
    try:
        return await ask_all(
            providers,
            model,
            progress=lambda name: print(f"asking {next(numbers)}: {name} …", file=sys.stderr),
        )
    finally:
        for provider in providers.values():
            await provider.aclose()


def _providers(args: argparse.Namespace) -> Mapping[ProbeApi, OpenAICompat]:
    if not args.model.strip():
        raise ValueError("--model is empty: name the model to test")
    key = None
    if args.api_key_env is not None:
        key = os.environ.get(args.api_key_env, "").strip() or None
        if key is None:
            raise ValueError(
                f"--api-key-env: the environment variable {args.api_key_env} is not set or empty"
            )
    apis: tuple[ProbeApi, ...] = (args.api,) if args.api else ("chat", "responses")
    return {
        api: OpenAICompat(
            args.url,
            api_key=key,
            api=api,
            timeout=args.timeout,
            retry=RetryOptions(attempts=1),
            observer=_quiet,
        )
        for api in apis
    }


def _quiet(event: Event, /) -> None:
    """The table says it."""


def _print(args: argparse.Namespace, results: Sequence[Result], remembered: int) -> None:
    cost = {
        "requests": sum(result.requests for result in results),
        "seconds": round(sum(result.seconds for result in results), 3),
        "input_tokens": sum(result.input_tokens for result in results),
        "output_tokens": sum(result.output_tokens for result in results),
    }
    if args.json:
        facts = {"endpoint": endpoint_id(args.url), "model": args.model, "cost": cost}
        print(
            json.dumps(
                {**facts, "remembered": remembered, "results": [*map(asdict, results)]}, indent=2
            )
        )
        return
    console = Console(sys.stdout)
    console.heading(f"{args.model} at {endpoint_id(args.url)}")
    rows = [
        (
            result.name,
            result.api,
            result.verdict,
            f"{result.seconds:.2f} s" if result.requests else "",
            result.detail,
        )
        for result in results
    ]
    console.table(("question", "api", "verdict", "time", "detail"), rows)
    console.line()
    console.line(
        f"{cost['requests']} request{'' if cost['requests'] == 1 else 's'}, {cost['seconds']:.1f} s, {cost['input_tokens']} tokens in,"
        f" {cost['output_tokens']} out"
    )
    if args.remember:
        console.line(f"{remembered} new {'entry' if remembered == 1 else 'entries'} in the memo")
