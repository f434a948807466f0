"""Constant pads of dynamic size as concatenations.

There is machine code of any size for concatenations and slices, for pads only where their sizes are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.elements import ELEMENTS
from et_backends.codegen.sizes import has_known_sizes
from et_ir.data import Blob
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.edge.sizes import size_operand
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.evaluation.arrays import bytes_of, numpy_dtype
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["PadsToConcatenationsPass"]

_END = 2**63 - 1
"""The end of a slice that ends with the tensor."""


@dataclass(frozen=True)
class PadsToConcatenationsPass(ModulePass):
    """Pad tensors of dynamic size by concatenations.

    Before:

    ```mlir
    %1 = edge.constant_pad_nd %0 {pad = [2, -1], value = 0.5} : … -> tensor<3x?xf32, #program.sizes<s0 + 1>>
    ```

    After:

    ```mlir
    %1 = edge.slice_copy.Tensor %0 {dim = 1, end = -1} : … -> tensor<3x?xf32, #program.sizes<s0 - 1>>
    %p = program.get @pad : tensor<1x1xf32>
    %2 = edge.expand_copy %p {size = [3, 2]} : tensor<1x1xf32> -> tensor<3x2xf32>
    %3 = edge.cat %2, %1 {dim = 1} : … -> tensor<3x?xf32, #program.sizes<s0 + 1>>
    ```
    """

    name = "pads-to-concatenations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToConcatenation(Globals(op), {})])


@dataclass
class _ToConcatenation(RewritePattern):
    symbols: Globals
    constants: dict[tuple[TensorType, bytes], GlobalOp]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConstantPadNdOp, rewriter: PatternRewriter) -> None:
        value, fill = op.operands[0], op.arg("value")
        type = tensor_type(value)
        rank = type.get_num_dims()
        pads = op.arg("pad")
        if (
            type.has_static_shape()
            or type.element_type not in ELEMENTS
            or not (has_known_sizes(value) and has_known_sizes(op.results[0]))
            or any(isinstance(one, SSAValue) for one in (fill, *pads))
            or any(dim_order_of(tensor_type(one)) != contiguous(rank) for one in (value, op.results[0]))
        ):
            return
        for number in range(len(pads) // 2):
            before, after = int(pads[2 * number]), int(pads[2 * number + 1])
            value = self._padded(value, rank - 1 - number, before, after, fill, rewriter)
        rewriter.replace(op, [], [value])

    def _padded(
        self, value: SSAValue, dim: int, before: int, after: int, fill: float, rewriter: PatternRewriter
    ) -> SSAValue:
        """A value with elements put before and after those of a dimension, or taken off where numbers are negative."""
        element = tensor_type(value).element_type
        sizes = sizes_of(tensor_type(value))
        cut = min(before, 0) + min(after, 0)
        if cut:
            size = sizes[dim]
            sizes = (*sizes[:dim], None if size is None else size + cut, *sizes[dim + 1 :])
            types = [sized_tensor(element, sizes)]
            end = after if after < 0 else _END
            value = rewriter.insert(
                edge.SliceCopyTensorOp.make(value, dim, max(-before, 0), end, result_types=types)
            ).results[0]
        parts = [value]
        for count, place in ((before, 0), (after, 1)):
            if count > 0:
                parts.insert(place * len(parts), self._filled(value, dim, count, fill, rewriter))
        if len(parts) == 1:
            return value
        size = sizes[dim]
        size = None if size is None else size + max(before, 0) + max(after, 0)
        types = [sized_tensor(element, (*sizes[:dim], size, *sizes[dim + 1 :]))]
        return rewriter.insert(edge.CatOp.make(parts, dim, result_types=types)).results[0]

    def _filled(
        self, value: SSAValue, dim: int, count: int, fill: float, rewriter: PatternRewriter
    ) -> SSAValue:
        """A tensor of one number, of a value's sizes but for `count` in a dimension."""
        type = tensor_type(value)
        rank = type.get_num_dims()
        made = TensorType(type.element_type, [1] * rank)
        data = bytes(bytes_of(np.full([1] * rank, fill).astype(numpy_dtype(type.element_type)), made))
        if (made, data) not in self.constants:
            self.constants[made, data] = self.symbols.add_constant("pad", made, Blob.of("pad", data))
        read = rewriter.insert(GetOp(self.constants[made, data].key, made)).result
        sizes = sizes_of(type)
        size = [count if one == dim else size_operand(value, one, rewriter) for one in range(rank)]
        types = [sized_tensor(type.element_type, (*sizes[:dim], count, *sizes[dim + 1 :]))]
        return rewriter.insert(edge.ExpandCopyOp.make(read, size, result_types=types)).results[0]
