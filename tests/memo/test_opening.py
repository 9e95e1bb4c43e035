"""Memos by URL."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from structguard.errors import MissingExtra
from structguard.events import MemoTrouble
from structguard.memo import Memo, default_directory, open_memo
from tests.doubles import EventRecorder, ManualClock
from tests.memo.support import KEY, NOON, entry


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path / "home"


def test_memory_is_nobody_else_s() -> None:
    memo = open_memo("memory:")
    assert (memo.name, memo.stale()) == ("memory:", False)
    assert open_memo("memory:") is not memo


def test_a_memo_is_handed_back_as_it_is() -> None:
    memo = Memo()
    assert open_memo(memo) is memo


@pytest.mark.parametrize("url", [None, "disk:"])
def test_the_user_s_cache_directory_is_the_default(url: str | None, at_home: Path) -> None:
    memo = open_memo(url)
    assert memo.name == f"disk:{at_home}/.cache/structguard"
    assert not at_home.exists()
    assert memo.remember(entry()) is True
    assert (at_home / ".cache" / "structguard" / "cache.db").exists()


def test_the_cache_directory_may_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert default_directory() == tmp_path / "caches" / "structguard"


@pytest.mark.parametrize(
    ("platform", "directory"),
    [("darwin", "~/Library/Caches"), ("win32", "~/AppData/Local"), ("linux", "~/.cache")],
)
def test_each_platform_has_its_place(
    platform: str, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structguard.memo.opening.sys.platform", platform)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert default_directory() == Path(os.path.expanduser(directory)) / "structguard"  # noqa: PTH111


def test_a_tilde_and_a_relative_path_are_understood(
    at_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_memo("disk:~/mine").name == f"disk:{at_home}/mine"
    assert open_memo("disk:mine").name == f"disk:{tmp_path}/mine"
    assert open_memo("disk:$HOME/mine").name == f"disk:{at_home}/mine"


@pytest.mark.parametrize(
    "url",
    ["", "disk", "memory", "memory:x", "/a/path", "file:/x", "http://h", "Disk:/x", "redis:x"],
)
def test_any_other_url_is_a_mistake_that_says_what_is_accepted(url: str) -> None:
    with pytest.raises(ValueError, match=r"'disk:PATH'.*'memory:'"):
        open_memo(url)


def test_a_password_in_a_wrong_url_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="memo URL") as caught:
        open_memo("http://user:hunter2hunter2@host")
    assert "hunter2" not in str(caught.value)


def test_without_its_package_redis_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r"structguard\[redis\]"):
        open_memo("redis://nowhere.invalid")


def test_one_directory_opened_twice_is_one_memo(tmp_path: Path) -> None:
    first, second = EventRecorder(), EventRecorder()
    memo = open_memo(f"disk:{tmp_path}/a", observer=first)
    assert open_memo(f"disk:{tmp_path}/a/", observer=second) is memo
    assert open_memo(f"disk:{tmp_path}/b") is not memo
    memo.remember(entry())
    (tmp_path / "a" / "cache.db").write_bytes(b"broken" * 2000)
    memo.refresh()
    assert len(first.events) == len(second.events) == 1


def test_other_clocks_make_another_memo(tmp_path: Path) -> None:
    """A fake clock must not be ignored because somebody else has opened the directory before."""
    url, first, second = f"disk:{tmp_path}/a", ManualClock(NOON), ManualClock(NOON)
    memo = open_memo(url)
    hands = open_memo(url, wall=first)
    assert hands is not memo
    assert open_memo(url, wall=first) is hands
    assert open_memo(url, wall=second) is not hands
    bound = open_memo(url, wall=first.__call__)
    assert open_memo(url, wall=first.__call__) is bound
    assert open_memo(url, wall=second.__call__) is not bound


def test_a_memo_that_nobody_holds_is_let_go(tmp_path: Path) -> None:
    open_memo(f"disk:{tmp_path}/a").remember(entry())
    gc.collect()
    again = open_memo(f"disk:{tmp_path}/a")
    assert again.look(KEY) is None
    again.refresh()
    assert again.look(KEY) is not None


def test_without_a_home_there_is_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("structguard.memo.opening.os.path.expanduser", lambda path: path)
    recorder = EventRecorder()
    memo = open_memo("disk:", observer=recorder)
    assert memo.remember(entry()) is True
    assert memo.name == "memory:"
    assert [trouble.benign for trouble in recorder.of(MemoTrouble)] == [True]
    assert list(tmp_path.iterdir()) == []
