"""Kernels of the `*_copy` view operators.

They store a reshaped, permuted or cut view of a tensor.

When the planner has given the output the memory of its input and the view is the whole of it, the step does
nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference import views as rules
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, check_type, dimension, dimensions
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import as_array, contiguous, move, reshape_moves
from et_vm.kernels.portable.promotion import can_cast
from et_vm.kernels.portable.steps import NOTHING, chain
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import MAX_RANK, Array, Tensor, element_count

_WORTH_KEEPING = 1 << 12


def _store(ctx: PrepareContext, self: Tensor, view: Array, out: Tensor, *, converts: bool = False) -> Step:
    """Store a view of `self`, in the type of `out` if the kernel `converts`. A large constant that has to be
    rearranged for it is, once, and kept: a plain copy of 1 MB costs a tenth of a transpose.
    """
    if not (converts and can_cast(ScalarType.BOOL, out.scalar_type) and not self.scalar_type.is_complex):
        check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(view.shape)
    rearranged = view.size == self.numel >= _WORTH_KEEPING and not view.flags.c_contiguous
    if self.constant and rearranged and out.array.flags.c_contiguous:
        view = ctx.memo(("rearranged", self.version), lambda: np.ascontiguousarray(view))
    return move(ctx, view, out.array)


@kernel("aten::view_copy.out", "aten::_unsafe_view.out")
@inferred(rules.view)
def view_copy_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """The elements in order of their indices, as `size`, of which one may be -1. Scratch: a copy when
    neither is contiguous.
    """
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::alias_copy.out", "aten::detach_copy.out", "aten::lift_fresh_copy.out")
def alias_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy."""
    return _store(ctx, self, self.array, out)


@kernel("aten::permute_copy.out")
def permute_copy_out(ctx: PrepareContext, self: Tensor, dims: list[int], out: Tensor) -> Step:
    """Dimension i of the result is dimension `dims[i]` of `self`."""
    rank = len(self.sizes)
    ctx.check(len(dims) == rank, arg="dims", expected=f"{rank} dimensions", got=dims)
    order = dimensions(ctx, dims, rank, arg="dims")
    return _store(ctx, self, self.array.transpose(order), out)


@kernel("aten::transpose_copy.int_out")
def transpose_copy_out(ctx: PrepareContext, self: Tensor, dim0: int, dim1: int, out: Tensor) -> Step:
    """`dim0` and `dim1` exchanged."""
    rank = len(self.sizes)
    a, b = dimension(ctx, dim0, rank, arg="dim0"), dimension(ctx, dim1, rank, arg="dim1")
    return _store(ctx, self, self.array.swapaxes(a, b) if rank else self.array, out)


@kernel("aten::t_copy.out")
def t_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    ctx.check(len(self.sizes) <= 2, arg="self", expected="at most 2 dimensions", got=list(self.sizes))
    return _store(ctx, self, self.array.T, out)


@kernel("aten::expand_copy.out")
def expand_copy_out(ctx: PrepareContext, self: Tensor, size: list[int], implicit: bool, out: Tensor) -> Step:
    """Dimensions of size 1 repeated, and new ones in front; -1 keeps a size."""
    extra = len(size) - len(self.sizes)
    ctx.check(extra >= 0, arg="size", expected=f"at least {len(self.sizes)} dimensions", got=size)
    shape: list[int] = []
    for at, extent in enumerate(size):
        own = self.sizes[at - extra] if at >= extra else 1
        wanted = own if extent == -1 and at >= extra else extent
        if wanted < 0 or (own not in (1, wanted)):
            raise ctx.trap(arg="size", expected=f"a shape that {list(self.sizes)} expands to", got=size)
        shape.append(wanted)
    # numpy has no array of more bytes than it can count, though this one would take none.
    countable = len(shape) <= MAX_RANK and element_count(shape) * self.dtype.itemsize < 2**63
    ctx.check(countable, arg="size", expected=f"a shape that {list(self.sizes)} expands to", got=size)
    return _store(ctx, self, np.broadcast_to(self.array, tuple(shape)), out)


@kernel("aten::unsqueeze_copy.out")
@inferred(rules.unsqueeze)
def unsqueeze_copy_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """A dimension of size 1 more, at `dim`."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.out")
@inferred(rules.squeeze)
def squeeze_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """Without the dimensions of size 1."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.dim_out")
@inferred(rules.squeeze_dim)
def squeeze_copy_dim_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """Without dimension `dim` when its size is 1."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.dims_out")
@inferred(rules.squeeze_dims)
def squeeze_copy_dims_out(ctx: PrepareContext, self: Tensor, dim: list[int], out: Tensor) -> Step:
    """Without those of the dimensions `dim` whose size is 1."""
    return chain(reshape_moves(ctx, self.array, out.array))


def slice_bounds(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Torch's reading of a slice of a dimension of `size`: negative bounds count from the end, all are
    clamped.
    """

    def bound(value: int) -> int:
        return min(max(value + size if value < 0 else value, 0), size)

    first = 0 if start is None else bound(start)
    last = size if end is None else bound(end)
    return first, max(first, last)


def slice_view(
    ctx: PrepareContext, array: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    """The view `array[..., start:end:step, ...]` along `dim`."""
    ctx.check(array.ndim > 0, arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, array.ndim)
    ctx.check(step > 0, arg="step", expected="a positive step", got=step)
    first, last = slice_bounds(start, end, array.shape[axis])
    return array[(slice(None),) * axis + (slice(first, last, step),)]


@kernel("aten::slice_copy.Tensor_out")
def slice_copy_out(
    ctx: PrepareContext, self: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor
) -> Step:
    """`self[start:end:step]` along `dim`."""
    return _store(ctx, self, slice_view(ctx, self.array, dim, start, end, step), out)


def select_view(ctx: PrepareContext, array: Array, dim: int, index: int) -> Array:
    """The view `array[..., index, ...]` along `dim`."""
    ctx.check(array.ndim > 0, arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, array.ndim)
    size = array.shape[axis]
    ctx.check(-size <= index < size, arg="index", expected=f"an index in [{-size}, {size})", got=index)
    at = index % size
    # A slice first: indexing the last dimension away would give a number instead of a view.
    return array[(slice(None),) * axis + (slice(at, at + 1),)].squeeze(axis)


@kernel("aten::select_copy.int_out")
def select_copy_out(ctx: PrepareContext, self: Tensor, dim: int, index: int, out: Tensor) -> Step:
    """`self[index]` along `dim`, which disappears."""
    return _store(ctx, self, select_view(ctx, self.array, dim, index), out)


@kernel("aten::narrow_copy.out", any_layout=True)
def narrow_copy_out(
    ctx: PrepareContext, self: Tensor, dim: int, start: int, length: int, out: Tensor
) -> Step:
    """`self[start:start + length]` along `dim`."""
    ctx.check(bool(self.sizes), arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, len(self.sizes))
    size = self.sizes[axis]
    first = start + size if start < 0 else start
    if not (0 <= first <= size and 0 <= length <= size - first):
        raise ctx.trap(
            arg="length", expected=f"a range inside dimension {axis} of size {size}", got=(start, length)
        )
    return _store(ctx, self, self.array[(slice(None),) * axis + (slice(first, first + length),)], out)


@kernel("aten::diagonal_copy.out")
def diagonal_copy_out(
    ctx: PrepareContext, self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor
) -> Step:
    """The diagonal of the planes of `dim1` and `dim2`, `offset` above the main one, as the last
    dimension.
    """
    rank = len(self.sizes)
    ctx.check(rank >= 2, arg="self", expected="at least 2 dimensions", got=list(self.sizes))
    a, b = dimension(ctx, dim1, rank, arg="dim1"), dimension(ctx, dim2, rank, arg="dim2")
    ctx.check(a != b, arg="dim2", expected=f"another dimension than {a}", got=dim2)
    # Further off there is no diagonal either, and numpy takes no larger numbers.
    offset = max(-self.sizes[a], min(offset, self.sizes[b]))
    return _store(ctx, self, self.array.diagonal(offset, a, b), out)


@kernel("aten::as_strided_copy.out")
def as_strided_copy_out(
    ctx: PrepareContext,
    self: Tensor,
    size: list[int],
    stride: list[int],
    storage_offset: int | None,
    out: Tensor,
) -> Step:
    """The elements of the contiguous `self` at `storage_offset` plus the index times `stride`.
    Scratch: a packed copy when `self` is not contiguous.
    """
    ctx.check(len(size) == len(stride), arg="stride", expected=f"{len(size)} strides", got=stride)
    offset = storage_offset or 0
    ctx.check(offset >= 0, arg="storage_offset", expected="a non-negative offset", got=offset)
    for arg, values in (("size", size), ("stride", stride)):
        ctx.check(all(value >= 0 for value in values), arg=arg, expected="non-negative numbers", got=values)
    last = offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    empty = 0 in size
    ctx.check(empty or last < self.numel, arg="stride", expected=f"elements below {self.numel}", got=last)
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(size)
    if empty:
        return NOTHING
    calls, packed = contiguous(ctx, self.array.transpose(self.dim_order))
    itemsize = packed.itemsize
    view = as_array(packed.reshape(-1)[offset:], tuple(size), tuple(step * itemsize for step in stride))
    return chain([*calls, move(ctx, view, out.array)])


@kernel("aten::unfold_copy.out", any_layout=True)
def unfold_copy_out(
    ctx: PrepareContext, self: Tensor, dimension_: int, size: int, step: int, out: Tensor
) -> Step:
    """Windows of `size`, `step` apart, of one dimension, as a new last dimension; in the type of `out`."""
    rank = len(self.sizes)
    axis = dimension(ctx, dimension_, rank, arg="dimension")
    extent = self.sizes[axis] if rank else 1
    ctx.check(0 <= size <= extent, arg="size", expected=f"a size in [0, {extent}]", got=size)
    ctx.check(step > 0, arg="step", expected="a positive step", got=step)
    if not rank:
        return _store(ctx, self, self.array.reshape(1)[:size], out)
    array = self.array
    count = (extent - size) // step + 1
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :], size)
    stride = array.strides[axis]
    strides = (*array.strides[:axis], stride * step, *array.strides[axis + 1 :], stride)
    return _store(ctx, self, as_array(array, shape, strides), out, converts=True)


@kernel("aten::view_as_real_copy.out")
@inferred(rules.view_as_real, kinds=(COMPLEX,))
def view_as_real_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A complex tensor as real and imaginary parts along a new last dimension."""
    array = self.array
    return chain([move(ctx, part, out.array[..., at]) for at, part in enumerate((array.real, array.imag))])


@kernel("aten::view_as_complex_copy.out")
@inferred(rules.view_as_complex, kinds=(FLOAT,))
def view_as_complex_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """Real and imaginary parts along the last dimension as a complex tensor."""
    array = out.array
    return chain([move(ctx, self.array[..., at], part) for at, part in enumerate((array.real, array.imag))])


def _split(
    ctx: PrepareContext,
    self: Tensor,
    sizes: Sequence[int],
    axis: int,
    out: list[Tensor],
    *,
    converts: bool = False,
) -> Step:
    ctx.check(len(out) == len(sizes), arg="out", expected=f"{len(sizes)} tensors", got=len(out))
    steps: list[Step] = []
    start = 0
    for part in out:
        if not converts:
            check_type(ctx, self.scalar_type, part, arg="out")
    for size, part in zip(sizes, out, strict=True):
        piece = self.array[(slice(None),) * axis + (slice(start, start + size),)]
        steps.append(_store(ctx, self, piece, part, converts=converts))
        start += size
    return chain(steps)


@kernel("aten::split_copy.Tensor_out", "aten::unsafe_split.Tensor_out")
def split_copy_out(ctx: PrepareContext, self: Tensor, split_size: int, dim: int, out: list[Tensor]) -> Step:
    """Pieces of `split_size` along `dim`, the last one smaller if need be."""
    ctx.check(bool(self.sizes), arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, len(self.sizes))
    extent = self.sizes[axis]
    ctx.check(
        split_size > 0 or (split_size == 0 and extent == 0),
        arg="split_size",
        expected="a positive size",
        got=split_size,
    )
    if not extent:
        return _split(ctx, self, [0] * max(len(out), 1), axis, out)
    sizes = [min(split_size, extent - at) for at in range(0, extent, split_size)]
    return _split(ctx, self, sizes, axis, out)


@kernel("aten::split_with_sizes_copy.out", "aten::unsafe_split_with_sizes.out")
def split_with_sizes_copy_out(
    ctx: PrepareContext, self: Tensor, split_sizes: list[int], dim: int, out: list[Tensor]
) -> Step:
    """Pieces of `split_sizes` along `dim`, each in the type of its `out`."""
    ctx.check(bool(self.sizes), arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, len(self.sizes))
    good = all(size >= 0 for size in split_sizes) and sum(split_sizes) == self.sizes[axis]
    ctx.check(good, arg="split_sizes", expected=f"sizes that add up to {self.sizes[axis]}", got=split_sizes)
    return _split(ctx, self, split_sizes, axis, out, converts=True)


@kernel("aten::unbind_copy.int_out")
def unbind_copy_out(ctx: PrepareContext, self: Tensor, dim: int, out: list[Tensor]) -> Step:
    """The slices along `dim`, which disappears."""
    ctx.check(bool(self.sizes), arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, len(self.sizes))
    count = self.sizes[axis]
    ctx.check(len(out) == count, arg="out", expected=f"{count} tensors", got=len(out))
    for part in out:
        check_type(ctx, self.scalar_type, part, arg="out")
    steps = [_store(ctx, self, select_view(ctx, self.array, axis, at), part) for at, part in enumerate(out)]
    return chain(steps)


@kernel("aten::pixel_shuffle.out")
@inferred(rules.pixel_shuffle)
def pixel_shuffle_out(ctx: PrepareContext, self: Tensor, upscale_factor: int, out: Tensor) -> Step:
    """(..., C r^2, H, W) to (..., C, H r, W r). Scratch: a copy when the output is not contiguous."""
    r = upscale_factor
    *batch, channels, height, width = self.sizes
    depth = channels // (r * r)
    rank = len(batch)
    source = self.array.reshape((*batch, depth, r, r, height, width))
    order = (*range(rank + 1), rank + 3, rank + 1, rank + 4, rank + 2)
    return move(ctx, source.transpose(order), out.array.reshape((*batch, depth, height, r, width, r)))


@kernel("aten::pixel_unshuffle.out", any_layout=True)
@inferred(rules.pixel_unshuffle)
def pixel_unshuffle_out(ctx: PrepareContext, self: Tensor, downscale_factor: int, out: Tensor) -> Step:
    """(..., C, H r, W r) to (..., C r^2, H, W). Scratch: a copy when the output is not contiguous."""
    r = downscale_factor
    *batch, depth, height, width = self.sizes
    rank = len(batch)
    source = self.array.reshape((*batch, depth, height // r, r, width // r, r))
    order = (*range(rank + 1), rank + 2, rank + 4, rank + 1, rank + 3)
    return move(
        ctx, source.transpose(order), out.array.reshape((*batch, depth, r, r, height // r, width // r))
    )


@kernel("aten::channel_shuffle.out")
@inferred(rules.channel_shuffle)
def channel_shuffle_out(ctx: PrepareContext, self: Tensor, groups: int, out: Tensor) -> Step:
    """Channel g * (C / groups) + c becomes channel c * groups + g."""
    batch, channels, *space = self.sizes
    source = self.array.reshape((batch, groups, channels // groups, *space)).swapaxes(1, 2)
    return move(ctx, source, out.array.reshape((batch, channels // groups, groups, *space)))


@kernel("aten::view_copy.dtype_out")
@inferred(rules.view_dtype)
def view_copy_dtype_out(ctx: PrepareContext, self: Tensor, dtype: int, out: Tensor) -> Step:
    """The bytes of `self` as elements of `dtype`; when that is smaller or larger, the last dimension is as
    much longer or shorter. Allocates a copy of `self` when it is not contiguous.
    """
    return evaluated(functools.partial(_as_type, out.dtype, out.sizes), (self,), (out,), self.dtype)


def _as_type(dtype: np.dtype[np.generic], shape: tuple[int, ...], array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(dtype).reshape(shape)


@kernel("aten::_conj_copy.out")
def conj_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The complex conjugate; a real tensor is copied. Allocates the result."""
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(self.sizes)
    return evaluated(_conjugate, (self,), (out,), self.dtype)


def _conjugate(array: Array) -> Array:
    return np.conjugate(array) if array.dtype.kind == "c" else array


@kernel("aten::_neg_view_copy.out")
def neg_view_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The negative. Allocates the result."""
    good = self.scalar_type != ScalarType.BOOL
    ctx.check(good, arg="self", expected="numbers", got=self.scalar_type.torch_name)
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(self.sizes)
    return evaluated(np.negative, (self,), (out,))


@kernel("aten::_reshape_alias_copy.out")
def reshape_alias_copy_out(
    ctx: PrepareContext, self: Tensor, size: list[int], stride: list[int], out: Tensor
) -> Step:
    """The elements in order of their indices, as `size`; `stride` is how torch would have made a view of
    it. Allocates a copy of `self` when it is not contiguous.
    """
    check_type(ctx, self.scalar_type, out, arg="out")
    good = math.prod(size) == self.numel and all(extent >= 0 for extent in size)
    ctx.check(good, arg="size", expected=f"a shape of {self.numel} elements", got=size)
    ctx.check(len(stride) == len(size), arg="stride", expected=f"{len(size)} strides", got=stride)
    out.resize(size)
    return evaluated(functools.partial(np.reshape, shape=tuple(size)), (self,), (out,), self.dtype)
