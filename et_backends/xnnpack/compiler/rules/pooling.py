"""Pooling of images, and their resizing: what XNNPACK does along height and width."""

from __future__ import annotations

from typing import Final

from et_backends.xnnpack.compiler.rules.rule import Rule, numbers, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNAvgPooling2d,
    XNNGlobalAvgPooling2d,
    XNNMaxPooling2d,
    XNNStaticConstantPad,
    XNNStaticResizeBilinear2D,
)
from et_ir.analysis.dim_orders import NHWC, in_order
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.resampling import factors_of, goes_by_ratios
from et_ir.dialects.schema import SchemaOp

__all__ = ["ALIGN_CORNERS", "KEEP_DIMS", "RULES"]

KEEP_DIMS: Final = 0x40
ALIGN_CORNERS: Final = 8


def _window(op: SchemaOp) -> tuple[list[int], list[int], list[int]]:
    """Kernel, stride and padding along height and width."""
    kernel = numbers(op.arg("kernel_size"), 2)
    stride = numbers(op.arg("stride"), 2) or kernel
    return kernel, stride, numbers(op.arg("padding"), 2)


def _max_pool(t: Translation, op: SchemaOp) -> None:
    kernel, stride, padding = _window(op)
    dilation = numbers(op.arg("dilation"), 2)
    x, result = op.operands[0], op.results[0]
    below = list(padding)
    if op.arg("ceil_mode"):
        for index, (size, wanted) in enumerate(zip(shape_of(x)[2:], shape_of(result)[2:], strict=True)):
            reach = (wanted - 1) * stride[index] + dilation[index] * (kernel[index] - 1) + 1
            below[index] = max(padding[index], reach - size - padding[index])
    source = t.read(x, NHWC)
    node = XNNMaxPooling2d(
        padding_top=padding[0],
        padding_right=below[1],
        padding_bottom=below[0],
        padding_left=padding[1],
        pooling_height=kernel[0],
        pooling_width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        input_id=source,
        output_id=t.write(result, NHWC),
        flags=KEEP_DIMS,
    )
    t.node(node, op)


def _refuse_max_pool(op: SchemaOp) -> Diagnostic | None:
    if any(result.uses for result in op.results[1:]):
        return Diagnostic("its indices are used")
    kernel, stride, _ = _window(op)
    if stride[0] > kernel[0] or stride[1] > kernel[1]:
        return Diagnostic("the stride is larger than the kernel", f"{stride}, {kernel}")
    shape = shape_of(op.operands[0])
    if op.arg("ceil_mode") and min(shape[2:]) < 0:
        return Diagnostic("ceil_mode with dynamic sizes")
    return _refuse_window(op)


def _refuse_window(op: SchemaOp) -> Diagnostic | None:
    if len(shape_of(op.operands[0])) != 4:
        return Diagnostic("image without batch dimension", str(op.operand_types[0]))
    if _window(op)[0] == [1, 1]:
        return Diagnostic("window of one element")
    return None


def _average_pool(t: Translation, op: SchemaOp) -> None:
    kernel, stride, padding = _window(op)
    x = op.operands[0]
    source = t.read(x, NHWC)
    if any(padding) and (op.arg("count_include_pad") or op.arg("divisor_override") is not None):
        # XNNPACK divides by the number of elements that it has not padded itself.
        around = [0, *padding, 0]
        batch, height, width, channels = in_order(t.sizes(x), NHWC)
        padded = t.temporary(x, [batch, height + 2 * padding[0], width + 2 * padding[1], channels])
        pad = XNNStaticConstantPad(
            pre_paddings=around, post_paddings=around, input_id=source, output_id=padded
        )
        t.node(pad, op)
        source, padding = padded, [0, 0]
    node = XNNAvgPooling2d(
        padding_top=padding[0],
        padding_right=padding[1],
        padding_bottom=padding[0],
        padding_left=padding[1],
        pooling_height=kernel[0],
        pooling_width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        input_id=source,
        output_id=t.write(op.result, NHWC),
        flags=KEEP_DIMS,
    )
    t.node(node, op)


def _refuse_average_pool(op: SchemaOp) -> Diagnostic | None:
    kernel, _, _ = _window(op)
    divisor = op.arg("divisor_override")
    if divisor is not None and divisor != kernel[0] * kernel[1]:
        return Diagnostic("divisor_override", str(divisor))
    if op.arg("ceil_mode"):
        return Diagnostic("ceil_mode")
    return _refuse_window(op)


def _global_pool(t: Translation, op: SchemaOp) -> None:
    source = t.read(op.operands[0], NHWC)
    made = t.write(op.result, NHWC)
    t.node(XNNGlobalAvgPooling2d(input_id=source, output_id=made, flags=KEEP_DIMS), op)


def _refuse_adaptive(op: SchemaOp) -> Diagnostic | None:
    if tuple(op.arg("output_size")) != (1, 1):
        return Diagnostic("output larger than one element", str(op.arg("output_size")))
    if len(shape_of(op.operands[0])) != 4:
        return Diagnostic("image without batch dimension", str(op.operand_types[0]))
    return None


def _resize(t: Translation, op: SchemaOp) -> None:
    _, _, height, width = shape_of(op.result)
    source = t.read(op.operands[0], NHWC)
    node = XNNStaticResizeBilinear2D(
        new_height=height,
        new_width=width,
        input_id=source,
        output_id=t.write(op.result, NHWC),
        flags=ALIGN_CORNERS if op.arg("align_corners") else 0,
    )
    t.node(node, op)


def _refuse_resize(op: SchemaOp) -> Diagnostic | None:
    before, after = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if min(*before, *after) < 0:
        return Diagnostic("dynamic sizes", str(op.result.type))
    if goes_by_ratios(op):
        return None
    # Torch goes by the factor that it is given, XNNPACK by the sizes.
    return Diagnostic(
        "the scale factor differs from the ratio of sizes",
        f"{factors_of(op)}, {list(before)} to {list(after)}",
    )


RULES: Final = {
    "_adaptive_avg_pool2d": Rule(_global_pool, _refuse_adaptive),
    "avg_pool2d": Rule(_average_pool, _refuse_average_pool),
    "max_pool2d_with_indices": Rule(_max_pool, _refuse_max_pool),
    "upsample_bilinear2d": Rule(_resize, _refuse_resize),
    "upsample_bilinear2d.vec": Rule(_resize, _refuse_resize),
}
