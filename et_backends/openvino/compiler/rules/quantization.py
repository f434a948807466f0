"""Quantization, and restoration of floats.

The nodes are those that OpenVINO forms its integer kernels of: it computes a layer between restored operands and a
quantized result in 8 bits where it has a kernel for that, and in floats elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Attribute

from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation, shape_of
from et_ir.backends.operator_rules import axis
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["RULES"]

_TYPES: Final[frozenset[Attribute]] = frozenset({f32, i8, ui8})


def _quantize(t: Translation, op: SchemaOp) -> Node:
    scale, zero_point = float(op.arg("scale")), int(op.arg("zero_point"))
    ends = int(op.arg("quant_min")), int(op.arg("quant_max"))
    low, high = (t.number((end - zero_point) * scale, op.operands[0]) for end in ends)
    least, most = (t.number(end, op.operands[0]) for end in ends)
    levels = t.nodes.fake_quantize(t.read(op, "input"), low, high, least, most, ends[1] - ends[0] + 1)
    return t.converted(levels, tensor_type(op.result).element_type)


def _refuse_range(op: SchemaOp) -> Diagnostic | None:
    """OpenVINO divides by the difference of the largest and the least number."""
    steps = int(op.arg("quant_max")) - int(op.arg("quant_min"))
    fits = steps * float(op.arg("scale")) <= float(np.finfo(np.float32).max)
    return None if fits else Diagnostic("a range of numbers that is infinite in f32")


def _restore(t: Translation, op: SchemaOp) -> Node:
    scale, zero_point = np.float32(op.arg("scale")), np.float32(op.arg("zero_point"))
    return _scaled(t, op, np.asarray(scale), np.asarray(zero_point))


def _restore_channels(t: Translation, op: SchemaOp) -> Node:
    rank = len(shape_of(op.result))
    sizes = [1] * rank
    sizes[axis(int(op.arg("axis")), rank)] = -1
    scales = t.array(op.arg("scales")).astype(np.float32).reshape(sizes)
    given = op.arg("zero_points")
    zero_points = np.zeros(1) if given is None else t.array(given).reshape(sizes)
    return _scaled(t, op, scales, zero_points.astype(np.float32))


def _scaled(
    t: Translation, op: SchemaOp, scales: np.ndarray[Any, Any], zero_points: np.ndarray[Any, Any]
) -> Node:
    distances = t.converted(t.read(op, "input"), f32)
    if zero_points.any():
        distances = t.nodes.subtract(distances, t.nodes.constant(zero_points))
    return t.nodes.multiply(distances, t.nodes.constant(scales))


RULES: Final[dict[str, Rule]] = {
    "quantized_decomposed.quantize_per_tensor": Rule(_quantize, _refuse_range, types=_TYPES, mixes=True),
    "quantized_decomposed.dequantize_per_tensor": Rule(_restore, types=_TYPES, mixes=True),
    "quantized_decomposed.dequantize_per_channel": Rule(
        _restore_channels, types=_TYPES, constants=("scales", "zero_points"), mixes=True
    ),
}
