"""README and docs: every Python and console block runs and says the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from openai import OpenAI

from structguard.testing import RefusingEndpoint
from tests.documents.blocks import blocks, reader

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CITY = {"name": "Lisbon", "population": 545796}

RUN_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {"other-sdks.md": "tests/clients/test_transport_docs.py"}  # over the vendors' own wires
)
"""Pages whose blocks another test runs, beside servers of their own."""

SKIPPED: Mapping[str, str] = MappingProxyType(
    {"providers.md": "needs the extras bedrock and vertex"}
)
"""Pages with a block that no test runs, with the reason that the block names."""

ADDRESS: Mapping[str, str] = MappingProxyType(
    {"providers.md": "http://localhost:11434/v1", "migration.md": "", "memo.md": ""}
)
"""The address on a page that stands for the endpoint; on all others it is `EXAMPLE`."""
EXAMPLE = "https://llm.example/v1"
LIBRARIES = pytest.mark.filterwarnings("ignore")  # what a framework warns of is its own


def pages() -> list[str]:
    """Every page with a block that can be run."""
    found = sorted(DOCS.rglob("*.md"))
    return [p.relative_to(DOCS).as_posix() for p in found if list(blocks(p.read_text()))]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, object]]:
    """What the pages take for granted: an endpoint that refuses, a cache and a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("COLUMNS", "100")
    for name, value in (("MEM0_TELEMETRY", "False"), ("MEM0_DIR", str(tmp_path / "mem0"))):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with RefusingEndpoint("refuse404", value=CITY) as endpoint:

        def call_the_endpoint(messages: list[str], model: str, response_format: Any) -> str:
            given = {} if response_format is None else {"response_format": {"type": "json_object"}}
            with OpenAI(base_url=endpoint.base_url, api_key="k", max_retries=0) as client:
                answer = client.chat.completions.create(
                    model=model,
                    messages=[{"role": "user", "content": text} for text in messages],
                    **given,  # type: ignore[call-overload]
                )
            return str(answer.choices[0].message.content)

        yield {
            "endpoint": endpoint.base_url,
            "call_the_endpoint": call_the_endpoint,
        }


def test_the_readme_runs(world: dict[str, object]) -> None:
    with reader(world) as someone:
        assert someone.read(ROOT / "README.md") > 10


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=LIBRARIES) if page.startswith("frameworks/") else page
        for page in pages()
        if page not in RUN_ELSEWHERE
    ],
)
def test_the_page_runs(page: str, world: dict[str, object]) -> None:
    address = ADDRESS.get(page, EXAMPLE)
    with reader(world, {address: str(world["endpoint"])} if address else {}) as someone:
        ran = someone.read(DOCS / page)
    if someone.left_out:
        pytest.skip("; ".join(someone.left_out))
    assert ran > 0


def test_what_runs_elsewhere_runs_there() -> None:
    for page, test in RUN_ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8")


def test_a_block_that_is_skipped_says_why_and_stands_in_the_table() -> None:
    found = {
        page: reason
        for page in pages()
        for reason in re.findall(
            r"^```python\n# skip: (.*)$", (DOCS / page).read_text(), re.MULTILINE
        )
    }
    assert found == dict(SKIPPED)


def test_every_page_is_in_the_menu_and_every_link_leads_somewhere() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md"):
        page = path.relative_to(DOCS).as_posix()
        assert re.search(rf": {re.escape(page)}$", menu, re.MULTILINE), f"{page}: not in mkdocs.yml"
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link} leads nowhere"
