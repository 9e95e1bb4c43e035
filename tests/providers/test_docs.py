"""The error catalogue and the providers' page say what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from structguard.errors import KINDS
from structguard.providers import Anthropic, Bedrock, Google, OpenAI, OpenAICompat
from structguard.testing import RefusingEndpoint
from tests.documents.blocks import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documents are not beside the tests")


def test_every_kind_is_in_the_catalogue_with_what_follows() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    rows: dict[str, tuple[str, str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5:
            for name in re.findall(r"`(\w+)`", cells[0]):
                rows[name] = (cells[3], cells[4])
    for kind, rule in KINDS.items():
        again, onwards = rows[kind.value]
        assert onwards == ("yes" if rule.advance else "no"), kind
        assert not again.startswith("no") if rule.retry else again != "yes", kind


@pytest.mark.parametrize("cls", [OpenAI, OpenAICompat, Anthropic, Bedrock, Google])
def test_every_variable_that_is_read_is_on_the_page(cls: type[OpenAI]) -> None:
    page = (DOCS / "providers.md").read_text(encoding="utf-8")
    names = set(re.findall(r'"([A-Z][A-Z_]{6,})"', inspect.getsource(cls.from_env)))
    assert names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["providers.md", "errors.md", "migration.md"])
def test_the_pages_blocks_run_and_say_the_truth(name: str) -> None:
    with RefusingEndpoint("refuse404", value={"name": "Lisbon"}) as endpoint:
        namespace: dict[str, object] = {"endpoint": endpoint.base_url}
        assert run(DOCS / name, namespace) > 5
