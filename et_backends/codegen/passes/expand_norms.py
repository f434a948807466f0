"""Expansion of what normalizations have no loops for: batch norms on their own, and statistics that are read."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, SSAValue

from et_backends.codegen.forms import BATCH_NORM, has_expansion
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["expand_norms"]


def expand_norms(block: Block) -> None:
    """Replace batch norms by pointwise ops, and statistics of other norms by reductions of their own."""
    for op in list(block.ops):
        if not isinstance(op, SchemaOp) or not has_expansion(op):
            continue
        if operator_name(op) == BATCH_NORM:
            _expand_batch_norm(block, op)
        elif any(result.uses for result in op.results[1:]):
            _expand_statistics(block, op)


class _Inserted:
    """Inserts ops before another."""

    def __init__(self, block: Block, op: SchemaOp):
        self._block, self._op = block, op
        self._location: LocationAttr | None = op.location

    def make(self, name: str, *args: Any, **kwargs: Any) -> SSAValue:
        made = OP_BY_NAME[name].make(*args, location=self._location, **kwargs)
        self._block.insert_op_before(made, self._op)
        return made.results[0]


def _expand_batch_norm(block: Block, op: SchemaOp) -> None:
    """(x - mean) * (weight / sqrt(variance + eps)) + bias, of each channel."""
    b = _Inserted(block, op)
    x = op.arg("input")
    rank = tensor_type(x).get_num_dims()

    def spread(value: SSAValue) -> SSAValue:
        """A value for each channel, in the dimensions of the input from there on."""
        if rank <= 2:
            return value
        return b.make("view_copy", value, [tensor_type(value).get_shape()[0], *[1] * (rank - 2)])

    scale = b.make("rsqrt", b.make("add.Scalar", op.arg("running_var"), op.arg("eps")))
    if op.arg("weight") is not None:
        scale = b.make("mul.Tensor", scale, op.arg("weight"))
    centered = b.make("sub.Tensor", x, spread(op.arg("running_mean")))
    result = b.make("mul.Tensor", centered, spread(scale))
    if op.arg("bias") is not None:
        result = b.make("add.Tensor", result, spread(op.arg("bias")))
    result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)


def _expand_statistics(block: Block, op: SchemaOp) -> None:
    """Means, and reciprocals of deviations; the norm itself stays, if it is read."""
    b = _Inserted(block, op)
    x: SSAValue = op.arg("input")
    shape = tensor_type(x).get_shape()
    if operator_name(op) == "native_layer_norm":
        dims = list(range(len(shape) - len(op.arg("normalized_shape")), len(shape)))
    else:
        groups = int(op.arg("group"))
        x = b.make("view_copy", x, [shape[0], groups, prod(shape[1:]) // groups])
        dims = [2]
    keep = operator_name(op) == "native_layer_norm"
    _, mean, deviation = op.results
    if mean.uses:
        mean.replace_all_uses_with(b.make("mean.dim", x, dims, keep))
    if deviation.uses:
        variance = b.make("var.correction", x, dims, correction=0, keepdim=keep)
        deviation.replace_all_uses_with(b.make("rsqrt", b.make("add.Scalar", variance, op.arg("eps"))))
    if not op.results[0].uses:
        block.erase_op(op)
