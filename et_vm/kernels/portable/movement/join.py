"""Putting tensors together, and repeating, padding, turning and masking one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from et_ops.inference import views as rules
from et_ops.inference.creation import diag_embed
from et_vm.kernels.portable.arguments import (
    check_out_type,
    check_rank,
    check_type,
    checked_constant,
    constant,
    dimension,
    dimensions,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import borders, move, moves
from et_vm.kernels.portable.promotion import result_type
from et_vm.kernels.portable.steps import NOTHING, chain, copy, overlaps, same_view
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import MAX_RANK, Array, Tensor


def _along(axis: int, start: int, end: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(start, end),)


def _join(ctx: PrepareContext, pieces: Sequence[tuple[Array, Array]], out: Array) -> Step:
    """Copy each source to its place in `out`; sources that live in the memory of `out` elsewhere than
    in their place go through scratch.
    """
    first: list[Step] = []
    then: list[Step] = []
    for source, target in pieces:
        if target.size and overlaps(source, out) and not same_view(source, target):
            saved = ctx.scratch(source.shape, source.dtype)
            first.append(copy(source, saved))
            then += moves(ctx, saved, target)
        else:
            then += moves(ctx, source, target)
    calls = [*first, *then]
    return chain(calls)


@kernel("aten::cat.out")
def cat_out(ctx: PrepareContext, tensors: list[Tensor], dim: int, out: Tensor) -> Step:
    """The tensors one after the other along `dim`; tensors without elements are passed over where
    there are others. Scratch: the inputs that overlap the output.
    """
    ctx.check(bool(tensors), arg="tensors", expected="at least one tensor", got="none")
    last = next((tensor for tensor in reversed(tensors) if tensor.sizes != (0,)), tensors[-1])
    used = [tensor for tensor in tensors if tensor.numel]
    if not used:
        used = [tensor for tensor in tensors if tensor.sizes != (0,)] or list(tensors[:1])
    first = used[0]
    rank = len(first.sizes)
    ctx.check(rank > 0, arg="tensors", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, rank)
    # Upstream's kernel takes the shape of the result from the last tensor, be it empty.
    for tensor in (*used, last):
        same = len(tensor.sizes) == rank and all(
            at == axis or a == b for at, (a, b) in enumerate(zip(first.sizes, tensor.sizes, strict=False))
        )
        ctx.check(
            same,
            arg="tensors",
            expected=f"{list(first.sizes)} but for dimension {axis}",
            got=list(tensor.sizes),
        )
    check_out_type(ctx, result_type(*tensors), out)
    out.resize((*first.sizes[:axis], sum(tensor.sizes[axis] for tensor in used), *first.sizes[axis + 1 :]))
    pieces: list[tuple[Array, Array]] = []
    start = 0
    for tensor in used:
        end = start + tensor.sizes[axis]
        pieces.append((tensor.array, out.array[_along(axis, start, end)]))
        start = end
    return _join(ctx, pieces, out.array)


@kernel("aten::stack.out")
@inferred(rules.stack, casts=True)
def stack_out(ctx: PrepareContext, tensors: list[Tensor], dim: int, out: Tensor) -> Step:
    """The tensors, all of one shape, along a new dimension `dim`. Scratch: the inputs that overlap the
    output.
    """
    axis = dimension(ctx, dim, len(out.sizes))
    pieces = [
        (np.expand_dims(tensor.array, axis), out.array[_along(axis, at, at + 1)])
        for at, tensor in enumerate(tensors)
    ]
    return _join(ctx, pieces, out.array)


@kernel("aten::repeat.out")
def repeat_out(ctx: PrepareContext, self: Tensor, repeats: list[int], out: Tensor) -> Step:
    """`self` laid side by side `repeats` times along each dimension; more repeats than dimensions add
    dimensions in front.
    """
    extra = len(repeats) - len(self.sizes)
    ctx.check(extra >= 0, arg="repeats", expected=f"at least {len(self.sizes)} numbers", got=repeats)
    ctx.check(
        all(count >= 0 for count in repeats), arg="repeats", expected="non-negative numbers", got=repeats
    )
    ctx.check(
        len(repeats) < MAX_RANK, arg="repeats", expected=f"fewer than {MAX_RANK} numbers", got=len(repeats)
    )
    check_type(ctx, self.scalar_type, out, arg="out")
    sizes = (1,) * extra + self.sizes
    out.resize([count * size for count, size in zip(repeats, sizes, strict=True)])
    if not out.array.size:
        return NOTHING
    interleaved = [extent for pair in zip(repeats, sizes, strict=True) for extent in pair]
    source = self.array.reshape([extent for size in sizes for extent in (1, size)])
    return move(ctx, np.broadcast_to(source, tuple(interleaved)), out.array.reshape(interleaved))


@kernel("aten::flip.out")
@inferred(rules.flip)
def flip_out(ctx: PrepareContext, self: Tensor, dims: list[int], out: Tensor) -> Step:
    """The order of the elements reversed along `dims`."""
    turned = dimensions(ctx, dims, len(self.sizes), arg="dims", empty_is_all=False)
    index = tuple(slice(None, None, -1 if at in turned else None) for at in range(len(self.sizes)))
    return move(ctx, self.array[(*index, ...)], out.array)


@kernel("aten::roll.out")
def roll_out(ctx: PrepareContext, self: Tensor, shifts: list[int], dims: list[int], out: Tensor) -> Step:
    """Elements moved `shifts` places along `dims` and round the end; without `dims`, of the flattened
    tensor. Scratch: the input when it overlaps the output.
    """
    check_type(ctx, self.scalar_type, out, arg="out")
    ctx.check(bool(shifts), arg="shifts", expected="at least one shift", got="none")
    if not dims:
        ctx.check(len(shifts) == 1, arg="dims", expected="dimensions for the shifts", got="none")
        out.resize(self.sizes)
        if not self.array.size:
            return NOTHING
        source, target = self.array, out.array
        calls: list[Step] = []
        if not source.flags.c_contiguous or overlaps(source, target):
            source = ctx.scratch(self.sizes, source.dtype)
            calls += moves(ctx, self.array, source)
        rolled = target if target.flags.c_contiguous else ctx.scratch(target.shape, target.dtype)
        calls += _rolled(ctx, source.reshape(-1), rolled.reshape(-1), {0: shifts[0]})
        if rolled is not target:
            calls += moves(ctx, rolled, target)
        return chain(calls)
    ctx.check(len(dims) == len(shifts), arg="dims", expected=f"{len(shifts)} dimensions", got=dims)
    rank = len(self.sizes)
    by_axis: dict[int, int] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        ctx.check(rank > 0, arg="dims", expected="none, as 'self' has no dimensions", got=dims)
        axis = dimension(ctx, dim, rank, arg="dims")
        by_axis[axis] = by_axis.get(axis, 0) + shift
    out.resize(self.sizes)
    if not self.array.size:
        return NOTHING
    if not rank:
        return move(ctx, self.array, out.array)
    source = self.array
    calls = []
    if overlaps(source, out.array):
        source = ctx.scratch(self.sizes, source.dtype)
        calls += moves(ctx, self.array, source)
    return chain([*calls, *_rolled(ctx, source, out.array, by_axis)])


def _rolled(ctx: PrepareContext, source: Array, target: Array, by_axis: dict[int, int]) -> list[Step]:
    choices: list[list[tuple[slice, slice]]] = []
    for axis in range(source.ndim):
        size = source.shape[axis]
        shift = by_axis.get(axis, 0) % size
        halves = [(slice(0, size - shift), slice(shift, size)), (slice(size - shift, size), slice(0, shift))]
        choices.append(halves if shift else halves[:1])
    calls: list[Step] = []
    for combination in itertools.product(*choices):
        calls += moves(
            ctx, source[tuple(c[0] for c in combination)], target[tuple(c[1] for c in combination)]
        )
    return calls


@kernel("aten::constant_pad_nd.out")
def constant_pad_nd_out(
    ctx: PrepareContext, self: Tensor, pad: list[int], value: Scalar, out: Tensor
) -> Step:
    """`pad` holds (before, after) from the last dimension on; negative numbers cut off. Scratch: the
    input when it overlaps the output.
    """
    rank = len(self.sizes)
    ctx.check(len(pad) % 2 == 0 and len(pad) <= 2 * rank, arg="pad", expected=f"up to {rank} pairs", got=pad)
    check_type(ctx, self.scalar_type, out, arg="out")
    number = checked_constant(ctx, value, self.scalar_type, arg="value")
    shape: list[int] = []
    source: list[slice] = []
    target: list[slice] = []
    for at, size in enumerate(self.sizes):
        pair = 2 * (rank - 1 - at)
        before, after = (pad[pair], pad[pair + 1]) if pair < len(pad) else (0, 0)
        extent = size + before + after
        ctx.check(
            extent >= 0, arg="pad", expected=f"at most the {size} elements of dimension {at} cut off", got=pad
        )
        shape.append(extent)
        first, last = max(0, -before), size - max(0, -after)
        source.append(slice(first, max(first, last)))
        target.append(slice(max(0, before), max(0, before) + max(0, last - first)))
    out.resize(shape)
    if not out.array.size:
        return NOTHING
    inner = self.array[(*source, ...)]
    calls: list[Step] = []
    if overlaps(inner, out.array):
        saved = ctx.scratch(inner.shape, inner.dtype)
        calls.append(copy(inner, saved))
        inner = saved
    place = out.array[(*target, ...)]
    edges = borders(out.array, target) if inner.size else [out.array]
    return chain([*calls, *(copy(number, edge) for edge in edges), *moves(ctx, inner, place)])


def _triangle(ctx: PrepareContext, self: Tensor, diagonal: int, out: Tensor, *, lower: bool) -> Step:
    rows, columns = self.sizes[-2:]
    zero = constant(0, self.scalar_type)
    calls = moves(ctx, self.array, out.array)
    # Row by row over all matrices at once: cheaper than a masked copy, and nothing to keep.
    for row in range(rows):
        edge = min(max(row + diagonal + (1 if lower else 0), 0), columns)
        cleared = slice(edge, columns) if lower else slice(0, edge)
        if cleared.start < cleared.stop:
            calls.append(copy(zero, out.array[..., row, cleared]))
    return chain(calls)


@kernel("aten::tril.out")
@inferred(rules.triangle)
def tril_out(ctx: PrepareContext, self: Tensor, diagonal: int, out: Tensor) -> Step:
    """Matrices with zeros above `diagonal`."""
    return _triangle(ctx, self, diagonal, out, lower=True)


@kernel("aten::triu.out")
@inferred(rules.triangle)
def triu_out(ctx: PrepareContext, self: Tensor, diagonal: int, out: Tensor) -> Step:
    """Matrices with zeros below `diagonal`."""
    return _triangle(ctx, self, diagonal, out, lower=False)


def _mirrored(size: int, before: int, after: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Source index of each element of a dimension padded by reflection without repeating the edge."""
    at = np.abs(np.arange(-before, size + after))
    return (size - 1) - np.abs((size - 1) - at)


def _repeated(size: int, before: int, after: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Source index of each element of a dimension padded by repeating the edge."""
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _edge_pad(
    ctx: PrepareContext, self: Tensor, padding: list[int], out: Tensor, dims: int, *, reflect: bool
) -> Step:
    check_rank(ctx, self, dims + 1, dims + 2, arg="self")
    check_type(ctx, self.scalar_type, out, arg="out")
    ctx.check(len(padding) == 2 * dims, arg="padding", expected=f"{2 * dims} numbers", got=padding)
    rank = len(self.sizes)
    shape = list(self.sizes)
    calls: list[Step] = []
    array = self.array
    plan: list[tuple[int, int, int]] = []
    for pair in range(dims):
        axis, (before, after) = rank - 1 - pair, padding[2 * pair : 2 * pair + 2]
        size = self.sizes[axis]
        shape[axis] = size + before + after
        legal = max(before, after) < size if reflect else size > 0
        ctx.check(
            legal and shape[axis] > 0,
            arg="padding",
            expected=f"padding that suits dimension {axis} of {size}",
            got=padding,
        )
        plan.append((axis, before, after))
    out.resize(shape)
    if not out.array.size:
        return NOTHING
    for at, (axis, before, after) in enumerate(plan):
        source = (_mirrored if reflect else _repeated)(array.shape[axis], before, after)
        extent = list(array.shape)
        extent[axis] = len(source)
        last = at == len(plan) - 1 and out.array.flags.c_contiguous
        target = out.array if last else ctx.scratch(extent, array.dtype)
        calls.append((array.take, (source, axis, target, "clip")))
        array = target
    if array is not out.array:
        calls += moves(ctx, array, out.array)
    return chain(calls)


def _declare_edge_pads(dims: int) -> None:
    @kernel(f"aten::reflection_pad{dims}d.out")
    def reflection(ctx: PrepareContext, self: Tensor, padding: list[int], out: Tensor) -> Step:
        """Padding that mirrors the inside without repeating the edge. Scratch: each dimension's result but
        the last's.
        """
        return _edge_pad(ctx, self, padding, out, dims, reflect=True)

    @kernel(f"aten::replication_pad{dims}d.out", any_layout=True)
    def replication(ctx: PrepareContext, self: Tensor, padding: list[int], out: Tensor) -> Step:
        """Padding that repeats the edge. Scratch: each dimension's result but the last's."""
        return _edge_pad(ctx, self, padding, out, dims, reflect=False)


for _dims in (1, 2, 3):
    _declare_edge_pads(_dims)


@kernel("aten::diag_embed.out")
@inferred(diag_embed)
def diag_embed_out(ctx: PrepareContext, self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> Step:
    """The last dimension as the diagonal, `offset` above the main one, of planes of `dim1` and
    `dim2`; zeros elsewhere.
    """
    rank = len(self.sizes) + 1
    a, b = dimension(ctx, dim1, rank, arg="dim1"), dimension(ctx, dim2, rank, arg="dim2")
    diagonal = _diagonal(out.array, offset, a, b, self.sizes[-1])
    return chain([copy(constant(0, self.scalar_type), out.array), *moves(ctx, self.array, diagonal)])


def _diagonal(array: Array, offset: int, a: int, b: int, length: int) -> Array:
    start: list[slice] = [slice(None)] * array.ndim
    start[a], start[b] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    corner = array[tuple(start)]
    rest = [axis for axis in range(array.ndim) if axis not in (a, b)]
    return np.lib.stride_tricks.as_strided(
        corner,
        (*(array.shape[axis] for axis in rest), length),
        (*(array.strides[axis] for axis in rest), array.strides[a] + array.strides[b]),
    )
