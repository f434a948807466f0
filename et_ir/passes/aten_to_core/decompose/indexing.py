"""Gathers and scatters in the forms that Core ATen has."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, meta
from et_ops.dtypes import I32, I64


@decomposes(Reason.NONE, aten.TakeOp)
def take(b: Chain, op: aten.TakeOp) -> SSAValue:
    return b(aten.IndexTensorOp, b.view(op.self, (-1,)), (op.index,))


@decomposes(Reason.KERNEL, aten.GatherOp)
def gather(b: Chain, op: aten.GatherOp) -> SSAValue | None:
    """With indices that kernels take: torch takes bytes as well, if there are none or one."""
    if meta(op.index).dtype in (I32, I64):
        return None
    return b(aten.GatherOp, op.self, op.dim, b.to(op.index, I64))


@decomposes(Reason.KERNEL, aten.ScatterReduceTwoOp)
def scatter_reduce(b: Chain, op: aten.ScatterReduceTwoOp) -> SSAValue | None:
    """A sum is a `scatter_add`, which there is a kernel for, of complex tensors too."""
    if op.reduce != "sum" or not op.include_self:
        return None
    return b(aten.ScatterAddOp, op.self, op.dim, op.index, op.src)


@decomposes(Reason.NONE, aten.ScatterReduceOp)
def scatter_by(b: Chain, op: aten.ScatterReduceOp) -> SSAValue | None:
    return _scatter_reduced(b, op, op.src)


@decomposes(Reason.NONE, aten.ScatterValueReduceOp)
def scatter_value_by(b: Chain, op: aten.ScatterValueReduceOp) -> SSAValue | None:
    if isinstance(op.value, SSAValue):
        return None
    return _scatter_reduced(b, op, b.full(b.sizes(op.index), op.value, meta(op.self).dtype))


_REDUCTIONS = {"add": "sum", "multiply": "prod"}
"""The name in `scatter_reduce` of what `scatter` calls another."""


def _scatter_reduced(
    b: Chain, op: aten.ScatterReduceOp | aten.ScatterValueReduceOp, src: SSAValue
) -> SSAValue:
    return b(aten.ScatterReduceTwoOp, op.self, op.dim, op.index, src, _REDUCTIONS[op.reduce])


@decomposes(Reason.NONE, aten.IndexReduceOp)
def index_reduce(b: Chain, op: aten.IndexReduceOp) -> SSAValue:
    """A scatter of whole slices."""
    rank = meta(op.self).rank
    if not rank:
        index, source = (b.view(value, (1,)) for value in (op.index, op.source))
        line = b.view(op.self, (1,))
        return b.view(
            b(aten.IndexReduceOp, line, 0, index, source, op.reduce, include_self=op.include_self), ()
        )
    dim = op.dim % rank
    shape = b.sizes(op.source)
    line = b.view(b.to(op.index, I64), [shape[dim] if d == dim else 1 for d in range(rank)])
    index = b.expand(line, shape)
    reduce, include_self = op.reduce, op.include_self
    return b(aten.ScatterReduceTwoOp, op.self, dim, index, op.source, reduce, include_self=include_self)


@decomposes(Reason.NONE, aten.PutOp)
def put(b: Chain, op: aten.PutOp) -> SSAValue:
    sizes = b.sizes(op.self)
    index, source, x = map(b.flat, (op.index, op.source, op.self))
    return b.view(b(aten.IndexPutOp, x, (index,), source, op.accumulate), sizes)


@decomposes(Reason.NONE, aten.DiagonalScatterOp)
def diagonal_scatter(b: Chain, op: aten.DiagonalScatterOp) -> SSAValue:
    """Written at pairs of indices, with the two dimensions of the diagonal in front."""
    x, rank = op.self, meta(op.self).rank
    first, second = op.dim1 % rank, op.dim2 % rank
    order = [first, second, *(d for d in range(rank) if d not in (first, second))]
    length = b.size(op.src, -1)
    if length == 0:
        return x
    index = [
        b(aten.ArangeStartStepOp, start, b.compute("add", length, start), 1, dtype=I64)
        for start in (max(-op.offset, 0), max(op.offset, 0))
    ]
    values = b.permute(op.src, [rank - 2, *range(rank - 2)])
    written = b(aten.IndexPutOp, b.permute(x, order), index, values)
    return b.permute(written, [order.index(d) for d in range(rank)])


@decomposes(Reason.NONE, aten.AsStridedScatterOp)
def as_strided_scatter(b: Chain, op: aten.AsStridedScatterOp) -> SSAValue:
    """Written at the places that the strides address, in the elements as they lie in memory."""
    whole, sizes, start = b.sizes(op.self), op.size, op.storage_offset or 0
    place = b(aten.FullOp, (), start, dtype=I64)
    for dim, (size, stride) in enumerate(zip(sizes, op.stride, strict=True)):
        line = b(aten.ArangeStartStepOp, 0, size, 1, dtype=I64)
        line = b.view(line, [size if d == dim else 1 for d in range(len(sizes))])
        place = b(aten.AddTensorOp, place, b(aten.MulScalarOp, line, stride))
    index, values, x = map(b.flat, (b.expand(place, sizes), op.src, op.self))
    return b.view(b(aten.IndexPutOp, x, (index,), values), whole)


@decomposes(Reason.NONE, aten.ArgwhereOp)
def argwhere(b: Chain, op: aten.ArgwhereOp) -> SSAValue:
    return b(aten.NonzeroOp, op.self)


@decomposes(Reason.NONE, aten.NonzeroNumpyOp)
def nonzero_numpy(b: Chain, op: aten.NonzeroNumpyOp) -> list[SSAValue]:
    x = op.self if meta(op.self).rank else b(aten.UnsqueezeOp, op.self, 0)
    found = b(aten.NonzeroOp, x)
    return [b(aten.SelectIntOp, found, 1, dim) for dim in range(meta(x).rank)]


@decomposes(Reason.SIZES, aten.IsinTensorTensorOp)
def isin(b: Chain, op: aten.IsinTensorTensorOp) -> SSAValue | None:
    if meta(op.elements).dtype is not meta(op.test_elements).dtype:
        return None
    elements = b(aten.UnsqueezeOp, op.elements, -1)
    found = b(aten.AnyDimOp, b(aten.EqTensorOp, elements, b.view(op.test_elements, (-1,))), -1)
    return b(aten.LogicalNotOp, found) if op.invert else found
