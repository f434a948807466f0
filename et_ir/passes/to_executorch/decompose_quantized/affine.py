"""Numbers to integers with one scale and one zero point, and back."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.to_executorch.decompose_quantized.builder import Builder, decomposes, dtype
from et_ops.dtypes import F32, F64


@decomposes("quantize_per_tensor")
def quantize(b: Builder, op: edge.QuantizedDecomposedQuantizePerTensorOp) -> SSAValue:
    """`clamp(round(x * (1 / scale)) + zero_point)` in f32; the scale is inverted in double precision."""
    scaled = b(edge.MulScalarOp, b.to(op.input, F32), 1.0 / op.scale)
    moved = b(edge.AddScalarOp, b(edge.RoundOp, scaled), op.zero_point)
    return b.clamped(moved, op.quant_min, op.quant_max, dtype_of(op.dtype))


def _levels(b: Builder, x: SSAValue, scale: SSAValue, zero_point: SSAValue) -> SSAValue:
    inverse = b.to(b.inverse(b.to(b.single(scale), F64)), F32)
    whole = b(edge.RoundOp, b(edge.MulTensorOp, b.to(x, F32), inverse))
    return b(edge.AddTensorOp, whole, b.to(b.single(zero_point), F32))


@decomposes("quantize_per_tensor.tensor")
def quantize_by_tensor(b: Builder, op: edge.QuantizedDecomposedQuantizePerTensorTensorOp) -> SSAValue:
    levels = _levels(b, op.input, op.scale, op.zero_point)
    return b.clamped(levels, op.quant_min, op.quant_max, dtype_of(op.dtype))


@decomposes("quantize_per_tensor.tensor2")
def quantize_by_tensors(b: Builder, op: edge.QuantizedDecomposedQuantizePerTensorTensor2Op) -> SSAValue:
    levels = _levels(b, op.input, op.scale, op.zero_point)
    least, most = (b.to(b.single(limit), F32) for limit in (op.quant_min, op.quant_max))
    inside = b(edge.MinimumOp, b(edge.MaximumOp, levels, least), most)
    return b.to(inside, dtype_of(op.dtype))


@decomposes("dequantize_per_tensor")
def dequantize(b: Builder, op: edge.QuantizedDecomposedDequantizePerTensorOp) -> SSAValue:
    """`(x - zero_point) * scale`, in the type of the result."""
    kind = F32 if op.out_dtype is None else dtype_of(op.out_dtype)
    shifted = b(edge.SubScalarOp, b.to(op.input, kind), op.zero_point)
    return b(edge.MulScalarOp, shifted, op.scale)


@decomposes("dequantize_per_tensor.tensor", "dequantize_per_tensor.tensor2")
def dequantize_by_tensor(b: Builder, op: edge.QuantizedDecomposedDequantizePerTensorTensorOp) -> SSAValue:
    """The same. Narrow floats compute with numbers in f32, and are rounded after each step."""
    kind = F32 if op.out_dtype is None else dtype_of(op.out_dtype)
    compute = kind if kind is F64 else F32
    scale, zero_point = (b.to(b.single(value), compute) for value in (op.scale, op.zero_point))
    shifted = b(edge.SubTensorOp, b.to(b.to(op.input, kind), compute), zero_point)
    return b.to(b(edge.MulTensorOp, b.to(b.to(shifted, kind), compute), scale), kind)


@decomposes("convert_element_type.no_fuse")
def convert(b: Builder, op: edge.QuantizedDecomposedConvertElementTypeNoFuseOp) -> SSAValue:
    """A copy even where the type is the one it has."""
    return b(edge.DimOrderOpsUnderscoreToDimOrderCopyOp, op.input, dtype=op.dtype)


@decomposes("add")
def add(b: Builder, op: edge.QuantizedDecomposedAddOp) -> SSAValue:
    """The sum of the numbers restored in f32, quantized with the inverse of the scale in f32, as kernels do."""
    import numpy as np

    first = b(edge.SubScalarOp, b.to(op.a, F32), op.a_zero_point)
    second = b(edge.SubScalarOp, b.to(op.b, F32), op.b_zero_point)
    total = b(
        edge.AddTensorOp, b(edge.MulScalarOp, first, op.a_scale), b(edge.MulScalarOp, second, op.b_scale)
    )
    scaled = b(edge.MulScalarOp, total, float(np.float32(1) / np.float32(op.out_scale)))
    moved = b(edge.AddScalarOp, b(edge.RoundOp, scaled), op.out_zero_point)
    limits = op.out_quant_min, op.out_quant_max
    return b.clamped(moved, *limits, dtype(op.a))
