"""Gathers and scatters in the forms that Core ATen has."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, decomposes, is_static, meta, numel
from et_ops.dtypes import I32, I64


@decomposes(aten.TakeAlongDimOp)
def take_along_dim(b: Chain, op: aten.TakeAlongDimOp) -> SSAValue | None:
    x, index = op.self, op.indices
    if not is_static(x, index):
        return None
    if op.dim is None:
        flat = b.view(x, (numel(x),))
        return b(aten.GatherOp, flat, 0, _wrapped(b, b.view(index, (numel(index),)), numel(x)))
    ours, theirs = list(meta(x).shape), list(meta(index).shape)
    if len(ours) != len(theirs):
        return None
    dim = op.dim % len(ours)
    batch = [max(m, n) for m, n in zip(ours, theirs, strict=True)]
    x = b.expand(x, (*batch[:dim], ours[dim], *batch[dim + 1 :]))
    index = b.expand(index, (*batch[:dim], theirs[dim], *batch[dim + 1 :]))
    return b(aten.GatherOp, x, dim, _wrapped(b, index, ours[dim]))


def _wrapped(b: Chain, index: SSAValue, size: int) -> SSAValue:
    """Indices of which negative ones count from the end, as ones from the start."""
    negative = b(aten.LtScalarOp, index, 0)
    return b(aten.WhereSelfOp, negative, b(aten.AddScalarOp, index, size), index)


@decomposes(aten.TakeOp)
def take(b: Chain, op: aten.TakeOp) -> SSAValue | None:
    if not is_static(op.self):
        return None
    return b(aten.IndexTensorOp, b.view(op.self, (-1,)), (op.index,))


@decomposes(aten.GatherOp)
def gather(b: Chain, op: aten.GatherOp) -> SSAValue | None:
    """With indices that kernels take: torch takes bytes as well, if there are none or one."""
    if meta(op.index).dtype in (I32, I64):
        return None
    return b(aten.GatherOp, op.self, op.dim, b.to(op.index, I64))


@decomposes(aten.EmbeddingBagOp, aten.EmbeddingBagPaddingIdxOp)
def embedding_bag(b: Chain, op: aten.EmbeddingBagPaddingIdxOp) -> Sequence[SSAValue] | None:
    """Without what is remembered for gradients alone. A padding index counts from the end if it is negative, and the
    kernel's -1 is none.
    """
    if not is_static(op.weight, op.indices, op.offsets):
        return None
    padding = op.padding_idx if "padding_idx" in op.schema().by_name else None
    return b.results(
        aten.UnderscoreEmbeddingBagForwardOnlyOp, op.weight, op.indices, op.offsets, op.scale_grad_by_freq,
        op.mode, op.sparse, op.per_sample_weights, op.include_last_offset,
        -1 if padding is None else padding % meta(op.weight).shape[0],
    )  # fmt: skip


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


@decomposes(aten.ScatterReduceOp)
def scatter_by(b: Chain, op: aten.ScatterReduceOp) -> SSAValue | None:
    return _scatter_reduced(b, op, op.src)


@decomposes(aten.ScatterValueReduceOp)
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


@decomposes(aten.IndexReduceOp)
def index_reduce(b: Chain, op: aten.IndexReduceOp) -> SSAValue | None:
    """A scatter of whole slices."""
    rank = meta(op.self).rank
    if not is_static(op.source):
        return None
    if not rank:
        index, source = (b.view(value, (1,)) for value in (op.index, op.source))
        line = b.view(op.self, (1,))
        return b.view(
            b(aten.IndexReduceOp, line, 0, index, source, op.reduce, include_self=op.include_self), ()
        )
    dim = op.dim % rank
    shape = meta(op.source).shape
    line = b.view(b.to(op.index, I64), [shape[dim] if d == dim else 1 for d in range(rank)])
    index = b.expand(line, shape)
    reduce, include_self = op.reduce, op.include_self
    return b(aten.ScatterReduceTwoOp, op.self, dim, index, op.source, reduce, include_self=include_self)


@decomposes(aten.PutOp)
def put(b: Chain, op: aten.PutOp) -> SSAValue | None:
    x, shape = op.self, meta(op.self).shape
    if not is_static(x, op.index):
        return None
    index, source = (b.view(value, (numel(op.index),)) for value in (op.index, op.source))
    written = b(aten.IndexPutOp, b.view(x, (numel(x),)), (index,), source, op.accumulate)
    return b.view(written, shape)


@decomposes(aten.DiagonalScatterOp)
def diagonal_scatter(b: Chain, op: aten.DiagonalScatterOp) -> SSAValue | None:
    """Written at pairs of indices, with the two dimensions of the diagonal in front."""
    x, rank = op.self, meta(op.self).rank
    if not is_static(x):
        return None
    first, second = op.dim1 % rank, op.dim2 % rank
    order = [first, second, *(d for d in range(rank) if d not in (first, second))]
    rows, columns = (meta(x).shape[d] for d in (first, second))
    down, across = max(-op.offset, 0), max(op.offset, 0)
    length = max(min(rows - down, columns - across), 0)
    if not length:
        return x
    index = [b(aten.ArangeStartStepOp, start, start + length, 1, dtype=I64) for start in (down, across)]
    values = b.permute(op.src, [rank - 2, *range(rank - 2)])
    written = b(aten.IndexPutOp, b.permute(x, order), index, values)
    return b.permute(written, [order.index(d) for d in range(rank)])


@decomposes(aten.AsStridedScatterOp)
def as_strided_scatter(b: Chain, op: aten.AsStridedScatterOp) -> SSAValue | None:
    """Written at the places that the strides address, in the elements as they lie in memory."""
    x, shape = op.self, meta(op.self).shape
    sizes, strides, start = op.size, op.stride, op.storage_offset or 0
    if isinstance(start, SSAValue) or any(isinstance(n, SSAValue) for n in (*sizes, *strides)):
        return None
    if not is_static(x):
        return None
    place = b.scalar(start, I64)
    for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = b(aten.ArangeStartStepOp, 0, size, 1, dtype=I64)
        line = b.view(line, [size if d == dim else 1 for d in range(len(sizes))])
        place = b(aten.AddTensorOp, place, b(aten.MulScalarOp, line, stride))
    count = numel(op.src)
    index, values = b.view(b.expand(place, sizes), (count,)), b.view(op.src, (count,))
    return b.view(b(aten.IndexPutOp, b.view(x, (numel(x),)), (index,), values), shape)


_PIECES = 256
"""As many pieces are worth joining."""


@decomposes(aten.CombinationsOp)
def combinations(b: Chain, op: aten.CombinationsOp) -> SSAValue | None:
    """All combinations that start with an element: it, and those of one element less of what follows."""
    x, again = op.self, int(op.with_replacement)
    if not is_static(x) or numel(x) ** max(op.r - 1, 1) > _PIECES:
        return None
    found = _combinations(b, x, op.r, again)
    return b.full((0, op.r) if op.r else (0,), 0, meta(x).dtype) if found is None else found


def _combinations(b: Chain, x: SSAValue, length: int, again: int) -> SSAValue | None:
    """Rows of combinations of a length; `None` if there are none."""
    size = numel(x)
    if length == 0:
        return None
    if length == 1:
        return b.view(x, (size, 1)) if size else None
    pieces: list[SSAValue] = []
    for i in range(size):
        following = b(aten.SliceTensorOp, x, 0, i + 1 - again, size)
        rest = _combinations(b, following, length - 1, again) if numel(following) else None
        if rest is not None:
            rows = meta(rest).shape[0]
            head = b.expand(b.view(b(aten.SliceTensorOp, x, 0, i, i + 1), (1, 1)), (rows, 1))
            pieces.append(b(aten.CatOp, (head, rest), 1))
    return b(aten.CatOp, pieces, 0) if pieces else None


@decomposes(aten.ArgwhereOp)
def argwhere(b: Chain, op: aten.ArgwhereOp) -> SSAValue:
    return b(aten.NonzeroOp, op.self)


@decomposes(aten.NonzeroNumpyOp)
def nonzero_numpy(b: Chain, op: aten.NonzeroNumpyOp) -> list[SSAValue]:
    x = op.self if meta(op.self).rank else b(aten.UnsqueezeOp, op.self, 0)
    found = b(aten.NonzeroOp, x)
    return [b(aten.SelectIntOp, found, 1, dim) for dim in range(meta(x).rank)]


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
