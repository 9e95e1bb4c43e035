r"""
LaTeX commands that JSON took for escapes: `\frac` decodes to a form feed and "rac".

Strictly valid JSON, so it is only a warning; `latex=True` restores the command.
Source: spec parse, step 2.
"""

from __future__ import annotations

import re
from typing import Final, cast

from structguard.reading.values import Holder
from structguard.types import as_mapping, as_sequence

_NAMES: Final = {
    "\b": "eta|ar|egin|inom|ig[lgr]?|oldsymbol|mod|mathbb|oxed|ullet|ot|ecause",
    "\f": "rac|orall|box|rown|lat",
    "\t": "heta|imes|ext(?:bf|it|rm|tt)?|au|an|ilde|o|riangle|frac|op|herefore",
    "\n": "abla|eq|u|e|ot(?:in)?|i|eg|ewline|ormalsize",
    "\r": "ight|ho|m|angle|ightarrow|ceil|floor|aise",
}
_COMMAND = re.compile(
    "|".join(f"{re.escape(char)}(?:{names})(?![A-Za-z])" for char, names in _NAMES.items())
)
# Begins with a backslash, so that a text without one costs next to nothing.
_HINT = re.compile(r"\\(?:[bf][a-z]{2}|t(?:heta|imes|ext|au)|nabla|neq|rho|right)")
_CERTAIN = re.compile(r"(?<!\\)(?:\\\\)*" + _HINT.pattern)
_LETTERS: Final = {"\b": "b", "\f": "f", "\t": "t", "\n": "n", "\r": "r"}
WARNING: Final = "escapes that look like LaTeX commands were decoded as JSON says; see latex=True"


def latex_warning(text: str) -> str | None:
    """A warning when the text holds escapes that were probably LaTeX commands."""
    return WARNING if _HINT.search(text) and _CERTAIN.search(text) else None


def restore_latex(value: object) -> tuple[object, int]:
    """A copy of the value in which LaTeX commands have their backslash again; in how many strings."""
    box: list[object] = [value]
    waiting: list[tuple[Holder, str | int]] = [(cast("Holder", box), 0)]
    changed = 0
    while waiting:
        holder, key = waiting.pop()
        item = holder[key]
        if isinstance(item, str):
            fixed = _COMMAND.sub(lambda m: f"\\{_LETTERS[m.group()[0]]}{m.group()[1:]}", item)
            changed += fixed != item
            holder[key] = fixed
        elif (items := as_sequence(item)) is not None:
            copied = list(items)
            holder[key] = copied
            waiting.extend((cast("Holder", copied), index) for index in range(len(copied)))
        elif (mapping := as_mapping(item)) is not None:
            members = dict(mapping)
            holder[key] = members
            waiting.extend((cast("Holder", members), name) for name in members)
    return box[0], changed
