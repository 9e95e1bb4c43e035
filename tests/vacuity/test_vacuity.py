"""Every rule has a test that fails when the rule is broken: break it in a copy and watch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import util
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


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of package and tests that a mutation may spoil and must restore."""
    root = tmp_path_factory.mktemp("mutant")
    ignore = shutil.ignore_patterns("__pycache__", "vacuity")
    shutil.copytree(ROOT / "structguard", root / "structguard", ignore=ignore)
    shutil.copytree(ROOT / "tests", root / "tests", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.mark.timeout(120)
@pytest.mark.parametrize("mutation", list(mutations()), ids=lambda mutation: mutation.name)
def test_breaking_the_rule_turns_its_tests_red(mutation: Mutation, copy: Path) -> None:
    target = copy / mutation.file
    whole = target.read_text()
    assert whole.count(mutation.old) == 1, "the mutated text must occur exactly once"
    target.write_text(whole.replace(mutation.old, mutation.new))
    try:
        run = subprocess.run(  # noqa: S603  our own interpreter on our own files
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutation.tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        target.write_text(whole)
    assert run.returncode == 1, run.stdout[-2000:] + run.stderr[-2000:]
