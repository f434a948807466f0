"""Sums, means and maxima over bags of embeddings."""

from __future__ import annotations

import functools

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, check_kinds, check_rank, check_same_type, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor

_SUM, _MEAN, _MAX = range(3)
_FAST = (ScalarType.FLOAT, ScalarType.HALF, ScalarType.BFLOAT16)


@kernel("aten::_embedding_bag.out")
def embedding_bag_out(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
    out3: Tensor,
) -> Step:
    """Rows of `weight` [N, D] named by `indices` [I], summed (`mode` 0), averaged (1) or maximised (2)
    over the bags that start at `offsets` [B]; rows `padding_idx` do not count.

    `out0` [B, D]; `out1`, the bag of each index, is empty where torch does not compute it; `out2` [B] the
    sizes of the bags and `out3` the indices of the maxima, zeros (the sizes, for means) in the other modes.
    Allocates the rows that are named.
    """
    count = offsets.numel - (1 if include_last_offset else 0)
    return _embedding_bag(
        ctx, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, count,
        (out0, out1, out2, out3),
    )  # fmt: skip


@kernel("aten::_embedding_bag_forward_only.out")
def embedding_bag_forward_only_out(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
    out3: Tensor,
) -> Step:
    """The same. Of sums torch gives `out2` an element for the last offset, too."""
    last = 1 if include_last_offset else 0
    count = offsets.numel - (0 if mode == _SUM else last)
    return _embedding_bag(
        ctx, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx, count,
        (out0, out1, out2, out3),
    )  # fmt: skip


def _embedding_bag(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: int,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    sizes: int,
    outs: tuple[Tensor, Tensor, Tensor, Tensor],
) -> Step:
    out0, out1, out2, out3 = outs
    check_kinds(ctx, weight.scalar_type, (FLOAT,), arg="weight")
    check_rank(ctx, weight, 2, arg="weight")
    for arg, tensor in (("indices", indices), ("offsets", offsets)):
        check_rank(ctx, tensor, 1, arg=arg)
        ctx.check(
            tensor.scalar_type in (ScalarType.INT, ScalarType.LONG),
            arg=arg,
            expected="int32 or int64",
            got=tensor.scalar_type.torch_name,
        )
    ctx.check(mode in (_SUM, _MEAN, _MAX), arg="mode", expected="0, 1 or 2", got=mode)
    check_same_type(ctx, weight, ("per_sample_weights", per_sample_weights), ("out0", out0))
    if per_sample_weights is not None:
        ctx.check(mode == _SUM, arg="mode", expected="0 with per_sample_weights", got=mode)
        ctx.check(
            per_sample_weights.sizes == indices.sizes,
            arg="per_sample_weights",
            expected=f"shape {list(indices.sizes)}",
            got=list(per_sample_weights.sizes),
        )
    rows, width = weight.sizes
    ctx.check(
        -rows <= padding_idx < rows or padding_idx == -1,
        arg="padding_idx",
        expected=f"-1 or a row in [{-rows}, {rows})",
        got=padding_idx,
    )
    count = offsets.sizes[0] - (1 if include_last_offset else 0)
    ctx.check(count >= 0, arg="offsets", expected="at least the last offset", got=list(offsets.sizes))
    kind = (
        ScalarType.LONG if ScalarType.LONG in (indices.scalar_type, offsets.scalar_type) else ScalarType.INT
    )
    for arg, tensor in (("out1", out1), ("out2", out2), ("out3", out3)):
        check_type(ctx, kind, tensor, arg=arg)
    fast = mode == _SUM and weight.scalar_type in _FAST and padding_idx < 0
    out0.resize((count, width))
    out1.resize((0 if fast else indices.sizes[0],))
    out2.resize((sizes,))
    out3.resize((count, width) if mode == _MAX else (sizes,))
    ctx.work(4 * indices.numel * width)
    weights = [] if per_sample_weights is None else [per_sample_weights]
    compute = functools.partial(_bags, ctx, rows, mode, (count, sizes), padding_idx, not fast)
    return evaluated(compute, (weight, indices, offsets, *weights), (out0, out1, out2, out3))


def _bags(
    ctx: PrepareContext,
    rows: int,
    mode: int,
    counts: tuple[int, int],
    padding: int,
    names_bags: bool,
    weight: Array,
    indices: Array,
    offsets: Array,
    scale: Array | None = None,
) -> tuple[Array, ...]:
    check_range(ctx, indices, 0, rows, "indices")
    count, zeros = counts
    starts = offsets[:count].astype(np.int64)
    if count and (starts[0] != 0 or starts[-1] > len(indices) or (np.diff(starts) < 0).any()):
        expected = f"offsets that rise from 0 to at most {len(indices)}"
        raise ctx.trap(arg="offsets", expected=expected, got=starts.tolist())
    if not count and len(indices):
        raise ctx.trap(arg="offsets", expected=f"a bag for {len(indices)} indices", got=[])
    bags = np.searchsorted(starts, np.arange(len(indices)), side="right") - 1
    kept = indices != padding if padding >= 0 else np.ones(len(indices), np.bool_)
    named, owners = indices[kept], bags[kept]
    found = weight[named]
    sizes = np.bincount(owners, minlength=count)[:count]
    best = np.zeros(zeros, np.int64)
    if mode == _MAX:
        result, best = _maxima(found, named, owners, count)
    else:
        if scale is not None:
            found = found * scale[kept][:, None]
        result = np.zeros((count, weight.shape[1]), weight.dtype)
        np.add.at(result, owners, found)
        if mode == _MEAN:
            result /= np.maximum(sizes, 1).astype(weight.dtype)[:, None]
            best = sizes
    return result, bags if names_bags else bags[:0], best if mode == _SUM else sizes, best


def _maxima(found: Array, named: Array, owners: Array, count: int) -> tuple[Array, Array]:
    """The largest element of each column of each bag, zero for an empty bag, and the row it is from."""
    result = np.zeros((count, found.shape[1]), found.dtype)
    best = np.zeros((count, found.shape[1]), np.int64)
    for bag in np.unique(owners):
        rows = np.flatnonzero(owners == bag)
        first = np.argmax(found[rows], axis=0)
        best[bag] = named[rows[first]]
        result[bag] = np.take_along_axis(found[rows], first[None], axis=0)[0]
    return result, best
