"""Kernels that move elements and compute nothing: concatenations, slices and splits.

Each is one or more copies between two buffers that are seen as rows: what is before the dimension that is cut, by this
dimension with all that is after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.pointwise_rules import anchor_of, operator_name
from et_ir.backends.native.loop_builder import LoopBuilder, vector_of
from et_ir.backends.orders import in_order
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.native import KernelOp, YieldOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["MOVES", "move_kernel"]

MOVES: Final = frozenset({"cat", "select_copy.int", "slice_copy.Tensor", "split_with_sizes_copy"})
"""Operators with kernels of this form."""

VECTORS: Final = 4


@dataclass(frozen=True)
class _Copy:
    """Places `[first, first + count)` of a dimension of the source, to the target from a place on."""

    source: SSAValue
    target: SSAValue
    first: int
    count: int
    to: int


def move_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel that copies parts of its inputs into its results."""
    body = kernel.body.block
    op = anchor_of(kernel)
    last = body.last_op
    assert isinstance(last, YieldOp)
    outside: dict[SSAValue, SSAValue] = {
        **dict(zip(body.args, kernel.inputs, strict=True)),
        **dict(zip(last.operands, kernel.outputs, strict=True)),
    }
    dim = _dim(op)
    for one in _copies(op):
        # Results that nobody reads are none of the kernel's.
        if one.target in outside:
            _copy(host, one, outside[one.source], outside[one.target], dim, operator_name(op))


def _dim(op: SchemaOp) -> int:
    return int(op.arg("dim")) % tensor_type(op.operands[0]).get_num_dims()


def _copies(op: SchemaOp) -> list[_Copy]:
    dim = _dim(op)
    size = tensor_type(op.operands[0]).get_shape()[dim]
    match operator_name(op):
        case "cat":
            sizes = [tensor_type(value).get_shape()[dim] for value in op.operands]
            places = [sum(sizes[:number]) for number in range(len(sizes))]
            return [
                _Copy(value, op.results[0], 0, count, place)
                for value, count, place in zip(op.operands, sizes, places, strict=True)
            ]
        case "select_copy.int":
            return [_Copy(op.operands[0], op.results[0], int(op.arg("index")) % size, 1, 0)]
        case "slice_copy.Tensor":
            start = 0 if op.arg("start") is None else int(op.arg("start"))
            first = min(max(start + size if start < 0 else start, 0), size)
            count = tensor_type(op.results[0]).get_shape()[dim]
            return [_Copy(op.operands[0], op.results[0], first, count, 0)]
        case _:
            counts = [tensor_type(value).get_shape()[dim] for value in op.results]
            return [
                _Copy(op.operands[0], value, sum(counts[:number]), count, 0)
                for number, (value, count) in enumerate(zip(op.results, counts, strict=True))
            ]


def _copy(host: Host, one: _Copy, source: SSAValue, target: SSAValue, dim: int, name: str) -> None:
    type = tensor_type(source)
    order = dim_order_of(type)
    sizes = in_order(type.get_shape(), order)
    axis = order.index(dim)
    outer, inner = prod(sizes[:axis]), prod(sizes[axis + 1 :])
    total = prod(tensor_type(target).get_shape())
    operands = [
        Operand(host.buffer(source), [outer, sizes[axis] * inner]),
        Operand(host.buffer(target), [outer, total // outer]),
    ]
    lanes = host.lanes
    first, count, to = one.first * inner, one.count * inner, one.to * inner

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y = buffers
        width = lanes * VECTORS
        whole = b.multiple_below(count, width)
        with b.parallel(b.dim(y, 0)) as row:
            with b.for_(0, whole, width) as loop:
                value = b.load(
                    x, [row, b.add(loop.index, first)], vector_of(width, element=b.element_type(x))
                )
                b.store(value, y, [row, b.add(loop.index, to)])
            with b.for_(whole, count, lanes) as loop:
                mask = b.mask(b.sub(count, loop.index), lanes)
                value = b.load_row(x, [row, b.add(loop.index, first)], mask, lanes)
                b.masked_store(value, y, [row, b.add(loop.index, to)], mask)

    if count:
        host.call(name.partition("_")[0].partition(".")[0], operands, build)
