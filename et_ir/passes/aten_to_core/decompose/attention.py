"""Scaled dot product attention: two batched products around a softmax.

* Grouped queries: heads that share keys and values are consecutive, so they are rows of one product; nothing is
  repeated.
* The scale multiplies the queries or the keys, whichever are fewer.
* A mask is added, as a bias of 0 and a large negative number: additions broadcast faster than selections. Rows that are
  masked altogether are 0, as torch has it; that is multiplied in at the end, by a factor computed on the mask
  alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, Size, decomposes, is_static, meta, numel
from et_ir.passes.aten_to_core.decompose.matmul import matmul
from et_ir.passes.aten_to_core.decompose.normalization import softmax
from et_ir.passes.aten_to_core.decompose.random import dropped
from et_ops.dtypes import BOOL, F32, F64, I64, DType

__all__ = ["Mask", "mask_of"]

_LOWEST = {
    F32: -(2.0**128 - 2.0**104),
    F64: -1.7976931348623157e308,
}


def _masked(dtype: DType) -> float:
    """Stand-in for minus infinity in a bias: half of the lowest number, so that adding a score cannot
    overflow.
    """
    return _LOWEST[dtype] / 2


class Mask(NamedTuple):
    """A bias to add to the scores, and a factor for the rows of the result that is 0 where a row is
    masked.
    """

    bias: SSAValue
    factor: SSAValue | None


def mask_of(b: Chain, mask: SSAValue, dtype: DType) -> Mask:
    """The form of a mask of booleans or floats, for scores of an element type."""
    return (_boolean_mask if meta(mask).dtype is BOOL else _float_mask)(b, mask, dtype)


def _boolean_mask(b: Chain, mask: SSAValue, dtype: DType) -> Mask:
    bias = b(aten.WhereSelfOp, mask, b.scalar(0.0, dtype), b.scalar(_masked(dtype), dtype))
    return Mask(bias, b.to(b(aten.AnyDimOp, mask, -1, True), dtype))


def _float_mask(b: Chain, mask: SSAValue, dtype: DType) -> Mask:
    bias = b(aten.ClampOp, b.to(mask, dtype), _masked(dtype), None)
    seen = b(aten.GtScalarOp, b(aten.AmaxOp, mask, (-1,), True), -math.inf)
    return Mask(bias, b.to(seen, dtype))


def _causal_mask(b: Chain, rows: Size, columns: Size, dtype: DType) -> Mask:
    """Row i sees columns up to i: no row is masked altogether."""
    row = b.view(b(aten.ArangeStartStepOp, 0, rows, 1, dtype=I64), (rows, 1))
    column = b(aten.ArangeStartStepOp, 0, columns, 1, dtype=I64)
    seen = b(aten.LeTensorOp, column, row)
    bias = b(aten.WhereSelfOp, seen, b.scalar(0.0, dtype), b.scalar(_masked(dtype), dtype))
    return Mask(bias, None)


@decomposes(Reason.FEWER, aten.ScaledDotProductAttentionOp)
def attention(b: Chain, op: aten.ScaledDotProductAttentionOp) -> SSAValue | None:
    """Sizes may be known at run time only, but for that of the scale and those of heads that are grouped."""
    query, key, value = op.query, op.key, op.value
    q, k, v = meta(query), meta(key), meta(value)
    dtype = q.dtype
    depth = q.shape[-1]
    if not dtype.is_float or min(q.rank, k.rank, v.rank) < 2 or depth < 0:
        return None
    if k.shape[:-2] != v.shape[:-2] or (op.attn_mask is not None and op.is_causal):
        return None
    if op.dropout_p and not is_static(query, key):
        return None
    grouped = op.enable_gqa and q.shape[-3:-2] != k.shape[-3:-2]
    if grouped:
        heads, shared = q.shape[-3], k.shape[-3]
        if shared < 1 or heads < 0 or heads % shared or q.shape[:-3] != k.shape[:-3]:
            return None
    scale = op.scale if op.scale is not None else 1 / math.sqrt(depth) if depth else 1.0

    rows, columns = b.size(query, -2), b.size(key, -2)
    batch, kept = b.sizes(query)[:-2], b.sizes(key)[:-2]
    query, key, value = b.wide(query), b.wide(key), b.wide(value)
    wide = meta(query).dtype
    if grouped:
        query = b.view(query, _whole((*kept, _times(q.shape[-3] // k.shape[-3], rows), depth)))
    if scale != 1.0:
        if not is_static(query, key) or numel(query) <= numel(key):
            query = b(aten.MulScalarOp, query, scale)
        else:
            key = b(aten.MulScalarOp, key, scale)
    scores = matmul(b, query, b(aten.TransposeIntOp, key, -2, -1))
    mask = _mask(b, op, rows, columns, wide)
    if mask is not None:
        if grouped:
            scores = b.view(scores, (*batch, rows, columns))
        scores = b(aten.AddTensorOp, scores, mask.bias)
    weights = softmax(b, scores, -1)
    if op.dropout_p:
        weights = dropped(b, weights, op.dropout_p, meta(weights).shape)
    if grouped and mask is not None:
        weights = b.view(weights, _whole((*kept, _times(q.shape[-3] // k.shape[-3], rows), columns)))
    result = matmul(b, weights, value)
    if grouped:
        result = b.view(result, (*batch, rows, b.size(value, -1)))
    if mask is not None and mask.factor is not None:
        result = b(aten.MulTensorOp, result, mask.factor)
    return b.to(result, dtype)


def _times(factor: int, size: Size) -> Size | None:
    """A multiple of a size, `None` for one known at run time only."""
    return factor * size if isinstance(size, int) else None


def _whole(sizes: Sequence[Size | None]) -> list[Size]:
    """Sizes of a view, of which it makes out one itself."""
    return [-1 if size is None else size for size in sizes]


def _mask(
    b: Chain, op: aten.ScaledDotProductAttentionOp, rows: Size, columns: Size, dtype: DType
) -> Mask | None:
    if op.is_causal:
        return _causal_mask(b, rows, columns, dtype)
    if op.attn_mask is None:
        return None
    return mask_of(b, op.attn_mask, dtype)
