"""Convolutions of one and two dimensions, transposed ones too. Their filters and biases are constants."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.constants import Array
from et_backends.xnnpack.compiler.rules.rule import Rule, numbers, refuse_variable, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNConv2d,
    XNNConvTranspose2d,
    XNNDatatype,
    XNNDepthwiseConv2d,
    XNNStaticReshape,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_ir.analysis.dim_orders import NHWC
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _convolution(t: Translation, op: SchemaOp) -> None:
    x: SSAValue = op.arg("input")
    weight: SSAValue = op.arg("weight")
    bias: SSAValue | None = op.arg("bias")
    filters = t.array(weight)
    flat = filters.ndim == 3
    stride, padding, dilation, adjustment = (
        _square(op, name, one)
        for name, one in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    )
    if flat:
        # One dimension is a row of an image.
        filters = filters.reshape(filters.shape[0], filters.shape[1], 1, filters.shape[2])
    groups = int(op.arg("groups"))
    transposed = bool(op.arg("transposed"))
    value, clamp = t.activated(op)
    source = _row(t, x) if flat else t.read(x, NHWC, layer=op)
    # Weights of half precision would lose in packing what sums need: XNNPACK takes them as float.
    packed, inputs, outputs, kind = _packed(filters, groups, transposed)
    filter_id = t.constant(packed, weight, XNNDatatype.fp32)
    bias_id = NO_VALUE if bias is None else t.bias(op, bias, weight, XNNDatatype.fp32)
    if flat:
        sizes = t.sizes(value)
        made = t.temporary(value, [sizes[0], 1, sizes[2], sizes[1]])
    else:
        made = t.write(value, NHWC)
    node = kind(
        padding_top=padding[0],
        padding_right=padding[1],
        padding_bottom=padding[0],
        padding_left=padding[1],
        kernel_height=filters.shape[2],
        kernel_width=filters.shape[3],
        subsampling_height=stride[0],
        subsampling_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        group_input_channels=inputs,
        group_output_channels=outputs,
        groups=groups,
        adjustment_height=adjustment[0],
        adjustment_width=adjustment[1],
        input1_id=source,
        filter_id=filter_id,
        bias_id=bias_id,
        output_id=made,
    )
    t.node(node, op, clamp=clamp)
    if flat:
        shape = [max(shape_of(value)[dim], 0) for dim in (0, 2, 1)]
        result = t.write(value, (0, 2, 1))
        t.node(XNNStaticReshape(num_dims=3, new_shape=shape, input_id=made, output_id=result), op)


def _packed(
    filters: Array, groups: int, transposed: bool
) -> tuple[Array, int, int, type[XNNConv2d] | type[XNNDepthwiseConv2d] | type[XNNConvTranspose2d]]:
    """Filters in XNNPACK's order, input and output channels of a group, and the kind of node."""
    first, second, height, width = filters.shape
    if transposed:
        inputs = first // groups
        parts = filters.reshape(groups, inputs, second, height, width).transpose(0, 2, 3, 4, 1)
        return parts.reshape(groups * second, height, width, inputs), inputs, second, XNNConvTranspose2d
    if second == 1 and groups > 1:
        return filters.transpose(1, 2, 3, 0), 1, first // groups, XNNDepthwiseConv2d
    return filters.transpose(0, 2, 3, 1), second, first // groups, XNNConv2d


def _square(op: SchemaOp, name: str, neutral: int) -> list[int]:
    """An argument for height and width."""
    rank = len(shape_of(op.arg("input"))) - 2
    values = numbers(op.arg(name), rank)
    return [neutral, *values] if rank == 1 else values


def _row(t: Translation, x: SSAValue) -> int:
    """A sequence as an image of one row."""
    source = t.read(x, (0, 2, 1))
    sizes, known = t.sizes(x), shape_of(x)
    made = t.temporary(x, [sizes[0], 1, sizes[2], sizes[1]])
    shape = [max(known[0], 0), 1, max(known[2], 0), known[1]]
    t.node(XNNStaticReshape(num_dims=4, new_shape=shape, input_id=source, output_id=made))
    return made


def _refuse(op: SchemaOp) -> Diagnostic | None:
    shape = shape_of(op.arg("input"))
    if len(shape) not in (3, 4):
        return Diagnostic("only 1-d and 2-d convolutions are supported", f"rank {len(shape)}")
    variable = refuse_variable(op, "weight", "bias")
    if variable is not None:
        return variable
    if len(shape) == 3 and sum(size < 0 for size in shape) > 1:
        return Diagnostic("more than one dynamic size", str(op.operand_types[0]))
    if any(isinstance(one, SSAValue) for name in ("stride", "padding", "dilation") for one in op.arg(name)):
        return Diagnostic("an argument is known only at run time")
    if min(numbers(op.arg("padding"), 1)) < 0:
        return Diagnostic("negative padding", str(op.arg("padding")))
    if op.arg("transposed"):
        added, stride = _square(op, "output_padding", 0), _square(op, "stride", 1)
        if any(more >= step for more, step in zip(added, stride, strict=True)):
            return Diagnostic("output_padding is not less than the stride", f"{added}, {stride}")
    return None


RULES: Final = {"convolution": Rule(_convolution, _refuse)}
