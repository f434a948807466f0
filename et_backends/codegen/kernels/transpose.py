"""Transposition kernels: elements into another order of dimensions in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.transposition import BLOCK, transpose_block
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.analysis.dim_orders import in_order, step
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["transpose_kernel"]

VECTORS: Final = 4
"""Vector registers that are copied at a time."""


def transpose_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that copies its input into the order of its result."""
    (source,), (result,) = kernel.inputs, kernel.outputs
    type = tensor_type(source)
    have, want = dim_order_of(type), dim_order_of(tensor_type(result))
    sizes, permutation = _collapsed(in_order(shape_of(source), have), step(have, want))
    made = [sizes[dim] for dim in permutation]
    last = len(sizes) - 1
    moves = permutation[-1] != last
    in_blocks = moves and type.element_type == f32 and not host.fine
    # Blocks at the ends of the innermost dimensions are of sizes that the code knows.
    inner = [permutation[-1], last] if in_blocks else []
    operands = [
        Operand(host.buffer(source), sizes, fixed=inner),
        Operand(host.buffer(result), made, fixed=[permutation.index(dim) for dim in inner]),
    ]
    lanes = host.lanes

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        if b.fine:
            _build_each(b, permutation, *buffers)
        elif in_blocks:
            _build_blocks(b, permutation, lanes, *buffers)
        elif moves:
            _build_elements(b, permutation, *buffers)
        else:
            _build_rows(b, permutation, lanes, *buffers)

    host.call("transpose", operands, build)


def _places(b: LoopBuilder, number: Index, sizes: Sequence[Index]) -> list[Index]:
    """The place of each of some dimensions, from a number that counts all places."""
    found: list[Index] = []
    for size in reversed(sizes[1:]):
        found.append(b.remainder(number, size))
        number = b.quotient(number, size)
    return [number, *reversed(found)] if sizes else []


def _product(b: LoopBuilder, sizes: Sequence[Index]) -> Index:
    total: Index = 1
    for size in sizes:
        total = b.mul(total, size)
    return total


def _build_rows(b: LoopBuilder, permutation: Sequence[int], lanes: int, x: SSAValue, y: SSAValue) -> None:
    """Copies of rows, as what is innermost stays so; dimension `k` of the result is `permutation[k]` of the source."""
    sizes = [b.dim(y, dim) for dim in range(len(permutation))]
    width = lanes * VECTORS
    with b.parallel(_product(b, sizes[:-1])) as row:
        target = _places(b, row, sizes[:-1])

        def move(index: Index, mask: SSAValue | None, width: int) -> None:
            there = [*target, index]
            here = [there[permutation.index(dim)] for dim in range(len(permutation))]
            value = b.load_row(x, here, mask, width)
            if mask is None:
                b.store(value, y, there)
            else:
                b.masked_store(value, y, there, mask)

        whole = b.multiple_below(sizes[-1], width)
        with b.for_(0, whole, width) as loop:
            move(loop.index, None, width)
        with b.for_(whole, sizes[-1], lanes) as loop:
            move(loop.index, b.mask(b.sub(sizes[-1], loop.index), lanes), lanes)


def _build_each(b: LoopBuilder, permutation: Sequence[int], x: SSAValue, y: SSAValue) -> None:
    """An iteration for each element of the result."""
    with b.each([b.dim(y, dim) for dim in range(len(permutation))]) as there:
        here = [there[permutation.index(dim)] for dim in range(len(permutation))]
        b.set_element(b.element(x, here), y, there)


def _build_elements(b: LoopBuilder, permutation: Sequence[int], x: SSAValue, y: SSAValue) -> None:
    """Copies of elements of any type, in the order of the result."""
    sizes = [b.dim(y, dim) for dim in range(len(permutation))]
    with b.parallel(_product(b, sizes[:-1])) as row, b.for_(0, sizes[-1]) as loop:
        there = [*_places(b, row, sizes[:-1]), loop.index]
        here = [there[permutation.index(dim)] for dim in range(len(permutation))]
        b.set_element(b.element(x, here), y, there)


def _build_blocks(b: LoopBuilder, permutation: Sequence[int], lanes: int, x: SSAValue, y: SSAValue) -> None:
    """Blocks of the dimension that is innermost in the result by the one that is innermost in the source."""
    rank = len(permutation)
    across, along = permutation[-1], rank - 1
    rows, columns = b.dim(x, across), b.dim(x, along)
    outer = [dim for dim in range(rank) if dim not in (across, along)]
    sizes = [b.dim(x, dim) for dim in outer]
    groups = b.ceildiv(rows, BLOCK)
    with b.parallel(b.mul(_product(b, sizes), groups)) as number:
        others = dict(zip(outer, _places(b, b.quotient(number, groups), sizes), strict=True))
        top = b.mul(b.remainder(number, groups), BLOCK)

        def here(row: Index, column: Index) -> list[Index]:
            at = {**others, across: row, along: column}
            return [at[dim] for dim in range(rank)]

        def there(row: Index, column: Index) -> list[Index]:
            place = here(row, column)
            return [place[dim] for dim in permutation]

        def elements(column: Index) -> None:
            with b.for_(top, b.min(b.add(top, BLOCK), rows)) as row, b.for_(column, columns) as place:
                value = b.element(x, here(row.index, place.index))
                b.set_element(value, y, there(row.index, place.index))

        def blocks(count: int) -> None:
            def block(column: Index, width: int) -> None:
                transpose_block(b, lanes, (x, here), (y, there), (top, column), (count, width))

            whole = b.multiple_below(columns, BLOCK)
            with b.for_(0, whole, BLOCK) as loop:
                block(loop.index, BLOCK)
            if not isinstance(columns, int):
                elements(whole)
            elif columns % BLOCK:
                block(whole, columns % BLOCK)

        if isinstance(rows, int) and (rows < BLOCK or not rows % BLOCK):
            blocks(min(rows, BLOCK))
            return
        with b.if_(b.at_least(b.sub(rows, top), BLOCK)) as otherwise:
            blocks(BLOCK)
            with otherwise():
                if isinstance(rows, int):
                    blocks(rows % BLOCK)
                else:
                    elements(0)


def _collapsed(sizes: Sequence[Size], permutation: Sequence[int]) -> tuple[list[Size], list[int]]:
    """Sizes and permutation without dimensions of size one, and with those merged that stay neighbors."""
    moving = [dim for dim in permutation if sizes[dim] != 1]
    runs: list[list[int]] = []
    kept = sorted(moving)
    follows = dict(pairwise(kept))
    for dim in moving:
        if runs and follows.get(runs[-1][-1]) == dim:
            runs[-1].append(dim)
        else:
            runs.append([dim])
    order = sorted(range(len(runs)), key=lambda run: runs[run][0])
    merged = [product(sizes[dim] for dim in runs[run]) for run in order]
    places = {run: place for place, run in enumerate(order)}
    found = [places[run] for run in range(len(runs))]
    # Loops are over one dimension outside of the innermost at least.
    return ([1, *merged], [0, *(place + 1 for place in found)])
