"""Transposition kernels: elements into another order of dimensions in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import Size, product, shape_of
from et_ir.backends.orders import in_order, step
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["transpose_kernel"]


def transpose_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that copies its input into the order of its result."""
    (source,), (result,) = kernel.inputs, kernel.outputs
    type = tensor_type(source)
    have, want = dim_order_of(type), dim_order_of(tensor_type(result))
    sizes, permutation = _collapsed(in_order(shape_of(source), have), step(have, want))
    made = [sizes[dim] for dim in permutation]
    operands = [Operand(host.buffer(source), sizes), Operand(host.buffer(result), made)]
    lanes = host.lanes

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        _build(b, permutation, lanes, *buffers)

    host.call("transpose", operands, build)


def _build(b: LoopBuilder, permutation: Sequence[int], lanes: int, x: SSAValue, y: SSAValue) -> None:
    """Loops over the result; dimension `k` of it is dimension `permutation[k]` of the source."""
    rank = len(permutation)
    sizes = [b.dim(y, dim) for dim in range(rank)]
    outer: Index = 1
    for size in sizes[:-1]:
        outer = b.mul(outer, size)
    with b.parallel(outer) as row:
        at: list[Index] = []
        rest: Index = row
        for size in reversed(sizes[1:-1]):
            at.append(b.remainder(rest, size))
            rest = b.quotient(rest, size)
        target = [rest, *reversed(at)]

        def source(index: Index) -> list[Index]:
            found: list[Index] = [0] * rank
            for dim, place in zip(permutation, [*target, index], strict=True):
                found[dim] = place
            return found

        if permutation[-1] == rank - 1:
            # What is innermost stays so.
            with b.for_(0, sizes[-1], lanes) as loop:
                mask = b.mask(b.sub(sizes[-1], loop.index), lanes)
                zero = b.splat(0.0, vector_of(lanes))
                value = b.masked_load(x, source(loop.index), mask, zero)
                b.masked_store(value, y, [*target, loop.index], mask)
            return
        with b.for_(0, sizes[-1]) as loop:
            b.set_element(b.element(x, source(loop.index)), y, [*target, loop.index])


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
