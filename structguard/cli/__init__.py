"""
The command line: one module a command, imported only when that command is asked for.

Exit codes: 0 done; 1 the command's own "no" (nothing matched, no refusal, no value); 2 wrong usage, a
missing optional package or a file that fails; 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from structguard.cli.command import COMMANDS as COMMANDS

_INTERRUPTED = 130  # 128 + SIGINT, as a shell tells it
_READER_GONE = 141  # 128 + SIGPIPE

_EPILOG = """\
examples:
  structguard demo
  structguard detect --status 400 error.json
  structguard COMMAND --help

exit codes:
  0    success
  1    a negative result: nothing matched, not a refusal, no value found
  2    wrong usage, a missing optional package, or a file that cannot be read or written
  130  interrupted
  141  the program reading the output exited
"""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run a command (`argv` without the program's name; None: what the program was called with).

    Gives the exit code, see the module's docstring; raises nothing that is not a bug.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    _ready_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SystemExit as done:  # argparse: --help, --version, wrong usage
        return done.code if isinstance(done.code, int) else 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return _READER_GONE
    except OSError as error:  # what a command reads it tells itself: mostly this is the output
        _let_go_of_stdout()
        print(f"structguard: {error}", file=sys.stderr)
        return 2
    return code


def _run(arguments: list[str]) -> int:
    from structguard.errors import MissingExtra  # noqa: PLC0415  after --help, which needs none of it

    parser = _parser(arguments)
    args, unknown = parser.parse_known_args(arguments)
    if unknown:  # argparse would show the usage of the whole program
        command = f"structguard {args.command}" if args.command else "structguard"
        said = f"{command}: unrecognized arguments: {' '.join(unknown)}; see {command} --help"
        print(said, file=sys.stderr)
        return 2
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code: int = args.run(args)
    except MissingExtra as error:
        print(f"structguard {args.command}: {error}", file=sys.stderr)
        return 2
    return code


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, in which only the command that is asked for is whole: the others cost no import."""
    parser = argparse.ArgumentParser(
        prog="structguard",
        description="Structured outputs that survive endpoints which refuse, ignore or mangle them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    for name, about in COMMANDS.items():
        module = f"{__name__}.{name}"
        if find_spec(module) is None:
            continue
        if name == chosen:
            import_module(module).register(commands)
        else:
            commands.add_parser(name, help=about)
    return parser


class _Version(argparse.Action):
    """Prints the version; written out so that the version is not looked up before it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=kwargs.get("help"))

    def __call__(self, parser: argparse.ArgumentParser, *_args: object, **_kwargs: object) -> None:
        from structguard import __version__  # noqa: PLC0415

        print(f"structguard {__version__}")
        parser.exit()


def _ready_streams() -> None:
    """Input is UTF-8 whatever the locale; output that lacks a character escapes it; none is closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  until exit
    codecs.register_error("structguard.escape", _escaped)
    source, out = cast("object", sys.stdin), cast("object", sys.stdout)  # tests put others there
    if isinstance(source, io.TextIOWrapper):
        source.reconfigure(encoding="utf-8", errors="strict")
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="structguard.escape")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What cannot be written, as JSON writes it in ASCII: printed JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101  only output is opened with this
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _let_go_of_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at exit does not fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  until exit
