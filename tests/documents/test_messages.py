"""A newcomer's mistakes: each message names what was given, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from openai import OpenAI

import structguard as sg
from structguard.cli import main
from structguard.events import RefusalRemembered
from structguard.observe import log_events
from structguard.types import Refusal, Scope

ask: Any = sg.Request  # the mistakes are what the type checkers would find
compat: Any = sg.OpenAICompat
chain: Any = sg.FallbackChain
detect: Any = sg.detect_refusal
guard: Any = sg.Guard
SAID = [{"role": "user", "content": "hi"}]
MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: compat("http://x/v1", apikey="k"), "no argument 'apikey'; did you mean 'api_key'"),
    (lambda: sg.Anthropic(timout=3), "did you mean 'timeout'"),  # type: ignore[call-arg]
    (lambda: sg.OpenAI(quux=3), "it has api_key, base_url, clock, headers"),  # type: ignore[call-arg]
    (lambda: chain([compat("http://x/v1")]), "takes Links, got OpenAICompat: write Link"),
    (lambda: chain([sg.Link("x")]), "a Link takes a provider, got str"),  # type: ignore[arg-type]
    (lambda: detect(400, {"error": {}}, sent="json_schema"), "raw bytes or text .* got dict"),
    (lambda: sg.parse("7", 7), "a schema or response_format must be a type"),
    (lambda: ask(messages=SAID, tools=[{"type": "web_search"}]), "go in hosted_tools"),
    (lambda: ask(messages=[{"role": "user", "contents": "hi"}]), "'contents'; it may have role,"),
    (
        lambda: ask(messages=[{"role": "user", "content": [{"type": "video"}]}]),
        "a part is a text, an image_url or a file",
    ),
    (lambda: sg.guarded(print), r'needs the provider\'s name, .* write @guarded\("openrouter"\)'),  # type: ignore[arg-type]
    (
        lambda: sg.Guard("redis://"),
        r"redis://HOST\[:PORT\]\[/DB\] or rediss://…; this one has no host",
    ),
    (lambda: sg.Guard("sqlite:x"), "'disk:PATH', 'disk:' .* got 'sqlite:x'"),
    (lambda: sg.wrap(object()), "structguard.guarded, for another SDK's client Guard.transport"),
    (lambda: sg.Guard("~/.cache/app"), "did you mean 'disk:~/.cache/app'"),
    (
        lambda: guard(policy="off"),
        r"must be a Policy, such as Policy\(mode='observe'\), got 'off'",
    ),
    (lambda: sg.wrap(OpenAI), "got the class OpenAI itself: create a client first"),
    (lambda: sg.wrap(None), "got NoneType; for a function"),
    (
        lambda: guard(memo="memory:").transport(OpenAI),
        "a transport with handle_request is needed",
    ),
    (
        lambda: guard(memo="memory:").async_transport(httpx2.HTTPTransport()),
        "a transport with handle_async_request is needed",
    ),
    (lambda: compat("http://x/v1", models={"m": "chat"}), r"models\['m'\] must be ModelOptions"),
    (lambda: ask(messages=7), "messages must be a list of messages, got 7"),
    (lambda: sg.Policy(mode="observ"), "'guard', 'observe', 'off', got 'observ'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("mistake", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_told_with_what_to_do(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        mistake()


def test_a_new_entry_is_told_with_what_happened_and_how_to_undo_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusal = Refusal(Scope.CAPABILITY, "not_supported", "response_format", "not supported")
    event = RefusalRemembered(
        provider="p", model="m", format="json_schema", refusal=refusal, expires_in=86400.0
    )
    with caplog.at_level(logging.WARNING, "structguard"):
        log_events(event)
    told = caplog.records[0].getMessage()
    assert "The same call without it was answered; json_schema is left out of its calls" in told
    assert "To forget: structguard memo forget --provider 'p' --model 'm'" in told


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("disk:/var/memo", "structguard memo forget --memo 'disk:/var/memo' --provider 'p'"),
        ("memory:", "remembered in memory only, until the process ends"),
    ],
)
def test_how_to_forget_names_the_memo_that_holds_the_entry(
    store: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = Refusal(Scope.CAPABILITY, "not_supported", "response_format", "not supported")
    with caplog.at_level(logging.WARNING, "structguard"):
        log_events(
            RefusalRemembered(
                provider="p",
                model="m",
                format="json_schema",
                refusal=refusal,
                expires_in=None,
                store=store,
            )
        )
    told = caplog.records[0].getMessage()
    assert said in told
    assert ("structguard memo forget" in told) is (store != "memory:")


@pytest.mark.parametrize("action", ["list", "forget", "add", "path"])
def test_every_action_of_the_memo_says_what_it_does(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memo", action, "--help"]) == 0
    head = capsys.readouterr().out.split("options:")[0].split("\n\n")
    assert any(part.rstrip().endswith(".") for part in head[1:])


def test_every_argument_of_memo_add_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memo", "add", "--help"])
    told = capsys.readouterr().out
    for about in ("model name", "format that is refused (default", "API that refuses it (default"):
        assert about in told


@pytest.mark.parametrize(
    "command",
    [
        ["parse", "gone.txt"],
        ["parse", "--schema", "gone.txt", "-"],
        ["detect", "--status", "400", "gone.txt"],
    ],
)
def test_a_file_that_is_not_there_is_named_without_a_number(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    told = f"structguard {command[0]}: gone.txt: No such file or directory\n"
    assert capsys.readouterr().err == told


async def test_a_sub_call_of_something_that_is_no_provider_says_what_it_wants() -> None:
    @sg.subcall()
    def rewrite(message: str) -> list[dict[str, object]]:
        return [{"role": "user", "content": message}]

    client: Any = object()
    with pytest.raises(TypeError, match=r"is a provider or a chain, .* got object"):
        await rewrite(client, "hi")


async def test_a_prompt_is_no_request_and_the_error_says_how_to_write_one() -> None:
    provider = sg.OpenAICompat("http://127.0.0.1:1/v1")
    takers: list[Any] = [
        provider,
        sg.Guard("memory:").protect(provider),
        sg.FallbackChain([sg.Link(provider)]),
    ]
    for taker in takers:
        with pytest.raises(TypeError, match=r"Request is needed, got str: write Request\(model="):
            await taker.complete("hi")
        with pytest.raises(TypeError, match=r"Request is needed, got str: write Request\(model="):
            async with taker.stream("hi"):
                raise AssertionError


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["demo", "--foo"],
            "structguard demo: unrecognized arguments: --foo; see structguard demo",
        ),
        (["--foo"], "structguard: unrecognized arguments: --foo; see structguard --help"),
        (["detect", "--status", "abc", "-"], "must be an HTTP status from 100 to 599, got 'abc'"),
        (["detect", "--status", "4000", "-"], "must be an HTTP status from 100 to 599, got '4000'"),
    ],
)
def test_a_wrong_argument_is_told_by_the_command_that_got_it(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    assert said in capsys.readouterr().err
