"""Matrix products: everything comes down to `mm` and `bmm`.

Products with one matrix on the right are folded into a single `mm` over all rows. A term that is added is
added by `add.Tensor`, not `addmm`: that is as fast where `addmm` is well implemented, and an order of
magnitude faster where it is not, as on ExecuTorch's portable kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, Size, decomposes, is_static, meta
from et_ops.dtypes import I32, I64
from et_ops.inference.meta import UNKNOWN
from et_ops.inference.shapes import broadcast

__all__ = ["matmul"]


def matmul(b: Chain, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x @ y` for all ranks."""
    left, right = meta(x), meta(y)
    if left.rank == 1 or right.rank == 1:
        return _with_vector(b, x, y)
    if left.rank == 2 and right.rank == 2:
        return b(aten.MmOp, x, y)
    if left.rank >= right.rank and all(size == 1 for size in right.shape[:-2]):
        return _rows_times_matrix(b, x, b.view(y, b.sizes(y)[-2:]))
    batch = _common_batch(b, x, y)
    x, y = b.expand(x, (*batch, -1, -1)), b.expand(y, (*batch, -1, -1))
    product = b(aten.BmmOp, _as_batch(b, x), _as_batch(b, y))
    return product if len(batch) == 1 else b.view(product, (*batch, b.size(x, -2), b.size(y, -1)))


def _with_vector(b: Chain, x: SSAValue, y: SSAValue) -> SSAValue:
    """A vector is a row on the left, a column on the right; its dimension of 1 does not come out."""
    sizes: list[Size] = []
    if meta(x).rank > 1:
        sizes += b.sizes(x)[:-1]
    else:
        x = b(aten.UnsqueezeOp, x, 0)
    if meta(y).rank > 1:
        shape = b.sizes(y)
        sizes += [*shape[:-2], shape[-1]]
    else:
        y = b(aten.UnsqueezeOp, y, 1)
    return b.view(matmul(b, x, y), sizes)


def _common_batch(b: Chain, x: SSAValue, y: SSAValue) -> list[Size]:
    """The sizes that the batches of two operands broadcast to.

    Two sizes known at run time only are equal: `torch.export` assumes of neither that it is 1.
    """
    left, right = meta(x).shape[:-2], meta(y).shape[:-2]
    common: list[Size] = list(broadcast(left, right))
    for i, size in enumerate(common):
        if size == UNKNOWN:
            place = i - len(common) - 2
            holder = x if len(left) >= len(common) - i and meta(x).shape[place] == UNKNOWN else y
            common[i] = b.size(holder, place)
    return common


def _rows_times_matrix(b: Chain, x: SSAValue, matrix: SSAValue) -> SSAValue:
    sizes = b.sizes(x)
    rows = b(aten.MmOp, b.view(x, (_merged(b, sizes[:-1], sizes[-1:]), sizes[-1])), matrix)
    return b.view(rows, (*sizes[:-1], b.size(matrix, 1)))


def _as_batch(b: Chain, x: SSAValue) -> SSAValue:
    sizes = b.sizes(x)
    return x if len(sizes) == 3 else b.view(x, (_merged(b, sizes[:-2], sizes[-2:]), *sizes[-2:]))


def _merged(b: Chain, sizes: Sequence[Size], rest: Sequence[Size]) -> Size:
    """The product of sizes. A view beside the `rest` can make it out itself, by -1, unless one of these may be zero."""
    known = prod(size for size in sizes if isinstance(size, int))
    unknown = [size for size in sizes if not isinstance(size, int)]
    if unknown and all(isinstance(size, int) and size for size in rest):
        return -1
    factors = unknown if unknown and known == 1 else [*unknown, known]
    return reduce(lambda a, size: b.compute("mul", a, size), factors)


@decomposes(Reason.COMMON, aten.MatmulOp, aten.LinalgMatmulOp)
def decompose_matmul(b: Chain, op: aten.MatmulOp) -> SSAValue:
    return matmul(b, op.self, op.other)


@decomposes(Reason.COMMON, aten.LinearOp)
def linear(b: Chain, op: aten.LinearOp) -> SSAValue:
    weight = op.weight
    if meta(weight).rank == 2:
        weight = b(aten.PermuteOp, weight, (1, 0))
    product = matmul(b, op.input, weight)
    return product if op.bias is None else b(aten.AddTensorOp, product, op.bias)


@decomposes(Reason.CHEAPER, aten.MvOp)
def mv(b: Chain, op: aten.MvOp) -> SSAValue:
    return matmul(b, op.self, op.vec)


@decomposes(Reason.COMMON, aten.OuterOp)
def outer(b: Chain, op: aten.OuterOp) -> SSAValue:
    return b(aten.MulTensorOp, b(aten.UnsqueezeOp, op.self, 1), op.vec2)


def _scaled(b: Chain, x: SSAValue, factor: Number | SSAValue) -> SSAValue:
    return x if factor == 1 else b(aten.MulScalarOp, x, factor)


def _combined(
    b: Chain, term: SSAValue, product: SSAValue, beta: Number | SSAValue, alpha: Number | SSAValue
) -> SSAValue:
    """`beta * term + alpha * product`, where a `beta` of 0 says not to read the term at all.

    Integers are multiplied with what is left of the factors without their fractions.
    """
    if meta(term).dtype.is_integral:
        beta, alpha = (f if isinstance(f, SSAValue) else int(f) for f in (beta, alpha))
    product = _scaled(b, product, alpha)
    if beta == 0:
        return product
    return b(aten.AddTensorOp, _scaled(b, term, beta), product)


@decomposes(Reason.CHEAPER, aten.BaddbmmOp)
def baddbmm(b: Chain, op: aten.BaddbmmOp) -> SSAValue:
    return _combined(b, op.self, b(aten.BmmOp, op.batch1, op.batch2), op.beta, op.alpha)


@decomposes(Reason.NONE, aten.AddbmmOp)
def addbmm(b: Chain, op: aten.AddbmmOp) -> SSAValue:
    """The sum over the batch is part of one product, in which batch and inner dimension are contracted."""
    if not is_static(op.batch1, op.batch2):
        product = b(
            aten.SumDimIntListOp, b(aten.BmmOp, op.batch1, op.batch2), (0,), dtype=meta(op.result).dtype
        )
        return _combined(b, op.self, product, op.beta, op.alpha)
    batch, rows, depth = meta(op.batch1).shape
    left = b.view(b(aten.PermuteOp, op.batch1, (1, 0, 2)), (rows, batch * depth))
    right = b.view(op.batch2, (batch * depth, meta(op.batch2).shape[2]))
    product = b(aten.MmOp, left, right)
    return _combined(b, op.self, product, op.beta, op.alpha)


@decomposes(Reason.CHEAPER, aten.AddmvOp)
def addmv(b: Chain, op: aten.AddmvOp) -> SSAValue:
    return _combined(b, op.self, b(aten.MvOp, op.mat, op.vec), op.beta, op.alpha)


@decomposes(Reason.NONE, aten.UnderscoreIntMmOp)
def int_mm(b: Chain, op: aten.UnderscoreIntMmOp) -> SSAValue:
    """Bytes, multiplied and summed as i32."""
    return b(aten.MmOp, b.to(op.self, I32), b.to(op.mat2, I32))


@decomposes(Reason.NONE, aten.GroupedLinearOp)
def grouped_linear(b: Chain, op: aten.GroupedLinearOp) -> SSAValue | None:
    """Of few rows each is multiplied with a copy of its group's matrix, so that only these are read. Of more rows, or
    of a number that is not known, all are multiplied with each matrix, and a group's rows are kept.
    """
    (stacked, inner), (groups,) = meta(op.weight).shape, meta(op.ends).shape
    if groups <= 0 or not is_static(op.weight):
        return None
    rows = b.size(op.input, 0)
    matrices = b.view(op.weight, (groups, stacked // groups, inner))
    places = b.view(b(aten.ArangeStartStepOp, 0, rows, 1, dtype=meta(op.ends).dtype), (rows, 1))
    zero = b.scalar(0.0, meta(op.result).dtype)
    if isinstance(rows, int) and rows <= groups:
        # Rows behind the last group have none, and are zeros.
        is_behind = b(aten.GeTensorOp, places, b.view(op.ends, (1, groups)))
        group = b(aten.SumDimIntListOp, is_behind, (1,), dtype=I64)
        chosen = b(aten.IndexSelectOp, matrices, 0, b(aten.ClampOp, group, None, groups - 1))
        found = b(aten.BmmOp, chosen, b.view(op.input, (rows, inner, 1)))
        has_one = b.view(b(aten.LtScalarOp, group, groups), (rows, 1))
        return b(aten.WhereSelfOp, has_one, b.view(found, (rows, stacked // groups)), zero)
    result = b.expand(zero, (rows, stacked // groups))
    for group in reversed(range(groups)):
        product = b(aten.LinearOp, op.input, b(aten.SelectIntOp, matrices, 0, group))
        is_before = b(aten.LtTensorOp, places, b(aten.SelectIntOp, op.ends, 0, group))
        result = b(aten.WhereSelfOp, is_before, product, result)
    return result
