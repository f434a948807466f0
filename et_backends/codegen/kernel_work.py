"""Operations and bytes of kernels, for profiles."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple, cast

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of, nbytes
from et_backends.codegen.kernels.loops import loop_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.work import is_transposed, multiply_adds, operations

__all__ = ["KernelWork", "kernel_work"]

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
    counts = [_operations(op) for op in ops]
    known = bool(ops) and (any(map(_is_product, ops)) or None not in counts)
    flops = sum(one for one in counts if one is not None)
    if kernel.form.data == "loop":
        flops *= _shape(loop_of(kernel).sequences[0])[0]
    return KernelWork(sum(inputs), written, flops if known else None)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


def _bytes(value: SSAValue) -> int:
    return prod(_shape(value)) * nbytes(element_of(value))


def _sizes(op: SchemaOp, name: str) -> tuple[int, ...] | None:
    value = op.arg(name)
    return _shape(cast("SSAValue", value)) if isinstance(value, SSAValue) else None


def _operations(op: SchemaOp) -> int | None:
    made = prod(_shape(op.results[0]))
    return operations(
        op.operator, lambda name: _sizes(op, name), made, transposed=is_transposed(op.operator, op.arg)
    )


def _is_product(op: SchemaOp) -> bool:
    return multiply_adds(op.operator, lambda name: _sizes(op, name), 1) is not None
