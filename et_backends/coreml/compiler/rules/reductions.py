"""Reductions, softmax and normalizations."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import f32, i1, i64

from et_backends.coreml.compiler.rules.rule import Rule
from et_backends.coreml.compiler.translation import Made, Translation, shape_of
from et_backends.coreml.format.mil import MilTypeName
from et_ir.backends.operator_rules import axis, is_constant, reduced_dims
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _kept(shape: tuple[int, ...], dims: list[int]) -> tuple[int, ...]:
    return tuple(1 if dim in dims else size for dim, size in enumerate(shape))


def _reduced(t: Translation, operation: str, x: Made, dims: list[int]) -> Made:
    """A reduction that keeps the dimensions: numbers are tensors of one element here."""
    return t.make(operation, _kept(x.shape, dims), x=x, axes=dims, keep_dims=True)


def _reduce(operation: str) -> Rule:
    return Rule(
        lambda t, op: _reduced(
            t, operation, t.read(op, "self"), reduced_dims(op, len(shape_of(op.operands[0])))
        )
    )


def _any(t: Translation, op: SchemaOp) -> Made:
    x = t.converted(t.read(op, "self"), t.floats)
    return t.converted(
        _reduced(t, "reduce_max", x, reduced_dims(op, len(shape_of(op.operands[0])))), MilTypeName.BOOL
    )


def _argmax(operation: str) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Made:
        x = t.read(op, "self")
        dim = axis(op.arg("dim"), len(x.shape))
        return t.make(operation, _kept(x.shape, [dim]), MilTypeName.INT32, x=x, axis=dim, keep_dims=True)

    return Rule(lower, _refuse_flat, frozenset({f32, i64}), mixes=True)


def _refuse_flat(op: SchemaOp) -> Diagnostic | None:
    return Diagnostic("of all elements") if op.arg("dim") is None else None


def _softmax(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return t.make("softmax", x.shape, x=x, axis=axis(op.arg("dim"), len(x.shape)))


def _log_softmax(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    sums = _reduced(t, "reduce_log_sum_exp", x, [axis(op.arg("dim"), len(x.shape))])
    return t.make("sub", x.shape, x=x, y=sums)


def _cumulative(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    return t.make(
        "cumsum", x.shape, x=x, axis=axis(op.arg("dim"), len(x.shape)), exclusive=False, reverse=False
    )


def _layer_norm(t: Translation, op: SchemaOp) -> Made:
    x, sizes = t.read(op, "input"), list(op.arg("normalized_shape"))
    axes = list(range(len(x.shape) - len(sizes), len(x.shape)))
    gamma, beta = (op.arg(name) for name in ("weight", "bias"))
    eps = float(op.arg("eps"))
    if all(one is None or is_constant(one) for one in (gamma, beta)):
        weights = {name: t.value(one) for name, one in (("gamma", gamma), ("beta", beta)) if one is not None}
        return t.make("layer_norm", x.shape, x=x, axes=axes, epsilon=eps, **weights)
    return _affine(t, t.make("layer_norm", x.shape, x=x, axes=axes, epsilon=eps), op, None)


def _affine(t: Translation, x: Made, op: SchemaOp, sizes: tuple[int, ...] | None) -> Made:
    """Scaled and shifted by weight and bias where there are any, which have `sizes`, or lie in the last dimensions."""
    for name, operation in (("weight", "mul"), ("bias", "add")):
        value = op.arg(name)
        if value is not None:
            read = t.value(value)
            x = t.make(operation, x.shape, x=x, y=read if sizes is None else t.reshaped(read, sizes))
    return x


def _group_norm(t: Translation, op: SchemaOp) -> Made:
    x, groups = t.read(op, "input"), int(op.arg("group"))
    sizes = x.shape
    rows = t.reshaped(x, (sizes[0], groups, prod(sizes[1:]) // groups))
    rows = t.make("layer_norm", rows.shape, x=rows, axes=[2], epsilon=float(op.arg("eps")))
    return _affine(t, t.reshaped(rows, sizes), op, (1, sizes[1], *[1] * (len(sizes) - 2)))


def _batch_norm(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "input")
    sizes = (1, x.shape[1], *[1] * (len(x.shape) - 2))
    mean, variance = (t.reshaped(t.read(op, name), sizes) for name in ("running_mean", "running_var"))
    raised = t.make("add", sizes, x=variance, y=t.number(float(op.arg("eps")), variance))
    made = t.make("sub", x.shape, x=x, y=mean)
    made = t.make("real_div", x.shape, x=made, y=t.make("sqrt", sizes, x=raised))
    return _affine(t, made, op, sizes)


_ANY: Final = Rule(_any, types=frozenset({i1}))

RULES: Final[dict[str, Rule]] = {
    "sum.dim_IntList": _reduce("reduce_sum"),
    "mean.dim": _reduce("reduce_mean"),
    "mean": _reduce("reduce_mean"),
    "amax": _reduce("reduce_max"),
    "amin": _reduce("reduce_min"),
    "prod": _reduce("reduce_prod"),
    "prod.dim_int": _reduce("reduce_prod"),
    "any": _ANY,
    "any.dim": _ANY,
    "argmax": _argmax("reduce_argmax"),
    "argmin": _argmax("reduce_argmin"),
    "_softmax": Rule(_softmax),
    "_log_softmax": Rule(_log_softmax),
    "cumsum": Rule(_cumulative),
    "native_layer_norm": Rule(_layer_norm),
    "native_group_norm": Rule(_group_norm),
    "_native_batch_norm_legit_no_training": Rule(_batch_norm),
}
