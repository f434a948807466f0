"""Kernels of the `*_copy` view operators.

They store a reshaped, permuted or cut view of a tensor.

When the planner has given the output the memory of its input and the view is the whole of it, the step does
nothing.
"""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference import reshaping as rules
from et_ops.inference.pointwise import same_as_self
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, INTEGER, check_type, dimension
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import as_array, contiguous, move, reshape_moves
from et_vm.kernels.portable.promotion import can_cast
from et_vm.kernels.portable.steps import chain
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_WORTH_KEEPING = 1 << 12


def _converts(ctx: PrepareContext, scalar_type: ScalarType, out: Tensor, *, arg: str) -> None:
    """Real numbers go into any real or complex type."""
    if scalar_type.is_complex or not can_cast(ScalarType.BOOL, out.scalar_type):
        check_type(ctx, scalar_type, out, arg=arg)


def _store(ctx: PrepareContext, self: Tensor, view: Array, out: Tensor) -> Step:
    """Store a view of `self`, in the type of `out`. A large constant that has to be rearranged for it is, once, and
    kept: a plain copy of 1 MB costs a tenth of a transpose.
    """
    rearranged = view.size == self.numel >= _WORTH_KEEPING and not view.flags.c_contiguous
    if self.constant and rearranged and out.array.flags.c_contiguous:
        view = ctx.memo(("rearranged", self.version), lambda: np.ascontiguousarray(view))
    return move(ctx, view, out.array)


@kernel("aten::view_copy.out", "aten::_unsafe_view.out", any_type=True)
@inferred(rules.view)
def view_copy_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """The elements in order of their indices, as `size`, of which one may be -1. Scratch: a copy when
    neither is contiguous.
    """
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::alias_copy.out", "aten::detach_copy.out", "aten::lift_fresh_copy.out", any_type=True)
@inferred(same_as_self)
def alias_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy."""
    return _store(ctx, self, self.array, out)


@kernel("aten::permute_copy.out", any_type=True)
@inferred(rules.permute)
def permute_copy_out(ctx: PrepareContext, self: Tensor, dims: list[int], out: Tensor) -> Step:
    """Dimension i of the result is dimension `dims[i]` of `self`."""
    return _store(ctx, self, self.array.transpose(dims), out)


@kernel("aten::transpose_copy.int_out", any_type=True)
@inferred(rules.transpose)
def transpose_copy_out(ctx: PrepareContext, self: Tensor, dim0: int, dim1: int, out: Tensor) -> Step:
    """`dim0` and `dim1` exchanged."""
    return _store(ctx, self, self.array.swapaxes(dim0, dim1) if self.sizes else self.array, out)


@kernel("aten::t_copy.out", any_type=True)
@inferred(rules.matrix_transpose)
def t_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    return _store(ctx, self, self.array.T, out)


@kernel("aten::expand_copy.out", any_type=True)
@inferred(rules.expand)
def expand_copy_out(ctx: PrepareContext, self: Tensor, size: list[int], implicit: bool, out: Tensor) -> Step:
    """Dimensions of size 1 repeated, and new ones in front; -1 keeps a size."""
    return _store(ctx, self, np.broadcast_to(self.array, out.sizes), out)


@kernel("aten::unsqueeze_copy.out", any_type=True)
@inferred(rules.unsqueeze)
def unsqueeze_copy_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """A dimension of size 1 more, at `dim`."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.out", any_type=True)
@inferred(rules.squeeze)
def squeeze_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """Without the dimensions of size 1."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.dim_out", any_type=True)
@inferred(rules.squeeze_dim)
def squeeze_copy_dim_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """Without dimension `dim` when its size is 1."""
    return chain(reshape_moves(ctx, self.array, out.array))


@kernel("aten::squeeze_copy.dims_out", any_type=True)
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


def slice_view(array: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """The view `array[..., start:end:step, ...]` along `dim`."""
    axis = dim % array.ndim
    first, last = slice_bounds(start, end, array.shape[axis])
    return array[(slice(None),) * axis + (slice(first, last, step),)]


@kernel("aten::slice_copy.Tensor_out", any_type=True)
@inferred(rules.slice_)
def slice_copy_out(
    ctx: PrepareContext, self: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor
) -> Step:
    """`self[start:end:step]` along `dim`."""
    return _store(ctx, self, slice_view(self.array, dim, start, end, step), out)


def select_view(array: Array, dim: int, index: int) -> Array:
    """The view `array[..., index, ...]` along `dim`."""
    axis = dim % array.ndim
    at = index % array.shape[axis]
    # A slice first: indexing the last dimension away would give a number instead of a view.
    return array[(slice(None),) * axis + (slice(at, at + 1),)].squeeze(axis)


@kernel("aten::select_copy.int_out", any_type=True)
@inferred(rules.select)
def select_copy_out(ctx: PrepareContext, self: Tensor, dim: int, index: int, out: Tensor) -> Step:
    """`self[index]` along `dim`, which disappears."""
    return _store(ctx, self, select_view(self.array, dim, index), out)


@kernel("aten::narrow_copy.out", any_layout=True, any_type=True)
@inferred(rules.narrow)
def narrow_copy_out(
    ctx: PrepareContext, self: Tensor, dim: int, start: int, length: int, out: Tensor
) -> Step:
    """`self[start:start + length]` along `dim`."""
    axis = dimension(ctx, dim, len(self.sizes))
    first = start % self.sizes[axis]
    return _store(ctx, self, self.array[(slice(None),) * axis + (slice(first, first + length),)], out)


@kernel("aten::diagonal_copy.out", any_type=True)
@inferred(rules.diagonal)
def diagonal_copy_out(
    ctx: PrepareContext, self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor
) -> Step:
    """The diagonal of the planes of `dim1` and `dim2`, `offset` above the main one, as the last
    dimension.
    """
    return _store(ctx, self, self.array.diagonal(offset, dim1, dim2), out)


@kernel("aten::as_strided_copy.out", any_type=True)
@inferred(rules.as_strided)
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
    offset = storage_offset or 0
    last = offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
    ctx.check(last < self.numel, arg="stride", expected=f"elements below {self.numel}", got=last)
    calls, packed = contiguous(ctx, self.array.transpose(self.dim_order))
    itemsize = packed.itemsize
    view = as_array(packed.reshape(-1)[offset:], tuple(size), tuple(step * itemsize for step in stride))
    return chain([*calls, move(ctx, view, out.array)])


@kernel("aten::unfold_copy.out", any_layout=True, any_type=True)
@inferred(rules.unfold, check=_converts)
def unfold_copy_out(
    ctx: PrepareContext, self: Tensor, dimension_: int, size: int, step: int, out: Tensor
) -> Step:
    """Windows of `size`, `step` apart, of one dimension, as a new last dimension; in the type of `out`."""
    if not self.sizes:
        return _store(ctx, self, self.array.reshape(1)[:size], out)
    array = self.array
    axis = dimension(ctx, dimension_, array.ndim)
    stride = array.strides[axis]
    strides = (*array.strides[:axis], stride * step, *array.strides[axis + 1 :], stride)
    return _store(ctx, self, as_array(array, out.sizes, strides), out)


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


def _split(ctx: PrepareContext, self: Tensor, dim: int, out: list[Tensor]) -> Step:
    axis = dimension(ctx, dim, len(self.sizes))
    steps: list[Step] = []
    start = 0
    for part in out:
        end = start + part.sizes[axis]
        steps.append(_store(ctx, self, self.array[(slice(None),) * axis + (slice(start, end),)], part))
        start = end
    return chain(steps)


@kernel("aten::split_copy.Tensor_out", "aten::unsafe_split.Tensor_out", any_type=True)
@inferred(rules.split)
def split_copy_out(ctx: PrepareContext, self: Tensor, split_size: int, dim: int, out: list[Tensor]) -> Step:
    """Pieces of `split_size` along `dim`, the last one smaller if need be."""
    return _split(ctx, self, dim, out)


@kernel("aten::split_with_sizes_copy.out", "aten::unsafe_split_with_sizes.out", any_type=True)
@inferred(rules.split_with_sizes, check=_converts)
def split_with_sizes_copy_out(
    ctx: PrepareContext, self: Tensor, split_sizes: list[int], dim: int, out: list[Tensor]
) -> Step:
    """Pieces of `split_sizes` along `dim`, each in the type of its `out`."""
    return _split(ctx, self, dim, out)


@kernel("aten::unbind_copy.int_out", any_type=True)
@inferred(rules.unbind)
def unbind_copy_out(ctx: PrepareContext, self: Tensor, dim: int, out: list[Tensor]) -> Step:
    """The slices along `dim`, which disappears."""
    return chain([_store(ctx, self, select_view(self.array, dim, at), part) for at, part in enumerate(out)])


@kernel("aten::pixel_shuffle.out", any_type=True)
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


@kernel("aten::pixel_unshuffle.out", any_layout=True, any_type=True)
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


@kernel("aten::channel_shuffle.out", any_type=True)
@inferred(rules.channel_shuffle)
def channel_shuffle_out(ctx: PrepareContext, self: Tensor, groups: int, out: Tensor) -> Step:
    """Channel g * (C / groups) + c becomes channel c * groups + g."""
    batch, channels, *space = self.sizes
    source = self.array.reshape((batch, groups, channels // groups, *space)).swapaxes(1, 2)
    return move(ctx, source, out.array.reshape((batch, channels // groups, groups, *space)))


@kernel("aten::view_copy.dtype_out", any_type=True)
@inferred(rules.view_dtype)
def view_copy_dtype_out(ctx: PrepareContext, self: Tensor, dtype: int, out: Tensor) -> Step:
    """The bytes of `self` as elements of `dtype`; when that is smaller or larger, the last dimension is as
    much longer or shorter. Allocates a copy of `self` when it is not contiguous.
    """
    return evaluated(functools.partial(_as_type, out.dtype, out.sizes), (self,), (out,), self.dtype)


def _as_type(dtype: np.dtype[np.generic], shape: tuple[int, ...], array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(dtype).reshape(shape)


@kernel("aten::_conj_copy.out")
@inferred(same_as_self)
def conj_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The complex conjugate; a real tensor is copied. Allocates the result."""
    return evaluated(_conjugate, (self,), (out,), self.dtype)


def _conjugate(array: Array) -> Array:
    return np.conjugate(array) if array.dtype.kind == "c" else array


@kernel("aten::_neg_view_copy.out")
@inferred(same_as_self, kinds=(INTEGER, FLOAT, COMPLEX))
def neg_view_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The negative. Allocates the result."""
    return evaluated(np.negative, (self,), (out,))


@kernel("aten::_reshape_alias_copy.out", any_type=True)
@inferred(rules.reshape_alias)
def reshape_alias_copy_out(
    ctx: PrepareContext, self: Tensor, size: list[int], stride: list[int], out: Tensor
) -> Step:
    """The elements in order of their indices, as `size`; `stride` is how torch would have made a view of
    it. Allocates a copy of `self` when it is not contiguous.
    """
    return evaluated(functools.partial(np.reshape, shape=out.sizes), (self,), (out,), self.dtype)
