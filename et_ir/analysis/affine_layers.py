"""Layers that are affine in each output channel: convolutions and matrix products with constant weights.

What scales and shifts each channel of their result can be computed into their weight and bias.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from et_ir.data import Blob
from et_ir.dialects.counterparts import forms, sibling
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import Array, array_of, bytes_of, numpy_dtype
from et_ir.locations import fused_location

__all__ = ["Layers", "Normalisation", "Weight", "doubles"]

_CONVOLUTIONS = forms(
    "conv1d", "conv1d.padding", "conv2d", "conv2d.padding", "conv3d", "conv3d.padding", "convolution"
)
_TRANSPOSED = forms("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
_LINEAR = forms("linear")
_ADDMM = forms("addmm")
_MM = forms("mm")
_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
_BLOCK = 1 << 15
"""Elements in double precision at once, about as many as a processor's cache holds."""


class Normalisation(NamedTuple):
    """The constants of a batch norm, by channel, as functions that compute them in double precision."""

    scale: Callable[[], Array]
    mean: Callable[[], Array]
    shift: Callable[[], Array]
    shifts: bool = True
    """Whether mean and shift are more than zeros: a layer without a bias needs none otherwise."""


class Weight(NamedTuple):
    """A weight, and how a factor per output channel multiplies it."""

    symbol: GlobalOp
    scaled: Callable[[Array, Array], Array]
    transposed: SchemaOp | None = None
    """The op that transposes the weight for its user."""


class Layers:
    """The layers of a module, and what makes new ones of them."""

    def __init__(self, module: ModuleOp):
        self.globals = Globals(module)

    def constant(self, value: SSAValue | None) -> GlobalOp | None:
        """The symbol of a floating-point constant whose bytes are loaded."""
        found = None if value is None else self.globals.constant_of(value)
        if found is None or found.value is None or not found.value.blob.is_resolved:
            return None
        return found if element_type_name(found.type.element_type) in _FLOATS else None

    def weight(self, producer: SchemaOp) -> Weight | None:
        """The constant weight of a layer; `None` for what is no layer, or has another."""
        if isinstance(producer, (*_CONVOLUTIONS, *_TRANSPOSED)):
            symbol = self.constant(producer.arg("weight"))
            groups = producer.arg("groups")
            if symbol is None or not isinstance(groups, int):
                return None
            transposed = isinstance(producer, _TRANSPOSED) or (
                "transposed" in producer.properties and bool(producer.arg("transposed"))
            )
            return Weight(symbol, _input_first(groups) if transposed else _rows)
        # With more dimensions than two, channels are not what a matrix product's columns are.
        if tensor_type(producer.results[0]).get_num_dims() != 2:
            return None
        if isinstance(producer, _LINEAR):
            symbol = self.constant(producer.arg("weight"))
            return None if symbol is None else Weight(symbol, _rows)
        if isinstance(producer, (*_ADDMM, *_MM)):
            matrix: SSAValue = producer.arg("mat2")
            symbol = self.constant(matrix)
            if symbol is not None:
                return Weight(symbol, _columns)
            transpose = matrix.owner
            if isinstance(transpose, SchemaOp) and transpose.operator.view_form in (
                "permute",
                "t",
                "transpose.int",
            ):
                symbol = self.constant(transpose.operands[0])
                swapped = tensor_type(matrix).get_shape() == _reversed_shape(transpose.operands[0])
                if symbol is not None and swapped and _swaps(transpose):
                    return Weight(symbol, _rows, transpose)
        return None

    def bias(self, producer: SchemaOp) -> tuple[GlobalOp | None] | None:
        """The constant that the producer adds, `(None,)` where it adds none; `None` if it adds anything else."""
        if isinstance(producer, _MM):
            return (None,)
        if isinstance(producer, _ADDMM):
            if producer.arg("alpha") != 1 or producer.arg("beta") != 1:
                return None
            value: SSAValue | None = producer.arg("self")
        else:
            value = producer.arg("bias")
        if value is None:
            return (None,)
        found = self.constant(value)
        channels = tensor_type(producer.results[0]).get_shape()[1]
        return (
            (found,) if found is not None and found.type.get_shape() in ((channels,), (1, channels)) else None
        )

    def replace(
        self,
        op: SchemaOp,
        producer: SchemaOp,
        norm: Normalisation,
        weight: Weight,
        bias: GlobalOp | None,
        suffix: str,
        rewriter: PatternRewriter,
    ) -> None:
        """Replace an op by the layer in front of it, with a weight and a bias of its own that have a suffix."""
        source = weight.symbol

        def new_weight() -> Array:
            return weight.scaled(_array(source), norm.scale())

        def first_rows(count: int) -> Array:
            return _rows(_array(source)[:count], norm.scale()[:count])

        def new_bias() -> Array:
            before = 0.0 if bias is None else doubles(bias).reshape(-1)
            return (before - norm.mean()) * norm.scale() + norm.shift()

        channels = tensor_type(op.results[0]).get_shape()[1]
        bias_type = TensorType(source.type.element_type, [channels])
        if bias is not None:
            bias_name = _named(bias.key, suffix)
        else:
            bias_name = (
                f"{source.key.removesuffix('weight')}bias"
                if source.key.endswith("weight")
                else f"{source.key}_bias"
            )
        first = first_rows if weight.scaled is _rows else None
        new_w = self._add(_named(source.key, suffix), source.type, new_weight, producer, rewriter, first)
        has_bias = bias is not None or norm.shifts
        new_b = self._add(bias_name, bias_type, new_bias, producer, rewriter) if has_bias else None
        if weight.transposed is not None:
            transpose = weight.transposed
            again = type(transpose).create(
                operands=[new_w],
                result_types=[r.type for r in transpose.results],
                properties=transpose.properties,
            )
            new_w = rewriter.insert(again, InsertPoint.before(producer)).results[0]
        arguments = producer.args()
        cls = type(producer)
        if isinstance(producer, _MM) and has_bias:
            cls, arguments = sibling(producer, "addmm"), {"mat1": arguments["self"]}
        if isinstance(producer, _MM) and not has_bias:
            arguments |= {"mat2": new_w}
        elif isinstance(producer, (*_MM, *_ADDMM)):
            arguments |= {"self": new_b, "mat2": new_w}
        else:
            arguments |= {"weight": new_w, "bias": new_b}
        made = cls.make(
            **arguments,
            result_types=[op.results[0].type],
            location=fused_location([producer.location, op.location]),
        )
        rewriter.insert(made, InsertPoint.before(producer))
        rewriter.replace(op, [], [made.results[0], *[None] * (len(op.results) - 1)])
        rewriter.erase(producer)

    def _add(
        self,
        name: str,
        type: TensorType[Attribute],
        compute: Callable[[], Array],
        near: Operation,
        rewriter: PatternRewriter,
        first_rows: Callable[[int], Array] | None = None,
    ) -> SSAValue:
        """A constant of the program that is computed when its bytes are needed, read in front of an op.

        `first_rows` computes so many entries of the outermost dimension alone, or all there are.
        """
        shape = type.get_shape()
        count = prod(shape)
        dtype = numpy_dtype(type.element_type)

        def data() -> memoryview:
            return bytes_of(compute().astype(dtype, copy=False), type)

        def begin(nbytes: int) -> bytes:
            assert first_rows is not None
            row = count // shape[0] * dtype.itemsize
            return first_rows(-(-nbytes // row)).astype(dtype, copy=False).tobytes()[:nbytes]

        by_rows = first_rows is not None and count and dim_order_of(type) == contiguous(len(shape))
        blob = Blob.derived(name, count * dtype.itemsize, data, begin=begin if by_rows else None)
        symbol = self.globals.add_constant(name, type, blob)
        symbol.location = near.location
        get = GetOp(symbol.key, type)
        get.location = near.location
        return rewriter.insert(get, InsertPoint.before(near)).result


def doubles(symbol: GlobalOp) -> Array:
    return _array(symbol).astype(np.float64)


def _array(symbol: GlobalOp) -> Array:
    assert symbol.value is not None
    return array_of(symbol.type, symbol.value.blob)


def _named(name: str, suffix: str) -> str:
    """The name of a constant with a suffix, once."""
    return f"{re.sub(rf'_{suffix}(_[0-9]+)?$', '', name)}_{suffix}"


def _rows(weight: Array, scale: Array) -> Array:
    """Output channels first, as convolutions and `linear` have them."""
    return _scaled(weight, scale.reshape(-1, *(1,) * (weight.ndim - 1)))


def _columns(weight: Array, scale: Array) -> Array:
    return _scaled(weight, scale)


def _scaled(weight: Array, factors: Array) -> Array:
    """A weight times factors in double precision, rounded once; a block of rows at a time is in double precision."""
    made = np.empty(weight.shape, weight.dtype)
    by_row = factors.ndim == weight.ndim and len(factors) > 1
    rows = max(1, _BLOCK // max(1, prod(weight.shape[1:])))
    doubles = np.empty((min(rows, len(weight)), *weight.shape[1:]))
    for first in range(0, len(weight), rows):
        block = weight[first : first + rows]
        product = doubles[: len(block)]
        product[...] = block
        product *= factors[first : first + rows] if by_row else factors
        made[first : first + rows] = product
    return made


def _input_first(groups: int) -> Callable[[Array, Array], Array]:
    """Input channels first, output channels of one group second, as transposed convolutions have them."""

    def scaled(weight: Array, scale: Array) -> Array:
        grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        factors = scale.reshape(groups, 1, weight.shape[1], *(1,) * (weight.ndim - 2))
        return _scaled(grouped, factors).reshape(weight.shape)

    return scaled


def _reversed_shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()[::-1]


def _swaps(transpose: SchemaOp) -> bool:
    """Whether a permutation of a matrix is its transpose."""
    if transpose.operator.view_form == "permute":
        return [dim % 2 for dim in transpose.arg("dims")] == [1, 0]
    if transpose.operator.view_form == "transpose.int":
        return transpose.arg("dim0") % 2 != transpose.arg("dim1") % 2
    return True
