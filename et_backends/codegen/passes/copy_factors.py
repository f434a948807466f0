"""Preparation of products of quantized numbers: operands of their own, of bytes without a sign.

Instructions multiply bytes without a sign by bytes with one. Activations become such: a quantization is moved by 128,
together with all that dequantizes what it stores. Where bytes with a sign come from elsewhere, they are stored again.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, SSAValue

from et_backends.codegen.elements import element_of
from et_backends.codegen.forms import FACTOR_FORMS, factors_of, form_of
from et_backends.codegen.kernels.integer_operands import IntegerOperands, integer_operands
from et_backends.codegen.kernels.quantization_rules import quantizes
from et_backends.codegen.kernels.quantized_operands import quantized_operands
from et_backends.codegen.passes.expand_dynamic_quantization import expand_dynamic
from et_backends.codegen.passes.expand_row_quantization import expand_channels, expand_rows
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ops.dtypes import U8

__all__ = ["copy_factors"]

OFFSET = 128
_LIMITS = ("scale", "zero_point", "quant_min", "quant_max")


def copy_factors(block: Block) -> None:
    """Give each product of bytes ops of its own that dequantize its operands, the activation without a sign."""
    for op in list(block.ops):
        if not isinstance(op, SchemaOp) or form_of(op) not in FACTOR_FORMS:
            continue
        found = integer_operands(op)
        if found is None:
            by_weights = quantized_operands(op)
            assert by_weights is not None
            _drop_zero_points(block, by_weights.weight)
            if by_weights.activation is not None:
                expand_rows(block, by_weights.activation)
        elif found.quantization is None:
            expand_dynamic(block, op, found.activation)
        elif element_of(found.activation.operands[0]) != ui8:
            _move(block, found)
        for factor in factors_of(op):
            _copy(block, op, factor.results[0])
    for op in list(block.ops):
        if isinstance(op, DEQUANTIZE) and form_of(op) is None and not _is_factor(op):
            _expand(block, op)


def _is_factor(op: SchemaOp) -> bool:
    """Whether only a product reads what an op dequantizes, as it is stored."""
    users = [use.operation for use in op.results[0].uses]
    return len(users) == 1 and isinstance(users[0], SchemaOp) and op in factors_of(users[0])


def _expand(block: Block, op: SchemaOp) -> None:
    """Ops on f32 for what others read too, such as the results of a partition."""
    if "per_channel_group" in op.name or "per_token" in op.name:
        return  # The partitioner takes none of these.

    expand_channels(block, op)


def _drop_zero_points(block: Block, weight: SchemaOp) -> None:
    """Zero points of weights are 0, and may have been converted: nothing reads them."""
    points = weight.args().get("zero_points")
    if points is None:
        return
    made = type(weight).make(**{**weight.args(), "zero_points": None}, location=weight.location)
    block.insert_op_before(made, weight)
    weight.results[0].replace_all_uses_with(made.results[0])
    block.erase_op(weight)
    while isinstance(points.owner, SchemaOp) and not points.uses:
        unused = points.owner
        points = unused.operands[0]
        block.erase_op(unused)


def _copy(block: Block, op: SchemaOp, value: SSAValue) -> None:
    if value.has_one_use():
        return
    source = value.owner
    assert isinstance(source, SchemaOp)
    copy = source.clone()
    copy.location = source.location
    block.insert_op_before(copy, op)
    op.operands[list(op.operands).index(value)] = copy.results[0]


def _move(block: Block, found: IntegerOperands) -> None:
    """Make the activation of a product one of bytes without a sign."""
    dequantize = found.activation
    stored = dequantize.operands[0]
    quantize = stored.owner
    users = [use.operation for use in stored.uses]
    if (
        isinstance(quantize, QUANTIZE)
        and quantizes(quantize)
        and all(
            isinstance(user, DEQUANTIZE) and quantizes(user) and _limits(user) == _limits(quantize)
            for user in users
        )
    ):
        moved = _moved(quantize, quantize.operands[0])
        moved.results[0].name_hint = stored.name_hint
        block.insert_op_before(moved, quantize)
        for user in users:
            assert isinstance(user, SchemaOp)
            _replace(block, user, _moved(user, moved.results[0]))
        block.erase_op(quantize)
        return
    real = dequantize.clone()
    name = "quantized_decomposed.quantize_per_tensor"
    again = OP_BY_NAME[name].make(real.results[0], *_shifted(dequantize), U8)
    last = _moved(dequantize, again.results[0])
    for made in (real, again, last):
        made.location = dequantize.location
        block.insert_op_before(made, found.op)
    found.op.operands[list(found.op.operands).index(dequantize.results[0])] = last.results[0]
    if not dequantize.results[0].uses:
        block.erase_op(dequantize)


def _limits(op: SchemaOp) -> list[Any]:
    return [op.arg(name) for name in _LIMITS]


def _shifted(op: SchemaOp) -> list[Any]:
    scale, *numbers = _limits(op)
    return [scale, *(number + OFFSET for number in numbers)]


def _moved(op: SchemaOp, operand: SSAValue) -> SchemaOp:
    """The same op for bytes without a sign."""
    made = OP_BY_NAME[op.name.removeprefix("edge.")].make(operand, *_shifted(op), U8)
    made.location = op.location
    return made


def _replace(block: Block, op: SchemaOp, made: SchemaOp) -> None:
    block.insert_op_before(made, op)
    made.results[0].name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(made.results[0])
    block.erase_op(op)
