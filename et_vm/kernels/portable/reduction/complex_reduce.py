"""Reductions of complex numbers that differ from those of real ones."""

from __future__ import annotations

import functools
import math

import numpy as np

from et_vm.kernels.portable.evaluate import evaluated
from et_vm.step import Step
from et_vm.values import Array, Tensor


def variance(self: Tensor, axes: tuple[int, ...], divisor: float, root: bool, outs: list[Tensor]) -> Step:
    """The step that stores the mean square distance from the mean over `axes`, or its root, into the first of
    `outs`, and the mean into the second if there is one. They have their shapes. Allocates two arrays of the
    size of the input.
    """
    return evaluated(
        functools.partial(_variance, axes, divisor, root, [out.sizes for out in outs]), (self,), outs
    )


def _variance(
    axes: tuple[int, ...], divisor: float, root: bool, shapes: list[tuple[int, ...]], x: Array
) -> list[Array]:
    count = math.prod(x.shape[axis] for axis in axes)
    mean: Array = np.asarray(x.sum(axes, keepdims=True)) / x.real.dtype.type(count)
    spread: Array = np.asarray(_squares(x - mean).sum(axes, keepdims=True))
    result = spread / spread.dtype.type(divisor)
    results = [np.sqrt(result) if root else result, mean]
    return [made.reshape(shape) for made, shape in zip(results, shapes, strict=False)]


def _squares(x: Array) -> Array:
    return x.real * x.real + x.imag * x.imag


def logsumexp(self: Tensor, axes: tuple[int, ...], out: Tensor) -> Step:
    """The step that stores log(sum(exp(x))) over `axes`, relative to the largest real part. Allocates an array of
    the size of the input.
    """
    return evaluated(functools.partial(_logsumexp, axes, out.sizes), (self,), (out,))


def _logsumexp(axes: tuple[int, ...], shape: tuple[int, ...], x: Array) -> Array:
    peak: Array = np.asarray(x.real.max(axes, keepdims=True, initial=-np.inf))
    peak = np.where(np.isinf(peak), 0, peak).astype(x.real.dtype)
    total: Array = np.asarray(np.exp(x - peak).sum(axes, keepdims=True))
    return (np.log(total) + peak).reshape(shape)
