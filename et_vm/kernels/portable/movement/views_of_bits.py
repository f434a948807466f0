"""Copies of views that leave the bytes and change what they mean: another element type, a lazy conjugate or
negative.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.steps import NOTHING
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


@kernel("aten::view_copy.dtype_out")
def view_copy_dtype_out(ctx: PrepareContext, self: Tensor, dtype: int, out: Tensor) -> Step:
    """The bytes of ``self`` as elements of ``dtype``; when that is smaller or larger, the last dimension is as
    much longer or shorter. Allocates a copy of ``self`` when it is not contiguous.
    """
    wanted = ScalarType(dtype)
    check_type(ctx, wanted, out, arg="out")
    have, want = self.dtype.itemsize, numpy_dtype(wanted).itemsize
    shape = list(self.sizes)
    if have != want:
        ctx.check(bool(shape), arg="self", expected="at least one dimension", got="a 0-d tensor")
        good = shape[-1] * have % want == 0
        ctx.check(good, arg="self", expected=f"rows of a multiple of {want} bytes", got=shape[-1] * have)
        shape[-1] = shape[-1] * have // want
    out.resize(shape)
    if not out.array.size:
        return NOTHING
    return evaluated(functools.partial(_as_type, out.dtype, tuple(shape)), (self,), (out,), self.dtype)


def _as_type(dtype: np.dtype[np.generic], shape: tuple[int, ...], array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(dtype).reshape(shape)


@kernel("aten::_conj_copy.out")
def conj_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The complex conjugate; a real tensor is copied. Allocates the result."""
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(self.sizes)
    return evaluated(_conjugate, (self,), (out,), self.dtype)


def _conjugate(array: Array) -> Array:
    return np.conjugate(array) if array.dtype.kind == "c" else array


@kernel("aten::_neg_view_copy.out")
def neg_view_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The negative. Allocates the result."""
    good = self.scalar_type != ScalarType.BOOL
    ctx.check(good, arg="self", expected="numbers", got=self.scalar_type.torch_name)
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(self.sizes)
    return evaluated(np.negative, (self,), (out,))


@kernel("aten::_reshape_alias_copy.out")
def reshape_alias_copy_out(
    ctx: PrepareContext, self: Tensor, size: list[int], stride: list[int], out: Tensor
) -> Step:
    """The elements in order of their indices, as ``size``; ``stride`` is how torch would have made a view of
    it. Allocates a copy of ``self`` when it is not contiguous.
    """
    check_type(ctx, self.scalar_type, out, arg="out")
    good = math.prod(size) == self.numel and all(extent >= 0 for extent in size)
    ctx.check(good, arg="size", expected=f"a shape of {self.numel} elements", got=size)
    ctx.check(len(stride) == len(size), arg="stride", expected=f"{len(size)} strides", got=stride)
    out.resize(size)
    return evaluated(functools.partial(np.reshape, shape=tuple(size)), (self,), (out,), self.dtype)
