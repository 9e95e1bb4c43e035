"""Every rule has a test that fails when the rule is broken: break it in a copy and watch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests.vacuity.mutation import Mutation

ROOT = Path(__file__).resolve().parents[2]


def mutations() -> Iterator[Mutation]:
    """All mutations of the `rules_*.py` files beside this one."""
    for path in sorted(Path(__file__).parent.glob("rules_*.py")):
        spec = util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.MUTATIONS


@dataclass
class Mutant:
    """A copy of package and tests that a mutation may spoil and must restore, and who runs it."""

    root: Path
    output: Path
    runner: subprocess.Popen[str]

    def run(self, tests: tuple[str, ...]) -> int:
        assert self.runner.stdin is not None
        assert self.runner.stdout is not None
        self.runner.stdin.write(json.dumps(tests) + "\n")
        self.runner.stdin.flush()
        return int(self.runner.stdout.readline())


@pytest.fixture(scope="session")
def mutant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mutant]:
    root = tmp_path_factory.mktemp("mutant")
    ignore = shutil.ignore_patterns("__pycache__", "vacuity")
    for name in ("structguard", "tests", "examples"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, root / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", root)
    output = root / "output.txt"
    runner = subprocess.Popen(  # noqa: S603  our own interpreter on our own file
        [sys.executable, str(Path(__file__).with_name("runner.py")), str(output)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with runner:
        yield Mutant(root, output, runner)
        assert runner.stdin is not None
        runner.stdin.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mutation", list(mutations()), ids=lambda mutation: mutation.name)
def test_breaking_the_rule_turns_its_tests_red(mutation: Mutation, mutant: Mutant) -> None:
    target = mutant.root / mutation.file
    whole = target.read_text()
    assert whole.count(mutation.old) == 1, "the mutated text must occur exactly once"
    _write(target, whole.replace(mutation.old, mutation.new))
    try:
        code = mutant.run(mutation.tests)
    finally:
        _write(target, whole)
    red = (pytest.ExitCode.TESTS_FAILED, -signal.SIGXCPU)  # or a loop that only the limit ends
    assert code in red, mutant.output.read_text()[-2000:]


def _write(target: Path, text: str) -> None:
    """Write a module and forget its bytecode: one second and one size can hold two texts."""
    target.write_text(text)
    Path(cache_from_source(str(target))).unlink(missing_ok=True)
