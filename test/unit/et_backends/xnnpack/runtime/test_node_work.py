"""Operations of nodes, against the counter of torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.nodes import NO_VALUE, kind_name, roles_of
from et_backends.xnnpack.runtime.graph import NodeInfo
from et_backends.xnnpack.runtime.node_work import node_work
from et_backends.xnnpack.runtime.nodes import TRANSLATIONS


def counted(function: Any, *shapes: tuple[int, ...], **arguments: Any) -> int:
    with FlopCounterMode(display=False) as counter:
        function(*map(torch.zeros, shapes), **arguments)
    return counter.get_total_flops()


def flops(node: Any, *sizes: tuple[int, ...]) -> int | None:
    """Of a node whose values have sizes by their ids."""
    roles = roles_of(node)
    operands = tuple(getattr(node, name) for name in roles.operands)
    results = tuple(getattr(node, name) for name in roles.results)
    info = NodeInfo(node, kind_name(node), None, TRANSLATIONS[type(node)], operands, results, 7)
    work = node_work(info, {}, {}, lambda value: sizes[value])
    assert work[:2] == (7, kind_name(node))
    return work.flops


def test_products() -> None:
    layer = schema.XNNFullyConnected(0, 1, NO_VALUE, 2)
    wanted = counted(torch.nn.functional.linear, (5, 3, 8), (7, 8))
    assert flops(layer, (5, 3, 8), (7, 8), (5, 3, 7)) == wanted
    biased = schema.XNNFullyConnected(0, 1, 3, 2)
    assert flops(biased, (5, 3, 8), (7, 8), (5, 3, 7), (7,)) == wanted + 5 * 3 * 7
    product = schema.XNNBatchMatrixMultiply(0, 1, 2)
    assert flops(product, (6, 3, 8), (6, 8, 5), (6, 3, 5)) == counted(torch.bmm, (6, 3, 8), (6, 8, 5))


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(groups: int) -> None:
    options = {
        "kernel_height": 3,
        "kernel_width": 5,
        "groups": groups,
        "input1_id": 0,
        "filter_id": 1,
        "output_id": 2,
    }
    channels = {"group_input_channels": 8 // groups, "group_output_channels": 4 // groups}
    node = schema.XNNConv2d(**options, **channels, bias_id=NO_VALUE)
    wanted = counted(torch.nn.functional.conv2d, (2, 8, 9, 11), (4, 8 // groups, 3, 5), groups=groups)
    assert flops(node, (2, 9, 11, 8), (4, 3, 5, 8 // groups), (2, 7, 7, 4)) == wanted
    turned = schema.XNNConvTranspose2d(**options, **channels, bias_id=NO_VALUE)
    wanted = counted(
        torch.nn.functional.conv_transpose2d, (2, 8, 9, 11), (8, 4 // groups, 3, 5), groups=groups
    )
    assert flops(turned, (2, 9, 11, 8), (4, 3, 5, 8 // groups), (2, 11, 15, 4)) == wanted


def test_convolutions_of_single_channels() -> None:
    node = schema.XNNDepthwiseConv2d(
        **{"kernel_height": 3, "kernel_width": 3, "groups": 8, "group_input_channels": 1},
        **{"group_output_channels": 1, "input1_id": 0, "filter_id": 1, "bias_id": 3, "output_id": 2},
    )
    wanted = counted(torch.nn.functional.conv2d, (2, 8, 9, 9), (8, 1, 3, 3), groups=8)
    assert flops(node, (2, 9, 9, 8), (1, 3, 3, 8), (2, 7, 7, 8), (8,)) == wanted + 2 * 7 * 7 * 8


def test_attention() -> None:
    node = schema.XNNScaledDotProductAttention(0, 1, 2, 3, NO_VALUE, 4)
    shapes = (2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8)
    wanted = counted(lambda q, k, v: (q @ k.mT) @ v, *shapes)
    assert flops(node, *shapes, (8,), (2, 3, 5, 8)) == wanted


def test_simple_arithmetic_and_others() -> None:
    assert flops(schema.XNNAdd(0, 1, 2), (2, 3), (3,), (2, 3)) == 6
    assert flops(schema.XNNClamp(0, 1), (2, 3), (2, 3)) == 6
    assert flops(schema.XNNSoftmax(0, 1), (2, 3), (2, 3)) is None
