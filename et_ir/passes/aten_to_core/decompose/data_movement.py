"""Operators that only move elements: views, permutations, splits and joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import prod

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, Size, decomposes, is_static, meta
from et_ops.inference.reshaping import moved_order

# -- reshapes


def _whole(result: SSAValue, sizes: Sequence[Size]) -> Sequence[Size]:
    """Sizes that a view gives, without -1 where the result's shape is known."""
    return meta(result).shape if is_static(result) else sizes


@decomposes(Reason.COMMON, aten.ReshapeOp)
def reshape(b: Chain, op: aten.ReshapeOp) -> SSAValue:
    return b.view(op.self, _whole(op.result, op.shape))


@decomposes(Reason.SIZES, aten.ViewAsOp, aten.ReshapeAsOp)
def view_as(b: Chain, op: aten.ViewAsOp) -> SSAValue:
    return b.view(op.self, b.sizes(op.other))


@decomposes(Reason.COMMON, aten.FlattenUsingIntsOp)
def flatten(b: Chain, op: aten.FlattenUsingIntsOp) -> SSAValue:
    return _flatten(b, op.self, op.start_dim, op.end_dim)


def _flatten(b: Chain, x: SSAValue, start: int, end: int) -> SSAValue:
    rank = max(meta(x).rank, 1)
    sizes = b.sizes(x) or [1]
    start, end = start % rank, end % rank
    known = [size for size in sizes[start : end + 1] if isinstance(size, int)]
    merged = prod(known) if len(known) == end + 1 - start else -1
    return b.view(x, (*sizes[:start], merged, *sizes[end + 1 :]))


@decomposes(Reason.COMMON, aten.UnflattenIntOp)
def unflatten(b: Chain, op: aten.UnflattenIntOp) -> SSAValue:
    sizes, dim = b.sizes(op.self), op.dim % meta(op.self).rank
    return b.view(op.self, _whole(op.result, (*sizes[:dim], *op.sizes, *sizes[dim + 1 :])))


@decomposes(Reason.COMMON, aten.SqueezeOp)
def squeeze(b: Chain, op: aten.SqueezeOp) -> SSAValue | None:
    if not is_static(op.self):
        return None
    return b.view(op.self, [size for size in meta(op.self).shape if size != 1])


# -- broadcasts


@decomposes(Reason.SIZES, aten.ExpandAsOp)
def expand_as(b: Chain, op: aten.ExpandAsOp) -> SSAValue:
    return b.expand(op.self, b.sizes(op.other))


@decomposes(Reason.SIZES, aten.BroadcastToOp)
def broadcast_to(b: Chain, op: aten.BroadcastToOp) -> SSAValue:
    return b.expand(op.self, op.size)


@decomposes(Reason.COMMON, aten.MeshgridOp, aten.MeshgridIndexingOp)
def meshgrid(b: Chain, op: aten.MeshgridOp | aten.MeshgridIndexingOp) -> list[SSAValue] | None:
    if not is_static(*op.results):
        return None
    swapped = isinstance(op, aten.MeshgridIndexingOp) and op.indexing == "xy" and len(op.tensors) > 1
    grids: list[SSAValue] = []
    for i, (x, y) in enumerate(zip(op.tensors, op.results, strict=True)):
        shape = meta(y).shape
        axis = 1 - i if swapped and i < 2 else i
        line = b.view(x, [size if d == axis else 1 for d, size in enumerate(shape)])
        grids.append(b.expand(line, shape))
    return grids


@decomposes(Reason.NONE, aten.ResizeAsOp)
def resize_as(b: Chain, op: aten.ResizeAsOp) -> SSAValue | None:
    """The same elements in another shape; elements that are in none have no value."""
    x, shape = op.self, meta(op.the_template).shape
    if not is_static(x, op.the_template) or prod(meta(x).shape) != prod(shape):
        return None
    return b.view(x, shape)


@decomposes(Reason.COMMON, aten.RepeatInterleaveSelfIntOp)
def repeat_interleave(b: Chain, op: aten.RepeatInterleaveSelfIntOp) -> SSAValue | None:
    if not is_static(op.self) or isinstance(op.repeats, SSAValue):
        return None
    x = op.self if op.dim is not None else _flatten(b, op.self, 0, -1)
    shape, dim = list(meta(x).shape) or [1], op.dim or 0
    dim %= len(shape)
    column = b.view(x, (*shape[: dim + 1], 1, *shape[dim + 1 :]))
    wide = b.expand(column, (*shape[: dim + 1], op.repeats, *shape[dim + 1 :]))
    return b.view(wide, (*shape[:dim], shape[dim] * op.repeats, *shape[dim + 1 :]))


# -- permutations


def _swapped(b: Chain, x: SSAValue, dim0: int, dim1: int) -> SSAValue:
    rank = meta(x).rank
    if rank == 0:
        return x
    order = list(range(rank))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return b.permute(x, order)


@decomposes(Reason.COMMON, aten.TransposeIntOp)
def transpose(b: Chain, op: aten.TransposeIntOp) -> SSAValue:
    return _swapped(b, op.self, op.dim0, op.dim1)


@decomposes(Reason.COMMON, aten.TOp, aten.NumpyTOp)
def reverse_dims(b: Chain, op: aten.TOp) -> SSAValue:
    return b.permute(op.self, range(meta(op.self).rank)[::-1])


@decomposes(Reason.COMMON, aten.MTOp)
def matrix_transpose(b: Chain, op: aten.MTOp | aten.MHOp) -> SSAValue | None:
    if meta(op.self).dtype.is_complex and not isinstance(op, aten.MTOp):
        return None
    return _swapped(b, op.self, -2, -1) if meta(op.self).rank > 1 else op.self


def _moved(b: Chain, x: SSAValue, source: Sequence[int], destination: Sequence[int]) -> SSAValue:
    rank = meta(x).rank
    return b.permute(x, moved_order(rank, source, destination)) if rank else x


@decomposes(Reason.COMMON, aten.MovedimIntOp)
def movedim(b: Chain, op: aten.MovedimIntOp) -> SSAValue:
    return _moved(b, op.self, (op.source,), (op.destination,))


@decomposes(Reason.COMMON, aten.MovedimIntlistOp)
def movedims(b: Chain, op: aten.MovedimIntlistOp) -> SSAValue:
    return _moved(b, op.self, op.source, op.destination)


# -- parts


@decomposes(Reason.COMMON, aten.NarrowOp)
def narrow(b: Chain, op: aten.NarrowOp) -> SSAValue | None:
    if isinstance(op.start, SSAValue) or isinstance(op.length, SSAValue):
        # Where a part ends that starts anywhere, no number says: it is the front of the rest.
        rest = op.self if op.start == 0 else b(aten.SliceTensorOp, op.self, op.dim, op.start)
        return b(aten.SliceTensorOp, rest, op.dim, 0, op.length)
    size = meta(op.self).shape[op.dim]
    if op.start < 0 and size < 0:
        return None
    start = op.start % size if op.start < 0 else op.start
    return b(aten.SliceTensorOp, op.self, op.dim, start, start + op.length)


def _slices(b: Chain, x: SSAValue, dim: int, bounds: Sequence[Size]) -> list[SSAValue]:
    """The parts between indices, and those before the first and behind the last of them."""
    starts, ends = (0, *bounds), (*bounds, None)
    return [b(aten.SliceTensorOp, x, dim, *part) for part in zip(starts, ends, strict=True)]


def _parts(
    b: Chain, op: AtenOp, x: SSAValue, dim: int, bounds: Callable[[], Sequence[Size]]
) -> list[SSAValue]:
    """Parts that make up the whole, and begin at `bounds` but for the first."""
    sizes = [meta(part).shape[dim] for part in op.results]
    if len(sizes) == 1:
        return [x]
    if min(sizes) < 0:
        return _slices(b, x, dim, bounds())
    return list(b.results(aten.SplitWithSizesOp, x, sizes, dim))


def _equal_parts(b: Chain, op: AtenOp, x: SSAValue, dim: int, size: Callable[[], Size]) -> list[SSAValue]:
    """Parts of one size, of which the last may be smaller."""

    def bounds() -> list[Size]:
        part = size()
        return [part, *(b.compute("mul", part, i) for i in range(2, len(op.results)))]

    return _parts(b, op, x, dim, bounds)


def _even_parts(b: Chain, op: AtenOp, x: SSAValue, dim: int) -> list[SSAValue]:
    """As many parts as there are results: the first of them are larger by one where the size is no multiple of that."""

    def bounds() -> list[Size]:
        count, size = len(op.results), b.size(x, dim)
        part = b.compute("floordiv", size, count)
        rest = b.compute("sub", size, b.compute("mul", part, count))
        return [
            b.compute("add", b.compute("mul", part, i), b.compute("min", rest, i)) for i in range(1, count)
        ]

    return _parts(b, op, x, dim, bounds)


@decomposes(Reason.COMMON, aten.ChunkOp)
def chunk(b: Chain, op: aten.ChunkOp) -> list[SSAValue]:
    x, dim, chunks = op.self, op.dim, op.chunks
    return _equal_parts(
        b, op, x, dim, lambda: b.compute("floordiv", b.compute("add", b.size(x, dim), chunks - 1), chunks)
    )


@decomposes(Reason.COMMON, aten.SplitTensorOp)
def split(b: Chain, op: aten.SplitTensorOp) -> list[SSAValue]:
    return _equal_parts(b, op, op.self, op.dim, lambda: op.split_size)


@decomposes(Reason.COMMON, aten.SplitSizesOp)
def split_sizes(b: Chain, op: aten.SplitSizesOp) -> list[SSAValue]:
    return _parts(
        b, op, op.self, op.dim, lambda: list(accumulate(op.split_size[:-1], partial(b.compute, "add")))
    )


@decomposes(Reason.COMMON, aten.TensorSplitIndicesOp)
def tensor_split_indices(b: Chain, op: aten.TensorSplitIndicesOp) -> list[SSAValue]:
    """Slices, as indices may overlap or run backwards: only parts that make up the whole are a split."""
    sizes = [meta(part).shape[op.dim] for part in op.results]
    if -1 in sizes or sum(sizes) != meta(op.self).shape[op.dim]:
        return _slices(b, op.self, op.dim, op.indices)
    return _parts(b, op, op.self, op.dim, lambda: op.indices)


@decomposes(Reason.COMMON, aten.TensorSplitSectionsOp)
def tensor_split_sections(b: Chain, op: aten.TensorSplitSectionsOp) -> list[SSAValue]:
    return _even_parts(b, op, op.self, op.dim)


@decomposes(Reason.FEWER, aten.HsplitIntOp)
def hsplit(b: Chain, op: aten.HsplitIntOp) -> list[SSAValue]:
    return _even_parts(b, op, op.self, 0 if meta(op.self).rank == 1 else 1)


@decomposes(Reason.FEWER, aten.VsplitIntOp)
def vsplit(b: Chain, op: aten.VsplitIntOp) -> list[SSAValue]:
    return _even_parts(b, op, op.self, 0)


@decomposes(Reason.FEWER, aten.DsplitIntOp)
def dsplit(b: Chain, op: aten.DsplitIntOp) -> list[SSAValue]:
    return _even_parts(b, op, op.self, 2)


@decomposes(Reason.COMMON, aten.UnbindIntOp)
def unbind(b: Chain, op: aten.UnbindIntOp) -> list[SSAValue]:
    return [b(aten.SelectIntOp, op.self, op.dim, i) for i in range(len(op.results))]


# -- joins


@decomposes(Reason.COMMON, aten.StackOp)
def stack(b: Chain, op: aten.StackOp) -> SSAValue:
    """Elements side by side along the dimension, which is then split off: the tensors need no new dimension
    each.
    """
    tensors = op.tensors
    rank = meta(tensors[0]).rank
    dim = op.dim % (rank + 1)
    if dim == rank:
        return b(aten.CatOp, [b(aten.UnsqueezeOp, x, rank) for x in tensors], dim)
    sizes = b.sizes(tensors[0])
    return b.view(b(aten.CatOp, tensors, dim), (*sizes[:dim], len(tensors), *sizes[dim:]))


@decomposes(Reason.SIZES, aten.UnfoldOp)
def unfold(b: Chain, op: aten.UnfoldOp) -> SSAValue | None:
    """Torch's own decomposition addresses memory by strides, which are numbers."""
    return None if is_static(op.self) else b(aten.UnfoldCopyOp, *op.args().values())


# -- rearrangements


@decomposes(Reason.FEWER, aten.RollOp)
def roll(b: Chain, op: aten.RollOp) -> SSAValue | None:
    """Along each dimension, the end comes first."""
    shifts = [shift for shift in op.shifts if isinstance(shift, int)]
    if len(shifts) != len(op.shifts):
        return None
    shape = meta(op.self).shape
    flat = not op.dims
    if not is_static(op.self):
        return None if flat else _rolled(b, op.self, list(zip(shifts, op.dims, strict=True)))
    x = _flatten(b, op.self, 0, -1) if flat else op.self
    for shift, dim in zip(shifts, op.dims or (0,), strict=True):
        size = meta(x).shape[dim] if meta(x).rank else 1
        if size == 0 or shift % size == 0:
            continue
        at = size - shift % size
        head, tail = b.results(aten.SplitWithSizesOp, x, (at, size - at), dim)
        x = b(aten.CatOp, (tail, head), dim)
    return b.view(x, shape) if flat else x


def _rolled(b: Chain, x: SSAValue, turns: Sequence[tuple[int, int]]) -> SSAValue | None:
    """As far as sizes are known, or the shift is by one, which is less than a turn whatever the size is."""
    shape = meta(x).shape
    if any(shape[dim] < 0 and abs(shift) > 1 for shift, dim in turns):
        return None
    for shift, dim in turns:
        at = -shift if shape[dim] < 0 else -(shift % (shape[dim] or 1))
        if at:
            tail, head = b(aten.SliceTensorOp, x, dim, at, None), b(aten.SliceTensorOp, x, dim, 0, at)
            x = b(aten.CatOp, (tail, head), dim)
    return x


@decomposes(Reason.SIZES, aten.PixelUnshuffleOp)
def pixel_unshuffle(b: Chain, op: aten.PixelUnshuffleOp) -> SSAValue:
    r, (*batch, channels, height, width) = op.downscale_factor, b.sizes(op.self)
    n = len(batch)
    rows, columns = (b.compute("floordiv", size, r) for size in (height, width))
    x = b.view(op.self, (*batch, channels, rows, r, columns, r))
    x = b.permute(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return b.view(x, (*batch, b.compute("mul", channels, r**2), rows, columns))
