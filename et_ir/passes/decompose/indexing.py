"""Gathers and scatters in the forms that Core ATen has."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.aten.generated import ops as aten
from et_ir.dialects.aten.inference.dtypes import I64
from et_ir.passes.decompose.chain import Chain, decomposes, is_static, meta


@decomposes(aten.TakeAlongDimOp)
def take_along_dim(b: Chain, op: aten.TakeAlongDimOp) -> SSAValue | None:
    x, index = op.self, op.indices
    if not is_static(x, index):
        return None
    if op.dim is None:
        flat, places = b.view(x, (-1,)), b.view(index, (-1,))
        return b(aten.GatherOp, flat, 0, places)
    ours, theirs = list(meta(x).shape), list(meta(index).shape)
    if len(ours) != len(theirs):
        return None
    dim = op.dim % len(ours)
    batch = [max(m, n) for m, n in zip(ours, theirs, strict=True)]
    x = b.expand(x, (*batch[:dim], ours[dim], *batch[dim + 1 :]))
    index = b.expand(index, (*batch[:dim], theirs[dim], *batch[dim + 1 :]))
    return b(aten.GatherOp, x, dim, index)


@decomposes(aten.TakeOp)
def take(b: Chain, op: aten.TakeOp) -> SSAValue | None:
    if not is_static(op.self):
        return None
    return b(aten.IndexTensorOp, b.view(op.self, (-1,)), (op.index,))


def _put(b: Chain, x: SSAValue, dim: int, index: SSAValue, values: SSAValue, *, accumulate: bool) -> SSAValue:
    """Assign to the slices of `x` along a dimension that `index` names."""
    rank = meta(x).rank
    dim %= rank
    return b(aten.IndexPutOp, x, (*(None,) * dim, index), values, accumulate)


def _vector(b: Chain, index: SSAValue) -> SSAValue:
    index = b.to(index, I64)
    return index if meta(index).rank else b(aten.UnsqueezeOp, index, 0)


@decomposes(aten.ScatterReduceTwoOp)
def scatter_reduce(b: Chain, op: aten.ScatterReduceTwoOp) -> SSAValue | None:
    if op.reduce != "sum" or not op.include_self:
        return None
    return b(aten.ScatterAddOp, op.self, op.dim, op.index, op.src)


@decomposes(aten.IndexAddOp)
def index_add(b: Chain, op: aten.IndexAddOp) -> SSAValue | None:
    if meta(op.self).rank == 0:
        return None
    values = op.source if op.alpha == 1 else b(aten.MulScalarOp, op.source, op.alpha)
    return _put(b, op.self, op.dim, _vector(b, op.index), values, accumulate=True)


@decomposes(aten.IndexCopyOp)
def index_copy(b: Chain, op: aten.IndexCopyOp) -> SSAValue | None:
    if meta(op.self).rank == 0:
        return None
    return _put(b, op.self, op.dim, _vector(b, op.index), op.source, accumulate=False)


@decomposes(aten.IndexFillIntScalarOp)
def index_fill(b: Chain, op: aten.IndexFillIntScalarOp) -> SSAValue | None:
    if meta(op.self).rank == 0 or isinstance(op.value, SSAValue):
        return None
    value = b.scalar(op.value, meta(op.self).dtype)
    return _put(b, op.self, op.dim, _vector(b, op.index), value, accumulate=False)


@decomposes(aten.IndexFillIntTensorOp)
def index_fill_tensor(b: Chain, op: aten.IndexFillIntTensorOp) -> SSAValue | None:
    if meta(op.self).rank == 0 or meta(op.value).wrapped:
        return None
    value = b.to(op.value, meta(op.self).dtype)
    return _put(b, op.self, op.dim, _vector(b, op.index), value, accumulate=False)


@decomposes(aten.IsinTensorTensorOp)
def isin(b: Chain, op: aten.IsinTensorTensorOp) -> SSAValue | None:
    if not is_static(op.test_elements) or meta(op.elements).dtype is not meta(op.test_elements).dtype:
        return None
    elements = b(aten.UnsqueezeOp, op.elements, -1)
    found = b(aten.AnyDimOp, b(aten.EqTensorOp, elements, b.view(op.test_elements, (-1,))), -1)
    return b(aten.LogicalNotOp, found) if op.invert else found


@decomposes(aten.IsinTensorScalarOp)
def isin_scalar(b: Chain, op: aten.IsinTensorScalarOp) -> SSAValue:
    return b(aten.NeScalarOp if op.invert else aten.EqScalarOp, op.elements, op.test_element)
