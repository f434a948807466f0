"""Expansion of dynamic quantization into pointwise ops and reductions.

Activations become bytes without a sign, by the range of their numbers. The scale and the zero point are f32 tensors of
one element, computed as torch does: in f32, with the range widened to hold 0.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, SSAValue

from et_backends.codegen.elements import element_of
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.dtypes import U8

__all__ = ["expand_dynamic"]


def expand_dynamic(block: Block, product: SchemaOp, dequantize: SchemaOp) -> None:
    """Give a linear layer an activation that is quantized by its range, by ops that there are kernels for."""
    if element_of(dequantize.operands[0]) == ui8:
        return  # It was expanded for another layer.
    stored, scale, _ = dequantize.operands
    choose, quantize = scale.owner, stored.owner
    assert isinstance(choose, SchemaOp)
    assert isinstance(quantize, SchemaOp)
    location: LocationAttr | None = quantize.location

    def make(name: str, *args: Any, **kwargs: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=location, **kwargs)
        block.insert_op_before(made, quantize)
        return made.results[0]

    x = choose.operands[0]
    low, high = int(choose.arg("quant_min")), int(choose.arg("quant_max"))
    dims = list(range(tensor_type(x).get_num_dims()))
    least = make("clamp", make("view_copy", make("amin", x, dims), [1]), max=0.0)
    most = make("clamp", make("view_copy", make("amax", x, dims), [1]), min=0.0)
    step = make("div.Scalar", make("sub.Tensor", most, least), float(high - low))
    step = make("clamp", step, min=float(choose.arg("eps")))
    offset = make("rsub.Scalar", make("round", make("div.Tensor", least, step)), float(low))
    offset = make("clamp", offset, min=float(low), max=float(high))
    offset = make("add.Scalar", offset, 128.0)
    low, high = (int(quantize.arg(name)) + 128 for name in ("quant_min", "quant_max"))
    scaled = make("mul.Tensor", x, make("reciprocal", step))
    whole = make("clamp", make("add.Tensor", make("round", scaled), offset), min=float(low), max=float(high))
    bytes = make("dim_order_ops._to_dim_order_copy", whole, dtype=U8)
    made = OP_BY_NAME["quantized_decomposed.dequantize_per_tensor.tensor"].make(
        bytes, step, offset, low, high, U8, location=dequantize.location
    )
    block.insert_op_before(made, dequantize)
    dequantize.results[0].replace_all_uses_with(made.results[0])
    for op in (dequantize, quantize, choose):
        if not any(result.uses for result in op.results):
            block.erase_op(op)
