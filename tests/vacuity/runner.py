"""
Runs pytest in forks of one warm process: third-party imports are paid once, ours anew each time.

One JSON list of pytest arguments a line on stdin, one exit code a line on stdout; the working
directory holds the copy of package and tests. Output goes to the file named first.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import traceback
from contextlib import suppress
from pathlib import Path

WARM = (
    "aiohttp", "anyio", "diskcache", "httpx2", "hypothesis", "jsonschema", "openai", "openai.resources",
    "openai.types.chat", "openai.lib.streaming.chat", "pydantic", "pytest", "pytest_httpserver",
    "jsonschema_rs", "prometheus_client", "starlette.applications", "trio", "uvicorn", "websockets",
)  # fmt: skip

NO_RUN = 70  # the code of a run that broke down: 1 would pass for a failed test
# Named, not found: a plug-in that happens to be installed may take seconds to start.
PLUGINS = (
    "_hypothesis_pytestplugin", "anyio.pytest_plugin", "pytest_httpserver.pytest_plugin", "pytest_timeout",
    "structguard.testing.pytest_plugin",
)  # fmt: skip
OPTIONS = (
    "-x", "-q", "-p", "no:cacheprovider",
    *(word for plugin in PLUGINS for word in ("-p", plugin)),
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # the warm modules are imported before pytest
)  # fmt: skip


def fork(arguments: list[str], output: Path) -> int:
    """The exit code of pytest in a fork of this process."""
    child = os.fork()
    if child == 0:
        with output.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        code = NO_RUN
        resource.setrlimit(resource.RLIMIT_CPU, (25, 30))  # seconds: a mutation may never end
        try:
            import pytest  # noqa: PLC0415  warm already

            code = int(pytest.main([*OPTIONS, *arguments]))
        except BaseException:  # noqa: BLE001  a child never returns to the loop below
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    os.environ["STRUCTGUARD_HYPOTHESIS"] = "red"
    sys.path.insert(0, str(Path.cwd()))
    for name in WARM:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(fork(json.loads(line), Path(sys.argv[1])), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
