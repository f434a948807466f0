"""Nodes that move elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from et_backends.xnnpack.format.graph import (
    Node1x1,
    NodeCat,
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNConcatenate5,
    XNNCopy,
    XNNStaticConstantPad,
    XNNStaticReshape,
    XNNStaticSlice,
    XNNStaticTranspose,
)
from et_backends.xnnpack.format.nodes import roles_of
from et_backends.xnnpack.runtime.memory import same_memory
from et_backends.xnnpack.runtime.nodes.declare import translates
from et_backends.xnnpack.runtime.site import Site
from et_schema.errors import Error, ExecutorchError
from et_vm.kernels.portable.movement.move import borders, moves
from et_vm.kernels.portable.steps import cast, copy, filled
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _stored(site: Site, source: Array, target: Array) -> list[Step]:
    if source.dtype == target.dtype:
        return moves(site.ctx, source, target)
    return cast(site.ctx, source, target)


def _same_place(site: Site, x: Tensor, out: Tensor) -> list[Step]:
    """No step where the output has the memory of the input."""
    return [] if same_memory(x.storage, out.storage) else _stored(site, x.array.reshape(out.sizes), out.array)


@translates(XNNStaticTranspose, moves=True)
def transpose(site: Site, node: XNNStaticTranspose) -> list[Step]:
    """Dimension i of the output is dimension perm[i] of the input."""
    x = site.operand(node.input_id)
    rank = len(x.sizes)
    site.check(sorted(node.perm) == list(range(rank)), "perm", f"each of {rank} dimensions once", node.perm)
    moved = x.array.transpose(node.perm)
    # Where only dimensions of size 1 move, nothing does.
    still = x if moved.flags.c_contiguous else None
    out = site.result(node.output_id, moved.shape, still)
    return _same_place(site, x, out) if still is not None else _stored(site, moved, out.array)


@translates(XNNStaticReshape, moves=True)
def reshape(site: Site, node: XNNStaticReshape) -> list[Step]:
    """The elements in their order; a size of 0 is what is left of them."""
    x = site.operand(node.input_id)
    sizes = list(node.new_shape)
    count = math.prod(x.sizes)
    if sizes.count(0) == 1 and count:
        rest = math.prod(size for size in sizes if size)
        sizes[sizes.index(0)] = count // rest
    site.check(math.prod(sizes) == count, "new_shape", f"a shape of {count} elements", node.new_shape)
    return _same_place(site, x, site.result(node.output_id, sizes, x))


@translates(XNNCopy, moves=True)
def copied(site: Site, node: Node1x1) -> list[Step]:
    """The elements as they are."""
    x = site.operand(node.input_id)
    return _same_place(site, x, site.result(node.output_id, x.sizes, x))


@translates(XNNStaticSlice, moves=True)
def cut(site: Site, node: XNNStaticSlice) -> list[Step]:
    """From the offset on, in each dimension as many as its size says; 0 is all."""
    x = site.operand(node.input_id)
    rank = len(x.sizes)
    site.check(len(node.offsets) == len(node.sizes) == rank, "offsets", f"{rank} of them", node.offsets)
    sizes = [size or of - at for size, at, of in zip(node.sizes, node.offsets, x.sizes, strict=True)]
    inside = all(
        size >= 0 and at + size <= of for size, at, of in zip(sizes, node.offsets, x.sizes, strict=True)
    )
    site.check(inside, "sizes", f"a part of {list(x.sizes)}", (node.offsets, node.sizes))
    out = site.result(node.output_id, sizes)
    part = tuple(slice(at, at + size) for at, size in zip(node.offsets, sizes, strict=True))
    return _stored(site, x.array[part], out.array)


@translates(XNNStaticConstantPad)
def pad(site: Site, node: XNNStaticConstantPad) -> list[Step]:
    """A number around the elements."""
    x = site.operand(node.input_id)
    rank = len(x.sizes)
    before, after = node.pre_paddings, node.post_paddings
    site.check(len(before) == len(after) == rank, "pre_paddings", f"{rank} of them", before)
    sizes = [first + size + last for first, size, last in zip(before, x.sizes, after, strict=True)]
    out = site.result(node.output_id, sizes)
    inside = [slice(first, first + size) for first, size in zip(before, x.sizes, strict=True)]
    number = filled(out.dtype, node.padding_value)
    return [
        *(copy(number, border) for border in borders(out.array, inside)),
        *_stored(site, x.array, out.array[tuple(inside)]),
    ]


def _refuse_sizes(sizes: Sequence[int], declared: Sequence[int]) -> None:
    """Trap: operands have all the sizes that they are declared with, and their sum is no size of the result."""
    message = f"the result has the shape {list(sizes)}, and is declared as {list(declared)}"
    raise ExecutorchError(Error.InvalidArgument, message)


@translates(XNNConcatenate2, XNNConcatenate3, XNNConcatenate4, XNNConcatenate5, moves=True)
def concatenate(site: Site, node: NodeCat) -> list[Step]:
    """One operand after the other along an axis."""
    operands = [site.operand(getattr(node, name)) for name in roles_of(site.node).operands]
    first = operands[0].sizes
    # Axes from the last on are negative numbers in 32 bits.
    axis = node.axis - 2**32 + len(first) if node.axis >= 2**31 else node.axis
    site.check(0 <= axis < len(first), "axis", f"one of {len(first)}", node.axis)
    for other in operands[1:]:
        fits = len(other.sizes) == len(first) and all(
            size == wanted or dim == axis
            for dim, (size, wanted) in enumerate(zip(other.sizes, first, strict=True))
        )
        site.check(fits, "input", f"a shape beside {list(first)}", list(other.sizes))
    sizes = list(first)
    sizes[axis] = sum(operand.sizes[axis] for operand in operands)
    out = site.result(node.output_id, sizes, adds_bounds=True)
    if out.sizes != tuple(sizes):
        return [(_refuse_sizes, (sizes, out.sizes))]
    calls: list[Step] = []
    at = 0
    for operand in operands:
        part = (slice(None),) * axis + (slice(at, at + operand.sizes[axis]),)
        calls += _stored(site, operand.array, out.array[part])
        at += operand.sizes[axis]
    return calls
