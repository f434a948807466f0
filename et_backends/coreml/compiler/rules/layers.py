"""Matrix products, convolutions and pooling."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.coreml.compiler.rules.rule import Rule
from et_backends.coreml.compiler.translation import Made, Translation, shape_of
from et_ir.backends.operator_rules import is_constant, numbers
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]

_MOST_DIMENSIONS: Final = 3
"""Maximum rank of the operand of `linear`."""


def _linear(t: Translation, op: SchemaOp) -> Made:
    x, weight, bias = t.read(op, "input"), op.arg("weight"), op.arg("bias")
    shape = shape_of(op.result)
    constant = is_constant(weight) and (bias is None or is_constant(bias))
    if constant and len(x.shape) <= _MOST_DIMENSIONS:
        added = t.constant(np.zeros(shape[-1], np.float32)) if bias is None else t.value(bias)
        return t.make("linear", shape, x=x, weight=t.value(weight), bias=added)
    made = _matmul(t, x, t.value(weight), shape, transposed=True)
    return made if bias is None else t.make("add", shape, x=made, y=t.value(bias))


def _matmul(t: Translation, x: Made, y: Made, shape: tuple[int, ...], *, transposed: bool = False) -> Made:
    # Of a vector, the operation makes a matrix, and again a vector of the product.
    if len(x.shape) == 1:
        x = t.reshaped(x, (1, *x.shape))
        made = t.make("matmul", (1, *shape), x=x, y=y, transpose_x=False, transpose_y=transposed)
        return t.reshaped(made, shape)
    return t.make("matmul", shape, x=x, y=y, transpose_x=False, transpose_y=transposed)


def _product(t: Translation, op: SchemaOp) -> Made:
    return _times_constant(t, t.read(op, "self"), op.arg("mat2"), shape_of(op.result))


def _times_constant(t: Translation, x: Made, other: SSAValue, shape: tuple[int, ...]) -> Made:
    """A product of matrices, one with weights where the second is constant."""
    if not is_constant(other) or len(shape_of(other)) != 2:
        return _matmul(t, x, t.value(other), shape)
    weight = t.constant(np.ascontiguousarray(t.array(other).T))
    return t.make("linear", shape, x=x, weight=weight, bias=t.constant(np.zeros(shape[-1], np.float32)))


def _added_product(t: Translation, op: SchemaOp) -> Made:
    first, second = ("batch1", "batch2") if op.name == "edge.baddbmm" else ("mat1", "mat2")
    shape = shape_of(op.result)
    made = _times_constant(t, t.read(op, first), op.arg(second), shape)
    made = _times(t, made, float(op.arg("alpha")))
    beta = float(op.arg("beta"))
    if beta == 0:
        return made
    return t.make("add", shape, x=made, y=_times(t, t.read(op, "self"), beta))


def _times(t: Translation, x: Made, factor: float) -> Made:
    return x if factor == 1 else t.make("mul", x.shape, x=x, y=t.number(factor, x))


def _pads(padding: list[int]) -> list[int]:
    return [amount for one in padding for amount in (one, one)]


def _convolution(t: Translation, op: SchemaOp) -> Made:
    shape, weight = shape_of(op.result), op.arg("weight")
    rank = len(shape_of(weight)) - 2
    stride, padding, dilation, extra = (
        numbers(op.arg(name), rank) for name in ("stride", "padding", "dilation", "output_padding")
    )
    bias = op.arg("bias")
    fused = t.value(bias) if bias is not None and is_constant(bias) else None
    pad = _pads(padding)
    operation = "conv"
    if op.arg("transposed"):
        operation = "conv_transpose"
        pad[1::2] = [amount - more for amount, more in zip(padding, extra, strict=True)]
    made = t.make(
        operation,
        shape,
        x=t.read(op, "input"),
        weight=t.value(weight),
        bias=fused,
        strides=stride,
        pad_type="custom",
        pad=pad,
        dilations=dilation,
        groups=int(op.arg("groups")),
    )
    if bias is None or fused is not None:
        return made
    return t.make("add", shape, x=made, y=t.reshaped(t.value(bias), (1, shape[1], *[1] * rank)))


def _refuse_convolution(op: SchemaOp) -> Diagnostic | None:
    rank = len(shape_of(op.arg("weight"))) - 2
    if not is_constant(op.arg("weight")):
        return Diagnostic("weights that are computed")
    if len(shape_of(op.operands[0])) != rank + 2:
        return Diagnostic("image without a batch")
    if rank not in (1, 2, 3):
        return Diagnostic("rank", str(rank))
    padding, extra = (numbers(op.arg(name), rank) for name in ("padding", "output_padding"))
    if op.arg("transposed") and any(more > amount for amount, more in zip(padding, extra, strict=True)):
        return Diagnostic("output padding larger than padding", str(extra))
    return None


def _pool(t: Translation, op: SchemaOp, operation: str, **parameters: bool) -> Made:
    return t.make(
        operation,
        shape_of(op.results[0]),
        x=t.read(op, "self"),
        kernel_sizes=numbers(op.arg("kernel_size"), 2),
        strides=numbers(op.arg("stride") or op.arg("kernel_size"), 2),
        pad_type="custom",
        pad=_pads(numbers(op.arg("padding"), 2)),
        ceil_mode=False,
        **parameters,
    )


def _max_pool(t: Translation, op: SchemaOp) -> Made:
    return _pool(t, op, "max_pool")


def _average_pool(t: Translation, op: SchemaOp) -> Made:
    return _pool(t, op, "avg_pool", exclude_padding_from_average=not op.arg("count_include_pad"))


def _refuse_pool(op: SchemaOp) -> Diagnostic | None:
    schema = op.info().schema.by_name
    if (
        op.arg("ceil_mode")
        or ("dilation" in schema and set(op.arg("dilation")) != {1})
        or ("divisor_override" in schema and op.arg("divisor_override") is not None)
    ):
        return Diagnostic(
            "the operation does not support this argument", "ceil_mode, dilation or divisor_override"
        )
    return _refuse_unbatched(op)


def _refuse_unbatched(op: SchemaOp) -> Diagnostic | None:
    return None if len(shape_of(op.operands[0])) == 4 else Diagnostic("image without a batch")


def _adaptive_pool(t: Translation, op: SchemaOp) -> Made:
    x, shape = t.read(op, "self"), shape_of(op.result)
    if shape[2:] == (1, 1):
        return t.make("reduce_mean", shape, x=x, axes=[2, 3], keep_dims=True)
    kernel = [size // made for size, made in zip(x.shape[2:], shape[2:], strict=True)]
    return t.make(
        "avg_pool",
        shape,
        x=x,
        kernel_sizes=kernel,
        strides=kernel,
        pad_type="custom",
        pad=[0] * 4,
        exclude_padding_from_average=False,
        ceil_mode=False,
    )


def _refuse_adaptive(op: SchemaOp) -> Diagnostic | None:
    sizes, made = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if prod(made) != 1 and any(size % one for size, one in zip(sizes, made, strict=True)):
        return Diagnostic("windows of several sizes")
    return _refuse_unbatched(op)


RULES: Final[dict[str, Rule]] = {
    "linear": Rule(_linear),
    "mm": Rule(_product),
    "bmm": Rule(_product),
    "addmm": Rule(_added_product),
    "baddbmm": Rule(_added_product),
    "convolution": Rule(_convolution, _refuse_convolution),
    "max_pool2d_with_indices": Rule(_max_pool, _refuse_pool),
    "avg_pool2d": Rule(_average_pool, _refuse_pool),
    "_adaptive_avg_pool2d": Rule(_adaptive_pool, _refuse_adaptive),
}
