"""Operations and bytes of kernels, for profiles."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of, nbytes
from et_backends.codegen.kernels.loops import loop_of
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["KernelWork", "kernel_work"]

_SIMPLE: Final = frozenset(
    {
        *("abs", "add", "clamp", "div", "hardtanh", "maximum", "minimum", "mul", "neg", "reciprocal", "relu"),
        *("rsqrt", "rsub", "sqrt", "sub"),
    }
)
"""Operators of one operation for each element."""

_PARTIAL: Final = frozenset({"gather", "move"})
"""Forms that read no more of their first tensor than they write."""


class KernelWork(NamedTuple):
    """The work of a call of a kernel."""

    bytes_read: int
    """Bytes of its inputs, weights too, each counted once."""
    bytes_written: int
    """Bytes of its results."""
    flops: int | None
    """Two operations for each multiply-add, one for an element of simple arithmetic; None where that is not known."""


def kernel_work(kernel: KernelOp) -> KernelWork | None:
    """The work of a kernel; None where sizes are known at run time only.

    Beside products, what is computed on their results counts as far as it has a formula.
    """
    if not kernel.has_fixed_sizes():
        return None
    inputs = [_bytes(value) for value in dict.fromkeys(value for value, _ in kernel.tensors())]
    written = sum(map(_bytes, kernel.outputs))
    if kernel.form.data in _PARTIAL and inputs:
        inputs[0] = min(inputs[0], written)
    ops = [op for op in kernel.body.walk() if isinstance(op, SchemaOp)]
    products = [_products(op) for op in ops]
    others = [_simple(op) for op, found in zip(ops, products, strict=True) if found is None]
    has_products = len(others) < len(ops)
    known = bool(ops) and (has_products or None not in others)
    flops = sum(one for one in (*products, *others) if one is not None)
    if kernel.form.data == "loop":
        flops *= _shape(loop_of(kernel).sequences[0])[0]
    return KernelWork(sum(inputs), written, flops if known else None)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


def _bytes(value: SSAValue) -> int:
    return prod(_shape(value)) * nbytes(element_of(value))


def _products(op: SchemaOp) -> int | None:
    """Operations of a matrix product or a convolution; None for other ops."""
    size = prod(_shape(op.results[0]))
    match operator_name(op):
        case "mm" | "bmm":
            return 2 * size * _shape(op.operands[0])[-1]
        case "linear":
            return size * (2 * _shape(op.arg("input"))[-1] + (op.arg("bias") is not None))
        case "grouped.linear":
            return 2 * size * _shape(op.arg("input"))[-1]
        case "addmm":
            return size * (2 * _shape(op.arg("mat1"))[-1] + 1)
        case "convolution":
            image, filters = op.arg("input"), op.arg("weight")
            # Filters are [out, in / groups, …], those of a transposed convolution [in, out / groups, …].
            pixels = prod(_shape(image)) if op.arg("transposed") else size
            biased = size if op.arg("bias") is not None else 0
            return 2 * pixels * prod(_shape(filters)[1:]) + biased
        case _:
            return None


def _simple(op: SchemaOp) -> int | None:
    return prod(_shape(op.results[0])) if operator_name(op).partition(".")[0] in _SIMPLE else None
