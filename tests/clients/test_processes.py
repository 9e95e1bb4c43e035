"""What one process learned spares the others: real processes, one directory, a real endpoint."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clients.endpoint import VALUE, Upstream, chat

ASK = """
import sys
from openai import OpenAI
import structguard as sg
url, memo = sys.argv[1:3]
schema = {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}}
client = sg.wrap(OpenAI(base_url=url, api_key="k", max_retries=0), memo=f"disk:{memo}")

def ask():
    answer = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "hi"}],
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}},
    )
    print(sg.info(answer).requests, answer.choices[0].message.content, flush=True)

"""


def start(upstream: Upstream, memo: Path, then: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  our own interpreter on our own text
        [sys.executable, "-c", ASK + then, upstream.base_url, str(memo)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(upstream: Upstream, memo: Path) -> str:
    process = start(upstream, memo, "ask()")
    out, _ = process.communicate(timeout=50)
    assert process.returncode == 0
    return out.strip()


@pytest.mark.timeout(120)
def test_a_new_process_pays_nothing_extra(upstream: Upstream, tmp_path: Path) -> None:
    upstream.refuses_format(chat(VALUE))
    assert run(upstream, tmp_path) == f"2 {VALUE}"
    assert run(upstream, tmp_path) == f"1 {VALUE}"
    assert len(upstream.bodies) == 3


@pytest.mark.timeout(120)
def test_a_running_process_learns_it_for_calls_made_a_second_later(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.answers(chat(VALUE))
    waiting = start(upstream, tmp_path, "ask()\nsys.stdin.readline()\nask()")
    assert waiting.stdin is not None
    assert waiting.stdout is not None
    assert waiting.stdout.readline().strip() == f"1 {VALUE}"
    upstream.refuses_format(chat(VALUE))
    assert run(upstream, tmp_path) == f"2 {VALUE}"
    time.sleep(1.1)  # noqa: TID251  the memo looks at most once a second
    asked = len(upstream.bodies)
    waiting.stdin.write("\n")
    waiting.stdin.flush()
    assert waiting.stdout.readline().strip() == f"1 {VALUE}"
    assert len(upstream.bodies) == asked + 1
    waiting.communicate(timeout=20)
