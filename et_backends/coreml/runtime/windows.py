"""Kernels of matrix products, convolutions and pooling. Half precision is computed in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from et_backends.coreml.runtime.sites import Maker, Prepared, Site, broadcast
from et_vm.values import Array

__all__ = ["MAKERS"]


def _single(array: Array) -> Array:
    return array.astype(np.float32, copy=False)


def _product_sizes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a product of matrices; an operand of one dimension is a row or a column."""
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(f"a product of {list(a)} and {list(b)}")
    return (*broadcast(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _matmul(site: Site) -> Prepared:
    flips = [bool(site.number(f"transpose_{name}", 0.0)) for name in ("x", "y")]
    dtype = site.dtype
    shapes = [
        (*shape[:-2], *reversed(shape[-2:])) if flip else shape
        for shape, flip in zip((site.shape("x"), site.shape("y")), flips, strict=True)
    ]
    site.expect(_product_sizes(*shapes))
    # In float32, and in the order of memory.
    site.copies("x", "y", arrays=2)
    site.takes(1)
    site.needs.visits(site.elements * shapes[0][-1])

    def kernel(x: Array, y: Array) -> Array:
        a, b = (
            _single(one.swapaxes(-1, -2) if flip else one) for one, flip in zip((x, y), flips, strict=True)
        )
        return np.matmul(a, b).astype(dtype, copy=False)

    return site.prepare(kernel, "x", "y")


def _linear(site: Site) -> Prepared:
    dtype = site.dtype
    outputs, depth = site.shape("weight")
    site.expect(_product_sizes(site.shape("x"), (depth, outputs)))
    site.copies("x", "weight", "bias", arrays=2)
    site.takes(1)
    site.needs.visits(site.elements * depth)

    def kernel(x: Array, weight: Array, *bias: Array) -> Array:
        made = _single(x) @ _single(weight).T
        for one in bias:
            made += one
        return made.astype(dtype, copy=False)

    return site.prepare(kernel, "x", "weight", "bias")


class _Windows:
    """The geometry of windows over an image."""

    def __init__(self, site: Site, kernel: Sequence[int]) -> None:
        rank = len(kernel)
        self.sizes = site.shape("x")[2:]
        self.kernel = tuple(kernel)
        self.stride = site.integers("strides", (1,) * rank)
        self.dilation = site.integers("dilations", (1,) * rank)
        if len(self.sizes) != rank or len(self.stride) != rank or len(self.dilation) != rank:
            raise ValueError(f"windows of {rank} dimensions on an image of {len(self.sizes)}")
        if min(*self.stride, *self.dilation, *self.kernel) < 1:
            raise ValueError("strides, dilations and windows are 1 at least")
        self.pads = self._pads(site)

    def _pads(self, site: Site) -> list[tuple[int, int]]:
        """Padding before and after each dimension."""
        type, rank = site.text("pad_type"), len(self.kernel)
        given = site.integers("pad", (0,) * (2 * rank))
        if type == "valid":
            return [(0, 0)] * rank
        if type != "custom" or len(given) != 2 * rank or min(given) < 0:
            raise ValueError(f"the padding {type!r} of {list(given)} is not supported")
        return list(zip(given[::2], given[1::2], strict=True))

    @property
    def spans(self) -> list[int]:
        """From the first to the last element of a window."""
        return [(size - 1) * step + 1 for size, step in zip(self.kernel, self.dilation, strict=True)]

    def counts(self) -> tuple[int, ...]:
        """The number of windows in each dimension. Raises ValueError where one has none."""
        made = tuple(
            (size + before + after - span) // step + 1
            for size, (before, after), span, step in zip(
                self.sizes, self.pads, self.spans, self.stride, strict=True
            )
        )
        if min(made) < 1:
            raise ValueError("the window is larger than the image")
        return made

    def padded_size(self, site: Site) -> int:
        """Elements of the padded image."""
        sizes = (size + before + after for size, (before, after) in zip(self.sizes, self.pads, strict=True))
        return prod(site.shape("x")[:2]) * prod(sizes)

    def padded(self, image: Array, number: float) -> Array:
        """The image with the number around it."""
        if not any(before or after for before, after in self.pads):
            return np.ascontiguousarray(image)
        return np.pad(image, [(0, 0), (0, 0), *self.pads], constant_values=number)

    def view(self, image: Array) -> Array:
        """A view of [batch, channels, *windows, *elements] of a padded image."""
        counts = self.counts()
        steps = image.strides[2:]
        outer = tuple(step * by for step, by in zip(steps, self.stride, strict=True))
        inner = tuple(step * by for step, by in zip(steps, self.dilation, strict=True))
        return as_strided(
            image,
            (*image.shape[:2], *counts, *self.kernel),
            (*image.strides[:2], *outer, *inner),
            writeable=False,
        )


def _conv(site: Site) -> Prepared:
    outputs, inner, *kernel = site.shape("weight")
    windows, groups = _Windows(site, kernel), int(site.number("groups", 1.0))
    batch, channels = site.shape("x")[:2]
    if groups < 1 or outputs % groups or channels != inner * groups:
        raise ValueError(f"{channels} channels to {outputs} in {groups} groups of {inner}")
    counts = windows.counts()
    site.expect((batch, outputs, *counts))
    _check_bias(site, outputs)
    rank, dtype = len(kernel), site.dtype
    padded_size, taken = windows.padded_size(site), batch * channels * prod(kernel) * prod(counts)
    site.copies("x", "weight")
    site.needs.memory(padded_size + taken, site.wide)
    site.needs.visits(padded_size + taken + site.elements * inner * prod(kernel))
    site.takes(3)
    # From [batch, groups, inner, *windows, *elements] to [groups, inner, *elements, batch, *windows].
    order = (1, 2, *range(3 + rank, 3 + 2 * rank), 0, *range(3, 3 + rank))

    def make(x: Array, weight: Array, *bias: Array) -> Array:
        view = windows.view(windows.padded(_single(x), 0))
        split = view.reshape(batch, groups, inner, *view.shape[2:]) if groups > 1 else view[:, np.newaxis]
        columns = split.transpose(order).reshape(groups, inner * prod(kernel), batch * prod(counts))
        matrix = _single(weight).reshape(groups, outputs // groups, inner * prod(kernel))
        made = np.matmul(matrix, columns).reshape(outputs, batch, *counts).swapaxes(0, 1)
        for one in bias:
            made = made + one.reshape(-1, *[1] * rank)
        return np.ascontiguousarray(made, dtype)

    return site.prepare(make, "x", "weight", "bias")


def _conv_transpose(site: Site) -> Prepared:
    channels, inner, *kernel = site.shape("weight")
    windows, groups = _Windows(site, kernel), int(site.number("groups", 1.0))
    batch, sizes = site.shape("x")[0], site.shape("x")[2:]
    if groups < 1 or channels % groups or site.shape("x")[1] != channels:
        raise ValueError(f"{site.shape('x')[1]} channels with weights of {channels} in {groups} groups")
    if site.has("output_shape"):
        site.integers("output_shape")
    outputs = inner * groups
    full = tuple(
        (size - 1) * step + span
        for size, step, span in zip(sizes, windows.stride, windows.spans, strict=True)
    )
    inside = tuple(
        slice(before, size - after) for size, (before, after) in zip(full, windows.pads, strict=True)
    )
    site.expect((batch, outputs, *(max(one.stop - one.start, 0) for one in inside)))
    _check_bias(site, outputs)
    rank, dtype = len(kernel), site.dtype
    part_size, full_size = batch * outputs * prod(sizes), batch * outputs * prod(full)
    site.copies("x", "weight")
    # All products, those of an element of the window and its filters, in the order of memory too.
    site.needs.memory(full_size + 2 * part_size + 2 * channels * inner, site.wide)
    site.needs.visits(full_size)
    filters = channels // groups
    site.needs.visits(part_size * (filters + 2) + channels * inner, prod(kernel), calls=5)
    site.takes(3)

    def make(x: Array, weight: Array, *bias: Array) -> Array:
        image = _single(x).reshape(batch, groups, channels // groups, prod(sizes))
        filters = _single(weight).reshape(groups, channels // groups, inner, prod(kernel))
        made = np.zeros((batch, outputs, *full), np.float32)
        for number, place in enumerate(np.ndindex(*kernel)):
            part = np.matmul(filters[..., number].swapaxes(1, 2), image).reshape(batch, outputs, *sizes)
            box = tuple(
                slice(at * dilation, at * dilation + (size - 1) * step + 1, step)
                for at, dilation, size, step in zip(
                    place, windows.dilation, sizes, windows.stride, strict=True
                )
            )
            made[(slice(None), slice(None), *box)] += part
        made = made[(slice(None), slice(None), *inside)]
        for one in bias:
            made = made + one.reshape(-1, *[1] * rank)
        return np.ascontiguousarray(made, dtype)

    return site.prepare(make, "x", "weight", "bias")


def _check_bias(site: Site, outputs: int) -> None:
    if site.has("bias") and site.shape("bias") not in ((outputs,), (1,)):
        raise ValueError(f"a bias of sizes {list(site.shape('bias'))} for {outputs} channels")


def _pool(site: Site) -> _Windows:
    if site.number("ceil_mode", 0.0):
        raise ValueError("ceil_mode is not supported")
    windows = _Windows(site, site.integers("kernel_sizes"))
    site.expect((*site.shape("x")[:2], *windows.counts()))
    site.copies("x")
    # Elements of the image, and with an average their number.
    site.needs.memory(windows.padded_size(site), site.wide, 3)
    site.needs.visits(windows.padded_size(site), 3)
    site.takes(4)
    site.needs.visits(site.elements, prod(windows.kernel), calls=4)
    site.needs.visits(site.elements, prod(windows.kernel), calls=0)
    return windows


def _over(windows: _Windows, image: Array, function: Callable[[Array, Array], Any]) -> Array:
    """A function of the elements of each window, one after another."""
    view = windows.view(image)
    made: Array | None = None
    for place in np.ndindex(*windows.kernel):
        one = view[(..., *place)]
        made = np.array(one) if made is None else function(made, one)
    assert made is not None
    return made


def _max_pool(site: Site) -> Prepared:
    windows = _pool(site)
    return site.unary(lambda x: _over(windows, windows.padded(x, -np.inf), np.maximum))


def _avg_pool(site: Site) -> Prepared:
    excludes = bool(site.number("exclude_padding_from_average", 0.0))
    windows = _pool(site)
    dtype = site.dtype

    def kernel(x: Array) -> Array:
        ones = np.ones((1, 1, *windows.sizes), np.float32)
        counts: Any = _over(windows, windows.padded(ones, 0), np.add) if excludes else prod(windows.kernel)
        made = _over(windows, windows.padded(_single(x), 0), np.add)
        return (made / counts).astype(dtype, copy=False)

    return site.prepare(kernel, "x")


MAKERS: Final[dict[str, Maker]] = {
    "avg_pool": _avg_pool,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "linear": _linear,
    "matmul": _matmul,
    "max_pool": _max_pool,
}
