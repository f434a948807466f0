"""Layers whose weight is quantized."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.to_executorch.decompose_quantized.builder import Builder, decomposes, dtype, shape
from et_ops.dtypes import F32, I8

Embedding = Callable[[Builder, edge.QuantizedDecomposedEmbeddingByteDtypeOp], SSAValue | None]


def _unpacked(b: Builder, rows: SSAValue, bits: int) -> SSAValue:
    """The numbers in bytes, less the middle of their range: of two the first is in the high half, of four in the lowest
    bits.
    """
    if bits == 8:
        return rows
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    parts: list[SSAValue] = []
    for shift in (4, 0) if bits == 4 else (0, 2, 4, 6):
        part = b(edge.BitwiseRightShiftTensorScalarOp, rows, shift) if shift else rows
        parts.append(b(edge.BitwiseAndScalarOp, part, mask))
    count, width = shape(rows)
    numbers = b.view(b(edge.StackOp, parts, -1), (count, width * len(parts)))
    return b(edge.SubScalarOp, b.to(numbers, I8), half)


def _embedding(bits: int) -> Embedding:
    def decompose(b: Builder, op: edge.QuantizedDecomposedEmbeddingByteDtypeOp) -> SSAValue | None:
        """The rows that are named, restored group by group."""
        weight, scales, sizes = op.weight, op.weight_scales, shape(op.indices)
        if min((0, *sizes, *shape(weight), *shape(scales))) < 0:
            return None
        count = prod(sizes)
        width = shape(weight)[1] * 8 // bits
        groups = shape(scales)[1] if len(shape(scales)) == 2 else 1
        indices = b.view(op.indices, (count,))

        def chosen(table: SSAValue) -> SSAValue:
            return b.view(b(edge.IndexSelectOp, table, 0, indices), (count, groups, 1))

        rows = _unpacked(b, b(edge.IndexSelectOp, weight, 0, indices), bits)
        numbers = b.view(rows, (count, groups, width // groups))
        if op.weight_zero_points is not None:
            numbers = b.combined(edge.SubTensorOp, numbers, chosen(op.weight_zero_points))
        restored = b.combined(edge.MulTensorOp, numbers, chosen(scales))
        given: Attribute | None = op.arg("dtype") if "dtype" in op.schema().by_name else None
        kind = dtype(scales) if given is None else dtype_of(given)
        return b.to(b.view(restored, (*sizes, width)), kind)

    return decompose


for _name, _bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2)):
    decomposes(_name, f"{_name}.dtype")(_embedding(_bits))


def _matrix(
    b: Builder, op: edge.QuantizedDecomposedMixedMmOp | edge.QuantizedDecomposedMixedLinearOp
) -> SSAValue:
    """The weight in f32, each row times its scale."""
    rows = shape(op.weight_scales)[0]
    scales = b.view(b.to(op.weight_scales, F32), (rows if rows >= 0 else -1, 1))
    return b(edge.MulTensorOp, b.to(op.weight, F32), scales)


@decomposes("mixed_mm")
def mixed_mm(b: Builder, op: edge.QuantizedDecomposedMixedMmOp) -> SSAValue:
    return b.to(b(edge.MmOp, b.to(op.input, F32), _matrix(b, op)), dtype(op.input))


@decomposes("mixed_linear")
def mixed_linear(b: Builder, op: edge.QuantizedDecomposedMixedLinearOp) -> SSAValue:
    matrix = b(edge.PermuteCopyOp, _matrix(b, op), [1, 0])
    kind = dtype(op.input) if op.dtype is None else dtype_of(op.dtype)
    return b.to(b(edge.MmOp, b.to(op.input, F32), matrix), kind)
