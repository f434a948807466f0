"""Comparisons, logic, bits, and choosing by a mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
    checked_constant,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import apply, elementwise
from et_vm.kernels.portable.pointwise.binary import binary, operands_in
from et_vm.kernels.portable.promotion import arithmetic, result_type
from et_vm.kernels.portable.steps import call, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor


def _compare(name: str, ufunc: Callable[..., object], kinds: Sequence[int]) -> None:
    def compare(ctx: PrepareContext, self: Tensor, other: Tensor | Scalar, out: Tensor) -> Step:
        promoted = result_type(self, other)
        check_kinds(ctx, promoted, kinds, arg="self")
        compute = arithmetic(promoted)
        operands = operands_in(compute, promoted, self, other)
        return elementwise(ctx, operands, out, apply(ufunc), compute=compute, result=ScalarType.BOOL)

    @kernel(f"aten::{name}.Tensor_out")
    def of_tensor(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        return compare(ctx, self, other, out)

    @kernel(f"aten::{name}.Scalar_out")
    def of_scalar(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
        return compare(ctx, self, other, out)


_compare("eq", np.equal, (BOOL, INTEGER, FLOAT, COMPLEX))
_compare("ne", np.not_equal, (BOOL, INTEGER, FLOAT, COMPLEX))
_compare("lt", np.less, (BOOL, INTEGER, FLOAT))
_compare("le", np.less_equal, (BOOL, INTEGER, FLOAT))
_compare("gt", np.greater, (BOOL, INTEGER, FLOAT))
_compare("ge", np.greater_equal, (BOOL, INTEGER, FLOAT))


def _logic(name: str, ufunc: Callable[..., object]) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        same = self.scalar_type == other.scalar_type
        compute = arithmetic(self.scalar_type) if same else ScalarType.BOOL
        return elementwise(ctx, (self, other), out, apply(ufunc), compute=compute, result=ScalarType.BOOL)


_logic("logical_and", np.logical_and)
_logic("logical_or", np.logical_or)
_logic("logical_xor", np.logical_xor)


def _bits(name: str, ufunc: Callable[..., object], kinds: Sequence[int], of_scalar: str) -> None:
    @kernel(f"aten::{name}.Tensor_out")
    def of_tensor(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        return binary(ctx, self, other, out, apply(ufunc), kinds=kinds)

    @kernel(f"aten::{name}.{of_scalar}")
    def of_number(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
        return binary(ctx, self, other, out, apply(ufunc), kinds=kinds)


_bits("bitwise_and", np.bitwise_and, (BOOL, INTEGER), "Scalar_out")
_bits("bitwise_or", np.bitwise_or, (BOOL, INTEGER), "Scalar_out")
_bits("bitwise_xor", np.bitwise_xor, (BOOL, INTEGER), "Scalar_out")
_bits("bitwise_left_shift", np.left_shift, (INTEGER,), "Tensor_Scalar_out")
_bits("bitwise_right_shift", np.right_shift, (INTEGER,), "Tensor_Scalar_out")

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def select_temporaries(dtype: DType) -> list[DType]:
    """The dtypes of the temporaries that `select` takes for values of `dtype`."""
    bits = _BITS.get(dtype.itemsize)
    return [] if bits is None else [np.dtype(bits)]


def select(mask: Array, chosen: Array, other: Array, out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """`chosen` where `mask`, else `other`. Bit arithmetic: a masked copy costs eight times as much on
    an irregular mask.
    """
    if not temporaries:
        return [copy(other, out), (np.copyto, (out, chosen, "unsafe", mask))]
    (ones,) = temporaries
    chosen_bits, other_bits, out_bits = (array.view(ones.dtype) for array in (chosen, other, out))
    return [
        copy(mask, ones),
        call(np.negative, ones, ones),
        call(np.bitwise_xor, chosen_bits, other_bits, out_bits),
        call(np.bitwise_and, out_bits, ones, out_bits),
        call(np.bitwise_xor, out_bits, other_bits, out_bits),
    ]


def _select_step(
    ctx: PrepareContext,
    mask: Tensor,
    chosen: Tensor | Array,
    other: Tensor,
    promoted: ScalarType,
    out: Tensor,
    *,
    exact: bool = False,
) -> Step:
    return elementwise(
        ctx,
        (mask, chosen, other),
        out,
        lambda inputs, result, temps: select(inputs[0], inputs[1], inputs[2], result, temps),
        compute=(ScalarType.BOOL, promoted, promoted),
        temporaries=select_temporaries(numpy_dtype(promoted)),
        exact=exact,
    )


@kernel("aten::where.self_out", any_type=True)
def where_out(ctx: PrepareContext, condition: Tensor, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """`self` where `condition` (bool, or uint8) holds, else `other`. Scratch: one block."""
    if condition.scalar_type not in (ScalarType.BOOL, ScalarType.BYTE):
        raise ctx.trap(arg="condition", expected="bool or uint8", got=condition.scalar_type.torch_name)
    return _select_step(ctx, condition, self, other, result_type(self, other), out)


@kernel("aten::masked_fill.Scalar_out", any_type=True)
def masked_fill_scalar_out(
    ctx: PrepareContext, self: Tensor, mask: Tensor, value: Scalar, out: Tensor
) -> Step:
    """`value` where `mask` (bool) holds, else `self`. Scratch: one block."""
    if mask.scalar_type != ScalarType.BOOL:
        raise ctx.trap(arg="mask", expected="bool", got=mask.scalar_type.torch_name)
    number = checked_constant(ctx, value, self.scalar_type, arg="value")
    return _select_step(ctx, mask, number, self, self.scalar_type, out, exact=True)


@kernel("aten::masked_fill.Tensor_out", any_type=True)
def masked_fill_tensor_out(
    ctx: PrepareContext, self: Tensor, mask: Tensor, value: Tensor, out: Tensor
) -> Step:
    """The one element of `value` where `mask` (bool) holds, else `self`. Scratch: one block."""
    if mask.scalar_type != ScalarType.BOOL:
        raise ctx.trap(arg="mask", expected="bool", got=mask.scalar_type.torch_name)
    if value.sizes:
        raise ctx.trap(arg="value", expected="a 0-d tensor", got=list(value.sizes))
    if value.scalar_type.is_complex and not self.scalar_type.is_complex:
        raise ctx.trap(arg="value", expected=self.scalar_type.torch_name, got=value.scalar_type.torch_name)
    return _select_step(ctx, mask, value, self, self.scalar_type, out, exact=True)
