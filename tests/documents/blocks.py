"""
Runs the Python blocks of a Markdown file, top to bottom, in one namespace, as a reader would.

Three comments are held to: `expression   # repr` compares the value where it looks like one, `# Error: text` on the line after
a statement expects that exception, and `# skip: reason` as the first line of a block leaves it out. An
ellipsis in the comment stands for anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

VALUE = re.compile(r"['\"\d\[{(]|(?:True|False|None)\b|[A-Z]\w*\(")
FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
RAISES = re.compile(
    r"#\s+([\w.]*(?:Error|Exception|Exceeded|Limited|Failed|Unavailable))\b(?::\s*(.*))?"
)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """(line, source) of each Python block."""
    for match in FENCE.finditer(text):
        yield text.count("\n", 0, match.start()) + 2, match.group(1)


def run(path: Path, namespace: dict[str, object]) -> int:
    """Run a file's blocks; how many statements ran."""
    count = 0
    for line, source in blocks(path.read_text()):
        if not source.startswith("# skip:"):
            count += _run_block(source, namespace, f"{path.name}:{line}")
    return count


def _run_block(source: str, namespace: dict[str, object], where: str) -> int:
    lines = source.splitlines()
    tree = ast.parse(source)
    for node in tree.body:
        assert node.end_lineno is not None
        after = lines[node.end_lineno] if node.end_lineno < len(lines) else ""
        expected = RAISES.match(after)
        code = compile(ast.Module([node], []), where, "exec")
        if expected is not None:
            _expect(expected, code, namespace, where)
        elif isinstance(node, ast.Expr) and (VALUE.match(told := _comment(lines, node.end_lineno))):
            value = eval(compile(ast.Expression(node.value), where, "eval"), namespace)  # noqa: S307
            assert _fits(told, repr(value)), f"{where}: {told!r} is said, {value!r} came"
        else:
            exec(code, namespace)  # noqa: S102  our own documents
    return len(tree.body)


def _expect(
    expected: re.Match[str], code: CodeType, namespace: dict[str, object], where: str
) -> None:
    name, text = expected.group(1).rpartition(".")[2], (expected.group(2) or "").strip()
    with pytest.raises(Exception) as caught:
        exec(code, namespace)  # noqa: S102  our own documents
    kinds = [kind.__name__ for kind in type(caught.value).__mro__]
    assert name in kinds, f"{where}: {name} is said, {caught.type.__name__} came"
    assert _fits(f"…{text}…", str(caught.value)), f"{where}: {text!r} is said, {caught.value} came"


def _comment(lines: list[str], end: int) -> str:
    """The comment behind the last line of a statement."""
    line = lines[end - 1]
    at = line.rfind("  #")
    return line[at:].lstrip(" #").strip() if at >= 0 else ""


def _fits(told: str, came: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in re.split(r"…|\.\.\.", told))
    return re.fullmatch(pattern, came, re.DOTALL) is not None
