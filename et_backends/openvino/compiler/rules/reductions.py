"""Reductions, softmax and normalizations."""

from __future__ import annotations

from typing import Any, Final

from xdsl.dialects.builtin import i1

from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation, shape_of
from et_ir.backends.operator_rules import axis, reduced_dims
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _keeps(op: SchemaOp) -> bool:
    return "keepdim" in op.info().schema.by_name and bool(op.arg("keepdim"))


def _reduce(name: str, types: Any = None) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Node:
        return getattr(t.nodes, name)(
            t.read(op, "self"), t.integers(*reduced_dims(op, len(shape_of(op.operands[0])))), _keeps(op)
        )

    return Rule(lower, _refuse_type, **({} if types is None else {"types": types}))


def _refuse_type(op: SchemaOp) -> Diagnostic | None:
    if not shape_of(op.operands[0]):
        return Diagnostic("reduction of a number")
    return None


def _softmax(t: Translation, op: SchemaOp) -> Node:
    return t.first_nodes.softmax(t.read(op, "self"), axis(op.arg("dim"), len(shape_of(op.result))))


def _log_softmax(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.log_softmax(t.read(op, "self"), axis(op.arg("dim"), len(shape_of(op.result))))


def _layer_norm(t: Translation, op: SchemaOp) -> Node:
    rank, normalized = len(shape_of(op.operands[0])), len(op.arg("normalized_shape"))
    dims = t.integers(*range(rank - normalized, rank))
    return _affine(
        t, t.nodes.mvn(t.read(op, "input"), dims, True, float(op.arg("eps")), "inside_sqrt"), op, None
    )


def _affine(t: Translation, x: Node, op: SchemaOp, sizes: list[int] | None) -> Node:
    """Scaled and shifted by weight and bias where there are any, which have `sizes`, or lie in the last dimensions."""
    for name, node in (("weight", t.nodes.multiply), ("bias", t.nodes.add)):
        value = op.arg(name)
        if value is not None:
            read = t.value(value)
            x = node(x, read if sizes is None else t.reshaped(read, sizes))
    return x


def _group_norm(t: Translation, op: SchemaOp) -> Node:
    sizes = shape_of(op.operands[0])
    groups = int(op.arg("group"))
    x = t.reshaped(t.read(op, "input"), [sizes[0], groups, -1])
    x = t.reshaped(t.nodes.mvn(x, t.integers(2), True, float(op.arg("eps")), "inside_sqrt"), sizes)
    return _affine(t, x, op, [1, sizes[1], *[1] * (len(sizes) - 2)])


def _batch_norm(t: Translation, op: SchemaOp) -> Node:
    sizes = [1, -1, *[1] * (len(shape_of(op.operands[0])) - 2)]
    mean, variance = (t.reshaped(t.read(op, name), sizes) for name in ("running_mean", "running_var"))
    deviation = t.nodes.sqrt(t.nodes.add(variance, t.number(float(op.arg("eps")), op.operands[0])))
    return _affine(t, t.nodes.divide(t.nodes.subtract(t.read(op, "input"), mean), deviation), op, sizes)


def _cumulative(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.cum_sum(t.read(op, "self"), t.integer(op.arg("dim")), False, False)


RULES: Final[dict[str, Rule]] = {
    "sum.dim_IntList": _reduce("reduce_sum"),
    "mean.dim": _reduce("reduce_mean"),
    "mean": _reduce("reduce_mean"),
    "amax": _reduce("reduce_max"),
    "amin": _reduce("reduce_min"),
    "prod": _reduce("reduce_prod"),
    "prod.dim_int": _reduce("reduce_prod"),
    "any": _reduce("reduce_logical_or", frozenset({i1})),
    "any.dim": _reduce("reduce_logical_or", frozenset({i1})),
    "_softmax": Rule(_softmax, _refuse_type),
    "_log_softmax": Rule(_log_softmax, _refuse_type),
    "cumsum": Rule(_cumulative, _refuse_type),
    "native_layer_norm": Rule(_layer_norm),
    "native_group_norm": Rule(_group_norm),
    "_native_batch_norm_legit_no_training": Rule(_batch_norm),
}
