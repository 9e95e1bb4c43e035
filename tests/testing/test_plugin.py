"""The pytest plugin: light when loaded, its fixtures when asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import structguard
from structguard.memo import Memo
from structguard.testing import RefusingEndpoint
from structguard.testing.pytest_plugin import memory_memo, refusing_endpoint

__all__ = [
    "memory_memo",
    "refusing_endpoint",
]  # the fixtures, whether the package is installed or not

TESTS = """
import urllib.request, json

def test_memo(memory_memo):
    assert memory_memo.entries() == []
    memory_memo.add("p", "m")
    assert len(memory_memo.entries()) == 1

def test_memo_is_new_for_each_test(memory_memo):
    assert memory_memo.entries() == []

def test_endpoint(refusing_endpoint):
    with urllib.request.urlopen(refusing_endpoint.base_url + "/models") as answer:
        assert json.load(answer)["object"] == "list"
    assert len(refusing_endpoint.requests) == 1
"""


def run(*arguments: str, cwd: Path) -> str:
    home = str(Path(structguard.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": home, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_both_fixtures_work_in_somebody_elses_project(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    told = run(
        "-m", "pytest", "-q", "-p", "structguard.testing.pytest_plugin", "-W", "error", cwd=tmp_path
    )
    assert "3 passed" in told, told


def test_loading_the_plugin_loads_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys, structguard.testing.pytest_plugin as p\n"
        "print(sorted(m for m in sys.modules if m.startswith('structguard')),"
        " [m for m in ('openai', 'pydantic', 'diskcache', 'jsonschema', 'http.server') if m in sys.modules])"
    )
    told = run("-c", script, cwd=tmp_path)
    assert (
        told.strip()
        == "['structguard', 'structguard.testing', 'structguard.testing.pytest_plugin'] []"
    )


def test_the_memo_is_empty_and_takes_entries(memory_memo: Memo) -> None:
    assert memory_memo.entries() == []
    memory_memo.add("p", "m")
    assert len(memory_memo.entries()) == 1


def test_the_endpoint_runs(refusing_endpoint: RefusingEndpoint) -> None:
    assert refusing_endpoint.base_url.startswith("http://127.0.0.1:")
