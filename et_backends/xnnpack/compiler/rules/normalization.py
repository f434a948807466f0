"""Layer norm, and batch norm that no convolution has taken. The latter is a factor and an addend for each channel."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.constants import is_constant
from et_backends.xnnpack.compiler.rules.products import rows_with_last
from et_backends.xnnpack.compiler.rules.rule import Rule, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNAdd,
    XNNFullyConnected,
    XNNMultiply,
    XNNReciprocalSquareRoot,
    XNNSquare,
    XNNSubtract,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_ir.analysis.dim_orders import in_order
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]

_CONSTANTS: Final = ("weight", "bias", "running_mean", "running_var")


def _batch_norm(t: Translation, op: SchemaOp) -> None:
    x: SSAValue = op.arg("input")
    weight, bias, mean, variance = (
        None if op.arg(name) is None else t.array(op.arg(name)).astype(np.float64) for name in _CONSTANTS
    )
    assert mean is not None
    assert variance is not None
    factor = (1.0 if weight is None else weight) / np.sqrt(variance + op.arg("eps"))
    addend = (0.0 if bias is None else bias) - mean * factor
    order = t.order(x)
    shape = [-1 if dim == 1 else 1 for dim in order]
    value, clamp = t.activated(op)
    source = t.read(x, order)
    scaled = t.temporary(x, [t.sizes(x)[dim] for dim in order])
    factors = t.constant(factor.reshape(shape), x)
    t.node(XNNMultiply(input1_id=source, input2_id=factors, output_id=scaled), op)
    addends = t.constant(addend.reshape(shape), x)
    made = t.write(value, order)
    t.node(XNNAdd(input1_id=scaled, input2_id=addends, output_id=made), op, clamp=clamp)


def _refuse(op: SchemaOp) -> Diagnostic | None:
    for name in _CONSTANTS:
        if op.arg(name) is not None and not is_constant(op.arg(name)):
            return Diagnostic("its statistics are not constants", name)
    if len(shape_of(op.arg("input"))) < 2:
        return Diagnostic("no channels", str(op.operand_types[0]))
    if any(result.uses for result in op.results[1:]):
        return Diagnostic("its statistics are used")
    return None


def _layer_norm(t: Translation, op: SchemaOp) -> None:
    """Means are products with a row of equal weights, whose bias is the `eps` of the variance."""
    x: SSAValue = op.arg("input")
    rank = len(shape_of(x))
    count = shape_of(x)[-1]
    value, clamp = t.activated(op)
    order = rows_with_last(t, x, rank - 1)
    dims = in_order(t.sizes(x), order)
    row = t.constant(np.full((1, count), 1 / count, dtype=np.float32), x)
    eps = t.constant(np.full(1, op.arg("eps"), dtype=np.float32), x)
    mean, variance, scale = (t.temporary(x, [*dims[:-1], 1]) for _ in range(3))
    centred, squared = t.temporary(x, dims), t.temporary(x, dims)
    source = t.read(x, order)
    fields = {"filter_id": row, "input1_id": source, "output_id": mean, "bias_id": NO_VALUE}
    t.node(XNNFullyConnected(**fields), op)
    t.node(XNNSubtract(input1_id=source, input2_id=mean, output_id=centred), op)
    t.node(XNNSquare(input_id=centred, output_id=squared), op)
    fields |= {"input1_id": squared, "output_id": variance, "bias_id": eps}
    t.node(XNNFullyConnected(**fields), op)
    t.node(XNNReciprocalSquareRoot(input_id=variance, output_id=scale), op)
    steps: list[tuple[type[XNNMultiply] | type[XNNAdd], int]] = [(XNNMultiply, scale)]
    for name, node in (("weight", XNNMultiply), ("bias", XNNAdd)):
        if op.arg(name) is not None:
            steps.append((node, t.constant(t.array(op.arg(name)), op.arg(name))))
    now = centred
    for number, (node, other) in enumerate(steps, 1):
        last = number == len(steps)
        made = t.write(value, order) if last else t.temporary(x, dims)
        t.node(node(input1_id=now, input2_id=other, output_id=made), op, clamp=clamp if last else None)
        now = made


def _refuse_layer_norm(op: SchemaOp) -> Diagnostic | None:
    for name in ("weight", "bias"):
        if op.arg(name) is not None and not is_constant(op.arg(name)):
            return Diagnostic("its weights are not constants", name)
    shape = shape_of(op.arg("input"))
    if len(op.arg("normalized_shape")) != 1 or len(shape) < 2 or shape[-1] < 0:
        return Diagnostic("normalizes more than the last dimension", str(op.operand_types[0]))
    if any(result.uses for result in op.results[1:]):
        return Diagnostic("its statistics are used")
    return None


RULES: Final = {
    "_native_batch_norm_legit_no_training": Rule(_batch_norm, _refuse),
    "native_layer_norm": Rule(_layer_norm, _refuse_layer_norm),
}
