"""A memo on a real Redis server: shared by processes, first writers, leases, and outages."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from structguard.events import MemoTrouble
from structguard.memo import Memo, open_memo
from structguard.types import Scope
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import DAY, KEY, NOON, ask, entry, refusal, running, told

redis = pytest.importorskip("redis", reason="the extra redis is not installed")
from structguard.memo.redis import RedisStore  # noqa: E402

PASSWORD = "hunter2" * 2
SERVER = shutil.which("redis-server") or shutil.which("valkey-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="no redis-server or valkey-server here")


@dataclass
class Server:
    """A server on a free loopback port that can be stopped and started."""

    place: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", self.port, "--bind", "127.0.0.1", "--save", "", "--dir", self.place]
        command = [SERVER, *options, "--requirepass", PASSWORD]
        self.process = subprocess.Popen(  # noqa: S603  the program that was found
            list(map(str, command)), stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30.0
        while self.process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)  # noqa: TID251  a real server takes real time
        self.stop()
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(tmp_path_factory.mktemp("redis"), port)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(shared_server: Server) -> Server:
    if shared_server.process is None:
        shared_server.start()
    with closing(redis.Redis(port=shared_server.port, password=PASSWORD)) as client:
        client.flushall()
    return shared_server


@pytest.fixture
def memo(
    server: Server, wall: ManualClock, clock: ManualClock, recorder: EventRecorder
) -> Iterator[Memo]:
    with Memo(RedisStore(server.url), wall=wall, clock=clock, observer=recorder) as memo:
        yield memo


@pytest.fixture
def other(server: Server, wall: ManualClock, clock: ManualClock) -> Iterator[Memo]:
    with Memo(RedisStore(server.url), wall=wall, clock=clock) as memo:
        yield memo


def test_opening_asks_nobody_and_the_name_holds_no_password(server: Server) -> None:
    memo = open_memo(server.url)
    assert memo.name == f"redis://127.0.0.1:{server.port}/0"
    assert memo.stale()
    assert open_memo(server.url) is memo


def test_the_first_writer_alone_is_told_so(memo: Memo, other: Memo) -> None:
    assert memo.remember(entry()) is True
    assert other.remember(entry()) is False
    assert other.look(KEY) == entry()
    assert other.entries() == [entry()]


def test_others_writes_are_seen_after_a_second(memo: Memo, other: Memo, clock: ManualClock) -> None:
    other.refresh()
    memo.remember(entry())
    clock.now += 0.9
    assert not other.stale()
    clock.now += 0.2
    assert other.stale()
    other.refresh()
    assert other.look(KEY) == entry()
    memo.clear(entry())
    clock.now += 1.1
    other.refresh()
    assert other.look(KEY) is None


def test_nothing_is_read_again_while_nobody_writes(server: Server, memo: Memo) -> None:
    memo.remember(entry())
    store = RedisStore(server.url)
    assert store.read() == {entry().id: entry().to_json()}
    assert store.read() is None
    store.close()


def test_a_renewal_is_no_first_writing(memo: Memo, other: Memo, wall: ManualClock) -> None:
    memo.remember(entry())
    wall.now += DAY
    assert other.remember(entry(wall=wall.now)) is False
    (known,) = other.entries()
    assert (known.first_seen, known.confirmed) == (NOON, NOON + DAY)


def test_one_holder_has_the_lease_whatever_the_wall_clock_says(
    memo: Memo, other: Memo, wall: ManualClock
) -> None:
    memo.remember(entry())
    assert memo.lease(entry(), 0.3)
    assert not other.lease(entry(), 0.3)
    wall.now -= 10_000.0
    time.sleep(0.35)  # noqa: TID251  the server's clock
    assert Memo(other._shared._store).lease(entry(), 60.0)
    memo.clear(entry())
    assert Memo(other._shared._store).lease(entry(), 60.0), "cleared with its entry"


def test_a_renewed_entry_s_lease_ends(memo: Memo, wall: ManualClock) -> None:
    memo.remember(entry(expiry=1.0))
    wall.now += 1.0
    assert memo.lease(entry(), 120.0)
    memo.remember(entry(wall=wall.now, expiry=1.0))
    wall.now += 1.0
    assert memo.lease(entry(), 120.0)


def test_the_oldest_entries_make_room(server: Server, wall: ManualClock) -> None:
    memo = Memo(RedisStore(server.url, limit=3), wall=wall)
    for number in range(5):
        memo.remember(entry(number, wall=NOON + number))
    memo.refresh()
    assert [one.model for one in memo.entries()] == ["m2", "m3", "m4"]
    assert memo.forget() == 3
    memo.close()


def test_counts_and_schemas_are_kept_as_on_disk(memo: Memo, other: Memo) -> None:
    memo.remember(entry())
    memo.note_saved(entry())
    for number in range(33):
        key = replace(KEY, schema=f"{number:064x}")
        memo.remember(entry(key=key, wall=NOON + number, what=refusal(Scope.SCHEMA)))
    memo.close()
    found = other.entries()
    assert len(found) == 33
    assert max(one.saved for one in found) == 1


def test_processes_that_contend_lose_nothing_and_one_is_first(
    server: Server, wall: ManualClock
) -> None:
    with running("contender", server.url, 40) as one, running("contender", server.url, 40) as two:
        assert told(one) == told(two) == "ready"
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [json.loads(told(process)) for process in (one, two)]
    assert [words["troubles"] for words in said] == [[], []]
    for what in ("first", "leases"):
        assert sorted(number for words in said for number in words[what]) == list(range(40))


def test_a_new_process_knows_what_another_learned(memo: Memo, server: Server) -> None:
    memo.remember(entry())
    with running("partner", server.url) as partner:
        told(partner)
        assert ask(partner, "look", 0) == "True"
        assert ask(partner, "quit") == "[]"


def test_an_outage_is_told_once_and_what_was_learned_meanwhile_is_written_later(
    server: Server, memo: Memo, recorder: EventRecorder, clock: ManualClock, wall: ManualClock
) -> None:
    memo.remember(entry())
    server.stop()
    assert memo.remember(entry(1)) is True
    assert memo.remember(entry(1)) is False
    assert memo.remember(entry(2)) is True
    assert memo.look(KEY) == entry()
    assert memo.lease(entry(), 10.0)
    assert not memo.lease(entry(), 10.0)
    clock.now += 29.0
    assert not memo.stale(), "calls do not queue up behind a server that is away"
    server.start()
    clock.now += 2.0
    assert memo.stale()
    memo.refresh()
    assert len(recorder.of(MemoTrouble)) == 1
    assert "hunter2" not in repr(recorder.of(MemoTrouble))
    fresh = Memo(RedisStore(server.url), wall=wall)
    assert [one.model for one in fresh.entries()] == ["m1", "m2"], "Redis kept nothing itself"
    fresh.close()
    server.stop()
    clock.now += 2.0
    memo.refresh()
    assert len(recorder.of(MemoTrouble)) == 2, "a second outage is news"


def test_a_server_that_was_never_there_holds_nobody_up(
    recorder: EventRecorder, wall: ManualClock
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}"
        memo = Memo(RedisStore(url), wall=wall, observer=recorder)
        memo.refresh()
        assert memo.remember(entry()) is True
        assert memo.look(KEY) == entry()
        memo.close()
    assert len(recorder.of(MemoTrouble)) == 1


def test_a_restarted_server_s_generations_are_others(
    server: Server, memo: Memo, other: Memo
) -> None:
    """Counting from one again, an old view would take a new server's state for its own."""
    memo.remember(entry(1))
    other.refresh()
    assert [one.model for one in other.entries()] == ["m1"]
    with closing(redis.Redis(port=server.port, password=PASSWORD)) as client:
        client.flushall()
    fresh = Memo(RedisStore(server.url), wall=ManualClock(NOON))
    fresh.remember(entry(2))
    fresh.close()
    other.refresh()
    assert [one.model for one in other.entries()] == ["m2"]


async def test_the_async_twins_ask_the_server_off_the_loop(memo: Memo) -> None:
    async with memo:
        await memo.arefresh()
        assert await memo.aremember(entry()) is True
        assert await memo.alease(entry(), 5.0) is True
        assert await memo.aforget() == 1
