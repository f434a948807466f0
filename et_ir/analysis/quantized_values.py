"""Quantizations of the values of a program: what operations say of the integers that they make or take.

Integers that are only moved, by views and copies, keep the one scale of a whole tensor.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue, Use

from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE, Granularity, Quantization, quantization_of
from et_ir.dialects.program import Globals, Numbers, QuantizedParameters, QuantizedType
from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation.arrays import Array

__all__ = ["operand_quantization", "quantized_type", "quantized_values"]


def quantized_values(module: ModuleOp, symbols: Globals) -> dict[SSAValue, Quantization]:
    """The quantization of each value that has one; what makes a value says it before what takes it does."""
    found: dict[SSAValue, Quantization] = {}
    moves: list[SchemaOp] = []
    for op in module.walk():
        if isinstance(op, QUANTIZE):
            found[op.results[0]] = quantization_of(op, symbols)
        elif isinstance(op, DEQUANTIZE):
            found.setdefault(op.operands[0], quantization_of(op, symbols))
        elif isinstance(op, SchemaOp) and _moves(op):
            moves.append(op)
    for op in moves:  # in program order: from what is quantized on
        _share(found, op.operands[0], op.results[0])
    for op in reversed(moves):  # and back from what is dequantized
        _share(found, op.results[0], op.operands[0])
    return found


def _moves(op: SchemaOp) -> bool:
    """Whether an op is a view of its first operand, or copies one."""
    operator = op.operator
    return (
        (operator.is_view or operator.view_form != operator.name)
        and len(op.results) == 1
        and bool(op.operands)
    )


def _share(found: dict[SSAValue, Quantization], source: SSAValue, target: SSAValue) -> None:
    known = found.get(source)
    if known is not None and known.granularity is Granularity.TENSOR:
        found.setdefault(target, known)


def operand_quantization(use: Use, symbols: Globals) -> Quantization | None:
    """The quantization that an operation states by dequantizing its operand; `None` for other uses."""
    op = use.operation
    return quantization_of(op, symbols) if use.index == 0 and isinstance(op, DEQUANTIZE) else None


def quantized_type(quantization: Quantization) -> QuantizedType:
    """The element type that says a quantization. Raises `VerifyException` for numbers that no type has."""
    parameter = {Granularity.CHANNEL: quantization.axis, Granularity.GROUP: quantization.group}
    return QuantizedType(
        QuantizedParameters(
            quantization.dtype.name,
            (quantization.quant_min, quantization.quant_max),
            quantization.granularity.value,
            parameter.get(quantization.granularity, 0),
            _numbers(quantization.scales),
            _numbers(quantization.zero_points),
        )
    )


def _numbers(array: Array | None) -> Numbers:
    return Numbers(()) if array is None else Numbers.of(array)
