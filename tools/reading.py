"""Reading a module's text for the commands that lower or translate it."""

from __future__ import annotations

import sys
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.utils.exceptions import ParseError

from et_ir.data.store import WeightStore
from et_ir.text import parse_module, resolve_weights, store_path
from et_ir.universe import dialect_factories
from et_tools.exit_codes import UsageError

__all__ = ["compiler_context", "read_text_module"]


def compiler_context() -> Context:
    """A context with the dialects that programs of this compiler use."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    return context


def read_text_module(name: str, weights: str | None) -> ModuleOp:
    """Parse the module in a file (`-`: standard input) and attach its weight store if there is one.

    Raises `ParseError` with attributes `file` and `sources` set for the report, `StoreError`, `UsageError`, `OSError`.
    """
    if name == "-":
        file, data = "<stdin>", sys.stdin.buffer.read()
    else:
        file, data = name, Path(name).read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not a text file: byte {error.start:#x} is no UTF-8") from None
    try:
        module = parse_module(compiler_context(), text, file)
    except ParseError as error:
        error.file, error.sources = file, {file: text}  # pyright: ignore[reportAttributeAccessIssue]
        raise
    store = Path(weights) if weights is not None else (None if name == "-" else store_path(Path(name)))
    if store is not None and (weights is not None or store.exists()):
        resolve_weights(module, WeightStore(store))
    return module
