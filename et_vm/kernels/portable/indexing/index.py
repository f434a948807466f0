"""Reading by index: gather, take, advanced indexing, and the operators whose output shape depends on data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from et_ops.inference import indexing as rules
from et_ops.inference.creation import masked_select, nonzero
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import broadcast_shapes, check_type, dimension
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import contiguous, move, moves
from et_vm.kernels.portable.steps import call, chain, copy, filled, overlaps
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step, resizing
from et_vm.values import Array, Tensor

INDEX_TYPES = (ScalarType.LONG, ScalarType.INT)
MASK_TYPES = (ScalarType.BOOL, ScalarType.BYTE)


def check_range(ctx: PrepareContext, indices: Array, lowest: int, size: int, arg: str) -> None:
    """At run time: every index is in [`lowest`, `size`)."""
    if indices.size:
        least, most = int(indices.min()), int(indices.max())
        if least < lowest or most >= size:
            wrong = least if least < lowest else most
            raise ctx.trap(arg=arg, expected=f"indices in [{lowest}, {size})", got=wrong)


def check_index(ctx: PrepareContext, tensor: Tensor, *, arg: str) -> None:
    """`tensor` holds int32 or int64 indices."""
    if tensor.scalar_type not in INDEX_TYPES:
        raise ctx.trap(arg=arg, expected="an int32 or int64 tensor", got=tensor.scalar_type.torch_name)


def as_positions(ctx: PrepareContext, tensor: Tensor, out: Array) -> tuple[list[Step], Array]:
    """The indices in numpy's own index type, as numpy would otherwise convert them at each use; apart from `out`, as
    one that is written over while it is read is no longer in the range that was checked, and numpy's wrapping takes as
    many steps as it is out of it.
    """
    if tensor.dtype == np.intp and tensor.array.flags.c_contiguous and not overlaps(tensor.array, out):
        return [], tensor.array
    wide = ctx.scratch(tensor.sizes, np.intp)
    return [copy(tensor.array, wide)], wide


def take_step(
    ctx: PrepareContext, array: Array, axis: int, index: Tensor, out: Array, *, lowest: int, arg: str
) -> Step:
    """`out = array` taken at `index` along `axis`, after a check of the indices. Scratch: int32
    indices as int64, and the result when `out` is not contiguous.
    """
    calls, positions = as_positions(ctx, index, out)
    target = out if out.flags.c_contiguous else ctx.scratch(out.shape, out.dtype)
    calls += [
        (check_range, (ctx, index.array, lowest, array.shape[axis], arg)),
        (array.take, (positions, axis, target, "wrap")),
    ]
    if target is not out:
        calls.append(copy(target, out))
    return chain(calls)


@kernel("aten::index_select.out", any_type=True)
@inferred(rules.index_select, empty=True)
def index_select_out(ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, out: Tensor) -> Step:
    """The slices of `self` at `index` (0-d or 1-d) along `dim`. The step traps on an index out of
    range.
    """
    if not self.sizes:
        return chain([(check_range, (ctx, index.array, 0, 1, "index")), *moves(ctx, self.array, out.array)])
    axis = dimension(ctx, dim, len(self.sizes))
    if not out.array.size:
        return (check_range, (ctx, index.array, 0, self.sizes[axis], "index"))
    target = out.array if index.sizes else out.array.squeeze(axis)
    return take_step(ctx, self.array, axis, index, target, lowest=0, arg="index")


@kernel("aten::embedding.out", any_type=True)
@inferred(rules.embedding, empty=True)
def embedding_out(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
    out: Tensor,
) -> Step:
    """The rows of `weight` at `indices`. The step traps on an index out of range."""
    check_index(ctx, indices, arg="indices")
    if not out.array.size:
        return (check_range, (ctx, indices.array, 0, weight.sizes[0], "indices"))
    return take_step(ctx, weight.array, 0, indices, out.array, lowest=0, arg="indices")


def flat_positions(
    ctx: PrepareContext, index: Tensor, axis: int, shape: Sequence[int], strides: Sequence[int], arg: str
) -> tuple[list[Step], Array]:
    """Calls that turn `index` along `axis` into positions in a flat tensor of `shape` with element
    `strides`.

    Scratch: one int64 per index.
    """
    positions = ctx.scratch(index.sizes, np.intp)
    calls: list[Step] = [
        (check_range, (ctx, index.array, 0, shape[axis], arg)),
        copy(index.array, positions),
    ]
    if strides[axis] != 1:
        calls.append(call(np.multiply, positions, filled(positions.dtype, strides[axis]), positions))
    for at, (size, stride) in enumerate(zip(index.sizes, strides, strict=True)):
        if at != axis and size > 1:
            line = [1] * len(index.sizes)
            line[at] = size
            offsets = (np.arange(size, dtype=np.intp) * stride).reshape(line)
            calls.append(call(np.add, positions, offsets, positions))
    return calls, positions


def index_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Element strides of a contiguous tensor."""
    return tuple(math.prod(sizes[at + 1 :]) for at in range(len(sizes)))


@kernel("aten::gather.out", any_layout=True, any_type=True)
@inferred(rules.gather)
def gather_out(
    ctx: PrepareContext, self: Tensor, dim: int, index: Tensor, sparse_grad: bool, out: Tensor
) -> Step:
    """`out[i][j] = self[index[i][j]][j]` for `dim` 0, and so on. The step traps on an index out of
    range. Scratch: one int64 per index, and `self` when it is not contiguous.
    """
    shape = self.sizes or (1,)
    axis = dimension(ctx, dim, len(shape))
    calls, source = contiguous(ctx, self.array)
    if not index.sizes:
        check = (check_range, (ctx, index.array, 0, shape[0], "index"))
        return chain([check, *calls, (source.reshape(-1).take, (index.array, None, out.array, "wrap"))])
    more, positions = flat_positions(ctx, index, axis, shape, index_strides(shape), "index")
    target = out.array if out.array.flags.c_contiguous else ctx.scratch(out.sizes, out.dtype)
    calls += [*more, (source.reshape(-1).take, (positions, None, target, "wrap"))]
    if target is not out.array:
        calls.append(copy(target, out.array))
    return chain(calls)


def check_indices(ctx: PrepareContext, self: Tensor, indices: Sequence[Tensor | None]) -> bool:
    """`indices` suit `self`; whether there is a mask among them."""
    dims = 0
    masked = False
    for index in indices:
        if index is None:
            dims += 1
        elif index.scalar_type in MASK_TYPES:
            masked = True
            own = self.sizes[dims : dims + len(index.sizes)]
            ctx.check(
                index.sizes == own,
                arg="indices",
                expected=f"a mask of shape {list(own)}",
                got=list(index.sizes),
            )
            dims += len(index.sizes)
        else:
            check_index(ctx, index, arg="indices")
            dims += 1
    ctx.check(dims <= len(self.sizes), arg="indices", expected=f"at most {len(self.sizes)} indices", got=dims)
    if not masked:
        broadcast_shapes(ctx, (), *(index.sizes for index in indices if index is not None))
    return masked


def numpy_index(indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """`indices` as numpy's advanced indexing takes them; masks are views of their tensors."""
    return tuple(
        slice(None)
        if index is None
        else index.array.view(np.bool_)
        if index.scalar_type == ScalarType.BOOL
        else index.array.astype(np.bool_)
        if index.scalar_type == ScalarType.BYTE
        else index.array
        for index in indices
    )


def guarded(ctx: PrepareContext, arg: str, function: Callable[..., None], *args: object) -> Step:
    """The step `function(*args)`, in which numpy's complaint about an index or a shape becomes a trap."""

    def run() -> None:
        try:
            function(*args)
        except (IndexError, ValueError) as problem:
            raise ctx.trap(arg=arg, expected="indices inside the tensor", got=problem) from None

    return run, ()


@kernel("aten::index.Tensor_out", any_type=True)
def index_out(ctx: PrepareContext, self: Tensor, indices: list[Tensor | None], out: Tensor) -> Step:
    """Advanced indexing: index tensors broadcast together, None keeps a dimension, a mask stands for the
    indices of its true elements. The indexed dimensions are replaced where they stand if they are
    neighbours, else in front. The step traps on an index out of range.

    Scratch: one int64 per index, and `self` rearranged when the indexed dimensions are not neighbours or
    it is not contiguous. With a mask, the output gets its shape in the step and numpy allocates.
    """
    check_type(ctx, self.scalar_type, out, arg="out")
    if check_indices(ctx, self, indices):
        return guarded(ctx, "indices", _index_by_mask, self, indices, out)
    used = [(at, index) for at, index in enumerate(indices) if index is not None]
    if not used:
        out.resize(self.sizes)
        return move(ctx, self.array, out.array)
    axes = [at for at, _ in used]
    picked = broadcast_shapes(ctx, *(index.sizes for _, index in used))
    rest = [at for at in range(len(self.sizes)) if at not in axes]
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    place = axes[0] if adjacent else 0
    order = [*rest[:place], *axes, *rest[place:]]
    before, after = rest[:place], rest[place:]
    out.resize([*(self.sizes[at] for at in before), *picked, *(self.sizes[at] for at in after)])
    checks: list[Step] = [
        (check_range, (ctx, index.array, -self.sizes[at], self.sizes[at], "indices")) for at, index in used
    ]
    if not out.array.size:
        return chain(checks)
    if len(used) == 1:
        axis, index = used[0]
        return take_step(ctx, self.array, axis, index, out.array, lowest=-self.sizes[axis], arg="indices")
    calls, source = contiguous(ctx, self.array.transpose(order))
    counts = [self.sizes[at] for at in axes]
    positions = ctx.scratch(picked, np.intp)
    one = ctx.scratch(picked, np.intp)
    for at, (count, (_, index)) in enumerate(zip(counts, used, strict=True)):
        wrapped = one if at else positions
        size = filled(positions.dtype, count)
        view = np.broadcast_to(index.array, picked)
        checks += [copy(view, wrapped), call(np.remainder, wrapped, size, wrapped)]
        if at:
            checks += [
                call(np.multiply, positions, size, positions),
                call(np.add, positions, one, positions),
            ]
    flat = source.reshape(
        math.prod(self.sizes[at] for at in before),
        math.prod(counts),
        math.prod(self.sizes[at] for at in after),
    )
    shape = (flat.shape[0], *picked, flat.shape[2])
    target = out.array if out.array.flags.c_contiguous else ctx.scratch(out.sizes, out.dtype)
    take: Step = (flat.take, (positions, 1, target.reshape(shape), "wrap"))
    tail = [] if target is out.array else [copy(target, out.array)]
    return chain([*calls, *checks, take, *tail])


@resizing
def _index_by_mask(self: Tensor, indices: Sequence[Tensor | None], out: Tensor) -> None:
    result: Array = self.array[numpy_index(indices)]
    out.resize(result.shape)
    np.copyto(out.array, result)


@kernel("aten::masked_select.out", any_type=True)
@inferred(masked_select)
def masked_select_out(ctx: PrepareContext, self: Tensor, mask: Tensor, out: Tensor) -> Step:
    """The elements at which `mask` is true, in one dimension; both tensors broadcast. The output gets its
    shape in the step, and numpy allocates.
    """
    shape = broadcast_shapes(ctx, self.sizes, mask.sizes)
    return _select, (np.broadcast_to(self.array, shape), np.broadcast_to(mask.array, shape), out)


@resizing
def _select(array: Array, mask: Array, out: Tensor) -> None:
    result: Array = array[mask]
    out.resize(result.shape)
    np.copyto(out.array, result)


@kernel("aten::nonzero.out", any_layout=True)
@inferred(nonzero)
def nonzero_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The indices of the elements other than zero, one per row. The output gets its shape in the step, and
    numpy allocates.
    """
    return _nonzero, (self.array, out)


@resizing
def _nonzero(array: Array, out: Tensor) -> None:
    found = np.argwhere(array) if array.ndim else np.empty((int(bool(array)), 0), np.int64)
    out.resize(found.shape)
    np.copyto(out.array, found)


@kernel("aten::repeat_interleave.Tensor_out")
@inferred(rules.repeated_places, empty=True)
def repeat_interleave_out(ctx: PrepareContext, repeats: Tensor, output_size: int | None, out: Tensor) -> Step:
    """The index of each element of `repeats`, as often as it says. The output gets its shape in the step,
    and numpy allocates.
    """
    return _repeat, (ctx, repeats.array, output_size, out)


_MOST_REPEATS = 2**48


def _repeat(ctx: PrepareContext, repeats: Array, output_size: int | None, out: Tensor) -> None:
    if repeats.size and int(repeats.min()) < 0:
        raise ctx.trap(arg="repeats", expected="non-negative numbers", got=int(repeats.min()))
    # Summed as floats, which does not wrap: numpy's own sum does, and it writes past the end of what that makes.
    total = float(repeats.sum(dtype=np.float64))
    if total > _MOST_REPEATS:
        raise ctx.trap(arg="repeats", expected=f"at most {_MOST_REPEATS} in all", got=total)
    size = int(repeats.sum())
    if output_size is not None and output_size != size:
        raise ctx.trap(arg="output_size", expected=size, got=output_size)
    out.resize((size,))
    np.copyto(out.array, np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats))
