"""Compute channels in groups where peak memory is reached.

```mlir
%1 = edge.convolution %x, %w {…} : (tensor<1x3x32x32xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x32x32xf32>
%2 = edge.avg_pool2d %1 {kernel_size = [2, 2]} : (tensor<1x16x32x32xf32>) -> tensor<1x16x16x16xf32>
// becomes
%a = edge.convolution %x, %w0 {…} : (tensor<1x3x32x32xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x32x32xf32>
%b = edge.avg_pool2d %a {…} : (tensor<1x8x32x32xf32>) -> tensor<1x8x16x16xf32>
%c = edge.convolution %x, %w1 {…} : (tensor<1x3x32x32xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x32x32xf32>
%d = edge.avg_pool2d %c {…} : (tensor<1x8x32x32xf32>) -> tensor<1x8x16x16xf32>
%2 = edge.cat [%b, %d] {dim = 1} : (…) -> tensor<1x16x16x16xf32>
```

(`%w0` and `%w1` are parts of the weight.) In a chain of ops of which each uses the one before alone, and each channel
of a result depends on that channel of the argument alone (pointwise ops, pools, depthwise convolutions), groups of
channels can go through the whole chain one after the other: only the first argument and the last result are there as a
whole. A chain may start with a convolution of all channels. The results are concatenated in their places, so nothing is
copied for it. Where a convolution becomes a product, its argument is laid out anew for each group: an attribute,
`channel`, keeps those ops apart.

The chain in which the program needs the most is split, into as few groups as bring it below what the program needs
elsewhere, then the next, until that is elsewhere or `most` chains have been split. What convolutions need to become
products is counted, and an attribute `memory` of the function says how much of what has been won they may take: they
should not stay slow loops for want of memory. Images of a batch of one are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.memory_graph import MemoryGraph, bytes_of_value
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import APART, MEMORY, contiguous, dim_order_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.tensors import is_static, is_tensor, layout_of, sized_tensor, sizes_of, tensor_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.planning.tasks import needs_of
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT

__all__ = ["SplitChannelsPass"]

GROUPS: Final = (2, 4, 8)
"""Limit of groups per chain."""
ALIGNMENT: Final = 16
"""Bytes that the place of a group is a multiple of."""
PATCHES: Final = 1 << 20
"""Bytes of patches that a convolution should have memory for, to become few products."""
LEFT: Final = (11, 16)
"""The part of the peak that what else lowers convolutions may use again."""
POOLS: Final = (edge.AvgPool2dOp, edge.MaxPool2dWithIndicesOp)


@dataclass(frozen=True)
class SplitChannelsPass(ModulePass):
    """Compute channels in groups at the peak."""

    name = "split-channels"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    most: int = 8
    """Limit of split chains per block."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        blocks = [block for inner in op.walk() for region in inner.regions for block in region.blocks]
        for block in blocks:
            before: int | None = None
            for _ in range(self.most):
                if not any(isinstance(one, edge.ConvolutionOp) for one in block.ops):
                    break
                found = _largest(block, self.target)
                if found is None:
                    break
                before = before or found.peak
                rewrite(op, [_SplitChain(found.chain, found.groups)])
                erase_dead_ops(op)
            around = block.parent_op()
            if before is not None and around is not None:
                around.attributes[MEMORY] = IntegerAttr(before * LEFT[0] // LEFT[1], 64)


@dataclass(frozen=True)
class _Largest:
    """The chain in which a block needs the most memory, what that is, and into how many groups to split it."""

    chain: list[EdgeOp]
    peak: int
    groups: int


def _largest(block: Block, target: str) -> _Largest | None:
    """The chain in which a block needs the most memory, `None` if splitting it would not lower the peak."""
    graph = MemoryGraph(block, target)
    problem = graph.concatenated
    needs = needs_of(problem, range(problem.count))
    peak = max(needs, default=0)
    if not peak:
        return None
    chain = _chain(graph.tasks[needs.index(peak)])
    if len(chain) < 2:
        return None
    members = set(map(id, chain))
    elsewhere = max(
        (
            need + sum(_workspace(op))
            for op, need in zip(graph.tasks, needs, strict=True)
            if id(op) not in members
        ),
        default=0,
    )
    if peak <= elsewhere:
        return None
    outside = (
        _workspace(chain[0])[0] + needs[graph.number[chain[0]]] - sum(map(bytes_of_value, chain[0].results))
    )
    channels = tensor_type(chain[0].results[0]).get_shape()[1]
    best: tuple[int, int] | None = None
    for groups in GROUPS:
        if channels % groups or not _are_aligned(chain, groups):
            continue
        need = outside + bytes_of_value(chain[-1].results[0]) + _step(chain) // groups
        if need < peak and (best is None or need < best[0]):
            best = need, groups
        if need <= elsewhere:
            break
    return None if best is None else _Largest(chain, peak, best[1])


def _workspace(op: Operation) -> tuple[int, int]:
    """Memory of the product that replaces a convolution: its argument with a margin and patches; its result in parts.

    Nothing for other ops.
    """
    if not isinstance(op, EdgeOp) or not _is_dense(op):
        return 0, 0
    taps = tensor_type(op.operands[1]).get_shape()[2:]
    if all(size == 1 for size in taps):
        return 0, 0
    image = tensor_type(op.operands[0])
    columns = prod(tensor_type(op.results[0]).get_shape()[2:])
    patches = image.get_shape()[1] * prod(taps) * columns * item_size(image.element_type)
    return bytes_of_value(op.operands[0]) + min(patches, PATCHES), bytes_of_value(op.results[0])


def _step(chain: Sequence[EdgeOp]) -> int:
    """The most that an op of a chain needs beside the argument of the chain and its result."""
    steps: list[int] = []
    for before, op in zip([None, *chain], chain, strict=False):
        argument = 0 if before is None else bytes_of_value(before.results[0])
        result = 0 if op is chain[-1] or _is_pointwise(op) else bytes_of_value(op.results[0])
        steps.append(argument + result + sum(map(bytes_of_value, op.results[1:])) + _workspace(op)[1])
    return max(steps)


def _are_aligned(chain: Sequence[EdgeOp], groups: int) -> bool:
    values: list[SSAValue] = [op.results[0] for op in chain]
    if not _is_dense(chain[0]):
        values.append(chain[0].operands[0])
    return all(bytes_of_value(value) // groups % ALIGNMENT == 0 for value in values)


# -- chains


def _chain(op: Operation) -> list[EdgeOp]:
    """The ops around one that groups of channels can go through, in order."""
    if not isinstance(op, EdgeOp) or not (_is_channelwise(op) or _is_dense(op)):
        return []
    chain = [op]
    while not _is_dense(chain[0]):
        before = chain[0].operands[0].owner
        if not isinstance(before, EdgeOp) or not _leads_only_to(before, chain[0]):
            break
        if not (_is_channelwise(before) or _is_dense(before)):
            break
        chain.insert(0, before)
    while True:
        use = chain[-1].results[0].get_user_of_unique_use()
        if not isinstance(use, EdgeOp) or not _is_channelwise(use) or not _leads_only_to(chain[-1], use):
            return chain
        chain.append(use)


def _leads_only_to(op: EdgeOp, after: EdgeOp) -> bool:
    """Whether one op uses the result of another as its image, nothing else does, and nothing uses its other results."""
    return (
        op.parent is after.parent
        and after.operands[0] is op.results[0]
        and op.results[0].has_one_use()
        and all(result.first_use is None for result in op.results[1:])
    )


def _is_dense(op: Operation) -> bool:
    """Whether an op is a convolution of all channels, with constants that can be split."""
    return (
        isinstance(op, edge.ConvolutionOp) and op.groups == 1 and _can_split(op) and _is_image(op.results[0])
    )


def _is_channelwise(op: Operation) -> bool:
    """Whether each channel of what an op makes depends on that channel of its first operand alone."""
    if not isinstance(op, EdgeOp) or not op.results or not all(map(_is_image, (op.operands[:1] or ()))):
        return False
    if not _is_image(op.results[0]):
        return False
    if isinstance(op, edge.ConvolutionOp):
        channels = tensor_type(op.operands[0]).get_shape()[1]
        return op.groups == channels == tensor_type(op.results[0]).get_shape()[1] and _can_split(op)
    return _is_pointwise(op) or (isinstance(op, POOLS) and all(r.first_use is None for r in op.results[1:]))


def _is_pointwise(op: EdgeOp) -> bool:
    return op.operator.is_pointwise and len(op.operands) == len(op.results) == 1


def _can_split(op: edge.ConvolutionOp) -> bool:
    constants = op.operands[1:]
    return not op.transposed and all(isinstance(value.owner, GetOp) for value in constants)


def _is_image(value: SSAValue) -> bool:
    type = value.type
    if not is_tensor(type) or not is_static(type):
        return False
    shape, rank = type.get_shape(), type.get_num_dims()
    return rank > 2 and shape[0] == 1 and dim_order_of(type) == contiguous(rank)


# -- the rewrite


class _SplitChain(RewritePattern):
    """Replaces what a chain makes by the concatenation of groups."""

    def __init__(self, chain: list[EdgeOp], groups: int):
        self.chain = chain
        self.groups = groups

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if op is not self.chain[-1]:
            return
        first = self.chain[0]
        size = tensor_type(first.results[0]).get_shape()[1] // self.groups
        pieces: list[SSAValue] = []
        for group in range(self.groups):
            start = group * size
            value = first.operands[0]
            if not _is_dense(first):
                value = _part(rewriter, value, 1, start, size)
            for one in self.chain:
                value = _group(rewriter, one, value, start, size)
            pieces.append(value)
        whole = rewriter.insert(edge.CatOp.make(pieces, 1, result_types=[op.results[0].type])).results[0]
        rewriter.replace(op, [], [whole, *(None for _ in op.results[1:])])


def _group(rewriter: PatternRewriter, op: EdgeOp, value: SSAValue, start: int, size: int) -> SSAValue:
    """The results of an op for one group of channels."""
    types = [_part_type(result, 1, size) for result in op.results]
    if not isinstance(op, edge.ConvolutionOp):
        made = type(op).create(operands=[value], properties=dict(op.properties), result_types=types)
        return rewriter.insert(made).results[0]
    constants = [_part(rewriter, constant, 0, start, size) for constant in op.operands[1:]]
    weight, bias = constants[0], constants[1] if len(constants) > 1 else None
    groups = 1 if op.groups == 1 else size
    convolution = edge.ConvolutionOp.make(
        value, weight, bias, op.stride, op.padding, op.dilation, False, op.output_padding, groups,
        result_types=types,
    )  # fmt: skip
    if groups == 1:
        # What it is lowered to is the same for all groups, and must not be kept from the first to the last.
        convolution.attributes[APART] = IntegerAttr(start, 64)
    return rewriter.insert(convolution).results[0]


def _part(rewriter: PatternRewriter, value: SSAValue, dim: int, start: int, size: int) -> SSAValue:
    part = edge.SliceCopyTensorOp.make(
        value, dim, start, start + size, 1, result_types=[_part_type(value, dim, size)]
    )
    return rewriter.insert(part).results[0]


def _part_type(value: SSAValue, dim: int, size: int) -> TensorType[Attribute]:
    type = tensor_type(value)
    sizes = list(sizes_of(type))
    sizes[dim] = size
    return sized_tensor(type.element_type, sizes, layout_of(type))
