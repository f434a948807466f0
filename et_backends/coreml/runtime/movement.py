"""Data movement kernels."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from et_backends.coreml.runtime.sites import Maker, Prepared, Site
from et_schema.errors import Error, ExecutorchError
from et_vm.values import Array

__all__ = ["MAKERS"]

_INDEX: Final = 8
"""Bytes of an index."""


def _reshape(site: Site) -> Prepared:
    given = site.integers("shape")
    shape = site.output.shape
    if len(given) != len(shape) or any(
        asked not in (-1, 0, size) for asked, size in zip(given, shape, strict=True)
    ):
        raise ValueError(f"the output is {site.output}, the shape {list(given)}")
    return _reshaped(site)


def _same_elements(site: Site) -> Prepared:
    """Dimensions of one element that come or go."""
    site.integers("axes", ())
    return _reshaped(site)


def _reshaped(site: Site) -> Prepared:
    shape = site.output.shape
    if prod(shape) != site.elements_of("x"):
        raise ValueError(f"the output is {site.output}, the operand has the sizes {list(site.shape('x'))}")
    site.expect(shape)
    return site.unary(lambda x: x.reshape(shape))


def _transpose(site: Site) -> Prepared:
    perm = site.integers("perm")
    sizes = site.shape("x")
    if sorted(dim % len(sizes) for dim in perm) != list(range(len(sizes))):
        raise ValueError(f"{list(perm)} is not a permutation of {len(sizes)} dimensions")
    site.expect(tuple(sizes[dim] for dim in perm))
    return site.unary(lambda x: np.ascontiguousarray(x.transpose(perm)))


def _tile(site: Site) -> Prepared:
    reps = site.integers("reps")
    sizes = site.shape("x")
    if len(reps) != len(sizes):
        raise ValueError(f"{len(reps)} repetitions for {len(sizes)} dimensions")
    site.expect(tuple(size * rep for size, rep in zip(sizes, reps, strict=True)))
    return site.unary(lambda x: np.tile(x, reps))


def _slice(site: Site) -> Prepared:
    sizes = site.shape("x")
    rank = len(sizes)
    begin, end = site.integers("begin"), site.integers("end")
    stride = site.integers("stride", (1,) * rank)
    masks = [
        tuple(bool(one) for one in site.integers(name, (0,) * rank))
        for name in ("begin_mask", "end_mask", "squeeze_mask")
    ]
    if any(len(one) != rank for one in (begin, end, stride, *masks)) or 0 in stride:
        raise ValueError(f"a slice of {rank} dimensions has other ones, or a stride of 0")
    box = tuple(
        begin[dim]
        if masks[2][dim]
        else slice(
            None if masks[0][dim] else begin[dim],
            None if masks[1][dim] or (stride[dim] < 0 and end[dim] < 0) else end[dim],
            stride[dim],
        )
        for dim in range(rank)
    )
    site.expect(
        tuple(
            len(range(*part.indices(size)))
            for part, size in zip(box, sizes, strict=True)
            if isinstance(part, slice)
        )
    )
    return site.unary(lambda x: x[box])


def _concat(site: Site) -> Prepared:
    if site.number("interleave", 0.0):
        raise ValueError("interleaved tensors are not supported")
    rank = len(site.output.shape)
    axis = int(site.number("axis"))
    if not -rank <= axis < rank:
        raise ValueError(f"there is no dimension {axis} of {rank}")
    names = site.list("values")
    shapes = site.shapes(names)
    if any(len(shape) != rank for shape in shapes):
        raise ValueError(f"parts of ranks {sorted({len(shape) for shape in shapes})}")
    sizes = list(shapes[0])
    sizes[axis] = sum(shape[axis] for shape in shapes)
    site.expect(tuple(sizes))

    def kernel(*arrays: Array) -> Array:
        return np.concatenate(arrays, axis)

    return Prepared(kernel, names)


def _stack(site: Site) -> Prepared:
    axis = int(site.number("axis"))
    names = site.list("values")
    sizes = list(site.shapes(names)[0])
    if not -len(sizes) - 1 <= axis <= len(sizes):
        raise ValueError(f"there is no dimension {axis} of {len(sizes) + 1}")
    sizes.insert(axis % (len(sizes) + 1), len(names))
    site.expect(tuple(sizes))

    def kernel(*arrays: Array) -> Array:
        return np.stack(arrays, axis)

    return Prepared(kernel, names)


def _split(site: Site) -> Prepared:
    axis = site.axis()
    if site.has("num_splits"):
        site.number("num_splits")
    if site.has("split_sizes"):
        site.integers("split_sizes")
    sizes = [type.shape[axis] for _, type in site.op.outputs if len(type.shape) > axis]
    if sum(sizes) != site.shape("x")[axis]:
        raise ValueError(f"parts of {sizes} of {site.shape('x')[axis]}")
    whole = site.shape("x")
    site.expect(*((*whole[:axis], size, *whole[axis + 1 :]) for size in sizes))
    ends = np.cumsum(sizes)[:-1]
    return site.unary(lambda x: list(np.split(x, ends, axis)))


def _reverse(site: Site) -> Prepared:
    axes = site.axes()
    site.expect(site.shape("x"))
    return site.unary(lambda x: np.flip(x, axes))


def _pad(site: Site) -> Prepared:
    if site.text("mode", "constant") != "constant":
        raise ValueError("padding with other than a constant is not supported")
    amounts, sizes = site.integers("pad"), site.shape("x")
    number = site.number("constant_val", 0.0)
    # Amounts are of the last dimensions.
    amounts = (0,) * (2 * len(sizes) - len(amounts)) + amounts
    if len(amounts) != 2 * len(sizes) or min(amounts, default=0) < 0:
        raise ValueError(f"{len(amounts)} amounts for {len(sizes)} dimensions, or negative ones")
    pairs = list(zip(amounts[::2], amounts[1::2], strict=True))
    site.expect(tuple(size + before + after for size, (before, after) in zip(sizes, pairs, strict=True)))
    return site.unary(lambda x: np.pad(x, pairs, constant_values=number))


def _checked(places: Array, limit: int) -> Array:
    if places.size and (int(places.min()) < -limit or int(places.max()) >= limit):
        raise ExecutorchError(Error.InvalidArgument, f"an index is not from {-limit} to {limit - 1}")
    return places


def _gather(site: Site) -> Prepared:
    if site.number("batch_dims", 0.0):
        raise ValueError("gathers by batches are not supported")
    site.number("validate_indices", 0.0)
    axis = site.axis(default=0)
    sizes = site.shape("x")
    limit = sizes[axis]
    site.expect((*sizes[:axis], *site.shape("indices"), *sizes[axis + 1 :]))
    # Indices as numpy takes them, and the operand in the order of memory.
    site.needs.memory(site.elements_of("indices"), _INDEX, 2)
    site.copies("x")
    return site.binary(lambda x, places: np.take(x, _checked(places, limit), axis), "x", "indices")


def _gather_along(site: Site) -> Prepared:
    site.number("validate_indices", 0.0)
    axis = site.axis(default=0)
    sizes, places = site.shape("x"), site.shape("indices")
    limit = sizes[axis]
    if [*sizes[:axis], *sizes[axis + 1 :]] != [*places[:axis], *places[axis + 1 :]]:
        raise ValueError(f"indices of sizes {list(places)} of an operand of {list(sizes)}")
    site.expect(places)
    # Indices as numpy takes them, and those of the other dimensions.
    site.needs.memory(site.elements_of("indices") + sum(places), _INDEX, 3)
    site.takes(0, passes=5)
    return site.binary(lambda x, places: np.take_along_axis(x, _checked(places, limit), axis), "x", "indices")


def _pixel_shuffle(site: Site) -> Prepared:
    factor = int(site.number("upscale_factor"))
    batch, channels, height, width = site.shape("x")
    if factor < 1 or channels % (factor * factor):
        raise ValueError(f"{channels} channels and a factor of {factor}")
    outer = channels // (factor * factor)
    shape = (batch, outer, height * factor, width * factor)
    site.expect(shape)

    def kernel(x: Array) -> Array:
        split = x.reshape(batch, outer, factor, factor, height, width)
        return split.transpose(0, 1, 4, 2, 5, 3).reshape(shape)

    return site.prepare(kernel, "x")


def _nearest(site: Site) -> Prepared:
    factors = [site.number(f"scale_factor_{name}", 1.0) for name in ("height", "width")]
    if any(factor != int(factor) or factor < 1 for factor in factors):
        raise ValueError("factors that are not integers are not supported")
    height, width = map(int, factors)
    *outer, rows, columns = site.shape("x")
    site.expect((*outer, rows * height, columns * width))
    return site.unary(lambda x: x.repeat(height, -2).repeat(width, -1))


def _between(size: int, places: Array) -> tuple[Array, Array, Array]:
    """The two elements that each place is between, and how far behind the first."""
    places = np.clip(places, 0, size - 1)
    low = np.floor(places).astype(np.int64)
    return low, np.minimum(low + 1, size - 1), (places - low).astype(np.float32)


def _bilinear(site: Site, mode: str) -> Prepared:
    *outer, rows, columns = site.shape("x")
    *_, height, width = site.output.shape
    # Places of rows and columns; of lines, and of the result, two elements, their difference and a product.
    site.needs.memory(height + width, _INDEX, 8)
    site.needs.visits(height + width, 8)
    site.copies("x")
    site.needs.memory((*outer, height, columns), site.wide, 5)
    site.needs.visits(prod(outer) * height * columns, 5)
    site.takes(5)
    if mode not in _MODES:
        raise ValueError(f"the mode {mode!r} is not supported")

    def kernel(x: Array) -> Array:
        top, bottom, below = _between(rows, _grid(rows, height, mode))
        left, right, beside = _between(columns, _grid(columns, width, mode))
        below = below[:, np.newaxis]
        wide = x.astype(np.float32, copy=False)
        upper, lower = wide[..., top, :], wide[..., bottom, :]
        lines = upper + (lower - upper) * below
        first, second = lines[..., left], lines[..., right]
        return (first + (second - first) * beside).astype(x.dtype, copy=False)

    return site.prepare(kernel, "x")


_MODES: Final = ("UNALIGN_CORNERS", "STRICT_ALIGN_CORNERS")


def _grid(size: int, made: int, mode: str) -> Array:
    at = np.arange(made, dtype=np.float64)
    if mode == "UNALIGN_CORNERS":
        return (at + 0.5) * (size / made) - 0.5
    return at * ((size - 1) / (made - 1) if made > 1 else 0.0)


def _resize_bilinear(site: Site) -> Prepared:
    *outer, _, _ = site.shape("x")
    height, width = (int(site.number(f"target_size_{name}")) for name in ("height", "width"))
    site.expect((*outer, height, width))
    return _bilinear(site, site.text("sampling_mode", "DEFAULT"))


def _upsample_bilinear(site: Site) -> Prepared:
    *outer, rows, columns = site.shape("x")
    factors = [site.number(f"scale_factor_{name}", 1.0) for name in ("height", "width")]
    corners = bool(site.number("align_corners", 1.0))
    halves = bool(site.number("half_pixel_centers", float(not corners)))
    if corners is halves:
        raise ValueError("corners and half pixels that exclude each other are expected")
    site.expect((*outer, int(rows * factors[0] + 1e-4), int(columns * factors[1] + 1e-4)))
    return _bilinear(site, "STRICT_ALIGN_CORNERS" if corners else "UNALIGN_CORNERS")


def _fill(site: Site) -> Prepared:
    shape, number = site.integers("shape"), site.number("value")
    site.expect(shape)
    dtype: Any = site.dtype
    return Prepared(lambda: np.full(shape, number, dtype), ())


def _shape(site: Site) -> Prepared:
    sizes = site.shape("x")
    site.expect((len(sizes),))
    return Prepared(lambda: np.array(sizes, np.int32), ())


MAKERS: Final[dict[str, Maker]] = {
    "concat": _concat,
    "expand_dims": _same_elements,
    "fill": _fill,
    "gather": _gather,
    "gather_along_axis": _gather_along,
    "pad": _pad,
    "pixel_shuffle": _pixel_shuffle,
    "reshape": _reshape,
    "resize_bilinear": _resize_bilinear,
    "reverse": _reverse,
    "shape": _shape,
    "slice_by_index": _slice,
    "split": _split,
    "squeeze": _same_elements,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
    "upsample_bilinear": _upsample_bilinear,
    "upsample_nearest_neighbor": _nearest,
}
