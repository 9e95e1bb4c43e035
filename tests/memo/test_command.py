"""`structguard memo`: what it prints, what it changes, how it exits."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from structguard.cli import memo as command
from structguard.memo import Entry, Memo, open_memo
from structguard.types import Scope
from tests.memo.support import KEY, entry, refusal

Run = Callable[..., int]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"disk:{tmp_path}/store"


@pytest.fixture
def kept(url: str) -> Memo:
    """What a running process remembers there."""
    return open_memo(url)


@pytest.fixture
def run(url: str) -> Run:
    parser = argparse.ArgumentParser(prog="structguard")
    command.register(parser.add_subparsers(required=True))

    def run(action: str, *words: str, at: str = url) -> int:
        args = parser.parse_args(["memo", action, *words, "--memo", at])
        code = args.run(args)
        assert isinstance(code, int)
        return code

    return run


def test_an_empty_memo_is_listed_as_such(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    assert capsys.readouterr().out.startswith("nothing is remembered in disk:")
    assert run("list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_every_entry_is_listed_with_what_it_does_and_why(
    run: Run, kept: Memo, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.remember(entry())
    kept.remember(entry(1, expiry=None, what=refusal(Scope.COMBINATION, flag="tools")))
    kept.remember(replace(entry(2, what=refusal(Scope.SCHEMA, evidence="")), saved=1))
    kept.remember(entry(3, wall=1.0))
    kept.remember(Entry.ignored(KEY, wall=1.0, evidence="prose"))
    kept.remember(Entry.use_api("host/v1", "m", "host/v1", "responses", "v1/responses", wall=1.0))
    assert run("list") == 0
    out = capsys.readouterr().out
    assert "host/v1  m  is called without json_schema over chat\n" in out
    assert "because  response_format is not supported [a-rule]" in out
    assert "without json_schema over chat, together with tools only" in out
    assert "no expiry; saved 0 refused requests" in out
    assert "for schema 5555555555555555 only" in out
    assert "because  no reason was given [a-rule]" in out
    assert "saved 1 refused request\n" in out
    assert "due to be tried again" in out
    assert "ignores json_schema over chat: the schema is added to the prompt" in out
    assert "is called over the responses API" in out


def test_a_list_may_be_narrowed_and_says_when_nothing_matches(
    run: Run, kept: Memo, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.remember(entry())
    kept.remember(entry(1, expiry=None))
    assert run("list", "--model", "m1", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["model"], found["verdict"], found["due"]) == ("m1", "refused", False)
    assert run("list", "--provider", "nobody") == 1
    told = capsys.readouterr().out
    assert told.startswith("no entry matches; disk:")
    assert told.endswith(" holds 2: structguard memo list shows them\n")


def test_forgetting_says_how_much_was_forgotten(
    run: Run, kept: Memo, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        kept.remember(entry(number))
    assert run("forget", "--model", "m1") == 0
    assert capsys.readouterr().out == "forgot 1 entry\n"
    assert run("forget", "--all", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"forgotten": 2}
    assert run("forget", "--provider", "host/v1") == 1
    assert capsys.readouterr().out == "forgot 0 entries\n"
    assert kept.entries() == []


def test_adding_is_seen_by_whoever_shares_the_memo(
    run: Run, kept: Memo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("add", "https://host/v1", "m", "--expiry", "60", "--evidence", "I know") == 0
    assert run("add", "p", "m", "--flag", "tools", "--format", "json_object") == 0
    assert run("add", "p", "m", "--schema", "ab" * 32, "--base-url", "https://h", "--json") == 0
    out = capsys.readouterr().out
    assert out == 'added\nadded\n{"new": true}\n'
    assert run("add", "https://host/v1", "m") == 0
    assert capsys.readouterr().out == "replaced\n"
    known = kept.look(KEY)
    assert known is not None
    assert (known.evidence, known.expires) == ("added by hand", None)
    assert [one.scope for one in kept.entries()] == ["capability", "combination", "schema"]


def test_the_path_is_where_the_store_is(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("path") == 0
    assert capsys.readouterr().out == f"{tmp_path}/store\n"
    assert run("path", "--json") == 0
    assert json.loads(capsys.readouterr().out)["path"] == f"{tmp_path}/store"
    assert run("path", at="memory:") == 0
    assert capsys.readouterr().out == "memory:\n"


def test_a_memo_that_is_no_directory_is_told_by_its_whole_address(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("path", at="redis://localhost:1/0") == 0
    assert capsys.readouterr().out == "redis://localhost:1/0\n"
    assert run("path", "--json", at="redis://localhost:1/0") == 0
    assert json.loads(capsys.readouterr().out) == {"url": "redis://localhost:1/0", "path": None}


@pytest.mark.parametrize(
    ("words", "at", "said"),
    [
        (["list"], "nowhere", "a memo URL is"),
        (["forget"], "memory:", "forget needs"),
        (["forget", "--all", "--model", "m"], "memory:", "forget needs"),
        (["add", "p", "m", "--expiry", "0"], "memory:", "--expiry must be more than 0"),
        (["add", "p", "m", "--expiry", "nan"], "memory:", "--expiry must be more than 0"),
        (["add", "p", "m", "--flag", "tools", "--schema", "5"], "memory:", "do not go together"),
        (["add", "https://", "m"], "memory:", "the base URL is not valid"),
        (["add", "p", "m", "--expiry", "inf"], "memory:", "expiry must be a number of seconds"),
        (["add", "p", "m", "--expiry", "1e308"], "memory:", "expiry must be a number of seconds"),
        (["add", "p", "m", "--schema", "xyz"], "memory:", "64 hex characters"),
        (["add", "", "m"], "memory:", "pass a provider and a model"),
        (["add", "p", ""], "memory:", "pass a provider and a model"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(
    run: Run, words: list[str], at: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words, at=at) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("structguard memo: ")
    assert said in captured.err


@pytest.mark.parametrize("words", [["nonsense"], ["add", "p"], ["add", "p", "m", "--api", "x"]])
def test_what_the_parser_does_not_know_exits_with_2(run: Run, words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2


def test_a_store_that_cannot_be_used_exits_with_1_and_says_why(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert run("add", "p", "m", at=f"disk:{tmp_path}/file") == 1
    assert "cannot be used" in capsys.readouterr().err
    store = tmp_path / "broken"
    store.mkdir()
    (store / "cache.db").write_bytes(b"rubbish" * 1000)
    assert run("list", at=f"disk:{store}") == 1
    assert f"moved to {store}/corrupt-" in capsys.readouterr().err


def test_the_help_shows_examples_and_exit_codes(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run("--help")
    out = capsys.readouterr().out
    assert "structguard memo forget --all" in out
    assert "nothing matched" in out


@pytest.mark.parametrize("action", ["list", "forget"])
def test_an_endpoint_is_chosen_by_its_url_as_it_was_added(run: Run, action: str) -> None:
    assert run("add", "http://localhost:8000/v1", "m") == 0
    assert run(action, "--provider", "http://localhost:9000/v1") == 1
    assert run(action, "--provider", "http://localhost:8000/v1/") == 0
