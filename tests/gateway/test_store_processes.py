"""Two processes on one directory, and one that is killed while it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio

from structguard.gateway.store import open_store
from tests.gateway.test_store import DAY, MIB, turn

_WRITER = """
import sys, anyio
from structguard.gateway.store import Stored, open_store

async def main(url, name, times):
    store = open_store(url, expiry=86400.0, limit_bytes=2**26)
    for number in range(times):
        stored = Stored(input=[name] * 200, output=[], response={"n": number}, created=1.0)
        await store.put("a", f"{name}-{number}", stored)
        print(number, flush=True)
    await store.aclose()

anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""


def writer(path: Path, name: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", _WRITER, f"disk:{path}", name, str(times)],
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_two_processes_lose_nothing_of_each_other_s(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 60) for name in ("one", "two")]
    for process in writers:
        output, _ = await anyio.to_thread.run_sync(process.communicate)
        assert process.returncode == 0, output
    store = open_store(f"disk:{tmp_path}", expiry=DAY, limit_bytes=64 * MIB)
    for name in ("one", "two"):
        for number in range(60):
            found = await store.get("a", f"{name}-{number}")
            assert found is not None
            assert found.response == {"n": number}
    await store.aclose()


async def test_a_process_killed_while_writing_leaves_what_it_had_confirmed(tmp_path: Path) -> None:
    process = writer(tmp_path, "one", 1_000_000)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 20:
            process.kill()
            break
    confirmed = 20 + len(process.stdout.readlines())
    process.wait()
    process.stdout.close()
    store = open_store(f"disk:{tmp_path}", expiry=DAY, limit_bytes=64 * MIB)
    for number in range(min(confirmed, 200)):
        assert await store.get("a", f"one-{number}") is not None
    await store.put("a", "next", turn())
    assert await store.get("a", "next") == turn()
    await store.aclose()
