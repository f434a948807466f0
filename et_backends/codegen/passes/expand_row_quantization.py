"""Expansion of dequantized rows of bytes: bytes without a sign for products, pointwise ops for other readers."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, SSAValue

from et_backends.codegen.elements import element_of
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.dtypes import F32, U8

__all__ = ["expand_channels", "expand_rows"]

OFFSET = 128.0


class _Maker:
    """Makes ops in the place of another."""

    def __init__(self, block: Block, op: SchemaOp):
        self._block, self._op = block, op

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=self._op.location, **kwargs)
        self._block.insert_op_before(made, self._op)
        return made.results[0]

    def real(self, value: SSAValue) -> SSAValue:
        """Numbers as f32."""
        if element_of(value) == f32:
            return value
        return self("dim_order_ops._to_dim_order_copy", value, dtype=F32)


def expand_rows(block: Block, dequantize: SchemaOp) -> None:
    """Let an op restore rows from bytes without a sign, with zero points of f32, as products of bytes read them."""
    stored, scales, *points = dequantize.operands
    if element_of(stored) == ui8 and points and element_of(points[0]) == f32:
        return  # It was expanded for another product.
    make = _Maker(block, dequantize)
    moved = element_of(stored) != ui8
    offset = make.real(points[0]) if points else make("full_like", scales, 0.0)
    if moved:
        stored = make(
            "dim_order_ops._to_dim_order_copy", make("add.Scalar", make.real(stored), OFFSET), dtype=U8
        )
        offset = make("add.Scalar", offset, OFFSET)
    low, high = (int(dequantize.arg(name)) + (128 if moved else 0) for name in ("quant_min", "quant_max"))
    made = make(
        "quantized_decomposed.dequantize_per_channel",
        stored,
        scales,
        offset,
        dequantize.arg("axis"),
        low,
        high,
        U8,
    )
    dequantize.results[0].replace_all_uses_with(made)
    block.erase_op(dequantize)


def expand_channels(block: Block, dequantize: SchemaOp) -> None:
    """Ops on f32 for what others than products read: by tensor or by channel, with numbers computed at run time."""
    make = _Maker(block, dequantize)

    def spread(value: SSAValue) -> SSAValue:
        """A number for each channel, in the dimension of these."""
        if "per_channel" not in dequantize.name:
            return value
        shape = [1] * tensor_type(dequantize.operands[0]).get_num_dims()
        shape[int(dequantize.arg("axis"))] = -1
        return make("view_copy", value, shape)

    stored, scale, *points = dequantize.operands
    made = make.real(stored)
    if points:
        made = make("sub.Tensor", made, spread(make.real(points[0])))
    made = make("mul.Tensor", made, spread(scale))
    dequantize.results[0].replace_all_uses_with(made)
    block.erase_op(dequantize)
