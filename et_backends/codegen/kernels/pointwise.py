"""Pointwise kernels: fused arithmetic on elements, in one pass over the data.

Dimensions over which all operands step alike are collapsed into one, so that most kernels are a single loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.arith import CmpiOp
from xdsl.ir import Attribute, SSAValue

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.elements import element_of, in_registers
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.pointwise_rules import evaluate
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["build_pointwise", "copy_kernel", "pointwise_kernel"]

VECTORS = 4
"""Vector registers of results that an iteration computes: enough to hide the latency of arithmetic."""

Steps: TypeAlias = tuple[bool, ...]
"""For each dimension whether an operand steps over it; it is the same for all places of the others."""


def pointwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of pointwise ops alone."""
    body = kernel.body.block
    last = body.last_op
    assert isinstance(last, YieldOp)
    ops = [op for op in body.ops if isinstance(op, SchemaOp)]
    (yielded,) = last.operands
    order = dim_order_of(tensor_type(kernel.outputs[0]))
    inputs = [value for value, _ in kernel.tensors()]
    arguments = [argument for _, argument in kernel.tensors()]
    sizes, steps = collapse(
        _in_memory(kernel.outputs[0], order), [_in_memory(value, order) for value in inputs]
    )
    operands = [
        Operand(host.buffer(value), [size for size, moves in zip(sizes, of, strict=True) if moves])
        for value, of in zip(inputs, steps, strict=True)
    ]
    operands.append(Operand(host.buffer(kernel.outputs[0]), sizes))

    def compute(b: LoopBuilder, values: Sequence[SSAValue]) -> SSAValue:
        known: dict[SSAValue, SSAValue] = dict(zip(arguments, values, strict=True))
        return evaluate(b, ops, known)[yielded]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        elements = [in_registers(element_of(value)) for value in inputs]
        build_pointwise(b, host.step, steps, buffers, compute, elements)

    host.call("pointwise", operands, build)


def copy_kernel(host: Host, source: SSAValue, target: SSAValue, elements: Size) -> None:
    """Copy the elements of a buffer."""

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        build_pointwise(b, host.step, [(True,)], buffers, lambda _, values: values[0])

    host.call("copy", [Operand(source, [elements]), Operand(target, [elements])], build)


def _in_memory(value: SSAValue, order: Sequence[int]) -> list[Size]:
    """The sizes of an operand by dimensions of the result, in the order in which the result has them in memory."""
    shape = shape_of(value)
    padded: list[Size] = [1] * (len(order) - len(shape)) + list(shape)
    return [padded[dim] for dim in order]


def build_pointwise(
    b: LoopBuilder,
    lanes: int,
    steps: Sequence[Steps],
    buffers: Sequence[SSAValue],
    compute: Callable[[LoopBuilder, Sequence[SSAValue]], SSAValue],
    elements: Sequence[Attribute] | None = None,
) -> None:
    """Loops over the places of the last buffer, from what `compute` makes of the elements of the others there.

    `elements` are the types of these in registers: as in memory unless given.
    Threads share all dimensions but the innermost, or blocks of it if there is no other.
    """
    *sources, target = buffers
    types = elements or [b.element_type(source) for source in sources]
    rank = len(steps[0]) if steps else 1
    width = lanes * (1 if b.small else VECTORS)
    sizes = [b.dim(target, dim) for dim in range(rank)]

    def places(place: Sequence[Index], of: Steps) -> list[Index]:
        return [index for index, moves in zip(place, of, strict=True) if moves]

    def tile(place: Sequence[Index], mask: SSAValue | None) -> None:
        values: list[SSAValue] = []
        b.active = mask
        for source, of, element in zip(sources, steps, types, strict=True):
            type = vector_of(width, element=element)
            at = places(place, of)
            if not of[-1]:
                values.append(b.broadcast(b.element(source, at), type))
            elif mask is None:
                values.append(b.load(source, at, type))
            else:
                values.append(b.masked_load(source, at, mask, b.splat(0.0, type)))
        result = compute(b, values)
        if mask is None:
            b.store(result, target, place)
        else:
            b.masked_store(result, target, place, mask)

    def guarded(place: Sequence[Index]) -> None:
        """A tile, of which part may be past the end."""
        left = b.sub(sizes[-1], place[-1])
        enough = b.value(CmpiOp(b.index(left), b.index(width), "sge"))
        with b.if_(enough) as otherwise:
            tile(place, None)
            with otherwise():
                tile(place, b.mask(left, width))

    if b.fine:
        with b.each(sizes) as each:
            tile(each, None)
        return
    if rank == 1:
        with b.parallel(sizes[0], width) as place:
            guarded([place])
        return
    outer = sizes[:-1]
    rows: Index = 1
    for size in outer:
        rows = b.mul(rows, size)
    with b.parallel(rows) as row:
        at: list[Index] = []
        rest: Index = row
        for size in reversed(outer[1:]):
            at.append(b.remainder(rest, size))
            rest = b.quotient(rest, size)
        at.append(rest)
        with b.for_(0, sizes[-1], width) as loop:
            guarded([*reversed(at), loop.index])


def collapse(shape: Sequence[Size], operands: Sequence[Sequence[Size]]) -> tuple[list[Size], list[Steps]]:
    """Sizes with neighbors merged over which all operands step alike, and over which of them each steps."""
    rank = len(shape)
    padded = [[1] * (rank - len(one)) + list(one) for one in operands]
    sizes: list[Size] = []
    kinds: list[tuple[bool, ...]] = []
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        kind = tuple(one[dim] != 1 for one in padded)
        if kinds and kinds[-1] == kind:
            sizes[-1] = product((sizes[-1], size))
        else:
            sizes.append(size)
            kinds.append(kind)
    if not sizes:
        return [1], [(True,)] * len(operands)
    return sizes, [tuple(kind[number] for kind in kinds) for number in range(len(operands))]
