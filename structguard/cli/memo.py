"""
`structguard memo`: look at what is remembered, forget it, add to it, or ask where it is kept.

Exit codes: 0 done, 1 nothing matched or the store cannot be used, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

from structguard.cli.command import add_command
from structguard.errors import MissingExtra
from structguard.events import Event, MemoTrouble
from structguard.memo import Entry, Memo, open_memo, provider_id
from structguard.types import Api, Flag, FormatKind, Scope

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers

_DIGEST = re.compile("[0-9a-f]{64}")

_EXAMPLES = """\
examples:
  structguard memo list
  structguard memo list --provider localhost:8000/v1 --json
  structguard memo forget --provider openrouter.ai/api/v1 --model vendor/model
  structguard memo forget --all
  structguard memo add http://localhost:8000/v1 my-model --format json_schema
  structguard memo add openrouter vendor/model --flag tools --expiry 604800
  structguard memo path

exit codes:
  0  done
  1  nothing matched, or the store cannot be used (the reason is on stderr)
  2  wrong usage
"""


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    memo = add_command(
        subparsers,
        "memo",
        description="List, forget or add what endpoints are known to refuse.",
        examples=_EXAMPLES,
    )
    actions = memo.add_subparsers(dest="action", required=True, metavar="ACTION")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--memo",
        metavar="URL",
        help="where the memo is: disk: (your cache directory, the default), disk:PATH or redis://HOST",
    )
    shared.add_argument("--json", action="store_true", help="print the result as JSON")
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--provider", help="only entries of this provider id or base URL")
    chosen.add_argument("--model", help="only entries of this model")

    def action(name: str, about: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        described = f"{about[0].upper()}{about[1:]}."
        return actions.add_parser(
            name, parents=[shared, *parents], help=about, description=described
        )

    action("list", "show what is remembered, with the reason and the expiry of each entry", chosen)
    forget = action(
        "forget", "forget entries, so that the next call tries the format again", chosen
    )
    forget.add_argument("--all", action="store_true", help="forget everything")
    _register_add(action("add", "add what you know already, so that no call has to find out"))
    action("path", "print where the memo is stored")
    memo.set_defaults(run=run)


def _register_add(add: argparse.ArgumentParser) -> None:
    add.add_argument("provider", help="provider id or base URL of the endpoint")
    add.add_argument("model", help="model name, as your calls spell it")
    add.add_argument(
        "--format",
        choices=get_args(FormatKind),
        default="json_schema",
        help="format that is refused (default: json_schema)",
    )
    add.add_argument(
        "--api", choices=get_args(Api), default="chat", help="API that refuses it (default: chat)"
    )
    add.add_argument(
        "--base-url", default="", help="base URL, if the provider id is a name of your own"
    )
    add.add_argument(
        "--flag", choices=get_args(Flag), help="the format is refused only together with this"
    )
    add.add_argument(
        "--schema",
        default="",
        metavar="DIGEST",
        help="only this schema is refused (SHA-256 of its canonical JSON)",
    )
    add.add_argument("--evidence", default="added by hand", help="reason to show in the list")
    add.add_argument(
        "--expiry", type=float, metavar="SECONDS", help="how long to remember it (default: forever)"
    )


def run(args: argparse.Namespace) -> int:
    """Do what was asked; the exit code."""
    troubles: list[MemoTrouble] = []

    def observe(event: Event) -> None:
        if isinstance(event, MemoTrouble):
            troubles.append(event)

    try:
        memo = open_memo(args.memo, observer=observe)
        with memo:
            code = _ACTIONS[args.action](memo, args)
    except (ValueError, MissingExtra) as error:
        print(f"structguard memo: {error}", file=sys.stderr)
        return 2
    for trouble in troubles:
        moved = f"; moved to {trouble.moved_to}" if trouble.moved_to else ""
        print(f"structguard memo: {trouble.store}: {trouble.reason}{moved}", file=sys.stderr)
    return 1 if troubles else code


def _list(memo: Memo, args: argparse.Namespace) -> int:
    provider = _provider(args)
    filtered = args.provider is not None or args.model is not None
    entries = [
        entry
        for entry in memo.entries()
        if provider in (None, entry.provider) and args.model in (None, entry.model)
    ]
    if args.json:
        print(json.dumps([_facts(memo, entry) for entry in entries], indent=2))
    else:
        print("\n".join(_lines(memo, entries)) or _nothing(memo, filtered=filtered))
    return 1 if filtered and not entries else 0


def _nothing(memo: Memo, *, filtered: bool) -> str:
    """That nothing is listed; whether other entries are there is what a wrong filter wants told."""
    if filtered and (others := len(memo.entries())):
        return f"no entry matches; {memo.name} holds {others}: structguard memo list shows them"
    return f"nothing is remembered in {memo.name}"


def _provider(args: argparse.Namespace) -> str | None:
    """The provider id that was asked for; an endpoint's base URL names its own."""
    given: str | None = args.provider
    return None if given is None else provider_id(given)


def _facts(memo: Memo, entry: Entry) -> Mapping[str, object]:
    return {**asdict(entry), "due": memo.due(entry)}


def _lines(memo: Memo, entries: list[Entry]) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        lines.append(f"{entry.provider}  {entry.model}  {_consequence(entry)}")
        lines.append(f"    because  {entry.evidence or 'no reason was given'} [{entry.rule}]")
        until = "no expiry" if entry.expires is None else f"until {_when(entry.expires)}"
        due = ", due to be tried again" if memo.due(entry) else ""
        lines.append(
            f"    since    {_when(entry.first_seen)}, {until}{due};"
            f" saved {entry.saved} refused request{'' if entry.saved == 1 else 's'}"
        )
    return lines


def _consequence(entry: Entry) -> str:
    """What the entry makes the guard do, in a few words."""
    match entry.verdict:
        case "use_api":
            return f"is called over the {entry.api} API"
        case "ignored":
            return f"ignores {entry.format} over {entry.api}: the schema is added to the prompt"
        case "refused":
            return f"is called without {entry.format} over {entry.api}{_narrowed(entry)}"


def _narrowed(entry: Entry) -> str:
    if entry.flag:
        return f", together with {entry.flag} only"
    return f", for schema {entry.schema[:16]} only" if entry.schema else ""


def _when(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall))


def _forget(memo: Memo, args: argparse.Namespace) -> int:
    chosen = args.provider is not None or args.model is not None
    if chosen is bool(args.all):
        raise ValueError("forget needs --provider, --model or both, or else --all")
    count = memo.forget(_provider(args), args.model)
    done = f"forgot {count} {'entry' if count == 1 else 'entries'}"
    print(json.dumps({"forgotten": count}) if args.json else done)
    return 0 if count else 1


def _add(memo: Memo, args: argparse.Namespace) -> int:
    if args.expiry is not None and not args.expiry > 0:
        raise ValueError(f"--expiry must be more than 0 seconds, got {args.expiry!r}")
    if args.flag and args.schema:
        raise ValueError("--flag and --schema do not go together")
    if args.schema and _DIGEST.fullmatch(args.schema) is None:
        raise ValueError(f"--schema takes a digest of 64 hex characters, got {args.schema!r}")
    scope = Scope.COMBINATION if args.flag else Scope.SCHEMA if args.schema else Scope.CAPABILITY
    new = memo.add(
        args.provider,
        args.model,
        format=args.format,
        api=args.api,
        base_url=args.base_url,
        scope=scope,
        flag=args.flag,
        schema=args.schema,
        evidence=args.evidence,
        expiry=args.expiry,
    )
    print(json.dumps({"new": new}) if args.json else "added" if new else "replaced")
    return 0


def _path(memo: Memo, args: argparse.Namespace) -> int:
    path = memo.name.removeprefix("disk:") if memo.name.startswith("disk:") else ""
    print(json.dumps({"url": memo.name, "path": path or None}) if args.json else path or memo.name)
    return 0


_ACTIONS: Mapping[str, Callable[[Memo, argparse.Namespace], int]] = {
    "list": _list,
    "forget": _forget,
    "add": _add,
    "path": _path,
}
