"""Layers with dynamically quantized activations and integer weights.

The operations that quantize and dequantize around a layer become a conversion and the type of its weight.

```mlir
%s, %z = edge.quantized_decomposed.choose_qparams.tensor %x …
%q = edge.quantized_decomposed.quantize_per_tensor.tensor %x, %s, %z …
%r = edge.quantized_decomposed.dequantize_per_tensor.tensor %q, %s, %z …
%w = edge.quantized_decomposed.dequantize_per_channel %integers, %scales, %zeros …
%y = edge.linear %r, %w, %bias
// is a node Convert, from f32 to qdint8, and a node FullyConnected
```

XNNPACK chooses a scale for each row, or each image, where the program may choose one for the whole tensor: results
are nearer to those of floats. Rows as torchao quantizes them are what its arithmetic came down to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import Operation, OpResult, SSAValue

from et_ir.analysis.integer_operations import Quantizations, is_quantized_constant
from et_ir.analysis.quantization import Granularity, Quantization, dequantized
from et_ir.delegation.graphs import Graph, Value
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.dtypes import I8

__all__ = ["DynamicLayers", "dynamic_layers", "is_4_bits"]

_LEAST_SCALE: Final = float(np.finfo(np.float32).tiny)
_GROUP: Final = 32
"""Divisor that XNNPACK requires of group sizes."""
_LIMITS: Final = {"quant_min": -128, "quant_max": 127, "dtype": i8}
_Q: Final = "quantized_decomposed"


def _by_range() -> Graph:
    """The whole tensor, as PT2E quantizes it."""

    def reads_choice(op: SchemaOp) -> bool:
        scale, zero_point = op.operands[1:]
        return (
            isinstance(scale, OpResult)
            and isinstance(zero_point, OpResult)
            and scale.op is zero_point.op
            and (scale.index, zero_point.index) == (0, 1)
        )

    x = Value("x")
    choose = Graph(f"{_Q}.choose_qparams.tensor", x, literals=_LIMITS)
    quantize = Graph(
        f"{_Q}.quantize_per_tensor.tensor", x, choose, choose, literals=_LIMITS, where=reads_choice
    )
    return Graph(
        f"{_Q}.dequantize_per_tensor.tensor", quantize, choose, choose, literals=_LIMITS, where=reads_choice
    )


def _by_row() -> tuple[Graph, ...]:
    """Row by row, as torchao's arithmetic does it: rows of a matrix, and of tensors with more dimensions."""

    def reduces_rows(op: SchemaOp) -> bool:
        rank = tensor_type(op.operands[0]).get_num_dims()
        return [dim % rank for dim in op.arg("dim")] == [rank - 1]

    def keeps_rows(op: SchemaOp) -> bool:
        return tuple(tensor_type(op.results[0]).get_shape()) == (
            *tensor_type(op.operands[0]).get_shape(),
            1,
        )

    def to(dtype: object, graph: Graph) -> Graph:
        kind = "dim_order_ops._to_dim_order_copy"
        return Graph(kind, graph, where=lambda op: tensor_type(op.results[0]).element_type == dtype)

    x, limits = Value("x"), {"min": -128, "max": 127}
    least, most = (Graph(name, x, where=reduces_rows) for name in ("amin", "amax"))
    zeros = [Graph("full_like", one, literals={"fill_value": 0}) for one in (least, most)]
    low, high = Graph("minimum", least, zeros[0]), Graph("maximum", most, zeros[1])
    width = Graph("div.Scalar", Graph("sub.Tensor", high, low), literals={"other": 255.0})
    scale = Graph("clamp", width, literals={"max": None})
    offset = Graph("rsub.Scalar", Graph("round", Graph("div.Tensor", low, scale)), literals={"other": -128})
    zero_point = to(i8, Graph("clamp", offset, literals=limits))
    scales = Graph("view", scale, where=keeps_rows)
    zero_points = to(f32, Graph("view", zero_point, where=keeps_rows))
    whole = Graph("round", Graph("mul.Tensor", x, Graph("reciprocal", scales)))
    integers = to(i8, Graph("clamp", Graph("add.Tensor", whole, zero_points), literals=limits))
    # Rows of a matrix are channels to the operator; in a batch of one, their scales are flattened.
    flat = [(scale, to(i64, zero_point)), tuple(Graph("view", one) for one in (scale, to(i64, zero_point)))]
    matrices = [
        Graph(f"{_Q}.dequantize_per_channel", integers, *numbers, literals=_LIMITS, where=_restores_rows)
        for numbers in flat
    ]
    return *matrices, Graph("mul.Tensor", Graph("sub.Tensor", to(f32, integers), zero_points), scales)


def _restores_rows(op: SchemaOp) -> bool:
    """Whether the channels of an op are the rows of a tensor: its other dimensions, but for the last, are of one."""
    *sizes, _ = tensor_type(op.results[0]).get_shape()
    axis = op.arg("axis") % (len(sizes) + 1)
    return axis < len(sizes) and all(size == 1 for dim, size in enumerate(sizes) if dim != axis)


_CHOICES: Final = (_by_range(), *_by_row())


@dataclass(frozen=True)
class _Activation:
    """Floats that are quantized and restored by ops of the program."""

    floats: SSAValue
    ops: tuple[Operation, ...]


class DynamicLayers:
    """The layers of a method that XNNPACK quantizes the activations of."""

    def __init__(self, activations: dict[SSAValue, _Activation], layers: Sequence[SchemaOp]):
        self.layers: Final = frozenset(layers)
        self.floats: Final = {value: one.floats for value, one in activations.items()}
        """The floats behind the operand of each layer."""
        self.weights: Final = frozenset[SSAValue](layer.arg("weight") for layer in layers)
        self.chains: Final = frozenset(op for one in activations.values() for op in one.ops)
        """The ops that quantize and restore activations."""
        self._activations: Final = activations

    @property
    def patterns(self) -> Iterator[Sequence[Operation]]:
        """With each activation its layers and what restores their weights; with one that has such a weight in common,
        all of both.
        """
        groups: list[set[Operation]] = []
        for value, one in self._activations.items():
            layers = [op for op in self.layers if op.arg("input") is value]
            ops = {*one.ops, *layers, *(layer.arg("weight").owner for layer in layers)}
            apart = [group for group in groups if group.isdisjoint(ops)]
            groups = [*apart, ops.union(*(group for group in groups if not group.isdisjoint(ops)))]
        for inside in groups:
            block = next(iter(inside)).parent
            assert block is not None
            yield [op for op in block.ops if op in inside]


def is_4_bits(how: Quantization) -> bool:
    """Whether integers are stored as halves of bytes."""
    return (how.quant_min, how.quant_max) == (-8, 7)


def dynamic_layers(
    ops: Iterable[Operation], quantizations: Quantizations, takes: Callable[[SchemaOp], bool]
) -> DynamicLayers:
    """The layers of which XNNPACK quantizes the activations, of those that `takes` does not refuse.

    All that reads an activation or a weight of theirs is such a layer: neither is there as floats, and a partition has
    them whole. Layers that are called several times have a weight in common.
    """
    activations: dict[SSAValue, _Activation] = {}
    layers: list[SchemaOp] = []
    for op in ops:
        if not isinstance(op, SchemaOp) or op.name.removeprefix("edge.") not in ("convolution", "linear"):
            continue
        x: SSAValue = op.arg("input")
        if x not in activations:
            found = _activation(x)
            if found is None:
                continue
            activations[x] = found
        if _takes_layer(op, quantizations) and takes(op):
            layers.append(op)
    while True:
        known = set(layers)
        kept = [
            op
            for op in layers
            if all(
                isinstance(user, SchemaOp) and user in known and user.arg(name) is op.arg(name)
                for name in ("input", "weight")
                for user in (use.operation for use in op.arg(name).uses)
            )
        ]
        if len(kept) == len(layers):
            break
        layers = kept
    read = {op.arg("input") for op in layers}
    return DynamicLayers({value: one for value, one in activations.items() if value in read}, layers)


def _activation(value: SSAValue) -> _Activation | None:
    op = value.owner
    if not isinstance(op, SchemaOp):
        return None
    for graph in _CHOICES:
        found = graph.match(op)
        if found is not None and tensor_type(found.values["x"]).element_type == f32:
            return _Activation(found.values["x"], found.ops)
    return None


def _takes_layer(op: SchemaOp, quantizations: Quantizations) -> bool:
    weight, bias = op.arg("weight"), op.arg("bias")
    if not is_quantized_constant(weight) or not (bias is None or isinstance(bias.owner, GetOp)):
        return False
    restored = dequantized(weight)
    assert restored is not None
    how = quantizations(restored)
    if how.dtype is not I8 or not how.is_symmetric or how.scales is None:
        return False
    if not bool((how.scales >= _LEAST_SCALE).all()):
        return False
    if op.name.removeprefix("edge.") == "convolution" and not _takes_convolution(op):
        return False
    if how.granularity is Granularity.GROUP:
        return is_4_bits(how) and not how.group % _GROUP
    return how.granularity is Granularity.TENSOR or (how.granularity is Granularity.CHANNEL and how.axis == 0)


def _takes_convolution(op: SchemaOp) -> bool:
    """Whether a convolution is of images, not transposed, and does more than to scale each channel."""
    shape = tensor_type(op.arg("weight")).get_shape()
    is_depthwise = shape[1] == 1 and op.arg("groups") > 1
    return len(shape) == 4 and not op.arg("transposed") and not is_depthwise
