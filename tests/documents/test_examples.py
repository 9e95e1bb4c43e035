"""Every program in examples/ runs, and prints what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="examples are not beside the tests")

PRINTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "first_rescue.py": (
            "bare:    404 Error code: 404",
            "guarded: City(name='Lisbon', population=545796) enforced=False requests=2",
            "again:   City(name='Lisbon', population=545796) enforced=False requests=1",
        ),
        "memory_pipeline/main.py": ("{'skipped': 1, 'ok': 24}", "0 provider switches, 1 warning"),
        "mem0/main.py": ("unguarded: LLM extraction failed", "guarded: ['The user likes trains.']"),
        "graphiti/main.py": ("unguarded: Error code: 400", "guarded: {'extracted_entities'"),
        "copilot_like.py": ("set COPILOT_OAUTH_TOKEN",),
    }
)
NEEDS: Mapping[str, str] = MappingProxyType(
    {"mem0/main.py": "mem0", "graphiti/main.py": "graphiti_core"}  # make test-frameworks
)
PARTS = frozenset({"memory_pipeline/pretend.py"})  # of another program


def test_every_program_is_here_and_in_the_list() -> None:
    found = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")} - PARTS
    assert found == set(PRINTS)
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in found if f"`python examples/{name}" not in listed] == []


@pytest.mark.parametrize("name", PRINTS)
def test_the_program_runs(name: str, tmp_path: Path) -> None:
    library = NEEDS.get(name)
    if library is not None and find_spec(library) is None:
        pytest.skip(f"{library} is not installed (make test-frameworks)")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("COPILOT")}
    done = subprocess.run(  # noqa: S603  our own examples
        [sys.executable, EXAMPLES / name],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.returncode == (1 if name == "copilot_like.py" else 0), done.stdout
    assert [line for line in PRINTS[name] if line not in done.stdout] == []
    assert name == "copilot_like.py" or "Traceback" not in done.stdout
