"""The image, as far as it can be judged without a daemon: what it copies, installs and runs."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from structguard.cli import main

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()


def rest_of(instruction: str) -> list[str]:
    """What follows an instruction, each time it stands there."""
    return [
        line.removeprefix(f"{instruction} ") for line in LINES if line.startswith(f"{instruction} ")
    ]


def test_what_is_copied_is_there_and_what_is_installed_is_declared() -> None:
    copied = [
        name for line in rest_of("COPY") if "--from" not in line for name in line.split()[:-1]
    ]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"]} <= set(copied)
    [extras] = re.findall(r"'\.\[([\w,]+)\]'", "\n".join(LINES))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_its_command_is_one_that_serve_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry], [command] = rest_of("ENTRYPOINT"), rest_of("CMD")
    arguments: list[str] = [*json.loads(entry)[1:], *json.loads(command)]
    file = tmp_path / "structguard.toml"
    file.write_text(
        '[providers.up]\nbase_url = "https://host/v1"\n[endpoints.responses]\nenabled = true\n'
        '[auth]\ntoken_envs = ["GATEWAY_TOKEN"]\n'
    )
    monkeypatch.setenv("GATEWAY_TOKEN", "a-token")
    arguments[arguments.index("/etc/structguard.toml")] = str(file)
    assert main([*arguments, "--check"]) == 0
    assert json.loads(capsys.readouterr().out)["auth"]["tokens"] == 1


def test_it_does_not_run_as_root_and_its_state_has_a_place() -> None:
    assert rest_of("USER") == ["structguard"]
    [place] = rest_of("VOLUME")
    assert f"XDG_CACHE_HOME={place}" in " ".join(rest_of("ENV"))
