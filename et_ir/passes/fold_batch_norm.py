"""Fold batch normalisation with constant statistics into the convolution or matrix product in front of it.

```mlir
%1 = aten.convolution %x, %w, %b {…} : (…) -> tensor<1x8x4x4xf32>                                        // before
%2, %m, %r = aten._native_batch_norm_legit_no_training %1, %gamma, %beta, %mean, %var {momentum = 0.1, eps = 1e-05} : …

%2 = aten.convolution %x, %w2, %b2 {…} : (…) -> tensor<1x8x4x4xf32>                                      // after
```

With `s = gamma / sqrt(var + eps)` per output channel, the new weight is `w * s` and the new bias `(b - mean) * s +
beta`, both computed in double precision when their bytes are needed. The producer must have no other user; convolutions
of any rank and direction, `linear`, and `addmm` or `mm` with a constant second matrix, plain or transposed, are folded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.data import Blob
from et_ir.dialects.aten.generated import ops as aten
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import Array, array_of, bytes_of, numpy_dtype
from et_ir.passes.counterparts import forms, operator_name, sibling
from et_ir.passes.rewriting import rewrite

__all__ = ["FoldBatchNormPass"]

_CONVOLUTIONS = forms(
    "conv1d", "conv1d.padding", "conv2d", "conv2d.padding", "conv3d", "conv3d.padding", "convolution"
)
_TRANSPOSED = forms("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
_LINEAR = forms("linear")
_ADDMM = forms("addmm")
_MM = forms("mm")
_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})


class _Normalisation(NamedTuple):
    """The constants of a batch norm, by channel, as functions that compute them in double precision."""

    scale: Callable[[], Array]
    mean: Callable[[], Array]
    shift: Callable[[], Array]


class _Weight(NamedTuple):
    """A weight, and how a factor per output channel multiplies it."""

    symbol: GlobalOp
    scaled: Callable[[Array, Array], Array]
    transposed: SchemaOp | None = None
    """The op that transposes the weight for its user."""


class FoldIntoProducer(RewritePattern):
    """Folds one batch norm."""

    roots = (*forms("_native_batch_norm_legit_no_training"), aten.BatchNormOp)

    def __init__(self, module: ModuleOp):
        self.globals = Globals(module)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        producer = op.operands[0].owner
        if not isinstance(producer, SchemaOp) or not op.operands[0].has_one_use():
            return
        if any(result.first_use is not None for result in op.results[1:]):
            return
        if isinstance(op, aten.BatchNormOp) and op.arg("training"):
            return
        norm = self._normalisation(op)
        weight = self._weight(producer)
        if norm is None or weight is None:
            return
        bias = self._bias(producer)
        if bias is None:
            return
        self._replace(op, producer, norm, weight, bias[0], rewriter)

    # -- matching

    def _constant(self, value: SSAValue | None) -> GlobalOp | None:
        """The symbol of a floating-point constant whose bytes are loaded."""
        found = None if value is None else self.globals.constant_of(value)
        if found is None or found.value is None or not found.value.blob.is_resolved:
            return None
        return found if str(found.type.element_type) in _FLOATS else None

    def _normalisation(self, op: SchemaOp) -> _Normalisation | None:
        mean, variance = self._constant(op.arg("running_mean")), self._constant(op.arg("running_var"))
        gamma, beta = self._constant(op.arg("weight")), self._constant(op.arg("bias"))
        if mean is None or variance is None:
            return None
        if (gamma is None) != (op.arg("weight") is None) or (beta is None) != (op.arg("bias") is None):
            return None
        eps: float = op.arg("eps")

        def scale() -> Array:
            factor = 1.0 / np.sqrt(_doubles(variance) + eps)
            return factor if gamma is None else factor * _doubles(gamma)

        def shift() -> Array:
            return np.zeros(mean.type.get_shape()) if beta is None else _doubles(beta)

        return _Normalisation(scale, lambda: _doubles(mean), shift)

    def _weight(self, producer: SchemaOp) -> _Weight | None:
        if isinstance(producer, (*_CONVOLUTIONS, *_TRANSPOSED)):
            symbol = self._constant(producer.arg("weight"))
            groups = producer.arg("groups")
            if symbol is None or not isinstance(groups, int):
                return None
            transposed = isinstance(producer, _TRANSPOSED) or (
                "transposed" in producer.properties and bool(producer.arg("transposed"))
            )
            return _Weight(symbol, _input_first(groups) if transposed else _rows)
        # With more dimensions than two, channels are not what a matrix product's columns are.
        if tensor_type(producer.results[0]).get_num_dims() != 2:
            return None
        if isinstance(producer, _LINEAR):
            symbol = self._constant(producer.arg("weight"))
            return None if symbol is None else _Weight(symbol, _rows)
        if isinstance(producer, (*_ADDMM, *_MM)):
            matrix: SSAValue = producer.arg("mat2")
            symbol = self._constant(matrix)
            if symbol is not None:
                return _Weight(symbol, _columns)
            transpose = matrix.owner
            if isinstance(transpose, SchemaOp) and operator_name(type(transpose)) in (
                "permute",
                "t",
                "transpose.int",
            ):
                symbol = self._constant(transpose.operands[0])
                swapped = tensor_type(matrix).get_shape() == _reversed_shape(transpose.operands[0])
                if symbol is not None and swapped and _swaps(transpose):
                    return _Weight(symbol, _rows, transpose)
        return None

    def _bias(self, producer: SchemaOp) -> tuple[GlobalOp | None] | None:
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
        found = self._constant(value)
        channels = tensor_type(producer.results[0]).get_shape()[1]
        return (
            (found,) if found is not None and found.type.get_shape() in ((channels,), (1, channels)) else None
        )

    # -- rewriting

    def _replace(
        self,
        op: SchemaOp,
        producer: SchemaOp,
        norm: _Normalisation,
        weight: _Weight,
        bias: GlobalOp | None,
        rewriter: PatternRewriter,
    ) -> None:
        source = weight.symbol

        def new_weight() -> Array:
            return weight.scaled(_doubles(source), norm.scale())

        def new_bias() -> Array:
            before = 0.0 if bias is None else _doubles(bias).reshape(-1)
            return (before - norm.mean()) * norm.scale() + norm.shift()

        channels = tensor_type(op.results[0]).get_shape()[1]
        bias_type = TensorType(source.type.element_type, [channels])
        if bias is not None:
            bias_name = f"{bias.key}_batch_norm"
        else:
            bias_name = (
                f"{source.key.removesuffix('weight')}bias"
                if source.key.endswith("weight")
                else f"{source.key}_bias"
            )
        new_w = self._add(f"{source.key}_batch_norm", source.type, new_weight, producer, rewriter)
        new_b = self._add(bias_name, bias_type, new_bias, producer, rewriter)
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
        if isinstance(producer, _MM):
            cls, arguments = sibling(producer, "addmm"), {"mat1": arguments["self"]}
        if isinstance(producer, (*_MM, *_ADDMM)):
            arguments |= {"self": new_b, "mat2": new_w}
        else:
            arguments |= {"weight": new_w, "bias": new_b}
        made = cls.make(**arguments, result_types=[op.results[0].type], location=producer.location)
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
    ) -> SSAValue:
        """A constant of the program that is computed when its bytes are needed, read in front of an op."""
        count = 1
        for size in type.get_shape():
            count *= size
        dtype = numpy_dtype(type.element_type)

        def data() -> memoryview:
            return bytes_of(compute().astype(dtype), type)

        symbol = self.globals.add_constant(name, type, Blob.derived(name, count * dtype.itemsize, data))
        symbol.location = near.location
        get = GetOp(symbol.key, type)
        get.location = near.location
        return rewriter.insert(get, InsertPoint.before(near)).result


def _doubles(symbol: GlobalOp) -> Array:
    assert symbol.value is not None
    return array_of(symbol.type, symbol.value.blob).astype(np.float64)


def _rows(weight: Array, scale: Array) -> Array:
    """Output channels first, as convolutions and `linear` have them."""
    return weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))


def _columns(weight: Array, scale: Array) -> Array:
    return weight * scale


def _input_first(groups: int) -> Callable[[Array, Array], Array]:
    """Input channels first, output channels of one group second, as transposed convolutions have them."""

    def scaled(weight: Array, scale: Array) -> Array:
        grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        factors = scale.reshape(groups, 1, weight.shape[1], *(1,) * (weight.ndim - 2))
        return (grouped * factors).reshape(weight.shape)

    return scaled


def _reversed_shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()[::-1]


def _swaps(transpose: SchemaOp) -> bool:
    """Whether a permutation of a matrix is its transpose."""
    if operator_name(type(transpose)) == "permute":
        return [dim % 2 for dim in transpose.arg("dims")] == [1, 0]
    if operator_name(type(transpose)) == "transpose.int":
        return transpose.arg("dim0") % 2 != transpose.arg("dim1") % 2
    return True


@dataclass(frozen=True)
class FoldBatchNormPass(ModulePass):
    """Fold batch normalisation into the layer before it."""

    name = "fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [FoldIntoProducer(op)])
