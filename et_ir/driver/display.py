"""Display of modules in Python prompts and notebooks: text and HTML, of a large one the head and the tail."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from et_ir.dialects.backend import LoweredOp, NamedDataOp
from et_schema.html_table import html_table

__all__ = ["install_formatters", "module_html", "shortened"]

SHOWN_LINES: Final = 60
"""Maximum number of lines that are shown of a text."""
SHOWN_WIDTH: Final = 200
"""Maximum number of characters of each of them."""
_WEIGHTS: Final = ("program.parameter", "program.buffer", "program.constant")


def shortened(text: str, rest: str = "print(manager.module) shows them all") -> str:
    """A text without the lines between its head and its tail, where it is long; `rest` says how to see them."""
    lines = text.splitlines()
    hidden = len(lines) - SHOWN_LINES
    if hidden > 1:
        tail = SHOWN_LINES // 4
        note = f"  … {hidden} more lines: {rest}"
        lines = [*lines[: SHOWN_LINES - tail], note, *lines[-tail:]]
    return "\n".join(line if len(line) <= SHOWN_WIDTH else f"{line[:SHOWN_WIDTH]} …" for line in lines)


def module_html(module: ModuleOp) -> str:
    """A module for notebooks: its methods; then the delegates, and the weights, which open at a click."""
    ops = list(module.body.ops)
    delegates = [op for op in ops if isinstance(op, LoweredOp)]
    weights = [op for op in ops if op.name in _WEIGHTS]
    data = [op for op in ops if isinstance(op, NamedDataOp)]
    folded = {*delegates, *weights, *data}
    return "".join(
        [
            f"<pre>{_text([op for op in ops if op not in folded])}</pre>",
            _delegates(delegates),
            _folded("weights", weights),
            _folded("data of delegates", data),
        ]
    )


def _text(ops: Sequence[Operation]) -> str:
    return escape(shortened("\n".join(map(str, ops)), "print(module) shows them all"))


def _delegates(ops: Sequence[LoweredOp]) -> str:
    if not ops:
        return ""
    rows = [(f"@{op.sym_name.data}", op.backend.data, f"{op.value.blob.nbytes:,}") for op in ops]
    return html_table(("delegate", "backend", "bytes"), rows)


def _folded(title: str, ops: Sequence[Operation]) -> str:
    if not ops:
        return ""
    return f"<details><summary>{len(ops)} {title}</summary><pre>{_text(ops)}</pre></details>"


def install_formatters() -> None:
    """Have a notebook or IPython, where this runs in one, show modules by their text: they are xDSL's class, whose
    `repr` is its fields.
    """
    # Nothing to do where IPython is not imported.
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(ModuleOp, module_html)
    formatters["text/plain"].for_type(ModuleOp, _print)


def _print(module: ModuleOp, printer: Any, _: bool) -> None:
    printer.text(shortened(str(module), "print(module) shows them all"))
