"""The chat endpoint can be taken out: without its modules the responses side passes its tests."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["schema_chat", "schema_responses"])
def test_a_schema_module_imports_nothing_of_the_gateway(name: str) -> None:
    tree = ast.parse((ROOT / "structguard" / "gateway" / f"{name}.py").read_text())
    imported = [
        node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not [one for one in imported if one.startswith("structguard")]


def test_the_responses_side_passes_without_the_chat_modules(tmp_path: Path) -> None:
    for name in ("structguard", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("schema_chat", "chat", "chunks"):
        (tmp_path / "structguard" / "gateway" / f"{name}.py").unlink()
    support = tmp_path / "tests" / "gateway" / "support.py"
    text = support.read_text()
    support.write_text(
        text.replace(', "chat_completions": {"enabled": True}', "").replace(
            "config = embedded(base_url)",
            "config = replace(embedded(base_url), endpoints=_responses_only())",
        )
        + "\n\ndef _responses_only():\n"
        "    from structguard.gateway.config import EndpointConfig, EndpointsConfig\n"
        "    return EndpointsConfig(responses=EndpointConfig(enabled=True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
         "tests/gateway/test_responses.py", "tests/gateway/test_state.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=55, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    gone = "from structguard.gateway.app import create_app; import structguard.gateway as g"
    gone += "; from structguard.gateway.config import embedded; print(g.__file__)"
    gone += "\ncreate_app(embedded('http://127.0.0.1:9/v1'))"
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-c", gone], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert str(tmp_path) in told.stdout
    assert "chat_completions endpoint was removed" in told.stderr
