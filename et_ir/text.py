"""Reading and writing modules as text.

Ops read from a text that gives them no location get the place they stand at in it, so that whatever is said of them
later points there. The weight store of a text `model.mlir` is `model.safetensors` beside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from et_ir.data import Blob
from et_ir.data.store import WeightStore, write_store
from et_ir.dialects.program.attributes import INLINE_ELEMENTS, DataAttr
from et_ir.dialects.schema.literals import element_type_name

__all__ = [
    "data_attributes",
    "parse_module",
    "print_module",
    "resolve_weights",
    "store_path",
    "write_weights",
]


class _LocatingParser(Parser):
    """Gives every op that has no location the place in the text where it starts."""

    def __init__(self, ctx: Context, text: str, name: str, first_line: int):
        super().__init__(ctx, text, name)
        self._file = StringAttr(name)
        self._first_line = first_line
        self._line_starts = [0]
        position = text.find("\n")
        while position >= 0:
            self._line_starts.append(position + 1)
            position = text.find("\n", position + 1)

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        if op.location == UNKNOWN_LOC:
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line + self._first_line - 1), IntAttr(column))
        return op


def parse_module(ctx: Context, text: str, name: str = "<text>", first_line: int = 1) -> ModuleOp:
    """Parse a module; `first_line` is the number of the text's first line in the file `name`.

    Raises `xdsl.utils.exceptions.ParseError`. Attributes are checked, operations are not verified.
    """
    return _LocatingParser(ctx, text, name, first_line).parse_module()


def print_module(
    module: ModuleOp, stream: IO[str], *, debuginfo: bool = False, generic: bool = False
) -> None:
    """Print a module and a final newline; with `debuginfo` each op's location too."""
    printer = Printer(stream, print_debuginfo=debuginfo, print_generic_format=generic)
    printer.print_op(module)
    stream.write("\n")


def data_attributes(module: ModuleOp) -> Iterator[tuple[Operation, DataAttr]]:
    """Every constant of the module's symbols, with the op that holds it."""
    for op in module.body.block.ops:
        for attr in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attr, DataAttr):
                yield op, attr


def store_path(text_path: Path) -> Path:
    """Where the weight store of a text file is."""
    return text_path.with_suffix(".safetensors")


def resolve_weights(module: ModuleOp, store: WeightStore) -> list[Blob]:
    """Attach the store's bytes to the module's constants; returns the blobs that the store does not have."""
    return [
        attr.blob
        for _, attr in data_attributes(module)
        if not attr.blob.is_resolved and not store.resolve(attr.blob)
    ]


def write_weights(module: ModuleOp, path: Path) -> bool:
    """Write the constants that the text does not print; returns whether there are any.

    Raises `MissingData` if one of them has no bytes.
    """
    entries: list[tuple[Blob, str, tuple[int, ...]]] = []
    for op, attr in data_attributes(module):
        if attr.data.count > INLINE_ELEMENTS:
            shape = getattr(op.properties.get("type"), "get_shape", lambda count=attr.data.count: (count,))()
            entries.append((attr.blob, element_type_name(attr.element_type), tuple(shape)))
    if entries:
        write_store(path, entries)
    return bool(entries)
