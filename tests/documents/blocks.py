"""
Runs the blocks of a Markdown page, top to bottom, in one namespace, as a reader would.

Python blocks may await at the top level. Three comments are held to: `expression   # repr` compares the
value where it looks like one, `# Error: text` on the line after a statement expects that exception, and
`# skip: reason` as the first line of a block leaves it out. Console blocks are `console`'s. An ellipsis
stands for anything.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, MappingProxyType

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.documents.console import fits, run_console

VALUE = re.compile(r"['\"\d\[{(<]|(?:True|False|None)\b|[A-Z]\w*\(")
FENCE = re.compile(r"^```(python|console)\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
RAISES = re.compile(
    r"#\s+([\w.]*(?:Error|Exception|Exceeded|Limited|Failed|Unavailable))\b(?::\s*(.*))?"
)
FOREIGN: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("instructor", "langchain_openai", "pydantic_ai", "agents", "litellm", "mem0"),
        "make test-frameworks",
    )
    | {"graphiti_core": "make test-frameworks"}
)
"""Libraries that a block may need and the checks' own environment has not, with who has them."""


def blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """(language, line, source) of each block that is run."""
    for match in FENCE.finditer(text):
        yield match.group(1), text.count("\n", 0, match.start()) + 2, match.group(2)


@dataclass
class Reader:
    """Somebody who types a page's blocks into one session; `replace` is what is elsewhere here."""

    namespace: dict[str, object]
    replace: Mapping[str, str] = field(default_factory=dict[str, str])
    portal: BlockingPortal | None = None
    left_out: list[str] = field(default_factory=list[str])

    def read(self, path: Path, *, console: bool = True) -> int:
        """Run a page's blocks; how many statements and commands ran."""
        count = 0
        for language, line, block in blocks(path.read_text(encoding="utf-8")):
            if self.left_out:  # what follows stands on it
                break
            source = block
            for there, here in self.replace.items():
                source = source.replace(there, here)
            where = f"{path.name}:{line}"
            if language == "console":
                count += run_console(source, where) if console else 0
            elif not source.startswith("# skip:"):
                count += self._python(source, where)
        return count

    def _python(self, source: str, where: str) -> int:
        lines, tree = source.splitlines(), ast.parse(source)
        for name in sorted(_imported(tree) & FOREIGN.keys()):
            if find_spec(name) is None:
                self.left_out.append(f"{where}: {name} is not installed ({FOREIGN[name]})")
                return 0
        for node in tree.body:
            assert node.end_lineno is not None
            after = lines[node.end_lineno] if node.end_lineno < len(lines) else ""
            self._statement(node, _comment(lines, node.end_lineno), RAISES.match(after), where)
        return len(tree.body)

    def _statement(
        self, node: ast.stmt, told: str, expected: re.Match[str] | None, where: str
    ) -> None:
        code = _compiled(ast.Module([node], []), where, "exec")
        if expected is not None:
            self._expect(expected, code, where)
        elif isinstance(node, ast.Expr) and VALUE.match(told):
            value = self._do(_compiled(ast.Expression(node.value), where, "eval"))
            assert fits(told, repr(value)), f"{where}: {told!r} is said, {value!r} came"
        else:
            self._do(code)

    def _do(self, code: CodeType) -> object:
        """What a statement gives; one that awaits is awaited on the session's one event loop."""
        if not code.co_flags & inspect.CO_COROUTINE:
            return eval(code, self.namespace)  # noqa: S307  our own documents
        assert self.portal is not None, "a page that awaits needs a portal"
        return self.portal.call(eval, code, self.namespace)

    def _expect(self, expected: re.Match[str], code: CodeType, where: str) -> None:
        name, text = expected.group(1).rpartition(".")[2], (expected.group(2) or "").strip()
        with pytest.raises(Exception) as caught:
            self._do(code)
        kinds = [kind.__name__ for kind in type(caught.value).__mro__]
        assert name in kinds, f"{where}: {name} is said, {caught.type.__name__} came"
        said = f"{where}: {text!r} is said, {caught.value} came"
        assert fits(f"…{text}…", str(caught.value)), said


@contextmanager
def reader(
    namespace: dict[str, object], replace: Mapping[str, str] | None = None
) -> Iterator[Reader]:
    """A reader with an event loop; what the page opened is closed behind it."""
    with start_blocking_portal("asyncio") as portal:
        yield Reader(namespace, replace or {}, portal)
        for left in list(namespace.values()):
            _let_go(left, portal)


def run(path: Path, namespace: dict[str, object]) -> int:
    """Run the Python of a page that awaits nothing at its top level; how many statements ran."""
    return Reader(namespace).read(path, console=False)


def _let_go(left: object, portal: BlockingPortal) -> None:
    for name in ("aclose", "close"):
        if callable(getattr(type(left), name, None)):
            portal.call(getattr(left, name))
            return


def _imported(tree: ast.Module) -> set[str]:
    """The packages that a block imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _compiled(tree: ast.Module | ast.Expression, where: str, mode: str) -> CodeType:
    code: CodeType = compile(tree, where, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def _comment(lines: list[str], end: int) -> str:
    """The comment behind the last line of a statement."""
    line = lines[end - 1]
    at = line.rfind("  #")
    return line[at:].lstrip(" #").strip() if at >= 0 else ""
