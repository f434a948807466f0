"""Kernels that move elements and compute nothing: concatenations, slices and splits.

Each is one or more copies between two buffers that are seen as rows: what is before the dimension that is cut, by this
dimension with all that is after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.kernels.host import Host, Number, Operand
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.loop_builder import LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, extremum, normal, product, shape_of, total
from et_ir.analysis.dim_orders import in_order
from et_ir.dialects.edge.attributes import dim_order_of
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
    first: Size
    count: Size
    to: Size


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
    for one in _copies(op, host, outside):
        # Results that nobody reads are none of the kernel's.
        if one.target in outside:
            _copy(host, one, outside[one.source], outside[one.target], dim, operator_name(op))


def _dim(op: SchemaOp) -> int:
    return int(op.arg("dim")) % tensor_type(op.operands[0]).get_num_dims()


def _copies(op: SchemaOp, host: Host, outside: Mapping[SSAValue, SSAValue]) -> list[_Copy]:

    def place(name: str) -> Size:
        """An argument: a place that counts from the end if it is a negative number."""
        given: int | SSAValue | None = op.arg(name)
        if isinstance(given, SSAValue):
            return host.place(outside[given], size)
        found = int(given or 0)
        return normal(size + found) if found < 0 else found

    dim = _dim(op)
    size = shape_of(op.operands[0])[dim]
    match operator_name(op):
        case "cat":
            sizes = [shape_of(value)[dim] for value in op.operands]
            places = [total(sizes[:number]) for number in range(len(sizes))]
            return [
                _Copy(value, op.results[0], 0, count, place)
                for value, count, place in zip(op.operands, sizes, places, strict=True)
            ]
        case "select_copy.int":
            # No place outside of the dimension is read, whatever the index.
            index = extremum(min, extremum(max, place("index"), 0), size - 1)
            return [_Copy(op.operands[0], op.results[0], index, 1, 0)]
        case "slice_copy.Tensor":
            count = shape_of(op.results[0])[dim]
            # As many elements follow as the result has, wherever a slice of fewer would start.
            first = extremum(min, extremum(max, place("start"), 0), normal(size - count))
            return [_Copy(op.operands[0], op.results[0], first, count, 0)]
        case _:
            counts = [shape_of(value)[dim] for value in op.results]
            return [
                _Copy(op.operands[0], value, total(counts[:number]), count, 0)
                for number, (value, count) in enumerate(zip(op.results, counts, strict=True))
            ]


def _with_dim(target: SSAValue, dim: int, source: SSAValue) -> tuple[Size, ...]:
    """The sizes of a target, with one for the dimension that a selection takes away."""
    sizes = shape_of(target)
    if len(sizes) == len(shape_of(source)):
        return sizes
    return (*sizes[:dim], 1, *sizes[dim:])


def _copy(host: Host, one: _Copy, source: SSAValue, target: SSAValue, dim: int, name: str) -> None:
    type = tensor_type(source)
    order = dim_order_of(type)
    sizes, made = in_order(shape_of(source), order), list(in_order(_with_dim(target, dim, source), order))
    axis = order.index(dim)
    outer, inner = product(sizes[:axis]), product(sizes[axis + 1 :])
    lanes = host.lanes
    places = [product((place, inner)) for place in (one.first, one.count, one.to)]
    computed = name != "cat" and isinstance(source.owner, KernelOp)
    if host.turn is not None and outer == 1 and computed and not host.is_held(target):
        # A view: nothing writes over what a kernel of a loop has computed before the turn ends.
        host.hold(target, host.span(host.buffer(source), places[0], places[1]))
        return
    unknown = [place for place in places if not isinstance(place, int)]
    operands = [
        Operand(host.buffer(source), [outer, product((sizes[axis], inner))]),
        Operand(host.buffer(target), [outer, product((made[axis], inner))]),
        *map(Number, unknown),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y, *given = buffers
        found = iter(given)
        first, count, to = (place if isinstance(place, int) else next(found) for place in places)
        if b.fine:
            with b.each([b.dim(y, 0), count]) as (row, place):
                b.set_element(b.element(x, [row, b.add(place, first)]), y, [row, b.add(place, to)])
            return
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

    if one.count != 0:
        host.call(name.partition("_")[0].partition(".")[0], operands, build)
