"""`structguard serve`: checks, exit codes, a real process that is stopped while it streams."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from structguard.cli import main
from structguard.testing import RefusingEndpoint
from tests.gateway.support import VALUE, chat, response
from tests.gateway.upstream import upstream

CONFIG = """\
[providers.up]
base_url = "{url}"
api_key_env = "UP_KEY"
[endpoints.responses]
enabled = true
[guard]
memo = "disk:{place}/memo"
[store]
url = "disk:{place}/store"
"""


@contextmanager
def served(*arguments: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """A gateway process that answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "structguard", "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(  # noqa: S603  our own command
        command, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True
    )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            for _ in range(400):
                try:
                    client.get("/healthz")
                    break
                except httpx2.ConnectError:
                    assert process.poll() is None, process.stderr and process.stderr.read()
                    time.sleep(0.05)  # noqa: TID251  another process' start
            yield process, client
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_check_prints_the_resolved_settings_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.toml"
    text = CONFIG.format(url="https://host/v1?api-key=s3cret-2", place=tmp_path)
    file.write_text(text.replace(f"disk:{tmp_path}/store", "redis://:s3cret-3@host/1"))
    monkeypatch.setenv("UP_KEY", "s3cret")
    assert main(["serve", "--config", str(file), "--check"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["providers"]["up"]["key"] == "set"
    assert json.loads(out)["store"]["url"] == "redis://***@host/1"
    assert "s3cret" not in out


@pytest.mark.parametrize("how", [("--check",), ("--workers", "2")])
@pytest.mark.parametrize("part", ["memo", "store"])
def test_a_part_that_cannot_be_made_is_told_before_anything_is_served(
    part: str, how: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.toml"
    text = CONFIG.format(url="https://host/v1", place=tmp_path).replace(
        'api_key_env = "UP_KEY"', ""
    )
    file.write_text(text.replace(f"disk:{tmp_path}/{part}", "redos://host/1"))
    assert main(["serve", "--config", str(file), *how]) == 2
    told = capsys.readouterr()
    assert (told.out, f"a {part} URL is" in told.err) == ("", True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "none.toml"], "No such file"),
        (["--upstream", "ftp://x"], "must be an http or https URL"),
        (["--upstream", "http://127.0.0.1:1/v1", "--host", "0.0.0.0"], "no token is configured"),  # noqa: S104
        (["--upstream", "http://127.0.0.1:1/v1", "--workers", "0"], "--workers must be at least 1"),
        (
            ["--upstream", "http://127.0.0.1:1/v1", "--check", "--port", "65536"],
            "between 0 and 65535",
        ),
        (["--upstream", "http://127.0.0.1:1/v1", "--check", "--port=-1"], "between 0 and 65535"),
    ],
)
def test_settings_that_cannot_be_used_are_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_port_that_is_taken_is_exit_code_3(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "structguard", "serve", "--upstream", "http://127.0.0.1:1/v1",
             "--port", port],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    assert done.returncode == 3, done.stderr


def test_a_stop_lets_streams_end_and_is_exit_code_0(tmp_path: Path) -> None:
    with (
        RefusingEndpoint("slow", value=VALUE, delay=1.0) as endpoint,
        served("--upstream", endpoint.base_url, XDG_CACHE_HOME=str(tmp_path)) as (process, client),
    ):
        replies: list[httpx2.Response] = []
        body = chat("slow", stream=True)
        asking = threading.Thread(
            target=lambda: replies.append(client.post("/v1/chat/completions", json=body))
        )
        asking.start()
        while not endpoint.requests:
            time.sleep(0.01)  # noqa: TID251  another process' request
        process.send_signal(signal.SIGTERM)
        asking.join(10)
        assert replies[0].text.endswith("data: [DONE]\n\n")
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert "legacy endpoint" in process.stderr.read()


def test_workers_share_memo_store_and_metrics(tmp_path: Path) -> None:
    with upstream() as server:
        file = tmp_path / "c.toml"
        file.write_text(CONFIG.format(url=server.base_url, place=tmp_path))
        with served("--config", str(file), "--workers", "2", UP_KEY="k") as (process, client):
            first = client.post("/v1/responses", json=response("text", input="One?")).json()
            shown = ""
            for at in range(12):
                with httpx2.Client(base_url=client.base_url, timeout=20) as fresh:
                    body = response("text", input="Two?", previous_response_id=first["id"])
                    reply = fresh.post("/v1/responses", json=body)
                    assert reply.status_code == 200, (at, reply.text)
                    shown = fresh.get("/metrics").text
            counted = 'structguard_requests_total{endpoint="/v1/responses",status="200"} 13.0'
            assert counted in shown
            assert client.get("/v1/chat/completions").status_code == 404
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0


def test_a_worker_that_was_killed_has_nothing_in_flight(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    with RefusingEndpoint("slow", value=VALUE, delay=30.0) as endpoint:
        file.write_text(CONFIG.format(url=endpoint.base_url, place=tmp_path))
        with served("--config", str(file), "--workers", "2", UP_KEY="k") as (process, client):

            def lost() -> None:
                with pytest.raises(httpx2.HTTPError):
                    client.post("/v1/responses", json=response("slow"))

            asking = threading.Thread(target=lost)
            asking.start()
            in_flight = 'structguard_in_flight{endpoint="/v1/responses"} '
            while f"{in_flight}1.0" not in httpx2.get(f"{client.base_url}/metrics").text:
                time.sleep(0.01)  # noqa: TID251  another process' request
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in children:
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
            asking.join(10)
            shown = httpx2.get(
                f"{client.base_url}/metrics", timeout=30
            ).text  # the socket is the parent's, so this waits for a new worker
            assert f"{in_flight}1.0" not in shown
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0


def test_without_a_word_about_it_turns_survive_a_restart_beside_the_memo(tmp_path: Path) -> None:
    first = ""
    with upstream() as server:
        for turn in ("One?", "Two?"):
            with served("--upstream", server.base_url, XDG_CACHE_HOME=str(tmp_path)) as (_, client):
                body = response("text", input=turn, previous_response_id=first or None)
                reply = client.post("/v1/responses", json=body)
                assert reply.status_code == 200, reply.text
                first = reply.json()["id"]
        assert len(server.asked[-1]["messages"]) == 3
    kept = tmp_path / "structguard-responses"
    assert (kept / "cache.db").stat().st_mode & 0o077 == 0


def test_what_is_not_to_be_stored_is_on_no_disk(tmp_path: Path) -> None:
    with (
        upstream() as server,
        served("--upstream", server.base_url, XDG_CACHE_HOME=str(tmp_path)) as (_, client),
    ):
        body = response("text", input="a very private word", store=False)
        assert client.post("/v1/responses", json=body).status_code == 200
        assert client.post(
            "/v1/responses", json={**body, "input": "another", "store": None}
        ).is_success
    whole = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    assert b"another" in whole
    assert b"very private" not in whole
