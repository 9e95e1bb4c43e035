"""Whatever a user can set, see or catch is named in the docs: the names are collected from the code."""

from __future__ import annotations

import argparse
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

import pytest
from prometheus_client import CollectorRegistry

import structguard as sg
import structguard.events as ev
from structguard import memory, testing
from structguard.cli import COMMANDS
from structguard.errors import KINDS, ParseReason, StructguardError
from structguard.gateway.config import SECTIONS
from structguard.gateway.config_provider import ProviderConfig
from structguard.gateway.settings import reference
from structguard.http import Limits
from structguard.observe.prometheus import PrometheusSink
from structguard.options import BreakerOptions, Policy, RetryOptions
from structguard.providers import AwsKeys, Credential, ModelOptions
from structguard.providers.settings import Common
from structguard.testing import BEHAVIOURS, SAYS
from structguard.wire.base import WireOptions

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def section(page: str, heading: str = "") -> str:
    """A page's prose, or that under one heading, up to the next one of its rank or above."""
    text = FENCED.sub("", (DOCS / page).read_text(encoding="utf-8"))
    if not heading:
        return text
    rank = len(heading.partition(" ")[0])
    found = re.search(
        rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{rank}}} |\Z)", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"{page} has no {heading!r}"
    return found.group(1)


def missing(names: Iterable[str], text: str) -> list[str]:
    """The names that stand nowhere in a text as code."""
    told = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", text))))
    return [name for name in names if name not in told]


def parameters(*callables: Any) -> list[str]:  # any signature
    """The named arguments of functions and classes."""
    return [
        name
        for made in callables
        for name, one in inspect.signature(made).parameters.items()
        if one.kind is not one.VAR_KEYWORD
    ]


PROVIDERS = (sg.OpenAI, sg.OpenAICompat, sg.Anthropic, sg.Bedrock, sg.Google)


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("## Policy", parameters(Policy)),
        ("## Guard", parameters(sg.Guard, sg.guarded)),
        ("## Request", parameters(sg.Request)),
        ("## Providers", parameters(*PROVIDERS, ModelOptions, AwsKeys, Credential)),
        ("## Providers", list(get_type_hints(Common))),
        ("### RetryOptions", parameters(RetryOptions)),
        ("### WireOptions", parameters(WireOptions)),
        ("### Limits", parameters(Limits)),
        ("## Chains", parameters(sg.FallbackChain, sg.Link)),
        ("### BreakerOptions", parameters(BreakerOptions)),
        ("## Sub-calls", parameters(sg.subcall)),
        (
            "### Limits of the four ready ones",
            parameters(
                memory.rewriter,
                memory.distiller,
                memory.RewriteLimits,
                memory.LinkLimits,
                memory.VoteLimits,
                memory.DistillLimits,
            ),
        ),
        ("## parse", parameters(sg.parse, sg.PartialParser)),
        ("## detect_refusal", parameters(sg.detect_refusal)),
    ],
)
def test_every_option_is_in_the_reference(heading: str, names: list[str]) -> None:
    assert missing(names, section("reference/options.md", heading)) == []


@pytest.mark.parametrize(
    ("heading", "made"),
    [
        ("## Policy", Policy),
        ("### RetryOptions", RetryOptions),
        ("### WireOptions", WireOptions),
        ("### Limits", Limits),
        ("### BreakerOptions", BreakerOptions),
    ],
)
def test_an_option_s_default_is_the_one_in_the_reference(heading: str, made: Any) -> None:
    text, default = section("reference/options.md", heading), made()
    for one in fields(made):
        value = getattr(default, one.name)
        told = "none" if value == frozenset() else f"`{value!r}`".replace("'", '"')
        assert f"| `{one.name}` | {told} |" in text, one.name


def test_every_public_name_is_in_the_reference() -> None:
    page = section("reference/api.md")
    assert [
        n for n in sg.__all__ if not re.search(rf"^::: structguard\.{n}$", page, re.MULTILINE)
    ] == []


INSIDE: Mapping[str, str] = MappingProxyType({"wires.md": "explains modules that are not public"})
"""Pages that show what lies inside, with the reason."""


def test_whatever_a_page_or_an_example_imports_is_public() -> None:
    offered = {"structguard": set(sg.__all__), "structguard.testing": set(testing.__all__)}
    promised = section("not-public.md", "## What is public")
    for row in re.findall(r"^\| `structguard\..*$", promised, re.MULTILINE):
        module = ""
        for name in re.findall(r"`([\w.]+)`", row):
            module = name if name.startswith("structguard.") else module
            offered.setdefault(module, set()).add(name)
    offered["structguard"] |= {"memory"}
    offered["structguard.types"] |= set(sg.__all__)
    offered["structguard.providers"] |= {kind.__name__ for kind in PROVIDERS}
    offered["structguard.events"] |= {kind.__name__ for kind in get_args(ev.Event)}
    places = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    used = {
        (path.name, module, name.strip())
        for path in places
        if path.name not in INSIDE
        for module, names in re.findall(
            r"^\s*from (structguard[\w.]*) import ([\w, ]+)$", path.read_text(), re.MULTILINE
        )
        for name in names.split(",")
    }
    assert len(used) > 20
    assert [one for one in sorted(used) if one[2] not in offered.get(one[1], set())] == []


def test_whatever_is_promised_is_there() -> None:
    promised = section("not-public.md", "## What is public")
    for row in re.findall(r"^\| `structguard\..*$", promised, re.MULTILINE):
        module = ""
        for name in re.findall(r"`([\w.]+)`", row):
            if name.startswith("structguard."):
                module = name
            elif name != "structguard":
                assert hasattr(import_module(module), name), f"{module}.{name}"


def test_every_event_and_each_of_its_fields_is_on_its_page() -> None:
    rows = {
        match.group(1): match.group(0)
        for match in re.finditer(r"^\| `(\w+)` \|.*$", section("reference/events.md"), re.MULTILINE)
    }
    kinds = {kind.__name__: kind for kind in get_args(ev.Event)}
    assert set(rows) == set(kinds)
    shared = ["provider", "model", "format", "refusal"]  # said above the table of refusals
    assert missing(shared, section("reference/events.md", "## Refusals")) == []
    for name, kind in kinds.items():
        own = [one.name for one in fields(kind)]
        if {"provider", "format"} <= set(own):
            own = [field for field in own if field not in shared]
        assert missing(own, rows[name]) == [], name


def test_every_reason_why_a_refusal_was_not_rescued_is_named() -> None:
    assert missing(get_args(ev.Unhandled), section("reference/events.md")) == []


def test_every_error_is_in_the_catalogue() -> None:
    for module in ("subcalls", "clients.growing", "gateway.settings"):  # who have one of their own
        import_module(f"structguard.{module}")
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"| `{kind.value}` |" not in page] == []
    assert [reason for reason in get_args(ParseReason) if f"| `{reason}` |" not in page] == []
    public = [kind.__name__ for kind in family(StructguardError) if kind.__module__ not in INNER]
    assert [name for name in public if name not in page] == []


INNER = frozenset(  # never reach a caller: the gateway answers with them
    {"structguard.gateway.auth", "structguard.gateway.stored"}
)


def family(kind: type[Exception]) -> Iterator[type[Exception]]:
    """A class and all below it."""
    yield kind
    for child in kind.__subclasses__():
        yield from family(child)


def test_every_metric_is_on_the_gateways_page() -> None:
    registry = CollectorRegistry()
    PrometheusSink(registry)
    names = {
        f"{one.name}_total" if one.type == "counter" else one.name for one in registry.collect()
    }
    assert missing(names, section("gateway-operations.md")) == []


def test_every_key_of_the_gateways_settings_is_in_its_reference() -> None:
    page = section("gateway.md", "### Reference")
    for line in reference({"providers.NAME": ProviderConfig, **SECTIONS}):
        assert f"| `{line.table}` | `{line.key}` |" in page, line.key


def test_every_header_of_the_gateway_is_named() -> None:
    code = "".join(p.read_text() for p in (ROOT / "structguard" / "gateway").glob("*.py"))
    named = (DOCS / "gateway.md").read_text(encoding="utf-8")
    assert [h for h in set(re.findall(r"x-structguard-[a-z]+", code)) if h not in named] == []


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command's parser, and those of its actions."""
    for name in COMMANDS:
        subparsers = argparse.ArgumentParser().add_subparsers()
        import_module(f"structguard.cli.{name}").register(subparsers)
        waiting = [subparsers.choices[name]]
        while waiting:
            parser = waiting.pop()
            yield name, parser
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    waiting.extend(action.choices.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_of_a_command_is_on_the_page(name: str) -> None:
    text = section("reference/command-line.md", f"## {name}")
    for command, parser in commands():
        for action in parser._actions if command == name else ():
            for flag in action.option_strings:
                assert flag in ("-h", "--help") or missing([flag], text) == [], flag


def test_every_flag_on_the_page_exists() -> None:
    known: dict[str, set[str]] = {}
    for name, parser in commands():
        flags = (flag for action in parser._actions for flag in action.option_strings)
        known.setdefault(name, set()).update(flags)
    for name in COMMANDS:
        told = set(re.findall(r"`(--[\w-]+)", section("reference/command-line.md", f"## {name}")))
        assert told <= known[name], name


def test_every_behaviour_of_the_refusing_endpoint_is_named() -> None:
    assert missing([*BEHAVIOURS, *SAYS], section("how-to/testing.md")) == []


def test_every_dependency_is_on_its_page_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = {re.match(r"[\w-]+", one).group() for one in asked}  # type: ignore[union-attr]
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []
    assert missing(project["optional-dependencies"], page) == []
