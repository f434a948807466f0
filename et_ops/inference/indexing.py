"""Gather, scatter and advanced indexing."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from et_ops.dtypes import BF16, BOOL, F16, F32, I32, I64, U8, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, check_number, rule
from et_ops.inference.shapes import (
    Shape,
    below,
    broadcast,
    differ,
    has_elements,
    known,
    numel,
    unlike,
    with_size,
    wrap_dim,
)


def _check_index(arg: str, index: Meta, *ranks: int) -> None:
    if index.dtype not in (I32, I64):
        raise Mismatch(arg, "an int32 or int64 tensor", index.dtype.torch_name)
    if ranks and index.rank not in ranks:
        raise Mismatch(arg, f"{' or '.join(map(str, ranks))} dimensions", index)


@rule("embedding")
def embedding(weight: Meta, indices: Meta, *_: object) -> Meta:
    if weight.rank != 2:
        raise Mismatch("weight", "a matrix of weights", weight)
    return Meta((*indices.shape, weight.shape[1]), weight.dtype)


_SUM, _MEAN, _MAX = range(3)
_SUMMED_BY_A_LIBRARY = (F32, F16, BF16)


def _bags(
    weight: Meta,
    indices: Meta,
    offsets: Meta,
    mode: int,
    scales: Meta | None,
    last: bool,
    padding: int,
    ends: bool,
) -> tuple[Meta, Meta, Meta, Meta] | None:
    """The bags, and three results for gradients, in the shapes that torch's kernel gives them, which are not those
    of its shape function. The last offset is the end of the last bag if `last`, and has no place in the last two
    results if `ends`.
    """
    if weight.rank != 2 or not weight.dtype.is_float:
        raise Mismatch("weight", "a matrix of floats", weight)
    _check_index("indices", indices, 1)
    _check_index("offsets", offsets, 1)
    if mode not in (_SUM, _MEAN, _MAX):
        raise Mismatch("mode", "0, 1 or 2", mode)
    if scales is not None and mode != _SUM:
        raise Mismatch("mode", "0 with per_sample_weights", mode)
    if scales is not None and (scales.dtype is not weight.dtype or unlike(scales.shape, indices.shape)):
        expected = f"{weight.dtype.torch_name} of shape {list(indices.shape)}"
        raise Mismatch("per_sample_weights", expected, scales)
    if UNKNOWN in (*weight.shape, *indices.shape, *offsets.shape):
        return None
    rows = weight.shape[0]
    if not (-rows <= padding < rows or padding == -1):
        raise Mismatch("padding_idx", f"-1 or a row in [{-rows}, {rows})", padding)
    if offsets.shape[0] < last:
        raise Mismatch("offsets", "at least the last offset", offsets)
    dtype = I64 if I64 in (indices.dtype, offsets.dtype) else I32
    bags, counted = (offsets.shape[0] - last, weight.shape[1]), offsets.shape[0] - ends
    summed = mode == _SUM and bags_end(weight.dtype, mode, padding)
    return (
        Meta(bags, weight.dtype),
        Meta((0 if summed else indices.shape[0],), dtype),
        Meta((counted,), dtype),
        Meta(bags if mode == _MAX else (counted,), dtype),
    )


def bags_end(dtype: DType, mode: int, padding: int) -> bool:
    """Whether the last of the offsets that include it ends the last bag. Otherwise torch adds all indices that are left
    to it, and counts them in any case.
    """
    return mode in (_SUM, _MEAN) and dtype in _SUMMED_BY_A_LIBRARY and padding < 0


@rule("_embedding_bag")
def embedding_bag(
    weight: Meta,
    indices: Meta,
    offsets: Meta,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Meta | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Meta, Meta, Meta, Meta] | None:
    last = include_last_offset
    return _bags(weight, indices, offsets, mode, per_sample_weights, last, padding_idx, last)


@rule("_embedding_bag_forward_only")
def embedding_bag_forward_only(
    weight: Meta,
    indices: Meta,
    offsets: Meta,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Meta | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Meta, Meta, Meta, Meta] | None:
    """Of sums the last offset counts as a bag."""
    last = include_last_offset
    return _bags(weight, indices, offsets, mode, per_sample_weights, last, padding_idx, last and mode != _SUM)


@rule("embedding_bag", "embedding_bag.padding_idx")
def embedding_bag_of_torch(
    weight: Meta,
    indices: Meta,
    offsets: Meta,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Meta | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> tuple[Meta, Meta, Meta, Meta] | None:
    """A padding index counts from the end if it is negative, where -1 is the last row and not none."""
    last = include_last_offset
    padding = -1 if padding_idx is None else 0
    return _bags(weight, indices, offsets, mode, per_sample_weights, last, padding, last and mode != _SUM)


@rule("gather")
def gather(self: Meta, dim: int, index: Meta, sparse_grad: bool) -> Meta:
    _check_places(self, dim, index)
    return Meta(index.shape, self.dtype)


def _check_places(self: Meta, dim: int, index: Meta) -> None:
    """An index that gather and scatter take. A 0-d tensor is as good as one of one element."""
    axis = wrap_dim(dim, self.rank)
    if not has_elements(index.shape):
        return
    _check_index("index", index)
    rank = max(index.rank, 1) == max(self.rank, 1)
    pairs = enumerate(zip(index.shape, self.shape, strict=False))
    if not rank or any(at != axis and below(have, wanted) for at, (wanted, have) in pairs):
        raise Mismatch("index", f"at most {list(self.shape)} except in dimension {axis}", index)


@rule("take")
def take(self: Meta, index: Meta) -> Meta:
    return Meta(index.shape, self.dtype)


@rule("take_along_dim")
def take_along_dim(self: Meta, indices: Meta, dim: int | None) -> Meta | None:
    if dim is None:
        count = numel(indices.shape)
        return Meta((UNKNOWN if count is None else count,), self.dtype)
    if self.rank != indices.rank:
        return None
    axis = wrap_dim(dim, self.rank)
    if not self.shape:
        return self
    shape = broadcast(with_size(self.shape, axis, 1), with_size(indices.shape, axis, 1))
    return Meta(with_size(shape, axis, indices.shape[axis]), self.dtype)


@rule("index_select")
def index_select(self: Meta, dim: int, index: Meta) -> Meta:
    _check_index("index", index, 0, 1)
    axis = wrap_dim(dim, self.rank)
    count = index.shape[0] if index.shape else 1
    if not self.shape and differ(count, 1):
        raise Mismatch("index", "one index into a 0-d tensor", index)
    return Meta(with_size(self.shape, axis, count) if self.shape else (), self.dtype)


@rule(
    """
    diagonal_scatter index_add index_copy index_fill.int_Scalar index_fill.int_Tensor index_put
    _unsafe_index_put _unsafe_masked_index_put_accumulate as_strided_scatter
    """
)
def updated(self: Meta, *_: object) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("scatter.src", "scatter_add")
def scatter(self: Meta, dim: int, index: Meta, src: Meta) -> Meta:
    _check_places(self, dim, index)
    _check_element("src", src, self)
    extents, wanted = src.shape or (1,), index.shape or (1,)
    small = len(extents) != len(wanted) or any(map(below, extents, wanted))
    if has_elements(index.shape) and small:
        raise Mismatch("src", f"at least {list(index.shape)}", src)
    return Meta(self.shape, self.dtype)


def _check_element(arg: str, tensor: Meta, self: Meta) -> None:
    if tensor.dtype is not self.dtype:
        raise Mismatch(arg, self.dtype.torch_name, tensor.dtype.torch_name)


@rule("scatter.value")
def scatter_value(self: Meta, dim: int, index: Meta, value: Number) -> Meta:
    _check_places(self, dim, index)
    check_number("value", value, self.dtype)
    return Meta(self.shape, self.dtype)


_COMBINED = ("add", "multiply")
_REDUCED = ("prod", "mean", "amax", "amin")


def _check_reduction(reduce: str, known: Sequence[str]) -> None:
    if reduce not in known:
        raise Mismatch("reduce", ", ".join(map(repr, known)), repr(reduce))


@rule("scatter.reduce")
def scatter_combined(self: Meta, dim: int, index: Meta, src: Meta, reduce: str) -> Meta:
    _check_reduction(reduce, _COMBINED)
    return scatter(self, dim, index, src)


@rule("scatter.value_reduce")
def scatter_value_combined(self: Meta, dim: int, index: Meta, value: Number, reduce: str) -> Meta:
    _check_reduction(reduce, _COMBINED)
    return scatter_value(self, dim, index, value)


@rule("scatter_reduce.two")
def scatter_reduce(self: Meta, dim: int, index: Meta, src: Meta, reduce: str, include_self: bool) -> Meta:
    _check_reduction(reduce, ("sum", *_REDUCED))
    return scatter(self, dim, index, src)


@rule("index_reduce")
def index_reduce(self: Meta, dim: int, index: Meta, source: Meta, reduce: str, include_self: bool) -> Meta:
    _check_reduction(reduce, _REDUCED)
    place = index_select(self, dim, index).shape if self.shape else (index.shape or (1,))
    _check_element("source", source, self)
    if unlike(source.shape or (1,), place):
        raise Mismatch("source", f"shape {list(place)}", source)
    return Meta(self.shape, self.dtype)


@rule("put")
def put(self: Meta, index: Meta, source: Meta, accumulate: bool) -> Meta:
    if index.dtype is not I64:
        raise Mismatch("index", "int64", index.dtype.torch_name)
    _check_element("source", source, self)
    places, values = numel(index.shape), numel(source.shape)
    if places is not None and values is not None and differ(places, values):
        raise Mismatch("source", f"{places} elements", source)
    if numel(self.shape) == 0 and has_elements(index.shape):
        raise Mismatch("index", "no places in an empty tensor", index)
    return Meta(self.shape, self.dtype)


def indexed_shape(shape: Shape, indices: Sequence[Meta | None]) -> Shape | None:
    """The shape of advanced indexing: NumPy's rules; a mask stands for the indices where it is true.

    Raises `ValueError` for too many indices.
    """
    expanded: list[Shape | None] = []
    for index in indices:
        if index is None:
            expanded.append(None)
        elif index.dtype in (BOOL, U8):
            expanded.extend([(UNKNOWN,)] * index.rank)
            if index.rank == 0:
                return None
        else:
            expanded.append(index.shape)
    if len(expanded) > len(shape):
        raise ValueError(f"{len(expanded)} indices into a tensor of rank {len(shape)}")
    expanded += [None] * (len(shape) - len(expanded))
    places = [i for i, index in enumerate(expanded) if index is not None]
    if not places:
        return shape
    joined = broadcast(*(index for index in expanded if index is not None))
    rest = [size for size, index in zip(shape, expanded, strict=True) if index is None]
    # Indices that stand together put their dimensions where they stand, others in front.
    lead = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    return (*rest[:lead], *joined, *rest[lead:])


@rule("index.Tensor", "_unsafe_index.Tensor")
def index_tensor(self: Meta, indices: Sequence[Meta | None]) -> Meta | None:
    shape = indexed_shape(self.shape, indices)
    return None if shape is None else Meta(shape, self.dtype)


@rule("_unsafe_masked_index")
def masked_index(self: Meta, mask: Meta, indices: Sequence[Meta | None], fill: object) -> Meta | None:
    shape = indexed_shape(self.shape, indices)
    return None if shape is None else Meta(broadcast(shape, mask.shape), self.dtype)


@rule("repeat_interleave.self_int")
def repeat_interleave(self: Meta, repeats: int, dim: int | None, output_size: int | None) -> Meta:
    if dim is None:
        count = numel(self.shape)
        total = UNKNOWN if count is None or repeats == UNKNOWN else count * repeats
        return Meta((total,), self.dtype)
    if not self.shape:
        return Meta((repeats,), self.dtype)
    axis = wrap_dim(dim, self.rank)
    size = self.shape[axis]
    return Meta(
        with_size(self.shape, axis, size * repeats if known(size) and repeats != UNKNOWN else UNKNOWN),
        self.dtype,
    )


@rule("repeat_interleave.self_Tensor")
def repeat_interleave_tensor(self: Meta, repeats: Meta, dim: int | None, output_size: int | None) -> Meta:
    size = UNKNOWN if output_size is None else output_size
    if dim is None or not self.shape:
        return Meta((size,), self.dtype)
    return Meta(with_size(self.shape, wrap_dim(dim, self.rank), size), self.dtype)


@rule("repeat_interleave.Tensor")
def repeated_places(repeats: Meta, output_size: int | None) -> Meta:
    _check_index("repeats", repeats, 1)
    return Meta((UNKNOWN if output_size is None else output_size,), repeats.dtype)


@rule("combinations")
def combinations(self: Meta, r: int, with_replacement: bool) -> Meta:
    if r == 0:
        return Meta((0,), self.dtype)
    (size,) = self.shape
    rows = size + r - 1 if with_replacement and size else size
    return Meta((comb(rows, r) if known(size) else UNKNOWN, r), self.dtype)


@rule("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    sorted_sequence: Meta,
    self: Meta | Number,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Meta | None,
) -> Meta:
    if side not in (None, "left", "right") or (right and side == "left"):
        raise Mismatch("side", "'right', as 'right' is given" if right else "'left' or 'right'", side)
    shape = self.shape if isinstance(self, Meta) else ()
    rows = sorted_sequence.shape[:-1]
    if not sorted_sequence.shape or (rows and (len(shape) != len(rows) + 1 or any(map(differ, rows, shape)))):
        raise Mismatch("sorted_sequence", f"one dimension, or the rows of {list(shape)}", sorted_sequence)
    if isinstance(self, Meta) and not self.wrapped and self.dtype is not sorted_sequence.dtype:
        raise Mismatch("self", sorted_sequence.dtype.torch_name, self.dtype.torch_name)
    if sorter is not None and (sorter.dtype is not I64 or unlike(sorter.shape, sorted_sequence.shape)):
        raise Mismatch("sorter", f"int64 of shape {list(sorted_sequence.shape)}", sorter)
    return Meta(shape, I32 if out_int32 else I64)


@rule("bucketize.Tensor", "bucketize.Scalar")
def bucketize(self: Meta | Number, boundaries: Meta, out_int32: bool, right: bool) -> Meta:
    if boundaries.rank != 1:
        raise Mismatch("boundaries", "one dimension", boundaries)
    return searchsorted(boundaries, self, out_int32, right, None, None)


@rule("torchvision.nms")
def nms(dets: Meta, scores: Meta, iou_threshold: float) -> Meta:
    if dets.rank != 2 or differ(dets.shape[1], 4):
        raise Mismatch("dets", "boxes of four coordinates, [n, 4]", dets)
    if scores.rank != 1 or differ(scores.shape[0], dets.shape[0]):
        raise Mismatch("scores", f"one for each box, {list(dets.shape[:1])}", scores)
    if scores.dtype is not dets.dtype:
        raise Mismatch("scores", dets.dtype.torch_name, scores.dtype.torch_name)
    return Meta((UNKNOWN,), I64)
