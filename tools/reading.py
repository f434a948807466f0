"""Reading texts and the weights beside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.utils.exceptions import ParseError

from et_ir.context import OperatorContext
from et_ir.data.store import StoreError, WeightStore
from et_ir.diagnostics import PassReport, diagnose
from et_ir.text import data_attributes, parse_module, resolve_weights, store_path
from et_ir.universe import dialect_factories
from et_schema.wording import in_words
from et_tools.loading import ProgramError

if TYPE_CHECKING:
    from et_tools.plugins import Extensions

__all__ = ["attach_weights", "compiler_context", "read_text", "read_text_module", "require_weights"]

STDIN = "<stdin>"


def compiler_context(extensions: Extensions | None = None) -> Context:
    """A context with the dialects that programs of this compiler use; with `extensions`, those of loaded files and of
    installed packages too.
    """
    context = OperatorContext()
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    for name, factory in dialect_factories().items():
        context.register_dialect(name, factory)
    if extensions is not None:
        extensions.register_dialects(context)
        extensions.register_installed(context)
    return context


def read_text(name: str) -> tuple[str, str]:
    """The name for messages and the text of a file; `-` is standard input.

    Raises `ProgramError` for what is no text, `OSError`.
    """
    file, data = (STDIN, sys.stdin.buffer.read()) if name == "-" else (name, Path(name).read_bytes())
    if data[4:6] == b"ET":
        raise ProgramError(f"{file}: a .pte file, not text: convert it with et-translate --pte-to-mlir")
    try:
        return file, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProgramError(f"{file}: not a text file: invalid UTF-8 at byte {error.start:#x}") from None


def attach_weights(module: ModuleOp, name: str, weights: str | None) -> None:
    """Give a module's constants their bytes, from the store `weights`, or else from that beside the text `name`.

    Raises `StoreError` if the store cannot be read, or was given and lacks a constant; `OSError`.
    """
    if weights is None:
        store = store_path(Path(name))
        if name != STDIN and store.exists():
            if not store.is_file():
                # The user has not named it: a pipe or a device may have no end.
                raise StoreError(f"{store}: not a weight store: not a regular file")
            resolve_weights(module, WeightStore(store))
        return
    missing = resolve_weights(module, WeightStore(Path(weights)))
    if missing:
        raise StoreError(
            f'{weights}: has no constant "{missing[0].key}"'
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + ": it belongs to another program"
        )


def require_weights(module: ModuleOp, name: str) -> None:
    """Raise `StoreError` if a constant of the module, read from the text `name`, has no bytes, or wrong ones."""
    blobs = [attr.blob for _, attr in data_attributes(module)]
    missing = [blob.key for blob in blobs if not blob.is_resolved]
    if not missing:
        for blob in blobs:
            try:
                blob.check()
            except ValueError as error:
                raise StoreError(f"the weight store is damaged: {error}") from None
        return
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    store = store_path(Path(name))
    if name in ("-", STDIN):
        why = "give the weight store with --weights"
    elif store.exists():
        why = f"they are not in {store}, which belongs to another program"
    else:
        why = f"{store} does not exist; give the weight store with --weights"
    raise StoreError(f'the bytes of constant "{missing[0]}"{more} are missing: {why}')


def read_text_module(name: str, weights: str | None, extensions: Extensions | None = None) -> ModuleOp:
    """Parse the module in a file (`-`: standard input) and attach the weights there are.

    Raises `ParseError` with attributes `file` and `sources` set for the report, `StoreError`, `ProgramError`,
    `OSError`, `PassReport` for a declaration of a function and for one with branches.
    """
    file, text = read_text(name)
    try:
        module = parse_module(compiler_context(extensions), text, file)
    except ParseError as error:
        error.file, error.sources = file, {file: text}  # pyright: ignore[reportAttributeAccessIssue]
        raise
    PassReport.raise_if(
        "methods that cannot be compiled or run",
        [
            diagnose(
                op, f"{op.sym_name.data} has {in_words(len(op.body.blocks), 'block')}", "give it one block"
            )
            for op in module.body.block.ops
            if isinstance(op, FuncOp) and len(op.body.blocks) != 1
        ],
    )
    attach_weights(module, file, weights)
    return module
