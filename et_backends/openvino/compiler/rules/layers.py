"""Products of matrices, convolutions and pools."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_backends.openvino.compiler.rules.rule import Rule
from et_backends.openvino.compiler.translation import Node, Translation, shape_of
from et_ir.analysis.integer_operations import is_quantized_constant
from et_ir.backends.operator_rules import is_constant, numbers
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _linear(t: Translation, op: SchemaOp) -> Node:
    """A product with a transposed weight.

    OpenVINO's CPU takes a square constant that is multiplied with transposed and as it is for one matrix, and so it
    does equal constants.
    """
    weight: SSAValue = op.arg("weight")
    sizes = shape_of(weight)
    if len(set(sizes)) == 1 and _is_restorable(weight) and sizes in _factors(t, op):
        product = t.nodes.matmul(
            t.read(op, "input"), t.nodes.constant(t.restored(weight).T.copy()), False, False
        )
    else:
        product = t.nodes.matmul(t.read(op, "input"), t.read(op, "weight"), False, True)
    return _biased(t, product, op.arg("bias"), op)


def _is_restorable(value: SSAValue) -> bool:
    return is_constant(value) or is_quantized_constant(value)


def _factors(t: Translation, op: SchemaOp) -> frozenset[tuple[int, ...]]:
    """The sizes of constants that operators beside a layer multiply with as they are."""
    if t.factors is None:
        block = op.parent
        assert block is not None
        t.factors = frozenset(
            shape_of(operand)
            for other in block.ops
            if (rule := RULES.get(other.name.removeprefix("edge.")))
            and rule.lower in (_product, _added_product)
            for operand in other.operands
            if _is_restorable(operand)
        )
    return t.factors


def _biased(t: Translation, product: Node, bias: SSAValue | None, op: SchemaOp) -> Node:
    """A product of matrices with a bias.

    OpenVINO fuses the addition of a constant into the product, and loses the mark by which that is precise, unless the
    constant has more dimensions.
    """
    if bias is None:
        return product
    if not t.precise or not is_constant(bias):
        return t.nodes.add(product, t.value(bias))
    sizes = shape_of(op.result)
    array = t.array(bias)
    raised = t.nodes.constant(array.reshape([1] * (len(sizes) + 1 - array.ndim) + list(array.shape)))
    return t.reshaped(t.nodes.add(product, raised), sizes)


def _product(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.matmul(t.read(op, "self"), t.read(op, "mat2"), False, False)


def _added_product(t: Translation, op: SchemaOp) -> Node:
    first, second = ("batch1", "batch2") if op.name == "edge.baddbmm" else ("mat1", "mat2")
    product = t.nodes.matmul(t.read(op, first), t.read(op, second), False, False)
    product = _times(t, product, op, "alpha")
    if float(op.arg("beta")) == 0:
        return product
    if float(op.arg("beta")) == 1:
        return _biased(t, product, op.arg("self"), op)
    return t.nodes.add(product, _times(t, t.read(op, "self"), op, "beta"))


def _times(t: Translation, x: Node, op: SchemaOp, name: str) -> Node:
    factor = float(op.arg(name))
    return x if factor == 1 else t.nodes.multiply(x, t.number(factor, op.result))


def _convolution(t: Translation, op: SchemaOp) -> Node:
    x, weight = t.read(op, "input"), t.read(op, "weight")
    sizes = shape_of(op.arg("weight"))
    rank = len(sizes) - 2
    stride, padding, dilation, extra = (
        numbers(op.arg(name), rank) for name in ("stride", "padding", "dilation", "output_padding")
    )
    groups = int(op.arg("groups"))
    if groups > 1:
        weight = t.reshaped(weight, [groups, sizes[0] // groups, *sizes[1:]])
    if op.arg("transposed"):
        node = t.nodes.convolution_backprop_data if groups == 1 else t.nodes.group_convolution_backprop_data
        result = node(
            x,
            weight,
            strides=stride,
            pads_begin=padding,
            pads_end=padding,
            dilations=dilation,
            output_padding=extra,
        )
    else:
        node = t.nodes.convolution if groups == 1 else t.nodes.group_convolution
        result = node(x, weight, stride, padding, padding, dilation)
    bias = op.arg("bias")
    if bias is None:
        return result
    return t.nodes.add(result, t.reshaped(t.value(bias), [1, -1, *[1] * rank]))


def _refuse_convolution(op: SchemaOp) -> Diagnostic | None:
    rank = len(shape_of(op.arg("weight"))) - 2
    if len(shape_of(op.operands[0])) != rank + 2:
        return Diagnostic("image without a batch")
    return None if rank in (1, 2, 3) else Diagnostic("rank", str(rank))


def _max_pool(t: Translation, op: SchemaOp) -> Node:
    padding = numbers(op.arg("padding"), 2)
    return t.first_nodes.max_pool(
        t.read(op, "self"),
        numbers(op.arg("stride") or op.arg("kernel_size"), 2),
        padding,
        padding,
        numbers(op.arg("kernel_size"), 2),
        "floor",
    )


def _refuse_max_pool(op: SchemaOp) -> Diagnostic | None:
    # Later versions of the node have these, and become this one with the mark of precise nodes lost.
    if op.arg("ceil_mode") or set(op.arg("dilation")) != {1}:
        return Diagnostic("the node does not support this argument", "ceil_mode or dilation")
    return _refuse_pool(op)


def _average_pool(t: Translation, op: SchemaOp) -> Node:
    stride = op.arg("stride") or op.arg("kernel_size")
    padding = numbers(op.arg("padding"), 2)
    return t.nodes.avg_pool(
        t.read(op, "self"),
        numbers(stride, 2),
        padding,
        padding,
        numbers(op.arg("kernel_size"), 2),
        not op.arg("count_include_pad"),
        "floor",
    )


def _refuse_average(op: SchemaOp) -> Diagnostic | None:
    if op.arg("divisor_override") is not None or op.arg("ceil_mode"):
        # Of windows that reach beyond the padding, the node counts other elements than torch.
        return Diagnostic("the node does not support this argument", "divisor_override or ceil_mode")
    return _refuse_pool(op)


def _refuse_pool(op: SchemaOp) -> Diagnostic | None:
    return None if len(shape_of(op.operands[0])) == 4 else Diagnostic("image without a batch")


def _adaptive_pool(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.adaptive_avg_pool(t.read(op, "self"), t.integers(*op.arg("output_size")))


RULES: Final[dict[str, Rule]] = {
    "linear": Rule(_linear),
    "mm": Rule(_product),
    "bmm": Rule(_product),
    "addmm": Rule(_added_product),
    "baddbmm": Rule(_added_product),
    "convolution": Rule(_convolution, _refuse_convolution),
    "max_pool2d_with_indices": Rule(_max_pool, _refuse_max_pool),
    "avg_pool2d": Rule(_average_pool, _refuse_average),
    "_adaptive_avg_pool2d": Rule(_adaptive_pool, _refuse_pool),
}
