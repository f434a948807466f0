"""Operators of Vulkan graphs that become calls of several kernels.

Most are fusions that its compiler makes (`et_vk.…`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.runtime.plan import Composite, Plan, integers_of, misfit, number_of, registers
from et_schema import program as p
from et_schema.scalar_type import ScalarType

__all__ = ["COMPOSITES"]

_LAST: Final = -1
_MOST_FLOAT: Final = float(np.finfo(np.float32).max)


class Shape:
    """Tensors of given sizes, and calls of kernels that compute them. Raises InvalidFile for what is no tensor."""

    def __init__(self, plan: Plan, like: int) -> None:
        self.plan = plan
        self.scalar_type = plan.type_of(like)
        self.sizes = plan.sizes_of(like)

    def new(self, sizes: Sequence[int] | None = None) -> int:
        """A tensor, of other sizes if given."""
        return self.plan.tensor(self.scalar_type, self.sizes if sizes is None else sizes)

    def binary(
        self, name: str, a: int, b: int, out: int | None = None, sizes: Sequence[int] | None = None
    ) -> int:
        """`add`, `sub` or `mul` of two tensors."""
        scale = () if name == "mul" else (self.plan.scalar(1),)
        made = self.new(sizes) if out is None else out
        return self.plan.compute(f"aten::{name}.out", a, b, *scale, out=made)


def prepack(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A constant as it is; something else is copied."""
    del graph
    (source,) = registers(plan, args, 1)
    if plan.is_constant(source):
        plan.alias(results[0], source)
    else:
        plan.compute("aten::clone.out", source, plan.scalar(None), out=results[0])


def conv_with_clamp(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A convolution whose results are bounded."""
    if len(args) != 11:
        raise misfit(f"{len(args)} arguments, expected 11")
    tensors = [plan.register_of(arg) for arg in args[:3]]
    stride, padding, dilation, adjusted = (integers_of(plan, graph, args[at]) for at in (3, 4, 5, 7))
    transposed, groups = (plan.register_of(args[at]) for at in (6, 8))
    low, high = (_bound(plan, plan.register_of(args[at])) for at in (9, 10))
    made = results[0] if low is high is None else Shape(plan, results[0]).new()
    plan.compute(
        "aten::convolution.out", *tensors, stride, padding, dilation, transposed, adjusted, groups, out=made
    )
    if made != results[0]:
        plan.compute("aten::clamp.out", made, plan.scalar(low), plan.scalar(high), out=results[0])


def _bound(plan: Plan, register: int) -> float | None:
    """A bound of floats. The largest numbers of 64 bits stand for none."""
    number = number_of(plan, register)
    return None if number is None or abs(number) > _MOST_FLOAT else float(number)


def max_pool2d(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A pool without the places of its maxima."""
    if len(args) != 6:
        raise misfit(f"{len(args)} arguments, expected 6")
    lists = [integers_of(plan, graph, arg) for arg in args[1:5]]
    places = plan.tensor(ScalarType.LONG, Shape(plan, results[0]).sizes)
    out = [results[0], places]
    source, ceil = plan.register_of(args[0]), plan.register_of(args[5])
    plan.call("aten::max_pool2d_with_indices.out", source, *lists, ceil, *out, plan.tensors(out))


def rms_norm(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """x / sqrt(mean(x²) + eps) · weight, over the last dimension, in f32."""
    del graph
    x, weight, eps = registers(plan, args, 3)
    wide = plan.converted(x, ScalarType.FLOAT)
    like = Shape(plan, wide)
    rows = [*like.sizes[:-1], 1]
    squares = like.binary("mul", wide, wide)
    last, keep, none = plan.ints([_LAST]), plan.scalar(True), plan.scalar(None)
    mean = plan.compute("aten::mean.out", squares, last, keep, none, out=like.new(rows))
    shifted = plan.compute("aten::add.Scalar_out", mean, eps, plan.scalar(1), out=like.new(rows))
    scale = plan.compute("aten::rsqrt.out", shifted, out=like.new(rows))
    normed = like.binary("mul", wide, scale)
    exact = plan.type_of(results[0]) == ScalarType.FLOAT
    made = like.binary("mul", normed, plan.converted(weight, ScalarType.FLOAT), results[0] if exact else None)
    if not exact:
        plan.convert(made, results[0])


def sdpa(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Attention: softmax(q · kᵀ · scale + mask) · v, over the batch dimensions in front of the last two."""
    del graph
    q, k, value, *rest = registers(plan, args, 3, 5)
    shapes = [Shape(plan, one) for one in (q, k, value)]
    if len({tuple(shape.sizes[:-2]) for shape in shapes}) != 1 or len(shapes[0].sizes) < 2:
        raise misfit(f"operands of sizes {', '.join(str(shape.sizes) for shape in shapes)}")
    batch = shapes[0].sizes[:-2]
    count = math.prod(batch)
    queries, depth = shapes[0].sizes[-2:]
    keys, width = shapes[2].sizes[-2:]
    mask = rest[0] if rest else plan.scalar(None)
    scale = number_of(plan, rest[1]) if len(rest) > 1 else None
    flat = [_flat(plan, one, count) for one in (q, k, value)]
    like = shapes[0]
    swapped = [plan.scalar(1), plan.scalar(2)]
    turned = plan.compute(
        "aten::transpose_copy.int_out", flat[1], *swapped, out=like.new([count, depth, keys])
    )
    products = plan.compute("aten::bmm.out", flat[0], turned, out=like.new([count, queries, keys]))
    factor = plan.scalar(1 / math.sqrt(depth) if scale is None else float(scale))
    scores = plan.compute("aten::mul.Scalar_out", products, factor, out=like.new([count, queries, keys]))
    full = [*batch, queries, keys]
    # One of the two numbers of rows and columns may be known at run time only.
    if not isinstance(plan[mask], p.Null):
        rows = plan.size_of(q, -2), plan.size_of(k, -2)
        spread = plan.int_registers([*(plan.scalar(size) for size in batch), *rows])
        shaped = plan.compute("aten::view_copy.out", scores, spread, out=like.new(full))
        scores = like.binary("add", shaped, mask, sizes=full)
    weights = plan.compute(
        "aten::_softmax.out",
        scores,
        plan.scalar(_LAST),
        plan.scalar(False),
        out=like.new(plan.sizes_of(scores)),
    )
    mixed = plan.compute(
        "aten::bmm.out", _flat(plan, weights, count), flat[2], out=like.new([count, queries, width])
    )
    shape = plan.int_registers(
        [*(plan.scalar(size) for size in batch), plan.size_of(q, -2), plan.scalar(width)]
    )
    plan.compute("aten::view_copy.out", mixed, shape, out=results[0])


def _flat(plan: Plan, tensor: int, count: int) -> int:
    """A tensor with one batch dimension."""
    sizes = plan.sizes_of(tensor)
    if len(sizes) == 3:
        return tensor
    shape = plan.int_registers([plan.scalar(count), plan.size_of(tensor, -2), plan.size_of(tensor, -1)])
    made = plan.tensor(plan.type_of(tensor), [count, *sizes[-2:]])
    return plan.compute("aten::view_copy.out", tensor, shape, out=made)


def rotary_embedding(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Rotations of pairs of neighboring elements of queries and keys (batch, position, head, element) by the angles of
    their positions.
    """
    del graph
    q, k, cos, sin = registers(plan, args, 4)
    if len(results) != 2:
        raise misfit(f"{len(results)} results, expected 2")
    angles = [_by_head(plan, one) for one in (cos, sin)]
    for source, result in zip((q, k), results, strict=True):
        _rotate(plan, source, angles, result)


def _by_head(plan: Plan, angles: int) -> int:
    """Angles (position, pair) with a dimension for heads."""
    like = Shape(plan, angles)
    made = like.new([*like.sizes[:-1], 1, like.sizes[-1]])
    return plan.compute("aten::unsqueeze_copy.out", angles, plan.scalar(-2), out=made)


def _rotate(plan: Plan, source: int, angles: Sequence[int], result: int) -> None:
    like = Shape(plan, source)
    half = [*like.sizes[:-1], like.sizes[-1] // 2]
    none = plan.scalar(None)
    real, imaginary = (
        plan.compute(
            "aten::slice_copy.Tensor_out",
            *(source, plan.scalar(_LAST), plan.scalar(start), none, plan.scalar(2)),
            out=like.new(half),
        )
        for start in (0, 1)
    )
    cos, sin = angles

    def turned(name: str, a: int, b: int) -> int:
        products = [like.binary("mul", one, angle, sizes=half) for one, angle in ((real, a), (imaginary, b))]
        return like.binary(name, *products, sizes=half)

    parts = plan.tensors([turned("sub", cos, sin), turned("add", sin, cos)])
    pairs = plan.compute("aten::stack.out", parts, plan.scalar(_LAST), out=like.new([*half, 2]))
    shape = plan.int_registers([plan.size_of(source, at) for at in range(len(like.sizes))])
    plan.compute("aten::view_copy.out", pairs, shape, out=result)


def rotary_embedding_by_halves(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Rotations of pairs of elements of queries and keys (batch, position, head, element), of which one is in the first
    half and the other in the second. Tables (position, element) have rows from a starting position on; elements beyond
    their columns are not rotated.
    """
    del graph
    q, k, cos, sin, start = registers(plan, args, 5)
    if len(results) != 2:
        raise misfit(f"{len(results)} results, expected 2")
    for source, result in zip((q, k), results, strict=True):
        angles = [_rows_of(plan, one, start, source) for one in (cos, sin)]
        _rotate_halves(plan, source, angles, result)


def _rows_of(plan: Plan, table: int, start: int, source: int) -> int:
    """Rows of a table for the positions of a tensor, with a dimension for heads."""
    _, columns = plan.sizes_of(table)
    count = plan.sizes_of(source)[1]
    end = plan.sum_of(start, plan.size_of(source, 1))
    bounds = plan.scalar(0), start, end, plan.scalar(1)
    like = Shape(plan, table)
    rows = plan.compute("aten::slice_copy.Tensor_out", table, *bounds, out=like.new([count, columns]))
    return _by_head(plan, rows)


def _rotate_halves(plan: Plan, source: int, angles: Sequence[int], result: int) -> None:
    wide = plan.converted(source, ScalarType.FLOAT)
    like = Shape(plan, wide)
    width, rotated = like.sizes[-1], plan.sizes_of(angles[0])[-1]
    middle = rotated // 2
    half = [*like.sizes[:-1], middle]

    def columns(tensor: int, first: int, last: int) -> int:
        bounds = plan.scalar(_LAST), plan.scalar(first), plan.scalar(last), plan.scalar(1)
        sizes = [*plan.sizes_of(tensor)[:-1], last - first]
        return plan.compute("aten::slice_copy.Tensor_out", tensor, *bounds, out=like.new(sizes))

    ends = (0, middle), (middle, rotated)
    low, high = (columns(wide, *end) for end in ends)
    cos, sin = ([columns(angle, *end) for end in ends] for angle in angles)

    def turned(name: str, a: int, one: int, b: int, other: int) -> int:
        products = [like.binary("mul", a, one, sizes=half), like.binary("mul", b, other, sizes=half)]
        return like.binary(name, *products, sizes=half)

    parts = [turned("sub", low, cos[0], high, sin[0]), turned("add", high, cos[1], low, sin[1])]
    if rotated < width:
        parts.append(columns(wide, rotated, width))
    exact = plan.type_of(result) == ScalarType.FLOAT
    made = plan.compute(
        "aten::cat.out", plan.tensors(parts), plan.scalar(_LAST), out=result if exact else like.new()
    )
    if not exact:
        plan.convert(made, result)


def select_as_symint(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """An element of a vector as a number."""
    if not isinstance(graph.values[results[0]].value, v.SymInt):
        raise misfit("the result is not a number")
    source, dim, index = registers(plan, args, 3)
    like = Shape(plan, source)
    at = number_of(plan, dim)
    if not isinstance(at, int) or not -len(like.sizes) <= at < len(like.sizes):
        raise misfit(f"dimension {at} of {len(like.sizes)}")
    rest = list(like.sizes)
    del rest[at]
    chosen = plan.compute("aten::select_copy.int_out", source, dim, index, out=like.new(rest))
    plan.call("aten::_local_scalar_dense", chosen, results[0])


COMPOSITES: Final[dict[str, Composite]] = {
    "aten.max_pool2d.default": max_pool2d,
    "et_vk.apply_rotary_emb.default": rotary_embedding,
    "et_vk.apply_rotary_emb_hf.default": rotary_embedding_by_halves,
    "et_vk.conv_with_clamp.default": conv_with_clamp,
    "et_vk.prepack.default": prepack,
    "et_vk.rms_norm.default": rms_norm,
    "et_vk.sdpa.default": sdpa,
    "et_vk.select_as_symint.default": select_as_symint,
}
"""By what graphs call them."""
