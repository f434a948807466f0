"""Kernels of `RESCALE`, exact as `apply_scale_32` and `apply_scale_16` of the specification.

What is general takes 64-bit integers. Elements of 8 bits with one scale are looked up; sums of 32 bits become 8 bits
by float64 where that is exact: what is not clamped is less than 2**9 and a multiple of 2**-shift, which has at most 53
bits for shifts up to 43, and the nearest float64 of what is clamped is as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from et_backends.tosa.format.graph import DType, Op
from et_backends.tosa.runtime.sites import Kernel, Maker, Site, first
from et_vm.values import Array

__all__ = ["MAKERS"]

_BLOCK: Final = 1 << 14
"""Elements that are rescaled at a time, which the cache has from the first step to the last."""
_SHIFTS: Final = 31, 43
"""Shifts of results of 8 bits that float64 computes. Smaller ones wrap around."""
_DOUBLED: Final = 3
"""The mode that rounds twice."""


def _rescale(site: Site) -> Kernel:
    """Raises ValueError for constants of other sizes than the channels."""
    width = site.elements_of(1)
    # Constants, and the rows that are rescaled at a time.
    site.needs.memory(width + min(site.elements, max(width, _BLOCK)), 8, 8)
    site.needs.visits(width + site.elements, 8)
    # The operand in the order of memory, and what it is when it is looked up.
    site.takes(2)
    site.needs.visits(0, site.elements // max(_BLOCK - width, width), calls=10)
    kernel = _general(site)
    known = [one for one in site.constants[1:] if one is not None]
    if len(known) < len(site.inputs) - 1:
        return kernel
    multiplier = known[0]
    if site.inputs[0].dtype is DType.INT8 and multiplier.size == 1:
        return _looked_up(kernel, known)
    return _in_floats(site, known) or kernel


def _signed(dtype: np.dtype[Any], unsigned: bool) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.name}") if unsigned else dtype


def _general(site: Site) -> Kernel:
    attribute, dtype = site.attribute, site.dtype
    made_type = _signed(dtype, attribute.output_unsigned)
    limits = np.iinfo(made_type)
    doubled = attribute.rounding_mode == _DOUBLED and attribute.scale32

    def kernel(x: Array, multiplier: Array, shift: Array, input_zp: Array, output_zp: Array) -> Array:
        if attribute.input_unsigned:
            x, input_zp = (one.view(_signed(one.dtype, True)) for one in (x, input_zp))
        if attribute.output_unsigned:
            output_zp = output_zp.view(made_type)
        scale, by, start, end = (one.astype(np.int64) for one in (multiplier, shift, input_zp, output_zp))
        half = np.int64(1) << (by - 1)
        # The specification has the result of 32 bits; more than it holds comes of small shifts only.
        wraps = bool((by < _SHIFTS[0]).any())
        made = np.empty(x.shape, made_type)
        width = scale.size
        source, target = (one.reshape(-1, width) for one in (np.ascontiguousarray(x), made))
        length = max(1, _BLOCK // width)
        scratch = np.empty((min(length, len(source)), width), np.int64)
        for at in range(0, len(source), length):
            part = source[at : at + length]
            values = scratch[: len(part)]
            np.subtract(part, start, out=values, dtype=np.int64)
            rounding = half
            if doubled:
                extra = np.where(values >= 0, np.int64(1 << 30), np.int64(-(1 << 30)))
                rounding = half + np.where(by > _SHIFTS[0], extra, 0)
            values *= scale
            values += rounding
            values >>= by
            if wraps:
                values[:] = values.astype(np.int32)
            values += end
            np.clip(values, limits.min, limits.max, out=values)
            target[at : at + length] = values
        return made.view(dtype)

    return kernel


def _looked_up(kernel: Kernel, constants: Sequence[Array]) -> Kernel:
    """By a table of what each byte becomes."""
    table = kernel(np.arange(256, dtype=np.uint8).view(np.int8), *constants)
    if table.itemsize > 1:
        return first(lambda x: np.take(table, x.view(np.uint8)))
    bytes_ = table.tobytes()
    return first(lambda x: np.frombuffer(x.tobytes().translate(bytes_), table.dtype).reshape(x.shape))


def _in_floats(site: Site, constants: Sequence[Array]) -> Kernel | None:
    """From sums to 8 bits; None where float64 is not exact."""
    attribute, dtype = site.attribute, site.dtype
    multiplier, shift, input_zp, output_zp = constants
    if (
        site.inputs[0].dtype is not DType.INT32
        or site.output.dtype is not DType.INT8
        or attribute.rounding_mode == _DOUBLED
        or attribute.input_unsigned
        or input_zp.any()
        or shift.min() < _SHIFTS[0]
        or shift.max() > _SHIFTS[1]
    ):
        return None
    made_type = _signed(dtype, attribute.output_unsigned)
    limits = np.iinfo(made_type)
    end = int(output_zp.view(made_type).reshape(-1)[0])
    factors = np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64))
    # What is below 0 after this is clamped, so that bytes cut off the fraction as rounding down does.
    offset = 0.5 + end - limits.min
    lowest = np.uint8(-limits.min)
    width = factors.size

    def kernel(x: Array, *_: Array) -> Array:
        made = np.empty(x.shape, np.uint8)
        source, target = (one.reshape(-1, width) for one in (np.ascontiguousarray(x), made))
        length = max(1, _BLOCK // width)
        scratch = np.empty((min(length, len(source)), width))
        for at in range(0, len(source), length):
            part = source[at : at + length]
            values = scratch[: len(part)]
            np.multiply(part, factors, out=values)
            values += offset
            np.clip(values, 0, 255.5, out=values)
            target[at : at + length] = values
        made -= lowest
        return made.view(dtype)

    return kernel


MAKERS: Final[dict[Op, Maker]] = {Op.RESCALE: _rescale}
