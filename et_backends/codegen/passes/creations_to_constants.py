"""Creation of tensors of dynamic size from constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.elements import ELEMENTS
from et_backends.codegen.sizes import has_known_sizes, largest, shape_of
from et_ir.data import Blob
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.sizes import size_operand
from et_ir.dialects.program import ComputeOp, GetOp, GlobalOp, Globals, LiteralOp
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import bytes_of, numpy_dtype
from et_ir.rewriting import op_type_rewrite_pattern, rewrite
from et_ops.sizes import Ranges

__all__ = ["CreationsToConstantsPass"]

MOST: Final = 1 << 16
"""Elements of a table of numbers that follow each other."""


@dataclass(frozen=True)
class CreationsToConstantsPass(ModulePass):
    """Replace dynamic `full` and `arange` by constants.

    Before:

    ```mlir
    %1 = edge.full {size = [%n, 4], fill_value = 2.5} : (i64) -> tensor<?x4xf32, #program.sizes<s0>>
    %2 = edge.arange.start_step {start = 0, end = %n} : (i64) -> tensor<?xi64, #program.sizes<s0>>
    ```

    After, where `s0` is at most 40:

    ```mlir
    %e = program.get @full : tensor<1x1xf32>
    %1 = edge.expand_copy %e {size = [%n, 4]} : (tensor<1x1xf32>, i64) -> tensor<?x4xf32, #program.sizes<s0>>
    %t = program.get @arange : tensor<40xi64>
    %2 = edge.slice_copy.Tensor %t {start = 0, end = %n} : (tensor<40xi64>, i64) -> tensor<?xi64, #program.sizes<s0>>
    ```

    Tables have at most 65,536 numbers, which are integers with a known start and a known positive step.
    """

    name = "creations-to-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = _Constants(Globals(op), {})
        for method in op.body.block.ops:
            if isinstance(method, FuncOp) and not method.is_declaration:
                ranges = method_ranges(method)
                rewrite(
                    method.body,
                    [_Full(constants, ranges), _FullLike(constants, ranges), _Arange(constants, ranges)],
                )


@dataclass
class _Constants:
    symbols: Globals
    made: dict[tuple[Any, ...], GlobalOp]

    def read(self, hint: str, array: np.ndarray[Any, Any], element: Attribute) -> GetOp:
        """A read of a constant with the elements of an array."""
        type = TensorType(element, array.shape)
        data = bytes(bytes_of(array.astype(numpy_dtype(element)), type))
        key = (type, data)
        if key not in self.made:
            self.made[key] = self.symbols.add_constant(hint, type, Blob.of(hint, data))
        return GetOp(self.made[key].key, type)


@dataclass
class _Creation(RewritePattern):
    constants: _Constants
    ranges: Ranges

    def is_taken(self, op: Operation) -> bool:
        """Whether the code generator can be given a view in the place of an op."""
        type = tensor_type(op.results[0])
        return (
            not type.has_static_shape() and has_known_sizes(op.results[0]) and type.element_type in ELEMENTS
        )

    def expand(
        self,
        op: Operation,
        value: int | float | bool,
        size: Sequence[int | SSAValue],
        rewriter: PatternRewriter,
    ) -> None:
        """Replace an op by an element of all places."""
        type = tensor_type(op.results[0])
        element = self.constants.read("full", np.full([1] * len(size), value), type.element_type)
        rewriter.replace(op, [element, edge.ExpandCopyOp.make(element.result, size, result_types=[type])])


class _Full(_Creation):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.FullOp, rewriter: PatternRewriter) -> None:
        if self.is_taken(op) and not isinstance(op.fill_value, SSAValue):
            self.expand(op, op.fill_value, op.size, rewriter)


class _FullLike(_Creation):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.FullLikeOp, rewriter: PatternRewriter) -> None:
        if not self.is_taken(op) or isinstance(op.fill_value, SSAValue):
            return
        rank = tensor_type(op.operands[0]).get_num_dims()
        sizes = [size_operand(op.operands[0], dim, rewriter) for dim in range(rank)]
        self.expand(op, op.fill_value, sizes, rewriter)


class _Arange(_Creation):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ArangeStartStepOp, rewriter: PatternRewriter) -> None:
        start, end, step = op.start, op.end, op.step
        if not self.is_taken(op) or not isinstance(end, SSAValue):
            return
        if not (isinstance(start, int) and isinstance(step, int) and step > 0):
            return
        (size,) = shape_of(op.results[0])
        most = largest(size, self.ranges)
        if most is None or not 0 < most <= MOST:
            return
        type = tensor_type(op.results[0])
        table = self.constants.read("arange", np.arange(most) * step + start, type.element_type)
        count = end
        for function, number in (("add", step - 1 - start), ("floordiv", step)):
            if number != (0 if function == "add" else 1):
                other = rewriter.insert(LiteralOp(number)).results[0]
                count = rewriter.insert(ComputeOp(function, [count, other])).result
        part = edge.SliceCopyTensorOp.make(table.result, 0, 0, count, result_types=[type])
        rewriter.replace(op, [table, part])
