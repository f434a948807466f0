"""Packing of constant matrices: panels of columns, in the order in which products read them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.packing import as_is
from et_ir.analysis.dim_orders import in_order, step, straight
from et_ir.data import Blob
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = [
    "PANEL",
    "Array",
    "array_constant",
    "constant_array",
    "constant_integers",
    "group_panels",
    "integers_constant",
    "panel_columns",
    "panels_blob",
    "panels_of",
    "tile_rows",
]

PANEL: Final = 16
"""Columns of a packed panel: one vector of AVX-512, two of AVX2, four of NEON."""

Array = np.ndarray[Any, np.dtype[np.float32]]


def constant_array(host: Host, value: SSAValue) -> Array | None:
    """The elements of a constant, with the sizes of its type; None for what is no constant."""
    symbol = host.symbols.constant_of(value)
    if symbol is None or symbol.value is None:
        return None
    type = tensor_type(value)
    order = dim_order_of(type)
    held = np.frombuffer(symbol.value.blob.view(), np.float32).reshape(in_order(type.get_shape(), order))
    return held.transpose(step(order, straight(len(order))))


def constant_integers(host: Host, value: SSAValue) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The elements of a constant of i64, in one dimension."""
    symbol = host.symbols.constant_of(value)
    assert symbol is not None
    assert symbol.value is not None
    return np.frombuffer(symbol.value.blob.view(), np.int64)


def panels_of(host: Host, matrix: Array, panel: int = PANEL) -> SSAValue:
    """A constant buffer of the panels of a matrix, `[panel][row][column]`, padded with zeros.

    Columns are the last dimension of the array, and rows are all others.
    """
    blob = panels_blob(host, matrix, panel)
    return host.constant(blob, blob.nbytes // 4)


def panels_blob(host: Host, matrix: Array, panel: int = PANEL) -> Blob:
    """The bytes of `panels_of`."""
    *rows, columns = matrix.shape

    def pack(matrix: Array) -> Array:
        packed = np.empty((-(-columns // panel), *rows, panel), np.float32)
        # Panel by panel, as the elements of each stay in the cache while their order changes.
        for number, target in enumerate(packed):
            columns_of_panel = matrix[..., number * panel : (number + 1) * panel]
            target[..., : columns_of_panel.shape[-1]] = columns_of_panel
        if columns % panel:
            packed[-1, ..., columns % panel :] = 0
        return packed

    return host.packed(f"panels of {panel}", [matrix], pack)


def group_panels(host: Host, matrices: Array, panel: int) -> Operand:
    """Panels of matrices `[group, column, row]`, as a kernel takes them: `[group * panel][row][column]`."""
    groups, columns, inner = matrices.shape
    each = -(-columns // panel)

    def pack(stacked: Array) -> Array:
        packed = np.zeros((groups, each, inner, panel), np.float32)
        # Panel by panel, as the elements of each stay in the cache while their order changes.
        for matrix, target in zip(stacked.reshape(groups, columns, inner), packed, strict=True):
            for number, one in enumerate(target):
                some = matrix[number * panel : (number + 1) * panel]
                one[:, : len(some)] = some.T
        return packed

    blob = host.packed(f"panels of {panel} of {groups} matrices", [matrices], pack)
    sizes = [groups * each, inner, panel]
    return Operand(host.constant(blob, blob.nbytes // 4), sizes, fixed=[2])


def array_constant(host: Host, array: Array) -> SSAValue:
    """A constant buffer with the elements of an array."""
    return host.constant(host.packed("elements", [array], as_is), array.size)


def integers_constant(host: Host, array: np.ndarray[Any, np.dtype[np.int64]]) -> SSAValue:
    """A constant buffer of i64 with the elements of an array."""
    flat = np.ascontiguousarray(array, np.int64).reshape(-1)
    return host.constant(Blob.of("packed", flat.view(np.uint8).data), flat.size, i64)


def panel_columns(host: Host) -> int:
    """Columns of a register tile."""
    return 2 * PANEL if host.lanes == PANEL else PANEL


def tile_rows(rows: int, host: Host) -> int:
    """Rows of a register tile: of those that the registers hold, the one that computes the fewest rows twice."""
    most = 14 if host.lanes == PANEL else 2 if host.small or host.few else 6
    # Below four rows the latency of additions shows; loads of the right matrix weigh a row.
    return min(range(1, min(most, rows) + 1), key=lambda tile: (-(-rows // tile) * (max(tile, 4) + 1), -tile))
