"""Loop structures of edge ops: what `native.kernel` calls its form."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import ELEMENTS, MOVED, element_of, i8
from et_backends.codegen.kernels.channel_convolution import MOST_REPEATED
from et_backends.codegen.kernels.filters import is_plain
from et_backends.codegen.kernels.gathers import GATHERS, SCATTERS, is_taken
from et_backends.codegen.kernels.grid_sample import GRID_SAMPLES
from et_backends.codegen.kernels.grid_sample import is_taken as is_grid_sample_taken
from et_backends.codegen.kernels.integer_operands import integer_operands
from et_backends.codegen.kernels.moves import MOVES
from et_backends.codegen.kernels.pointwise_rules import anchor_of, is_pointwise, operator_name, rule_of
from et_backends.codegen.kernels.quantized_operands import quantized_operands
from et_backends.codegen.kernels.resampling import RESAMPLING, takes_pixels
from et_backends.codegen.kernels.rows import ROWS, takes_elements
from et_backends.codegen.kernels.scans import SCANS
from et_backends.codegen.kernels.scans import is_taken as is_scan_taken
from et_backends.codegen.kernels.shuffle import SHUFFLES
from et_backends.codegen.kernels.sorts import SORTS
from et_backends.codegen.kernels.sorts import is_taken as is_sort_taken
from et_backends.codegen.kernels.windows import window_of
from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name, ui8
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ops.library import rearranging_copies

__all__ = [
    "BATCH_NORM",
    "FACTOR_FORMS",
    "INTEGER_FORMS",
    "SPATIAL",
    "VIEWS",
    "element_refusal",
    "factors_of",
    "form_of",
    "form_of_operator",
    "has_expansion",
    "is_depthwise",
    "is_read_packed",
    "is_view",
    "packed_argument",
]

VIEWS: Final = rearranging_copies() | {
    "clone",
    "dim_order_ops._clone_dim_order",
    "dim_order_ops._to_dim_order_copy",
}
"""Operators that compute nothing: their results are views of memory, in some order of dimensions."""

SPATIAL: Final = frozenset(
    {
        "bands",
        "channel_convolution",
        "convolution",
        "depthwise",
        "filter_convolution",
        "grid_sample",
        "integer_convolution",
        "integer_depthwise",
        "integer_point",
        "pool",
        "resample",
        "shuffle",
        "winograd_2",
        "winograd_4",
    }
)
"""Forms of kernels that read and write images with channels innermost."""

INTEGER_FORMS: Final = frozenset(
    {"integer_convolution", "integer_depthwise", "integer_point", "integer_product"}
)
"""Forms of kernels whose products are of bytes, with one scale and zero point for all activations."""

QUANTIZED_PRODUCT: Final = "quantized_product"
"""The form of kernels that multiply floats, or rows of bytes, by quantized weights."""

FACTOR_FORMS: Final = INTEGER_FORMS | {QUANTIZED_PRODUCT}
"""Forms of kernels that dequantize operands in registers."""

_FLOAT_FORMS: Final = (SPATIAL | {"grouped_product", "pad", "product"}) - {"bands"} - INTEGER_FORMS
"""Forms of kernels that compute on f32 only."""

_MOVING_FORMS: Final = frozenset({"gather", "move", "pointwise", "scatter"})
"""Forms of kernels that take all element types which are moved, if there is a rule for them."""

BATCH_NORM: Final = "_native_batch_norm_legit_no_training"

_STATISTICS: Final = ("native_group_norm", "native_layer_norm")
"""Operators whose second and third results are means and reciprocals of deviations."""

_PRODUCTS: Final = frozenset({"addmm", "bmm", "linear", "mm"})
_POOLS: Final = frozenset({"avg_pool2d", "max_pool2d_with_indices"})


def is_view(op: SchemaOp) -> bool:
    """Whether an op computes nothing: one of `VIEWS` whose elements stay what they are."""
    return operator_name(op) in VIEWS and element_of(op.results[0]) == element_of(op.operands[0])


def form_of(op: SchemaOp) -> str | None:
    """The form of a kernel that computes an op, None for `VIEWS` and what there is no code for."""
    form = form_of_operator(op)
    return None if form is None or element_refusal(op, form) else form


def element_refusal(op: SchemaOp, form: str | None) -> str | None:
    """Why an op is not computed for the element types that it has, in the form that its operator has."""
    read = [value for value in op.operands if is_tensor(value.type)]
    if form == "resample":
        read = read[:1]  # what follows are places, which tables are made of when the program is compiled
    if form == "grouped_product":
        read = read[:2]  # what follows are numbers of rows
    used = [result for result in op.results if result.uses] or [op.results[0]]
    if form in ("integer_product", QUANTIZED_PRODUCT):
        read = []  # Products of bytes are recognized by what their operands are made of.
    takes = MOVED if form is None or form in _MOVING_FORMS else ELEMENTS
    if form in _FLOAT_FORMS or operator_name(op) == BATCH_NORM:
        takes = (f32,)
    if operator_name(op) == "max_pool2d_with_indices" and tensor_type(op.operands[0]).has_static_shape():
        takes = (ui8, i8, f32)
    for value in (*read, *used):
        element = element_of(value)
        if element not in takes:
            return f"{element_type_name(element)}, it takes {', '.join(map(element_type_name, takes))}"
    if (
        (form == "pointwise" and rule_of(op) is None and operator_name(op) != BATCH_NORM)
        or (form == "rows" and not takes_elements(op))
        or (form == "scan" and not is_scan_taken(op))
    ):
        given = ", ".join(element_type_name(element_of(value)) for value in read)
        return f"no rule for {given}"
    return None


def form_of_operator(op: SchemaOp) -> str | None:
    """The form of kernels of an operator, whatever the element types."""
    name = operator_name(op)
    if is_view(op):
        return None
    found = _integer_form(op) or _quantized_form(op)
    if found is not None:
        return found
    if name == "pow.Scalar" and float(op.arg("self")) <= 0:
        return None
    if is_pointwise(op):
        return "pointwise"
    if name in _PRODUCTS:
        # Panels are packed from constants; what reads a matrix by columns otherwise is a view and a product.
        return "product" if name != "linear" or _is_constant(op.arg("weight")) else None
    if name == "grouped.linear":
        has_groups = tensor_type(op.arg("ends")).has_static_shape()
        return "grouped_product" if has_groups and _is_constant(op.arg("weight")) else None
    if name == "convolution" and _is_taken(op):
        return "depthwise" if is_depthwise(op) else "convolution"
    if name == "convolution" and is_plain(op):
        return "channel_convolution" if _repeats_channels(op) else "filter_convolution"
    if name in SHUFFLES:
        return "shuffle"
    if name == "constant_pad_nd" and not isinstance(op.arg("value"), SSAValue):
        return "pad" if not any(isinstance(one, SSAValue) for one in op.arg("pad")) else None
    if name in _POOLS:
        return "pool" if all(not result.uses for result in op.results[1:]) else None
    if name in RESAMPLING or (takes_pixels(op) and element_of(op.operands[0]) == f32):
        return "resample" if not any(result.uses for result in op.results[1:]) else None
    if name in GRID_SAMPLES:
        return "grid_sample" if is_grid_sample_taken(op) else None
    if name in MOVES and _is_step_of_one(op):
        return "move"
    if name == BATCH_NORM and has_expansion(op):
        return "pointwise"
    if (name in GATHERS or name in SCATTERS) and is_taken(op):
        return "gather" if name in GATHERS else "scatter"
    if name in SCANS:
        return "scan"
    if name in SORTS:
        return "sort" if is_sort_taken(op) else None
    # Statistics that a normalization has beside its result are made by other kernels.
    if name in ROWS and (has_expansion(op) or not any(result.uses for result in op.results[1:])):
        return "rows"
    return None


def _integer_form(op: SchemaOp) -> str | None:
    """The form of products of quantized numbers; None for other ops."""
    found = integer_operands(op)
    if found is None:
        return None
    if op.name == "edge.linear":
        return "integer_product"
    if is_depthwise(op):
        return "integer_depthwise"
    return "integer_point" if window_of(op).is_point else "integer_convolution"


def _quantized_form(op: SchemaOp) -> str | None:
    """The form of products of quantized weights with floats, or with rows of bytes; None for other ops."""
    return None if quantized_operands(op) is None else QUANTIZED_PRODUCT


def factors_of(op: SchemaOp) -> tuple[SchemaOp, ...]:
    """The ops that dequantize what a product reads as it is stored; none where an op is no such product."""
    if form_of(op) not in FACTOR_FORMS:
        return ()
    found = integer_operands(op)
    if found is not None:
        return found.activation, found.weight
    by_weights = quantized_operands(op)
    assert by_weights is not None
    return tuple(filter(None, (by_weights.activation, by_weights.weight)))


def has_expansion(op: SchemaOp) -> bool:
    """Whether other ops take the place of a normalization before kernels are formed, or make its statistics."""
    name = operator_name(op)
    if name == BATCH_NORM:
        return not any(result.uses for result in op.results[1:])
    return name in _STATISTICS and tensor_type(op.operands[0]).has_static_shape()


def packed_argument(op: SchemaOp) -> SSAValue | None:
    """The operand that kernels read packed where it is a constant."""
    match operator_name(op):
        case "mm" | "linear" | "grouped.linear":
            return op.operands[1]
        case "addmm":
            return op.operands[2]
        case "convolution":
            return op.arg("weight")
        case _:
            return None


def is_read_packed(kernel: KernelOp, number: int) -> bool:
    """Whether a kernel reads an input packed only, if it is a constant: a matrix, filters, or places of pixels."""
    argument = kernel.body.block.args[number]
    return all(
        (
            isinstance(use.operation, SchemaOp)
            and (
                packed_argument(use.operation) is argument
                or (
                    kernel.form.data == "resample"
                    and operator_name(use.operation) == "index.Tensor"
                    and use.index > 0
                )
            )
        )
        or (isinstance(use.operation, KernelOp) and is_read_packed(use.operation, use.index))
        or (kernel.form.data in FACTOR_FORMS and _is_factor(kernel, use.operation))
        for use in argument.uses
    )


def _is_factor(kernel: KernelOp, op: Operation) -> bool:
    """Whether an op dequantizes an operand of the product of a kernel, or is it and has its bias packed."""
    anchor = anchor_of(kernel)
    return (op is anchor and kernel.form.data in INTEGER_FORMS) or (
        isinstance(op, DEQUANTIZE) and all(use.operation is anchor for use in op.results[0].uses)
    )


def is_depthwise(op: SchemaOp) -> bool:
    """Whether each channel of a convolution's result is computed from one channel of its input."""
    weight = tensor_type(op.arg("weight")).get_shape()
    return int(op.arg("groups")) > 1 and weight[1] == 1 and weight[0] == int(op.arg("groups"))


def _is_taken(op: SchemaOp) -> bool:
    """Whether there is code for a convolution: of images, all channels or each by itself, constant filters."""
    weight: SSAValue = op.arg("weight")
    shape = tensor_type(weight).get_shape()
    literal = not any(
        isinstance(one, SSAValue) for name in ("stride", "padding", "dilation") for one in op.arg(name)
    ) and not isinstance(op.arg("groups"), SSAValue)
    return (
        len(shape) == 4
        and not op.arg("transposed")
        and literal
        and _is_constant(weight)
        and (op.arg("bias") is None or _is_constant(op.arg("bias")))
        and (
            int(op.arg("groups")) == 1
            or is_depthwise(op)
            or not tensor_type(op.arg("input")).has_static_shape()
        )
    )


def _repeats_channels(op: SchemaOp) -> bool:
    """Whether a group of a convolution reads one channel, and makes few of it."""
    groups = int(op.arg("groups"))
    channels = tensor_type(op.arg("input")).get_shape()[1]
    columns = tensor_type(op.results[0]).get_shape()[1]
    return groups == channels > 1 and columns // groups <= MOST_REPEATED


def _is_step_of_one(op: SchemaOp) -> bool:
    """Whether an op that moves elements takes neighbors."""
    return operator_name(op) != "slice_copy.Tensor" or op.arg("step") == 1


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, GetOp)
