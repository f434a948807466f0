"""Loop structures of edge ops: what `native.kernel` calls its form."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.channel_convolution import MOST_REPEATED
from et_ir.backends.native.kernels.filters import is_plain
from et_ir.backends.native.kernels.moves import MOVES
from et_ir.backends.native.kernels.pointwise_rules import COMPARISONS, POINTWISE, operator_name
from et_ir.backends.native.kernels.resampling import RESAMPLING, takes_pixels
from et_ir.backends.native.kernels.rows import ROWS
from et_ir.backends.native.kernels.shuffle import SHUFFLES
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import sizes_of, tensor_type

__all__ = ["SPATIAL", "VIEWS", "form_of", "is_comparison", "is_depthwise", "is_index", "packed_argument"]

VIEWS: Final = frozenset(
    {
        "clone",
        "dim_order_ops._clone_dim_order",
        "dim_order_ops._to_dim_order_copy",
        "permute_copy",
        "squeeze_copy.dim",
        "squeeze_copy.dims",
        "t_copy",
        "transpose_copy.int",
        "unsqueeze_copy",
        "view_copy",
    }
)
"""Operators that compute nothing: their results are views of memory, in some order of dimensions."""

SPATIAL: Final = frozenset(
    {
        "channel_convolution",
        "convolution",
        "depthwise",
        "filter_convolution",
        "pool",
        "resample",
        "shuffle",
        "winograd_2",
        "winograd_4",
    }
)
"""Forms of kernels that read and write images with channels innermost."""

_PRODUCTS: Final = frozenset({"addmm", "bmm", "linear", "mm"})
_POOLS: Final = frozenset({"avg_pool2d", "max_pool2d_with_indices"})


def form_of(op: SchemaOp) -> str | None:
    """The form of a kernel that computes an op, None for `VIEWS` and what there is no code for."""
    name = operator_name(op)
    if name == "pow.Scalar" and float(op.arg("self")) <= 0:
        return None
    if name in POINTWISE or (is_comparison(op) and _only_selects(op)):
        return "pointwise"
    if name in _PRODUCTS:
        # Panels are packed from constants; what reads a matrix by columns otherwise is a view and a product.
        return "product" if name != "linear" or _is_constant(op.arg("weight")) else None
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
    if name in RESAMPLING or takes_pixels(op):
        return "resample" if not any(result.uses for result in op.results[1:]) else None
    if name in MOVES and _is_step_of_one(op):
        return "move"
    # Statistics that a normalization has beside its result are not made.
    if name in ROWS and not any(result.uses for result in op.results[1:]):
        return "rows"
    return None


def is_comparison(op: SchemaOp) -> bool:
    """Whether the result is a mask, which no buffer holds."""
    return operator_name(op) in COMPARISONS


def _only_selects(op: SchemaOp) -> bool:
    """Whether a mask is read by selections of its own shape alone, in whose kernels it is computed."""
    shape = sizes_of(tensor_type(op.results[0]))
    return all(
        isinstance(use.operation, SchemaOp)
        and operator_name(use.operation) == "where.self"
        and use.index == 0
        and sizes_of(tensor_type(use.operation.results[0])) == shape
        for use in op.results[0].uses
    )


def packed_argument(op: SchemaOp) -> SSAValue | None:
    """The operand that kernels read packed where it is a constant."""
    match operator_name(op):
        case "mm" | "linear":
            return op.operands[1]
        case "addmm":
            return op.operands[2]
        case "convolution":
            return op.arg("weight")
        case _:
            return None


def is_index(op: SchemaOp, number: int) -> bool:
    """Whether an operand names places, which tables are made of when the program is compiled."""
    return operator_name(op) == "index.Tensor" and number > 0


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
    )
    return (
        len(shape) == 4
        and not op.arg("transposed")
        and literal
        and _is_constant(weight)
        and (op.arg("bias") is None or _is_constant(op.arg("bias")))
        and (int(op.arg("groups")) == 1 or is_depthwise(op))
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
