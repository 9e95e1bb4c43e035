"""
`structguard serve`: run the gateway, over one upstream or as a file says.

Exit codes: 0 stopped or, with --check, in order; 2 the settings cannot be used, or an optional
package is missing; 3 the address cannot be served.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import os
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from structguard.cli.command import add_command
from structguard.errors import MissingExtra, redact

if TYPE_CHECKING:
    from structguard.cli.command import Subparsers
    from structguard.gateway.config import Config

NEEDED = ("starlette", "uvicorn", "httptools", "aiohappyeyeballs", "orjson", "jsonschema_rs",
          "prometheus_client", "websockets")  # fmt: skip
_EXAMPLES = """\
examples:
  structguard serve --upstream http://localhost:11434/v1
  structguard serve --config structguard.toml --check
  structguard serve --config structguard.toml --host 0.0.0.0 --port 8080 --workers 4

exit codes:
  0  stopped, or the settings are valid (--check)
  2  the settings are invalid, or an optional package is missing
  3  the address cannot be listened on
"""


def register(subparsers: Subparsers) -> None:
    """Add the command to a parser's commands."""
    parser = add_command(
        subparsers,
        "serve",
        description="Run the gateway: an OpenAI-compatible HTTP server that guards clients in any language.",
        examples=_EXAMPLES,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--config", metavar="FILE", help="TOML file with the settings")
    source.add_argument(
        "--upstream", metavar="URL", help="base URL of the only upstream; no settings file needed"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1; others need a token in the settings)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        help="port to listen on (default: 8080; 0 picks a free one)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="number of worker processes (default: 1)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="check the settings, print them without secrets, and exit",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, then serve until stopped; the exit code."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"the gateway ({', '.join(missing)} not installed)", "gateway")
    from structguard.gateway.settings import ConfigError  # noqa: PLC0415  after --help
    from structguard.gateway.worker import set_up_logging, settings  # noqa: PLC0415

    try:
        config = settings(args.config, args.upstream)
        config.check_host(args.host)
        if not 0 <= args.port <= 65_535:  # uvicorn would listen on what is left of it modulo 65,536
            raise ConfigError(f"--port must be between 0 and 65535, got {args.port}")  # noqa: TRY301
        if args.workers < 1:
            raise ConfigError(f"--workers must be at least 1, got {args.workers}")  # noqa: TRY301
        if args.check or args.workers > 1:
            _checked(config)
        if args.check:
            print(shown(config))
            return 0
        set_up_logging(config.log)
        return _serve(config, args)
    except (ConfigError, ValueError) as error:
        print(f"structguard serve: {redact(str(error))}", file=sys.stderr)
        return 2


def _checked(config: Config) -> None:
    """
    Make one worker's parts and let them go: what cannot be made is told here, once. A worker that
    fails to start is started again, for ever. Opens nothing.

    Raises:
        MissingExtra, ValueError: a part cannot be made.
    """
    from structguard.gateway.app import create_core  # noqa: PLC0415  after --help

    create_core(config)


def shown(config: Config) -> str:
    """The resolved settings as JSON, secrets left out."""
    fields = dataclasses.asdict(config)
    for provider in fields["providers"].values():
        provider["key"] = "set" if provider["key"] else None
        provider["base_url"] = redact(provider["base_url"])  # its query may hold a key
    fields["auth"]["tokens"] = len(fields["auth"]["tokens"])
    fields["auth"]["token_hashes"] = len(fields["auth"]["token_hashes"])
    for section, name in (("store", "url"), ("guard", "memo")):
        fields[section][name] = redact(fields[section][name])
    return json.dumps(fields, indent=2)


def _serve(config: Config, args: argparse.Namespace) -> int:
    from uvicorn import Server  # noqa: PLC0415  after --help

    if args.workers > 1:
        return _serve_many(config, args)
    from structguard.gateway.app import create_app  # noqa: PLC0415
    from structguard.gateway.server import server_config  # noqa: PLC0415

    server = Server(server_config(config, create_app(config), host=args.host, port=args.port))
    # uvicorn raises the signal that stopped it once more when all is closed: then it is done.
    signal.signal(signal.SIGTERM, _stopped)
    try:
        server.run()
    except SystemExit:
        return 3
    return 0 if server.started else 3


def _stopped(number: int, frame: object) -> None:
    """All is closed already."""


def _serve_many(config: Config, args: argparse.Namespace) -> int:
    """Several processes on one socket; the parent only watches over them."""
    from uvicorn.supervisors import Multiprocess  # noqa: PLC0415

    from structguard.gateway.app import LEGACY  # noqa: PLC0415
    from structguard.gateway.metrics import share_metrics  # noqa: PLC0415
    from structguard.gateway.server import WORKER, server_config  # noqa: PLC0415
    from structguard.gateway.worker import VARIABLE, handed_down  # noqa: PLC0415

    if config.store.url == "memory:" and config.endpoints.responses.enabled:
        print(
            "structguard serve: with several workers a store of memory: is each worker's own;"
            ' previous_response_id needs [store] url = "disk:PATH" or redis://…',
            file=sys.stderr,
        )
    if config.endpoints.chat_completions.enabled:
        logging.getLogger("structguard.gateway").warning(LEGACY)
    with tempfile.TemporaryDirectory(prefix="structguard-metrics-") as directory:
        share_metrics(Path(directory))
        os.environ[VARIABLE] = handed_down(args.config, args.upstream, Path(directory))
        server = server_config(config, WORKER, host=args.host, port=args.port, workers=args.workers)
        try:
            socket = server.bind_socket()
        except SystemExit:
            return 3
        Multiprocess(server, sockets=[socket]).run()
    return 0
