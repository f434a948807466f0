"""Operations and bytes of nodes, in the shapes of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final

from et_backends.xnnpack.format.graph import (
    XNNAbs,
    XNNAdd,
    XNNBatchMatrixMultiply,
    XNNClamp,
    XNNConv2d,
    XNNConvTranspose2d,
    XNNDepthwiseConv2d,
    XNNDiv,
    XNNFullyConnected,
    XNNMaximum,
    XNNMinimum,
    XNNMultiply,
    XNNNegate,
    XNNReciprocalSquareRoot,
    XNNScaledDotProductAttention,
    XNNSquare,
    XNNSquareRoot,
    XNNSubtract,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime.graph import NodeInfo
from et_backends.xnnpack.runtime.weights import QuantizedWeight
from et_vm.backend import PartWork
from et_vm.values import Tensor

__all__ = ["node_work"]

_POINTWISE: Final = (
    *(XNNAbs, XNNAdd, XNNClamp, XNNDiv, XNNMaximum, XNNMinimum, XNNMultiply, XNNNegate),
    *(XNNReciprocalSquareRoot, XNNSquare, XNNSquareRoot, XNNSubtract),
)
_Sizes = Callable[[int], tuple[int, ...]]


def node_work(
    info: NodeInfo, tensors: Mapping[int, Tensor], weights: Mapping[int, QuantizedWeight], dims: _Sizes
) -> PartWork:
    """The work of a node: two operations for each multiply-add, one for an element of simple arithmetic, which have
    `flops`; other nodes have none. `dims` gives the sizes of values that are no tensors.
    """

    def nbytes(value: int) -> int:
        if value in weights:
            return weights[value].nbytes
        tensor = tensors.get(value)
        return 0 if tensor is None else tensor.numel * tensor.dtype.itemsize

    def sizes(value: int) -> tuple[int, ...]:
        tensor = tensors.get(value)
        return dims(value) if tensor is None else tuple(tensor.sizes)

    read = sum(nbytes(value) for value in dict.fromkeys(info.operands) if value != NO_VALUE)
    written = sum(nbytes(value) for value in info.results)
    return PartWork(info.identifier, info.name, read, written, _flops(info.node, sizes))


def _flops(node: Any, sizes: _Sizes) -> int | None:
    match node:
        case XNNFullyConnected():
            return prod(sizes(node.output_id)) * (2 * sizes(node.input1_id)[-1] + (node.bias_id != NO_VALUE))
        case XNNBatchMatrixMultiply():
            return 2 * prod(sizes(node.output_id)) * sizes(node.input1_id)[-1]
        case XNNConv2d() | XNNDepthwiseConv2d():
            # Of a filter for each channel, the channels of a group are one.
            depth = 1 if isinstance(node, XNNDepthwiseConv2d) else node.group_input_channels
            products = node.kernel_height * node.kernel_width * depth
            return prod(sizes(node.output_id)) * (2 * products + (node.bias_id != NO_VALUE))
        case XNNConvTranspose2d():
            products = node.kernel_height * node.kernel_width * node.group_output_channels
            biased = prod(sizes(node.output_id)) if node.bias_id != NO_VALUE else 0
            return 2 * prod(sizes(node.input1_id)) * products + biased
        case XNNScaledDotProductAttention():
            *batch, queries, depth = sizes(node.query_id)
            keys, width = sizes(node.key_id)[-2], sizes(node.value_id)[-1]
            return 2 * prod(batch) * queries * keys * (depth + width)
        case _ if isinstance(node, _POINTWISE):
            return prod(sizes(node.output_id))
        case _:
            return None
