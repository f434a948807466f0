"""Putting tensors together, and repeating, padding, turning and masking one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from et_ops.inference import reshaping as rules
from et_ops.inference.convolution import constant_pad
from et_ops.inference.creation import diag_embed
from et_ops.inference.meta import RULES
from et_schema.program import MAX_RANK
from et_vm.kernels.portable.arguments import (
    check_out_type,
    constant,
    dimension,
    dimensions,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.inference import infer, inferred
from et_vm.kernels.portable.movement.move import borders, move, moves
from et_vm.kernels.portable.promotion import result_type
from et_vm.kernels.portable.steps import chain, copy, overlaps, same_view
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor, strided_view


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


@kernel("aten::cat.out", any_type=True)
def cat_out(ctx: PrepareContext, tensors: list[Tensor], dim: int, out: Tensor) -> Step:
    """The tensors one after the other along `dim`; tensors without elements are passed over where
    there are others. Scratch: the inputs that overlap the output.
    """
    used = [tensor for tensor in tensors if tensor.numel]
    used = used or [tensor for tensor in tensors if tensor.sizes != (0,)] or tensors[:1]
    # Upstream's kernel takes the shape of the result from the last tensor, be it empty.
    last = next((tensor for tensor in reversed(tensors) if tensor.sizes != (0,)), None)
    joined = used if last is None or last in used else [*used, last]
    (result,) = infer(ctx, rules.cat, ("tensors", "dim"), (joined, dim))
    check_out_type(ctx, result_type(*tensors), out)
    axis = dimension(ctx, dim, len(result.shape))
    out.resize(result.shape)
    pieces: list[tuple[Array, Array]] = []
    start = 0
    for tensor in used:
        end = start + tensor.sizes[axis]
        pieces.append((tensor.array, out.array[_along(axis, start, end)]))
        start = end
    return _join(ctx, pieces, out.array)


@kernel("aten::stack.out", any_type=True)
@inferred(rules.stack, check=check_out_type)
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


@kernel("aten::repeat.out", any_type=True)
@inferred(rules.repeat)
def repeat_out(ctx: PrepareContext, self: Tensor, repeats: list[int], out: Tensor) -> Step:
    """`self` laid side by side `repeats` times along each dimension; more repeats than dimensions add
    dimensions in front.
    """
    # Upstream's kernel takes one dimension less than tensors have.
    ctx.check(
        len(repeats) < MAX_RANK, arg="repeats", expected=f"fewer than {MAX_RANK} numbers", got=len(repeats)
    )
    sizes = (1,) * (len(repeats) - len(self.sizes)) + self.sizes
    interleaved = [extent for pair in zip(repeats, sizes, strict=True) for extent in pair]
    source = self.array.reshape([extent for size in sizes for extent in (1, size)])
    return move(ctx, np.broadcast_to(source, tuple(interleaved)), out.array.reshape(interleaved))


@kernel("aten::flip.out", any_type=True)
@inferred(rules.flip)
def flip_out(ctx: PrepareContext, self: Tensor, dims: list[int], out: Tensor) -> Step:
    """The order of the elements reversed along `dims`."""
    turned = dimensions(ctx, dims, len(self.sizes), arg="dims", empty_is_all=False)
    index = tuple(slice(None, None, -1 if at in turned else None) for at in range(len(self.sizes)))
    return move(ctx, self.array[(*index, ...)], out.array)


@kernel("aten::roll.out", any_type=True)
@inferred(rules.roll)
def roll_out(ctx: PrepareContext, self: Tensor, shifts: list[int], dims: list[int], out: Tensor) -> Step:
    """Elements moved `shifts` places along `dims` and round the end; without `dims`, of the flattened
    tensor. Scratch: the input when it overlaps the output.
    """
    source, target = self.array, out.array
    calls: list[Step] = []
    flat = not dims
    if overlaps(source, target) or (flat and not source.flags.c_contiguous):
        source = ctx.scratch(self.sizes, source.dtype)
        calls += moves(ctx, self.array, source)
    if flat:
        rolled = target if target.flags.c_contiguous else ctx.scratch(target.shape, target.dtype)
        calls += _rolled(ctx, source.reshape(-1), rolled.reshape(-1), {0: shifts[0]})
        return chain(calls if rolled is target else [*calls, *moves(ctx, rolled, target)])
    by_axis: dict[int, int] = {}
    for dim, shift in zip(dims, shifts, strict=True):
        axis = dimension(ctx, dim, source.ndim, arg="dims")
        by_axis[axis] = by_axis.get(axis, 0) + shift
    return chain([*calls, *_rolled(ctx, source, target, by_axis)])


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


@kernel("aten::constant_pad_nd.out", any_type=True)
@inferred(constant_pad)
def constant_pad_nd_out(
    ctx: PrepareContext, self: Tensor, pad: list[int], value: Scalar, out: Tensor
) -> Step:
    """`pad` holds (before, after) from the last dimension on; negative numbers cut off. Scratch: the
    input when it overlaps the output.
    """
    source: list[slice] = []
    target: list[slice] = []
    for at, size in enumerate(self.sizes):
        pair = 2 * (len(self.sizes) - 1 - at)
        before, after = (pad[pair], pad[pair + 1]) if pair < len(pad) else (0, 0)
        first, last = max(0, -before), size - max(0, -after)
        source.append(slice(first, max(first, last)))
        target.append(slice(max(0, before), max(0, before) + max(0, last - first)))
    inner = self.array[(*source, ...)]
    calls: list[Step] = []
    if overlaps(inner, out.array):
        saved = ctx.scratch(inner.shape, inner.dtype)
        calls.append(copy(inner, saved))
        inner = saved
    place = out.array[(*target, ...)]
    number = constant(value, self.scalar_type)
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


@kernel("aten::tril.out", any_type=True)
@inferred(rules.triangle)
def tril_out(ctx: PrepareContext, self: Tensor, diagonal: int, out: Tensor) -> Step:
    """Matrices with zeros above `diagonal`."""
    return _triangle(ctx, self, diagonal, out, lower=True)


@kernel("aten::triu.out", any_type=True)
@inferred(rules.triangle)
def triu_out(ctx: PrepareContext, self: Tensor, diagonal: int, out: Tensor) -> Step:
    """Matrices with zeros below `diagonal`."""
    return _triangle(ctx, self, diagonal, out, lower=False)


Places: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
"""Source index of each element of a dimension."""


def _mirrored(size: int, before: int, after: int) -> Places:
    """Source index of each element of a dimension padded by reflection without repeating the edge."""
    at = np.abs(np.arange(-before, size + after))
    return (size - 1) - np.abs((size - 1) - at)


def _repeated(size: int, before: int, after: int) -> Places:
    """Source index of each element of a dimension padded by repeating the edge."""
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _edge_pad(
    ctx: PrepareContext, array: Array, padding: list[int], out: Tensor, source_of: Callable[..., Places]
) -> Step:
    calls: list[Step] = []
    rank = array.ndim
    for pair in range(len(padding) // 2):
        axis = rank - 1 - pair
        source = source_of(array.shape[axis], *padding[2 * pair : 2 * pair + 2])
        extent = list(array.shape)
        extent[axis] = len(source)
        last = pair == len(padding) // 2 - 1 and out.array.flags.c_contiguous
        target = out.array if last else ctx.scratch(extent, array.dtype)
        calls.append((array.take, (source, axis, target, "clip")))
        array = target
    if array is not out.array:
        calls += moves(ctx, array, out.array)
    return chain(calls)


def _declare_edge_pads(dims: int) -> None:
    @kernel(f"aten::reflection_pad{dims}d.out", any_type=True)
    @inferred(RULES[f"reflection_pad{dims}d"])
    def reflection(ctx: PrepareContext, self: Tensor, padding: list[int], out: Tensor) -> Step:
        """Padding that mirrors the inside without repeating the edge. Scratch: each dimension's result but
        the last's.
        """
        return _edge_pad(ctx, self.array, padding, out, _mirrored)

    @kernel(f"aten::replication_pad{dims}d.out", any_layout=True, any_type=True)
    @inferred(RULES[f"replication_pad{dims}d"])
    def replication(ctx: PrepareContext, self: Tensor, padding: list[int], out: Tensor) -> Step:
        """Padding that repeats the edge. Scratch: each dimension's result but the last's."""
        return _edge_pad(ctx, self.array, padding, out, _repeated)


for _dims in (1, 2, 3):
    _declare_edge_pads(_dims)


@kernel("aten::diag_embed.out", any_type=True)
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
    return strided_view(
        corner,
        (*(array.shape[axis] for axis in rest), length),
        (*(array.strides[axis] for axis in rest), array.strides[a] + array.strides[b]),
    )
