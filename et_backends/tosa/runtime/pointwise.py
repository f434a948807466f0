"""Kernels of operators of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from et_backends.tosa.format.graph import DType, NanPropagationMode, Op
from et_backends.tosa.runtime.sites import Kernel, Maker, Site, binary, first, unary
from et_schema.errors import Error, ExecutorchError
from et_vm.kernels.portable.special.error_function import erf, temporaries_of_erf
from et_vm.values import Array

__all__ = ["MAKERS"]

_MOST_SHIFT: Final = 63
"""Largest shift of products, which have 64 bits."""


def _ufunc(function: Callable[..., Any]) -> Maker:
    """A function of numpy, in the type of the result."""

    def make(site: Site) -> Kernel:
        dtype = site.dtype

        def kernel(*arrays: Array) -> Array:
            return np.asarray(function(*arrays)).astype(dtype, copy=False)

        return kernel

    return make


def _in_single(function: Callable[[Array], Array], arrays: int = 2, passes: int = 0) -> Maker:
    """A function of one operand that is computed in float32, with so many arrays and passes over them."""

    def make(site: Site) -> Kernel:
        dtype = site.dtype
        # Half precision has the operand and the result in float32, too.
        site.takes(arrays + 2 * (dtype != np.float32), 4, passes)
        return unary(lambda x: function(x.astype(np.float32, copy=False)).astype(dtype, copy=False))

    return make


def _erf(x: Array) -> Array:
    out = np.empty_like(x)
    for function, arguments in erf(x, out, [np.empty_like(x) for _ in temporaries_of_erf(x.dtype)]):
        function(*arguments)
    return out


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _clamp(site: Site) -> Kernel:
    low, high = (
        np.frombuffer(data, site.dtype)[0] for data in (site.attribute.min_val, site.attribute.max_val)
    )
    if site.attribute.nan_mode == NanPropagationMode.IGNORE and site.dtype.kind == "f":
        return unary(lambda x: np.fmin(np.fmax(x, low), high))
    return unary(lambda x: np.clip(x, low, high))


def _extremum(exact: Callable[..., Array], ignoring: Callable[..., Array]) -> Maker:
    def make(site: Site) -> Kernel:
        return ignoring if site.attribute.nan_mode == NanPropagationMode.IGNORE else exact

    return make


def _mul(site: Site) -> Kernel:
    dtype = site.dtype
    if site.inputs[0].dtype is not DType.INT32:

        def multiplied(a: Array, b: Array, _: Array) -> Array:
            return np.multiply(a, b, dtype=dtype)

        return multiplied
    site.takes(3)

    def shifted(a: Array, b: Array, shift: Array) -> Array:
        product = a.astype(np.int64) * b.astype(np.int64)
        by = int(shift.reshape(-1)[0])
        if not 0 <= by <= _MOST_SHIFT:
            raise ExecutorchError(Error.InvalidArgument, f"a shift is not from 0 to {_MOST_SHIFT}")
        if by:
            product = (product + (1 << (by - 1))) >> by
        return product.astype(dtype)

    return shifted


def _negate(site: Site) -> Kernel:
    dtype = site.dtype
    if dtype.kind == "f":
        return first(np.negative)
    limits = np.iinfo(dtype)
    site.takes(3)

    def kernel(x: Array, input_zp: Array, output_zp: Array) -> Array:
        start, end = (int(one.reshape(-1)[0]) for one in (input_zp, output_zp))
        made = end - (x.astype(np.int64) - start)
        if site.output.dtype is DType.INT32:
            return made.astype(dtype)
        return np.clip(made, limits.min, limits.max).astype(dtype)

    return kernel


def _select(site: Site) -> Kernel:
    return np.where


def _right_shift(site: Site) -> Kernel:
    rounds = site.attribute.round
    site.takes(6, site.dtype.itemsize)

    def kernel(a: Array, b: Array) -> Array:
        made = np.right_shift(a, b)
        if rounds:
            made = made + np.where(b > 0, np.right_shift(a, np.maximum(b, 1) - 1) & 1, 0).astype(a.dtype)
        return made

    return kernel


def _logical_right_shift(site: Site) -> Kernel:
    dtype = site.dtype
    plain = np.dtype(f"u{dtype.name}")
    return binary(lambda a, b: np.right_shift(a.view(plain), b.astype(plain)).view(dtype))


def _intdiv(site: Site) -> Kernel:
    site.takes(5)

    def kernel(a: Array, b: Array) -> Array:
        quotient = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))
        return (quotient * np.sign(a) * np.sign(b)).astype(site.dtype)

    return kernel


def _clz(site: Site) -> Kernel:
    site.takes(5, passes=10)

    def kernel(x: Array) -> Array:
        plain = x.view(np.uint32).astype(np.float64)
        return np.where(plain > 0, 31 - np.floor(np.log2(np.maximum(plain, 1))), 32).astype(np.int32)

    return kernel


def _cast(site: Site) -> Kernel:
    dtype = site.dtype
    source = site.inputs[0].dtype
    if site.output.dtype is DType.BOOL:
        return unary(lambda x: x != 0)
    if source in (DType.FP32, DType.FP16) and dtype.kind == "i":
        limits = np.iinfo(dtype)
        site.takes(5)

        def rounded(x: Array) -> Array:
            whole = np.nan_to_num(
                np.rint(x.astype(np.float64)), nan=0.0, posinf=limits.max, neginf=limits.min
            )
            return np.clip(whole, limits.min, limits.max).astype(dtype)

        return rounded
    return unary(lambda x: x.astype(dtype))


def _table(site: Site) -> Kernel:
    site.takes(3 if site.inputs[0].dtype is DType.INT8 else 8)
    if site.inputs[0].dtype is DType.INT8:
        return binary(lambda x, table: table[x.astype(np.int64) + 128])

    def interpolated(x: Array, table: Array) -> Array:
        value = x.astype(np.int64) + 32768
        index, fraction = value >> 7, value & 127
        entries = table.astype(np.int64)
        base = entries[index]
        return (base * 128 + (entries[index + 1] - base) * fraction).astype(np.int32)

    return interpolated


def _power(a: Array, b: Array) -> Array:
    return np.power(a, b)


MAKERS: Final[dict[Op, Maker]] = {
    Op.ABS: _ufunc(np.abs),
    Op.ADD: _ufunc(np.add),
    Op.ARITHMETIC_RIGHT_SHIFT: _right_shift,
    Op.BITWISE_AND: _ufunc(np.bitwise_and),
    Op.BITWISE_NOT: _ufunc(np.bitwise_not),
    Op.BITWISE_OR: _ufunc(np.bitwise_or),
    Op.BITWISE_XOR: _ufunc(np.bitwise_xor),
    Op.CAST: _cast,
    Op.CEIL: _ufunc(np.ceil),
    Op.CLAMP: _clamp,
    Op.CLZ: _clz,
    Op.COS: _in_single(np.cos),
    Op.EQUAL: _ufunc(np.equal),
    Op.ERF: _in_single(_erf, 4, passes=30),
    Op.EXP: _in_single(np.exp),
    Op.FLOOR: _ufunc(np.floor),
    Op.GREATER: _ufunc(np.greater),
    Op.GREATER_EQUAL: _ufunc(np.greater_equal),
    Op.IDENTITY: lambda site: unary(lambda x: x),
    Op.INTDIV: _intdiv,
    Op.LOG: _in_single(np.log),
    Op.LOGICAL_AND: _ufunc(np.logical_and),
    Op.LOGICAL_LEFT_SHIFT: _ufunc(np.left_shift),
    Op.LOGICAL_NOT: _ufunc(np.logical_not),
    Op.LOGICAL_OR: _ufunc(np.logical_or),
    Op.LOGICAL_RIGHT_SHIFT: _logical_right_shift,
    Op.LOGICAL_XOR: _ufunc(np.logical_xor),
    Op.MAXIMUM: _extremum(np.maximum, np.fmax),
    Op.MINIMUM: _extremum(np.minimum, np.fmin),
    Op.MUL: _mul,
    Op.NEGATE: _negate,
    Op.POW: _ufunc(cast("Callable[..., Any]", _power)),
    Op.RECIPROCAL: _in_single(cast("Callable[[Array], Array]", np.reciprocal)),
    Op.RSQRT: _in_single(lambda x: 1 / np.sqrt(x)),
    Op.SELECT: _select,
    Op.SIGMOID: _in_single(_sigmoid, 3),
    Op.SIN: _in_single(np.sin),
    Op.SUB: _ufunc(np.subtract),
    Op.TABLE: _table,
    Op.TANH: _in_single(np.tanh),
}
