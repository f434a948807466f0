"""Means, sums, maxima and softmax: what takes all elements along a dimension."""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.rules.pooling import KEEP_DIMS
from et_backends.xnnpack.compiler.rules.products import rows_with_last
from et_backends.xnnpack.compiler.rules.rule import Rule, axis, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNArgMaxPooling2d,
    XNNFullyConnected,
    XNNGlobalAvgPooling2d,
    XNNMaxPooling2d,
    XNNSoftmax,
    XNNStaticReshape,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_ir.analysis.dim_orders import NHWC, Order, in_order, straight
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["RULES"]


def _dims(op: SchemaOp) -> list[int]:
    rank = len(shape_of(op.operands[0]))
    given = op.arg("dim")
    return sorted(axis(dim, rank) for dim in given) if given else list(range(rank))


def _mean(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    dims = _dims(op)
    if len(dims) == 2:
        order: Order = NHWC
    else:
        order = rows_with_last(t, x, dims[0])
    sizes = in_order([1 if dim in dims else size for dim, size in enumerate(t.sizes(x))], order)
    source = t.read(x, order)
    keep = bool(op.arg("keepdim"))
    made = t.write(op.result, order) if keep else t.temporary(op.result, sizes)
    if len(dims) == 2:
        t.node(XNNGlobalAvgPooling2d(input_id=source, output_id=made, flags=KEEP_DIMS), op)
    else:
        # A product with a row of equal weights: there is no node that reduces a dimension of any tensor.
        count = shape_of(x)[dims[0]]
        weight = 1.0 if op.name.endswith("sum.dim_IntList") else 1.0 / count
        filter_id = t.equal_weights(count, weight, x)
        node = XNNFullyConnected(input1_id=source, filter_id=filter_id, bias_id=NO_VALUE, output_id=made)
        t.node(node, op)
    if not keep:
        kept = tuple(dim - sum(gone < dim for gone in dims) for dim in order if dim not in dims)
        shape = [max(size, 0) for size in in_order(shape_of(op.result), kept)]
        last = t.write(op.result, kept)
        t.node(XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=made, output_id=last), op)


def _refuse_mean(op: SchemaOp) -> Diagnostic | None:
    dims, shape = _dims(op), shape_of(op.operands[0])
    if op.name.endswith("mean.dim") and len(shape) == 4 and dims == [2, 3]:
        pass
    elif len(dims) != 1 or len(shape) < 2:
        return Diagnostic("more than one dimension", f"{dims} of {len(shape)}")
    elif shape[dims[0]] < 0:
        return Diagnostic("reduces a dynamic dimension", str(op.operand_types[0]))
    if not op.arg("keepdim") and sum(size < 0 for size in shape_of(op.result)) > 1:
        return Diagnostic("more than one dynamic size", str(op.result.type))
    return None


def _softmax(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    order = rows_with_last(t, x, axis(op.arg("dim"), len(shape_of(x))))
    source = t.read(x, order)
    t.node(XNNSoftmax(input_id=source, output_id=t.write(op.result, order)), op)


def _maximum(t: Translation, op: SchemaOp) -> None:
    """The largest along a dimension is a pool over columns: rows outside, the last other dimension as channels."""
    x = op.operands[0]
    (dim,) = _maximum_dims(op)
    rank = len(shape_of(x))
    *outer, last = (one for one in range(rank) if one != dim)
    order = (*outer, dim, last)
    sizes = t.sizes(x)
    rows, count, channels = prod(sizes[one] for one in outer), sizes[dim], sizes[last]
    source = t.read(x, order)
    image = t.temporary(x, [rows, count, 1, channels])
    known = [0 if min(shape_of(x)[one] for one in outer or [dim]) < 0 else rows, count, 1, channels]
    t.node(XNNStaticReshape(num_dims=4, new_shape=known, input_id=source, output_id=image), op)
    pooled = t.temporary(x, [rows, 1, 1, channels])
    if _uses_places(op):
        places = t.temporary(op.results[1], [rows, 1, 1, channels])
        node = XNNArgMaxPooling2d(
            pooling_height=count,
            pooling_width=1,
            input_id=image,
            output_value_id=pooled,
            output_index_id=places,
        )
        t.node(node, op)
        _write_maximum(t, op, places, op.results[1])
    else:
        t.node(_max_pool(count, image, pooled), op)
    _write_maximum(t, op, pooled, op.results[0])


def _max_pool(count: int, image: int, pooled: int) -> XNNMaxPooling2d:
    return XNNMaxPooling2d(
        pooling_height=count,
        pooling_width=1,
        stride_height=count,
        stride_width=1,
        dilation_height=1,
        dilation_width=1,
        input_id=image,
        output_id=pooled,
        flags=KEEP_DIMS,
    )


def _write_maximum(t: Translation, op: SchemaOp, pooled: int, result: SSAValue) -> None:
    """Give what was pooled, which has rows and channels, the shape of a result."""
    order = _order_of_maximum(op, result)
    shape = [max(size, 0) for size in in_order(shape_of(result), order)]
    made = t.write(result, order)
    t.node(XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=pooled, output_id=made), op)


def _order_of_maximum(op: SchemaOp, result: SSAValue) -> Order:
    """The order of a result in the memory that is there: that of its type if only the dimension that has one element
    is not in its place.
    """
    (dim,) = _maximum_dims(op)
    rank = len(shape_of(result))
    wanted = dim_order_of(tensor_type(result))
    gone = dim if op.arg("keepdim") else -1
    moving = [one for one in wanted if one != gone]
    return wanted if moving == sorted(moving) else straight(rank)


def _uses_places(op: SchemaOp) -> bool:
    return any(result.uses for result in op.results[1:])


def _maximum_dims(op: SchemaOp) -> list[int]:
    given = op.arg("dim")
    rank = len(shape_of(op.operands[0]))
    return [axis(one, rank) for one in ([given] if isinstance(given, int) else given)]


def _refuse_maximum(op: SchemaOp) -> Diagnostic | None:
    if _uses_places(op):
        values, places = op.results
        if not values.uses:
            return Diagnostic("only its indices are used")
        if tensor_type(values).element_type != f32:
            return Diagnostic("its indices are used", "of f16")
        if _order_of_maximum(op, places) != dim_order_of(tensor_type(places)):
            return Diagnostic("its indices are used", "with the dimensions in another order")
    shape, dims = shape_of(op.operands[0]), _maximum_dims(op)
    if len(dims) != 1 or len(shape) < 2:
        return Diagnostic("reduces other than one of several dimensions", f"{dims} of {len(shape)}")
    others = [size for dim, size in enumerate(shape) if dim != dims[0]]
    if shape[dims[0]] < 0 or others[-1] < 0 or sum(size < 0 for size in others) > 1:
        return Diagnostic("dynamic sizes", str(op.operand_types[0]))
    if shape[dims[0]] == 1:
        return Diagnostic("window of one element")
    return None


RULES: Final = {
    "_softmax": Rule(_softmax),
    "amax": Rule(_maximum, _refuse_maximum),
    "max.dim": Rule(_maximum, _refuse_maximum, places=(1,)),
    "mean.dim": Rule(_mean, _refuse_mean),
    "sum.dim_IntList": Rule(_mean, _refuse_mean),
}
