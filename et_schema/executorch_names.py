"""ExecuTorch's public names, and what stands for them here: messages for imports and options that are upstream's.

The table is `executorch_names.toml`; the tables of docs/coming-from-executorch.md are generated from it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from et_ops.data_files import text_of
from et_schema.diagnostics import did_you_mean

__all__ = ["NotHere", "Row", "missing_name", "option_message", "option_row", "rows"]


class NotHere(ImportError):
    """The import of a name that ExecuTorch has and the module does not; the message says what takes its place.

    An ImportError also where the name is looked up as an attribute: `from … import` would replace the message of an
    AttributeError by its own.
    """


@dataclass(frozen=True)
class Row:
    """Names of ExecuTorch and what stands for them, as Markdown."""

    section: str
    """The section of the page."""
    executorch: str
    """The names, as the page shows them."""
    there: str = ""
    """The module that has the same names, or nothing."""
    note: str = ""
    """A remark on these."""
    instead: str = ""
    """What takes their place, or nothing."""
    none: str = ""
    """The reason why nothing does, or nothing."""
    names: str | None = None
    """The names, separated by spaces; None for the identifiers in `executorch`."""
    options: tuple[str, ...] = ()
    """Options of configurations that have no field of their own: `EdgeCompileConfig._skip_dim_order`."""
    holds: object = None
    """The value of the options that says what is the case anyway."""
    refused: bool = False
    """Whether any other value is an error."""

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of the row."""
        if self.options:
            return ()
        if self.names is not None:
            return tuple(self.names.split())
        return tuple(re.findall(r"`([A-Za-z_]\w*)`", self.executorch))

    @property
    def here(self) -> str:
        """The cell beside the names, in Markdown."""
        if not self.there:
            return self.instead or self.none
        return f"the same in `{self.there}`" + (f"; {self.note}" if self.note else "")


@cache
def rows() -> tuple[Row, ...]:
    """The rows of the table."""
    import tomllib  # after a mistake only: starting is part of the time that a run takes

    text = text_of(Path(__file__).with_suffix(".toml"))
    made: list[Row] = []
    for row in tomllib.loads(text)["rows"]:
        fields: dict[str, Any] = {**row, "options": tuple(row.get("options", ()))}
        made.append(Row(**fields))
    return tuple(made)


def missing_name(module: str, name: str, known: Iterable[str] = ()) -> Exception:
    """The exception for a name that a module does not have: for its `__getattr__` to raise.

    `known` are the names that it has. A name of ExecuTorch's is `NotHere`, with what takes its place; so is one that
    another package of the project has; any other one an AttributeError.
    """
    if name.startswith("__"):  # Python asks for these, `__path__` and `__wrapped__` for example
        return AttributeError(f"module '{module}' has no attribute '{name}'")
    is_module = hasattr(sys.modules.get(module), "__path__") and find_spec(f"{module}.{name}")
    row = next((row for row in rows() if name in row.all_names), None)
    if row is None and not is_module and (package := _package_with(name)) is not None:
        return NotHere(
            f"{module} has no {name}; it is in {package}: from {package} import {name}", name=module
        )
    if row is None or is_module:
        others = did_you_mean(name, known) or "".join(
            f"; it has {', '.join(known)}" for _ in [known] if known
        )
        return AttributeError(f"module '{module}' has no attribute '{name}'{others}")
    if row.there:
        answer = f"it is in {row.there}"
    elif row.instead:
        answer = f"instead of ExecuTorch's: {_plain(row.instead)}"
    else:
        answer = f"ExecuTorch's is not supported: {_plain(row.none)}"
    return NotHere(f"{module} has no {name}; {answer}", name=module)


def _package_with(name: str) -> str | None:
    """The package nearest to the top that lists a name in its `__all__`; none is imported, which can take seconds."""
    root = Path(__file__).parents[1]
    patterns = (f"et_*/{'*/' * depth}__init__.py" for depth in range(3))
    for path in chain.from_iterable(sorted(root.glob(pattern)) for pattern in patterns):
        for statement in ast.parse(path.read_bytes()).body:
            match statement:
                case ast.Assign([ast.Name("__all__")], ast.List(items)):
                    if any(isinstance(item, ast.Constant) and item.value == name for item in items):
                        return ".".join(path.parent.relative_to(root).parts)
                case _:
                    pass
    return None


def option_row(configuration: str, option: str) -> Row | None:
    """The row of an option that a configuration has in ExecuTorch and not here."""
    return next((row for row in rows() if f"{configuration}.{option}" in row.options), None)


def option_message(row: Row, configuration: str, option: str, value: Any) -> str:
    """The line about an option with a value that is not what holds."""
    shown = repr(value) if isinstance(value, int | str) else f"<{type(value).__name__}>"
    return f"{configuration}: {option}={shown} has no effect: {_plain(row.instead)}"


def _plain(text: str) -> str:
    """Markdown as plain text: no links but to other pages, which are named."""
    text = re.sub(r" \(\[[^\]]*\]\([^)]*\)(, \[[^\]]*\]\([^)]*\))*\)", "", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
