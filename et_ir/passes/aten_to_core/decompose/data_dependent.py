"""Operators whose result is as large as the data says."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta, numel
from et_ops.dtypes import BOOL, U8


def _is_mask(index: SSAValue | None) -> bool:
    return index is not None and meta(index).dtype in (BOOL, U8)


def _places(b: Chain, mask: SSAValue) -> list[SSAValue]:
    """The indices of where a mask is true, for each of its dimensions."""
    return list(b.results(aten.NonzeroNumpyOp, mask))


def _without_masks(b: Chain, indices: Sequence[SSAValue | None]) -> list[SSAValue | None]:
    """Indices with the places of the true elements instead of masks: a mask of n dimensions is n indices."""
    found: list[SSAValue | None] = []
    for index in indices:
        if index is not None and _is_mask(index):
            found.extend(_places(b, index))
        else:
            found.append(index)
    return found


def _has_masks(indices: Sequence[SSAValue | None]) -> bool:
    """Whether there are masks, all with dimensions to stand for."""
    masks = [index for index in indices if index is not None and _is_mask(index)]
    return bool(masks) and all(meta(mask).rank for mask in masks)


@decomposes(Reason.KERNEL, aten.IndexTensorOp)
def index(b: Chain, op: aten.IndexTensorOp) -> SSAValue | None:
    """A mask of all dimensions selects elements, one of a single dimension selects slices."""
    x, indices = op.self, op.indices
    if not _has_masks(indices):
        return None
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    dim, mask = given[0]
    if len(given) == 1 and meta(mask).rank == meta(x).rank:
        return b(aten.MaskedSelectOp, x, b.to(mask, BOOL))
    if len(given) == 1 and meta(mask).rank == 1:
        return b(aten.IndexSelectOp, x, dim, _places(b, mask)[0])
    return b(aten.IndexTensorOp, x, _without_masks(b, indices))


@decomposes(Reason.FEWER, aten.IndexPutOp)
def index_put(b: Chain, op: aten.IndexPutOp) -> SSAValue | None:
    """One value for all places of a mask is a choice between it and what was there."""
    x, (mask, *others), values = op.self, op.indices, op.values
    if mask is None or others or not _has_masks([mask]):
        return None
    if op.accumulate or not is_static(values) or numel(values) != 1:
        return None
    mask = b.to(mask, BOOL)
    if meta(x).rank > meta(mask).rank:
        mask = b.view(mask, [*b.sizes(mask), *(1,) * (meta(x).rank - meta(mask).rank)])
    return b(aten.WhereSelfOp, mask, b.view(values, ()), x)


@decomposes(Reason.NONE, aten.RepeatInterleaveSelfTensorOp)
def repeat_interleave(b: Chain, op: aten.RepeatInterleaveSelfTensorOp) -> SSAValue:
    """A selection of slices by the index of each, as often as it is repeated. One number is for all of them."""
    rank = meta(op.self).rank
    x, dim = (b.view(op.self, (-1,)), 0) if op.dim is None or not rank else (op.self, op.dim % rank)
    repeats = op.repeats
    if meta(repeats).rank == 0 or (meta(repeats).shape == (1,) and meta(x).shape[dim] != 1):
        repeats = b.expand(repeats, (b.size(x, dim),))
    places = b(aten.RepeatInterleaveTensorOp, repeats, output_size=op.output_size)
    return b(aten.IndexSelectOp, x, dim, places)


@decomposes(Reason.NONE, aten.TensorSplitTensorIndicesOrSectionsOp)
def tensor_split(b: Chain, op: aten.TensorSplitTensorIndicesOrSectionsOp) -> list[SSAValue] | None:
    """Slices between the indices, which are read one by one. A number of sections says how many results there are,
    which only a program with one number of them can.
    """
    indices = op.tensor_indices_or_sections
    if meta(indices).rank != 1:
        return None
    at = [
        b(aten.UnderscoreLocalScalarDenseOp, b(aten.SelectIntOp, indices, 0, place))
        for place in range(len(op.results) - 1)
    ]
    starts, ends = (0, *at), (*at, None)
    return [b(aten.SliceTensorOp, op.self, op.dim, s, e) for s, e in zip(starts, ends, strict=True)]
