"""Compute in integers what stands between dequantized operands and a quantized result.

```mlir
%1 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.1, zero_point = 3, …}             // before
%2 = edge.quantized_decomposed.dequantize_per_channel %w, %scales, %zeros {axis = 0, …}
%3 = edge.linear %1, %2, %b : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x8xf32>
%4 = edge.relu %3 : tensor<2x8xf32>
%5 = edge.quantized_decomposed.quantize_per_tensor %4 {scale = 0.2, zero_point = -128, …}

%5 = edge.integer.linear %x, %w, %scales, %b {input_scale = 0.1, input_zero_point = 3, out_scale = 0.2, out_zero_point
  = -128, out_quant_min = -128, out_quant_max = 127} : …                                              // after
```

| floats | integers |
|---|---|
| `linear`; `mm` and `addmm` with a transposed weight; `add` of a bias behind them | `integer.linear` |
| `convolution` that is not transposed | `integer.convolution` |
| `add`, `sub` | `integer.add`, with a negative scale for a difference |
| `mul` | `integer.mul` |
| `mean`, `avg_pool2d` | `integer.mean`, `integer.avg_pool2d` |
| `max_pool2d` of integers, without indices | `integer.max_pool2d` |

Activations have 8 bits and one scale, weights 8 bits, a scale for each filter or one, and zero points of 0; scales are
known at compile time. A clamp between the operator and `quantize`, or of its integers, becomes limits of the result.
The result is the real number that the program in floats approximates, rounded once: kernels say the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.quantization import (
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
)
from et_ir.data import Blob
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_static, sized_tensor, tensor_type
from et_ir.evaluation.arrays import array_of
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.to_executorch.propagate_quantization import has_one_scale, stored
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT, find_target
from et_ops.dtypes import F32, F64, I8, I32

__all__ = ["FormIntegerOperatorsPass"]

_LEAST_SCALE: Final = float(np.finfo(np.float32).tiny)


class _Activation(NamedTuple):
    """Integers with one scale."""

    integers: SSAValue
    how: Quantization

    def arguments(self, name: str) -> dict[str, Any]:
        return {
            name: self.integers,
            f"{name}_scale": self.how.scale,
            f"{name}_zero_point": self.how.zero_point,
        }


class _Weight(NamedTuple):
    """Integers with a scale for each filter, or one, and no zero point."""

    integers: SSAValue
    op: SchemaOp
    how: Quantization


class _Layer(NamedTuple):
    """The operands of a product or a convolution."""

    op: EdgeOp
    input: SSAValue
    weight: SSAValue
    transposed: bool
    """Whether the weight is [K, N] and is to be [N, K]."""
    bias: SSAValue | None
    viewed: bool = False
    """Whether the rows of the product are viewed in more dimensions, before the bias is added."""


def _sole_user(value: SSAValue) -> bool:
    return value.has_one_use()


def _view_of_rows(value: SSAValue) -> edge.ViewCopyOp | None:
    """The view that a value is, if it keeps the last dimension of what it views, and all sizes are known."""
    op = value.owner
    if not isinstance(op, edge.ViewCopyOp) or not is_static(tensor_type(value)):
        return None
    before, after = tensor_type(op.operands[0]).get_shape(), tensor_type(value).get_shape()
    return op if before[-1:] == after[-1:] and before else None


def _same_layout(*values: SSAValue) -> bool:
    orders = {dim_order_of(type) for type in map(tensor_type, values) if type.get_num_dims() > 2}
    return len(orders) <= 1


class Form(RewritePattern):
    """The quantized result of an operator whose operands are dequantized."""

    roots = QUANTIZE

    def __init__(self, symbols: Globals, kernels: frozenset[str]):
        self.symbols = symbols
        self.kernels = kernels

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        how = quantization_of(op, self.symbols)
        value = op.operands[0]
        if how.dtype is not I8 or not has_one_scale(how) or not _sole_user(value):
            return
        bounds = (-inf, inf)
        if isinstance(value.owner, Operation) and (found := activation_bounds(value.owner)) is not None:
            bounds, value = found, value.owner.operands[0]
            if not _sole_user(value):
                return
        grid: dict[str, Any] = {
            "out_scale": how.scale,
            "out_zero_point": how.zero_point,
            "out_quant_min": stored(bounds[0], how),
            "out_quant_max": stored(bounds[1], how),
            "result_types": [op.results[0].type],
        }
        made = self._layer(value, grid) or self._arithmetic(value, grid)
        if made is not None and all(
            one.operator.kernel in self.kernels for one in made if isinstance(one, EdgeOp)
        ):
            rewriter.replace(op, made, [made[-1].results[0]])

    # -- operands

    def _activation(self, value: SSAValue) -> _Activation | None:
        restored = dequantized(value)
        if restored is None:
            return None
        how = quantization_of(restored, self.symbols)
        fits = how.dtype is I8 and has_one_scale(how) and -128 <= how.zero_point <= 127
        return _Activation(restored.operands[0], how) if fits else None

    def _weight(self, value: SSAValue, axis: int) -> _Weight | None:
        """A weight whose filters are along dimension `axis`."""
        restored = dequantized(value)
        if restored is None:
            return None
        how = quantization_of(restored, self.symbols)
        if how.dtype is not I8 or how.is_dynamic or not how.is_symmetric or how.scales is None:
            return None
        by_filter = how.granularity is Granularity.CHANNEL and how.axis == axis
        if not by_filter and how.granularity is not Granularity.TENSOR:
            return None
        if not bool(((how.scales >= _LEAST_SCALE) & (how.scales <= 1 / _LEAST_SCALE)).all()):
            return None
        return _Weight(restored.operands[0], restored, how)

    def _scales(self, weight: _Weight) -> tuple[list[Operation], SSAValue]:
        """The scales of a weight as a tensor: the program's own, or a constant of one element."""
        if weight.how.granularity is Granularity.CHANNEL:
            scales = weight.op.arg("scales")
            if dtype_of(tensor_type(scales).element_type) in (F32, F64):
                return [], scales
        assert weight.how.scales is not None
        return self._constant("weight_scales", weight.how.scales.reshape(-1).astype(np.float64))

    def _constant(self, name: str, array: np.ndarray[Any, Any]) -> tuple[list[Operation], SSAValue]:
        kinds = {np.dtype(np.float64): F64, np.dtype(np.int8): I8}
        type = sized_tensor(attr_of(kinds[array.dtype]), array.shape)
        symbol = self.symbols.add_constant(name, type, Blob.of(name, array.tobytes()))
        get = GetOp(symbol.key, type)
        return [get], get.result

    def _bias(self, value: SSAValue, filters: int) -> bool:
        """Whether a bias is a vector of floats that are known to be finite."""
        type = tensor_type(value)
        if type.get_shape() != (filters,) or dtype_of(type.element_type) is not F32:
            return False
        if dequantized(value) is not None:
            return True
        symbol = self.symbols.constant_of(value)
        if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
            return False
        return bool(np.isfinite(array_of(symbol.type, symbol.value.blob)).all())

    def _integer_bias(self, bias: SSAValue, scale: float, weight: _Weight) -> SSAValue:
        """The integers of a bias whose scales are those of the sums, else the bias itself."""
        restored = dequantized(bias)
        if restored is None or weight.how.scales is None:
            return bias
        how = quantization_of(restored, self.symbols)
        if how.dtype is not I32 or how.scales is None or not how.is_symmetric:
            return bias
        if how.scales.shape not in ((), weight.how.scales.shape) or how.granularity is Granularity.GROUP:
            return bias
        return restored.operands[0] if bool(np.all(how.scales == scale * weight.how.scales)) else bias

    # -- layers

    def _layer(self, value: SSAValue, grid: dict[str, Any]) -> Sequence[Operation] | None:
        layer = self._operands(value)
        if layer is None:
            return None
        x = self._activation(layer.input)
        weight = self._weight(layer.weight, 1 if layer.transposed else 0)
        if x is None or weight is None:
            return None
        type = tensor_type(weight.integers)
        filters = type.get_shape()[1 if layer.transposed else 0]
        bias = layer.bias
        if bias is not None:
            if not self._bias(bias, filters):
                return None
            bias = self._integer_bias(bias, x.how.scale, weight)
        made, scales = self._scales(weight)
        integers = weight.integers
        if layer.transposed:
            turned = edge.PermuteCopyOp.make(
                integers, (1, 0), result_types=[sized_tensor(type.element_type, type.get_shape()[::-1])]
            )
            made.append(turned)
            integers = turned.results[0]
        arguments: dict[str, Any] = {
            **x.arguments("input"),
            "weight": integers,
            "weight_scales": scales,
            "bias": bias,
            **grid,
        }
        if layer.viewed:
            shape = (*tensor_type(layer.input).get_shape()[:-1], filters)
            types = arguments.pop("result_types")
            product = edge.IntegerLinearOp.make(**arguments, result_types=[sized_tensor(attr_of(I8), shape)])
            view = edge.ViewCopyOp.make(product, list(types[0].get_shape()), result_types=types)
            return [*made, product, view]
        if not isinstance(layer.op, edge.ConvolutionOp):
            return [*made, edge.IntegerLinearOp.make(**arguments)]
        names = ("stride", "padding", "dilation", "groups")
        moves = {name: layer.op.arg(name) for name in names}
        return [*made, edge.IntegerConvolutionOp.make(**arguments, **moves)]

    def _operands(self, value: SSAValue) -> _Layer | None:
        op = value.owner
        if isinstance(op, edge.AddTensorOp) and op.arg("alpha") == 1:
            for product, bias in (op.operands, op.operands[::-1]):
                view = _view_of_rows(product)
                rows = product if view is None else view.operands[0]
                if (
                    isinstance(rows.owner, edge.MmOp | edge.LinearOp)
                    and _sole_user(product)
                    and _sole_user(rows)
                ):
                    inner = self._operands(rows)
                    if inner is not None and inner.bias is None:
                        return inner._replace(bias=bias, viewed=view is not None)
            return None
        if isinstance(op, edge.LinearOp):
            if tensor_type(op.arg("weight")).get_num_dims() != 2:
                return None
            return _Layer(op, op.arg("input"), op.arg("weight"), False, op.arg("bias"))
        if isinstance(op, edge.ConvolutionOp):
            if op.arg("transposed") or not _same_layout(op.operands[0], op.operands[1], op.results[0]):
                return None
            return _Layer(op, op.arg("input"), op.arg("weight"), False, op.arg("bias"))
        if isinstance(op, edge.AddmmOp):
            if op.arg("alpha") != 1 or op.arg("beta") != 1:
                return None
            bias, first, second = op.operands
        elif isinstance(op, edge.MmOp):
            (first, second), bias = op.operands, None
        else:
            return None
        turned = second.owner
        if isinstance(turned, edge.PermuteCopyOp) and [dim % 2 for dim in turned.arg("dims")] == [1, 0]:
            return _Layer(op, first, turned.operands[0], False, bias)
        if isinstance(turned, edge.TCopyOp) and tensor_type(second).get_num_dims() == 2:
            return _Layer(op, first, turned.operands[0], False, bias)
        return _Layer(op, first, second, True, bias)

    # -- arithmetic

    def _arithmetic(self, value: SSAValue, grid: dict[str, Any]) -> Sequence[Operation] | None:
        op = value.owner
        if isinstance(op, edge.MeanDimOp):
            x = self._activation(op.operands[0])
            if x is None or op.arg("dtype") is not None or not _same_layout(op.operands[0], op.results[0]):
                return None
            dims = op.arg("dim")
            sizes = tensor_type(op.operands[0]).get_shape()
            if dims is None or not all(isinstance(dim, int) for dim in dims) or 0 in sizes:
                return None
            reduction: dict[str, Any] = {**x.arguments("input"), "dim": dims, "keepdim": op.arg("keepdim")}
            return [edge.IntegerMeanDimOp.make(**reduction, **grid)]
        if isinstance(op, edge.AvgPool2dOp):
            x = self._activation(op.operands[0])
            if x is None:
                return None
            names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
            window = {name: op.arg(name) for name in names}
            return [edge.IntegerAvgPool2dOp.make(**x.arguments("input"), **window, **grid)]
        if not isinstance(op, edge.AddTensorOp | edge.SubTensorOp | edge.MulTensorOp):
            return None
        x, y = (self._activation(operand) for operand in op.operands[:2])
        if x is None or y is None or not _same_layout(*op.operands[:2], op.results[0]):
            return None
        arguments: dict[str, Any] = {**x.arguments("input"), **y.arguments("other"), **grid}
        if isinstance(op, edge.MulTensorOp):
            return [edge.IntegerMulOp.make(**arguments)]
        factor = float(op.arg("alpha")) * (-1 if isinstance(op, edge.SubTensorOp) else 1)
        if abs(factor) != 1:
            return None
        arguments["other_scale"] *= factor
        return [edge.IntegerAddOp.make(**arguments)]


_LIMITED: Final = (
    edge.IntegerAddOp,
    edge.IntegerAvgPool2dOp,
    edge.IntegerConvolutionOp,
    edge.IntegerLinearOp,
    edge.IntegerMeanDimOp,
    edge.IntegerMulOp,
)


class NarrowLimits(RewritePattern):
    """A clamp of the integers that an integer operator gives."""

    roots = (edge.ClampOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        source = op.operands[0].owner
        bounds = activation_bounds(op)
        if not isinstance(source, _LIMITED) or bounds is None or not _sole_user(op.operands[0]):
            return
        least, most = source.arg("out_quant_min"), source.arg("out_quant_max")
        clamped = [int(min(max(limit, bounds[0]), bounds[1])) for limit in (least, most)]
        names = [arg.name for arg in source.info().schema.args]
        arguments: dict[str, Any] = {name: source.arg(name) for name in names}
        arguments |= {"out_quant_min": clamped[0], "out_quant_max": clamped[1]}
        made = type(source).make(**arguments, result_types=[op.results[0].type])
        rewriter.replace(op, [made], [made.results[0]])


class DropIndices(RewritePattern):
    """A maximum pool of integers whose indices nothing uses: they take eight times the memory of its result."""

    roots = (edge.MaxPool2dWithIndicesOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        type = tensor_type(op.operands[0])
        if op.results[1].first_use is not None or dtype_of(type.element_type) is not I8:
            return
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        window = {name: op.arg(name) for name in names}
        made = edge.IntegerMaxPool2dOp.make(op.operands[0], **window, result_types=[op.results[0].type])
        rewriter.replace(op, [made], [made.results[0], None])


@dataclass(frozen=True)
class FormIntegerOperatorsPass(ModulePass):
    """Compute quantized operators in integers."""

    name = "form-integer-operators"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = find_target(self.target).kernels
        rewrite(op, [Form(Globals(op), kernels)])
        rewrite(op, [NarrowLimits()])
        if edge.IntegerMaxPool2dOp.operator.kernel in kernels:
            rewrite(op, [DropIndices()])
        erase_dead_ops(op)
