"""
Runs console blocks: `$ command`, then what it prints. `…` stands for anything, a line of it for any lines.

A command must end well, unless its line says `# exit code N`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EXIT = re.compile(r"\s+# exit code (\d+)$")


def run_console(source: str, where: str) -> int:
    """Run a block's commands one by one; how many there were."""
    count = 0
    for command, printed in _commands(source):
        said = EXIT.search(command)
        done = subprocess.run(  # noqa: S602  our own documents
            command,
            shell=True,
            executable="/bin/bash",
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        assert done.returncode == int(said.group(1) if said else 0), f"{where}: {done.stdout}"
        assert fits(printed, done.stdout.strip()), f"{where}: {command}\n{done.stdout}"
        count += 1
    return count


def fits(told: str, came: str) -> bool:
    """Whether a text is the one that was told; an ellipsis stands for anything."""
    pattern = ".*".join(re.escape(part) for part in re.split(r"…|\.\.\.", told))
    return re.fullmatch(pattern, came, re.DOTALL) is not None


def _commands(source: str) -> Iterator[tuple[str, str]]:
    """(command, what it prints) of a block; lines that begin with `> ` go on with the command."""
    for piece in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        first, *rest = piece.rstrip("\n").split("\n")
        while rest and rest[0].startswith("> "):
            first += "\n" + rest.pop(0)[2:]
        yield first, "\n".join(rest).strip()
