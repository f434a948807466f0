"""Compute max pools as elementwise maxima of taps where that is faster.

```mlir
%2, %i = edge.max_pool2d_with_indices %x {kernel_size = [2, 2], …} : … -> tensor<1x8x4x4xf32>, …               // before

%0 = edge.as_strided_copy %x {…, storage_offset = 0} : (tensor<8x8x8xf32>) -> tensor<8x4x8xf32>                // after
%1 = edge.as_strided_copy %x {…, storage_offset = 8} : (tensor<8x8x8xf32>) -> tensor<8x4x8xf32>
%2 = edge.maximum %0, %1 : tensor<8x4x8xf32>
…                                                                                    // and columns as rows
```

The largest of a column of each window comes first, then the largest of these. Padding is minus infinity. Taken are
pools of floats whose indices nothing uses, tiled over channels (see `convolutions-to-products`, whose options mean
the same). Results are the same bits; on stock's portable kernels it is ten times as fast, and needs no memory for
indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.choices import CheapestForm, Form
from et_ir.analysis.cost_model import CostModel
from et_ir.analysis.memory_allowance import MemoryAllowance
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.convolutions_to_products.builder import TileBuilder
from et_ir.passes.to_executorch.convolutions_to_products.tiling import Copies, TileBudget, tile_budgets
from et_ir.passes.to_executorch.convolutions_to_products.window import Geometry, is_plain, pair
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT

__all__ = ["PoolsToMaximaPass"]


def _pool(op: Operation) -> Geometry | None:
    if not isinstance(op, edge.MaxPool2dWithIndicesOp) or op.results[1].first_use is not None:
        return None
    image, result = tensor_type(op.operands[0]), tensor_type(op.results[0])
    if not is_plain(image, result) or not dtype_of(image.element_type).is_float or op.ceil_mode:
        return None
    lists = (op.kernel_size, op.stride or op.kernel_size, op.padding, op.dilation)
    taps, stride, padding, dilation = (pair([*numbers, *numbers][:2], 2, 1) for numbers in lists)
    size = pair(image.get_shape()[-2:], 2, 1)
    return Geometry(size=size, taps=taps, stride=stride, padding=padding, dilation=dilation)


class Maxima(Form):
    """The maximum of taps, rows first."""

    name: ClassVar = "maxima of taps"

    def __init__(self, tile_budgets: Mapping[Operation, TileBudget]):
        self.tile_budgets = tile_budgets

    def build(self, op: EdgeOp) -> Sequence[EdgeOp] | None:
        pool = _pool(op)
        if pool is None or op not in self.tile_budgets:
            return None
        step = self.tile_budgets[op].step(_copies(op, pool))
        if step == 0:
            return None
        type = tensor_type(op.results[0])
        builder = TileBuilder(type.element_type)
        channels = prod(type.get_shape()[:-2])
        image = builder.view(op.operands[0], [channels, *pool.size])
        made: list[SSAValue] = []
        height, width = pool.padded
        rows, columns = pool.out
        for start in range(0, channels, step):
            count = min(step, channels - start)
            part = builder.padded(builder.part(image, start, count), pool.padding, -inf)
            part = _largest(
                builder,
                part,
                [count, rows, width],
                [height * width, pool.stride[0] * width, 1],
                [tap * pool.dilation[0] * width for tap in range(pool.taps[0])],
            )
            part = _largest(
                builder,
                part,
                [count, rows, columns],
                [rows * width, width, pool.stride[1]],
                [tap * pool.dilation[1] for tap in range(pool.taps[1])],
            )
            made.append(part)
        builder.view(builder.joined(made, 0), type.get_shape())
        return builder.ops


def _largest(
    builder: TileBuilder,
    value: SSAValue,
    shape: Sequence[int],
    strides: Sequence[int],
    offsets: Sequence[int],
) -> SSAValue:
    """The maximum of what lies at some offsets."""
    largest = builder.strided(value, shape, strides, offsets[0])
    for offset in offsets[1:]:
        largest = builder.larger(largest, builder.strided(value, shape, strides, offset))
    return largest


def _copies(op: Operation, pool: Geometry) -> Copies:
    """Of a channel: its plane, this with padding, two taps of rows."""
    type = tensor_type(op.operands[0])
    padded = prod(pool.padded) if pool.padding != (0, 0) else 0
    each = prod(pool.size) + padded + 2 * pool.out[0] * pool.padded[1]
    return Copies(prod(type.get_shape()[:-2]), each * item_size(type.element_type))


@dataclass(frozen=True)
class PoolsToMaximaPass(ModulePass):
    """Compute pools as maxima of taps."""

    name = "pools-to-maxima"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    workspace: int = 1 << 20
    """Bytes that the copies for one tile may take."""
    headroom: int = 0
    """Bytes by which the program may need more memory at once."""
    memory: MemoryAllowance = "peak"
    """Limit of additional peak memory: as for `convolutions-to-products`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        model = CostModel.of(self.target)
        if model is None:
            return

        def copies(one: Operation) -> Sequence[Copies]:
            pool = _pool(one)
            return () if pool is None else [_copies(one, pool)]

        found = tile_budgets(op, copies, self.target, self.workspace, self.headroom, self.memory)
        rewrite(
            op,
            [
                CheapestForm(
                    edge.MaxPool2dWithIndicesOp, [Maxima(found)], model, ctx, apart=self.memory != "any"
                )
            ],
        )
