"""llm: its command line with --schema, over models that a file names."""

# mypy: ignore-errors
# Runs in an environment of its own, which the checkers do not see.

from __future__ import annotations

import json

from click.testing import CliRunner
from llm.cli import cli
from ways import ASK, PLACE, TOKEN, TOLD, URL, main

home = PLACE / "llm"
home.mkdir(exist_ok=True)
models = sorted({job["model"] for job in TOLD["jobs"]})
rows = [
    {
        "model_id": f"{kind}/{name}",
        "model_name": name,
        "api_base": URL,
        "api_key_name": "gateway",
        "supports_schema": True,
        "responses": kind == "responses",
    }
    for name in models
    for kind in ("chat", "responses")
]
(home / "extra-openai-models.yaml").write_text(json.dumps(rows))  # JSON is YAML
(home / "keys.json").write_text(json.dumps({"gateway": TOKEN}))


def asked(kind, *more):
    def ask(model):
        arguments = ["-m", f"{kind}/{model}", "--no-log", *more, "--schema", "city str, n int", ASK]
        done = CliRunner().invoke(cli, arguments, env={"LLM_USER_PATH": str(home)})
        assert done.exit_code == 0, done.output
        return done.stdout

    return ask


main(
    {
        "chat": asked("chat", "--no-stream"),
        "chat.stream": asked("chat"),
        "responses": asked("responses", "--no-stream"),
        "responses.stream": asked("responses"),
    }
)
