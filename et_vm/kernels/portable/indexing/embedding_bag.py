"""Sums, means and maxima over bags of embeddings."""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference import indexing as rules
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import dtype_of
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_SUM, _MEAN, _MAX = range(3)


@kernel("aten::_embedding_bag.out")
@inferred(rules.embedding_bag, empty=True, outs=4)
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
    over the bags that start at `offsets` [B]; rows `padding_idx` do not count. With `include_last_offset`, of
    [B + 1], the last of which ends the last bag where it does in torch (`bags_end`).

    `out0` [B, D]; `out1`, the bag of each index, is empty where torch does not compute it; `out2` [B] the
    sizes of the bags and `out3` the indices of the maxima, zeros (the sizes, for means) in the other modes.
    Allocates the rows that are named.
    """
    return _embedding_bag(
        ctx,
        (weight, indices, offsets),
        mode,
        per_sample_weights,
        include_last_offset,
        padding_idx,
        (out0, out1, out2, out3),
    )


@kernel("aten::_embedding_bag_forward_only.out")
@inferred(rules.embedding_bag_forward_only, empty=True, outs=4)
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
    return _embedding_bag(
        ctx,
        (weight, indices, offsets),
        mode,
        per_sample_weights,
        include_last_offset,
        padding_idx,
        (out0, out1, out2, out3),
    )


def _embedding_bag(
    ctx: PrepareContext,
    tensors: tuple[Tensor, Tensor, Tensor],
    mode: int,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int,
    outs: tuple[Tensor, Tensor, Tensor, Tensor],
) -> Step:
    weight, indices, _ = tensors
    rows, width = weight.sizes
    count, sizes = outs[0].sizes[0], outs[2].sizes[0]
    ends = rules.bags_end(dtype_of(weight.scalar_type), mode, padding_idx)
    ctx.work(4 * indices.numel * width)
    weights = [] if per_sample_weights is None else [per_sample_weights]
    names_bags = mode != _SUM or not ends
    last = include_last_offset and ends
    compute = functools.partial(_bags, ctx, rows, mode, (count, sizes), padding_idx, names_bags, last)
    return evaluated(compute, (*tensors, *weights), outs)


def _bags(
    ctx: PrepareContext,
    rows: int,
    mode: int,
    counts: tuple[int, int],
    padding: int,
    names_bags: bool,
    ends: bool,
    weight: Array,
    indices: Array,
    offsets: Array,
    scale: Array | None = None,
) -> tuple[Array, ...]:
    check_range(ctx, indices, 0, rows, "indices")
    count, zeros = counts
    all_offsets = offsets.astype(np.int64)
    starts = all_offsets[:count]
    ordered = all_offsets if ends else starts
    if count and (starts[0] != 0 or (all_offsets > len(indices)).any() or (np.diff(ordered) < 0).any()):
        expected = f"offsets in ascending order from 0 to at most {len(indices)}"
        raise ctx.trap(arg="offsets", expected=expected, got=all_offsets.tolist())
    if not count and len(indices):
        raise ctx.trap(arg="offsets", expected=f"a bag for {len(indices)} indices", got=[])
    bags = np.searchsorted(starts, np.arange(len(indices)), side="right") - 1
    kept = indices != padding if padding >= 0 else np.ones(len(indices), np.bool_)
    sizes = np.bincount(bags[kept], minlength=count)[:count]
    if ends and count:
        kept[all_offsets[-1] :] = False
    named, owners = indices[kept], bags[kept]
    found = weight[named]
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
