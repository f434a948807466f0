"""Annotation of the operators that a quantizer matches: which of their operands and results are quantized, and how.

An annotation is what `prepare_pt2e` reads: observers are inserted for the specifications of a node's operands and
result. Ops that are computed together, such as a convolution and its activation, have one quantized result.

Layers are computed in integers in any case. A configuration without a specification of results rounds what they read,
and nothing else: sums, normalizations and activations between them compute in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from operator import getitem
from typing import Any, Final

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpecBase,
    SharedQuantizationSpec,
)

from et_ir.frontend.torch_registry import as_operator, name_of, schema_of
from et_ir.quantization.config import QuantizationConfig
from et_ops.library import OPERATORS

__all__ = [
    "ANNOTATORS",
    "Annotator",
    "annotation_of",
    "is_annotated",
    "keeps_scale",
    "reads_integers",
    "share_with_producer",
]

_KEY: Final = "quantization_annotation"
_aten: Final[Any] = torch.ops.aten

_CONVOLUTIONS: Final = frozenset(
    {_aten.conv1d.default, _aten.conv2d.default, _aten.conv2d.padding, _aten.convolution.default}
)
_TRANSPOSED: Final = frozenset(
    {_aten.conv_transpose1d.default, _aten.conv_transpose2d.input, _aten.conv_transpose3d.input}
)
_LINEAR: Final = frozenset({_aten.linear.default})
_NORMS: Final = frozenset(
    {_aten.batch_norm.default, _aten._native_batch_norm_legit.default, _aten.cudnn_batch_norm.default}
)
_RELUS: Final = frozenset({_aten.relu.default, _aten.relu_.default})
_SUMS: Final = frozenset({_aten.add.Tensor, _aten.add_.Tensor})
_PRODUCTS: Final = frozenset({_aten.mul.Tensor, _aten.mul_.Tensor})
_MATRICES: Final = frozenset({_aten.matmul.default, _aten.bmm.default})
_SOFTMAXES: Final = frozenset({_aten.softmax.int, _aten._softmax.default})
_NORMALIZATIONS: Final = frozenset(
    {_aten.layer_norm.default, _aten.group_norm.default, _aten.instance_norm.default, _aten.rms_norm.default}
)
_FUNCTIONS: Final = frozenset(
    {
        _aten.elu.default,
        _aten.gelu.default,
        _aten.hardsigmoid.default,
        _aten.hardswish.default,
        _aten.hardswish_.default,
        _aten.leaky_relu.default,
        _aten.sigmoid.default,
        _aten.silu.default,
        _aten.silu_.default,
        _aten.tanh.default,
    }
)
_POOLS: Final = frozenset({_aten.adaptive_avg_pool2d.default})

_BOUNDED: Final = frozenset(
    {
        _aten.adaptive_avg_pool2d.default,
        _aten.dropout.default,
        _aten.dropout_.default,
        _aten.hardtanh.default,
        _aten.hardtanh_.default,
        _aten.max_pool2d.default,
        _aten.mean.default,
        _aten.mean.dim,
        _aten.relu.default,
    }
)
"""Operators that move no elements, and whose result is within the range of their operand."""


_MOVED_BY_EXECUTORCH: Final = frozenset(
    """
    flatten.using_ints permute permute_copy reshape slice.Tensor slice_copy.Tensor squeeze.dim squeeze_copy.dim
    transpose.int view view_copy
    """.split()  # noqa: SIM905
)
"""Operators that move elements and keep their scale for ExecuTorch's quantizers, too."""


@cache
def keeps_scale(target: object, *, executorch: bool = False) -> bool:
    """Whether the results of an operator have the scale and zero point of its operand, where that is quantized; with
    `executorch`, as ExecuTorch's quantizers annotate.
    """
    if target in _BOUNDED:
        return True
    op = as_operator(target)
    name = "" if op is None else name_of(op)
    if executorch:
        return name in _MOVED_BY_EXECUTORCH
    return name in OPERATORS and OPERATORS[name].moves


def annotation_of(node: Node) -> QuantizationAnnotation | None:
    """The annotation of a node, if it has one."""
    return node.meta.get(_KEY)


def is_annotated(node: Node) -> bool:
    """Whether a node is part of what an annotator matched."""
    found = annotation_of(node)
    return found is not None and found._annotated  # pyright: ignore[reportPrivateUsage]  (torchao has no other)


def _annotate(
    node: Node, inputs: dict[Node, QuantizationSpecBase | None], output: QuantizationSpecBase | None = None
) -> None:
    node.meta[_KEY] = QuantizationAnnotation(
        input_qspec_map={one: spec for one, spec in inputs.items() if spec is not None},
        output_qspec=output,
        _annotated=True,
    )


def _is_float(node: object) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _followed_by(node: Node, targets: Iterable[object]) -> Node | None:
    """The node that alone reads another one, if it calls one of the targets."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target in targets else None


def _fused(node: Node, config: QuantizationConfig, *, norms: bool = False) -> list[Node]:
    """A node, and what is computed together with it: a batch normalization, in training, and an activation."""
    found = [node]
    norm = _followed_by(node, _NORMS) if norms and config.is_qat else None
    if norm is not None:
        found.append(norm)
        # Its statistics are results too.
        if isinstance(norm.meta.get("val"), tuple):
            return found
    users = list(found[-1].users)
    if len(users) == 1 and (users[0].target in _RELUS or (config.clamps and _clamps(users[0]))):
        found.append(users[0])
    return found


def _clamps(node: Node) -> bool:
    """Whether a node clamps its first operand between numbers."""
    op = as_operator(node.target)
    if op is None:
        return False
    packet, dot, overload = name_of(op).partition(".")
    # What is written in place is the result of the node before, which nothing else reads.
    known = OPERATORS.get(f"{packet.removesuffix('_')}{dot}{overload}")
    if known is None:
        return False
    given = dict(zip((arg.name for arg in schema_of(op).arguments), node.args, strict=False)) | node.kwargs
    defaults = {arg.name: arg.default_value for arg in schema_of(op).arguments}
    return known.limits((defaults | given).get) is not None


def _finish(
    nodes: list[Node], inputs: dict[Node, QuantizationSpecBase | None], config: QuantizationConfig
) -> list[Node]:
    """Annotate ops that are computed together: operands of the first, and the result of the last."""
    if len(nodes) == 1:
        _annotate(nodes[0], inputs, config.output_activation)
        return nodes
    _annotate(nodes[0], inputs)
    for node in nodes[1:]:
        _annotate(node, {})
    _annotate(nodes[-1], {}, config.output_activation)
    return nodes


def _weighted(node: Node, config: QuantizationConfig, *, axis: int = 0) -> list[Node] | str:
    """A layer with a weight: its second operand; the third is its bias."""
    x, weight, *others = node.args
    if not _is_float(x):
        return "the input is not f32"
    if not isinstance(weight, Node) or not isinstance(x, Node):
        return "the weight is not a tensor"
    config = config.with_channels_in(axis)
    inputs: dict[Node, QuantizationSpecBase | None] = {x: config.input_activation, weight: config.weight}
    if others and isinstance(others[0], Node):
        inputs[others[0]] = config.bias
    return _finish(_fused(node, config, norms=True), inputs, config)


def _convolution(node: Node, config: QuantizationConfig) -> list[Node] | str:
    if config.is_dynamic:
        value = node.meta["val"]
        if value.ndim != 4:
            return "dynamic quantization is of 2-d convolutions"
        groups = node.args[-1] if len(node.args) in (7, 9) else 1
        if groups != 1:
            return "dynamic quantization is of convolutions of one group"
    return _weighted(node, config)


def _transposed(node: Node, config: QuantizationConfig) -> list[Node] | str:
    groups = node.args[6] if len(node.args) > 6 else 1
    spec = config.weight
    if config.is_dynamic:
        return "dynamic quantization is not of transposed convolutions"
    if groups != 1 and spec is not None and spec.ch_axis is not None:
        return "scales by channel of a transposed convolution in groups"
    return _weighted(node, config, axis=1)


def _pointwise(node: Node, config: QuantizationConfig) -> list[Node] | str:
    """Sums and products of two tensors."""
    operands = [one for one in node.args[:2] if isinstance(one, Node)]
    if len(operands) < 2:
        return "an operand is a number"
    if not all(_is_float(one) for one in (*operands, node)):
        return "operands and results are not f32"
    if node.kwargs.get("alpha", 1) != 1:
        return "a factor of the second operand"
    return _finish(_fused(node, config), dict.fromkeys(operands, config.input_activation), config)


def _function(node: Node, config: QuantizationConfig) -> list[Node] | str:
    """A function of one tensor with a result of its own range; what else it reads, as a weight, stays in floats."""
    return _of_one(node, config, config.output_activation)


def _softmax(node: Node, config: QuantizationConfig) -> list[Node] | str:
    """Results are between 0 and 1 whatever comes in: a scale of 1/256, from the least integer."""
    least = -128
    part = FixedQParamsQuantizationSpec(
        dtype=torch.int8,
        scale=1 / 256,
        zero_point=least,
        quant_min=least,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
    )
    return _of_one(node, config, part)


def _of_one(node: Node, config: QuantizationConfig, output: QuantizationSpecBase | None) -> list[Node] | str:
    x = node.args[0]
    if not isinstance(x, Node) or not _is_float(x) or not _is_float(node):
        return "operands and results are not f32"
    _annotate(node, {x: config.input_activation}, output)
    return [node]


def _concatenation(node: Node, config: QuantizationConfig) -> list[Node] | str:
    """All operands, and the result, have the scale of the first operand."""
    operands: Any = node.args[0]
    if not all(_is_float(one) for one in operands):
        return "operands are not f32"
    first = operands[0]
    shared = SharedQuantizationSpec((first, node))
    inputs: dict[Node, QuantizationSpecBase | None] = dict.fromkeys(operands, shared)
    inputs[first] = config.input_activation
    _annotate(node, inputs, shared)
    return [node]


def _pool(node: Node, config: QuantizationConfig) -> list[Node] | str:
    """The result has the scale of the operand, which is that of what makes the operand if that is quantized."""
    x = node.args[0]
    if not isinstance(x, Node) or not _is_float(x):
        return "the input is not f32"
    producer = annotation_of(x)
    made = producer is not None and producer.output_qspec is not None
    source: QuantizationSpecBase | None = SharedQuantizationSpec(x) if made else config.input_activation
    _annotate(node, {x: source}, SharedQuantizationSpec((x, node)))
    return [node]


Annotator = Callable[[Node, QuantizationConfig], "list[Node] | str"]
"""Annotates a node and what is computed together with it, and gives these nodes; or says why it cannot."""


@dataclass(frozen=True)
class _Pattern:
    targets: frozenset[object]
    annotate: Annotator


_LAYERS: Final = (
    _Pattern(_LINEAR, _weighted),
    _Pattern(_CONVOLUTIONS, _convolution),
    _Pattern(_TRANSPOSED, _transposed),
)
_BETWEEN: Final = (
    _Pattern(_POOLS, _pool),
    _Pattern(_SUMS | _PRODUCTS, _pointwise),
    _Pattern(frozenset({_aten.cat.default}), _concatenation),
)

ANNOTATORS: Final[dict[object, Annotator]] = {
    target: pattern.annotate for pattern in (*_LAYERS, *_BETWEEN) for target in pattern.targets
}
"""By operator."""

MATRIX_PRODUCTS: Final[dict[object, Annotator]] = dict.fromkeys(_MATRICES, _pointwise)
"""Products of two computed matrices, for targets that have kernels for these."""

FUNCTIONS: Final[dict[object, Annotator]] = (
    dict.fromkeys(_SOFTMAXES, _softmax)
    | dict.fromkeys(_NORMALIZATIONS, _function)
    | dict.fromkeys(_FUNCTIONS, _function)
)
"""Softmax, normalizations and pointwise functions, for targets whose kernels read and write 8 bits of these."""


def reads_integers(target: object, config: QuantizationConfig) -> bool:
    """Whether an operator is to be computed on integers: layers are, others only where their results are rounded."""
    return config.output_activation is not None or any(target in layer.targets for layer in _LAYERS)


def share_with_producer(node: Node, *, executorch: bool = False) -> bool:
    """Give the results of a node the scale of its quantized operand; whether that was done. With `executorch`, as
    ExecuTorch's quantizers do.
    """
    source = node.args[0] if node.args else None
    if (
        not keeps_scale(node.target, executorch=executorch)
        or is_annotated(node)
        or not isinstance(source, Node)
    ):
        return False
    producer = annotation_of(source)
    if producer is None or producer.output_qspec is None:
        return False
    shared = SharedQuantizationSpec(source)
    if isinstance(node.meta.get("val"), torch.Tensor):
        _annotate(node, {source: shared}, shared)
        return True
    # Of several results, those are observed that are taken out of the list.
    _annotate(node, {source: shared})
    for user in node.users:
        if user.target is getitem:
            _annotate(user, {}, shared)
    return True
