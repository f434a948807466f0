"""Look up pointwise functions of quantized tensors in tables.

```mlir
%1 = edge.quantized_decomposed.dequantize_per_tensor %x {scale = 0.5, …} : (tensor<2x4xi8>) -> tensor<2x4xf32> // before
%2 = edge.sigmoid %1 : tensor<2x4xf32>
%3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 0.00390625, …} : (tensor<2x4xf32>) -> tensor<2x4xi8>

%t = program.get @table : tensor<256xi8>                                                    // after constant-fold
%3 = edge.integer.lookup %x, %t : (tensor<2x4xi8>, tensor<256xi8>) -> tensor<2x4xi8>
```

What stands between `dequantize` and `quantize` may be any pointwise operators of one tensor of 8 bits: all 256 results
are computed at compile time, by the same operators. Without any it is a requantization, from one scale to another. A
lookup of what only another lookup gives is one, in a table of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.quantization import QUANTIZE, dequantized, quantization_of
from et_ir.data import Blob
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_tensor, may_be_same_type, sized_tensor, tensor_type
from et_ir.passes.common.constant_fold import fold_ops
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.to_executorch.propagate_quantization import has_one_scale
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT, find_target
from et_ops.dtypes import I8

__all__ = ["TabulatePointwisePass"]

_ENTRIES: Final = 256
_LARGEST: Final = 32
"""Ops of a function that becomes a table."""


@dataclass
class _Function:
    """Pointwise operators between one tensor of integers and a result, in order."""

    integers: SSAValue
    ops: Sequence[SchemaOp]


class Tabulate(RewritePattern):
    """Quantization of a function of one quantized tensor."""

    roots = QUANTIZE

    def __init__(self, symbols: Globals):
        self.symbols = symbols
        self.range: str | None = None
        """The constant with all numbers of 8 bits, once there is a table."""
        self.tables: list[Operation] = []
        """Ops that compute tables, in order."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        how = quantization_of(op, self.symbols)
        if how.dtype is not I8 or not has_one_scale(how):
            return
        function = self._function(op)
        if function is None or not may_be_same_type(function.integers.type, op.results[0].type):
            return
        source, made = function.integers, list[Operation]()
        inner = source.owner
        if isinstance(inner, edge.IntegerLookupOp) and source.has_one_use():
            source, start = inner.operands[0], inner.operands[1]
        else:
            get = self._all_numbers()
            made.append(get)
            start = get.result
        values = {function.integers: start}
        for one in (*function.ops, op):
            for value in one.operands:
                if isinstance(value.owner, GetOp) and value not in values:  # a constant without dimensions
                    again = value.owner.clone()
                    values[value] = again.result
                    made.append(again)
            element = tensor_type(one.results[0]).element_type
            clone = type(one).create(
                operands=[values.get(value, value) for value in one.operands],
                result_types=[sized_tensor(element, [_ENTRIES])],
                properties=one.properties,
            )
            values[one.results[0]] = clone.results[0]
            made.append(clone)
        self.tables += made
        table = values[op.results[0]]
        found = edge.IntegerLookupOp.make(source, table, result_types=[op.results[0].type])
        rewriter.replace(op, [*made, found], [found.results[0]])

    def _all_numbers(self) -> GetOp:
        """The constant with all numbers of 8 bits."""
        type = sized_tensor(attr_of(I8), [_ENTRIES])
        if self.range is None:
            data = np.arange(-128, 128, dtype=np.int8).tobytes()
            self.range = self.symbols.add_constant("i8_range", type, Blob.of("i8_range", data)).key
        return GetOp(self.range, type)

    def _function(self, root: SchemaOp) -> _Function | None:
        """The function that a quantization is of one tensor; `None` if it is of several, or more than pointwise."""
        shape = tensor_type(root.results[0]).get_shape()
        integers: SSAValue | None = None
        ops: list[SchemaOp] = []
        inside: set[Operation] = {root}
        todo = [root.operands[0]]
        while todo:
            value = todo.pop()
            owner = value.owner
            if owner in inside:
                continue
            if not isinstance(owner, SchemaOp):
                if isinstance(owner, GetOp) and tensor_type(value).get_num_dims() == 0:
                    continue
                return None
            restored = dequantized(value)
            if restored is not None:
                how = quantization_of(restored, self.symbols)
                if how.dtype is not I8 or not has_one_scale(how):
                    return None
                if integers is not None and integers is not restored.operands[0]:
                    return None
                integers = restored.operands[0]
                inside.add(restored)
                ops.append(restored)
                continue
            if not self._is_pointwise(owner, shape) or len(ops) == _LARGEST:
                return None
            inside.add(owner)
            ops.append(owner)
            todo += owner.operands
        if integers is None:
            return None
        for one in ops:
            kept = dequantized(one.results[0]) is None
            if kept and any(use.operation not in inside for use in one.results[0].uses):
                return None
        block = root.parent
        if any(one.parent is not block for one in ops):
            return None
        if len(ops) > 1 and block is not None:
            places = {one: index for index, one in enumerate(block.ops) if one in inside}
            ops.sort(key=lambda one: places[one])
        return _Function(integers, ops)

    def _is_pointwise(self, op: SchemaOp, shape: tuple[int, ...]) -> bool:
        return (
            isinstance(op, EdgeOp)
            and op.operator.is_pointwise
            and not op.operator.is_random
            and len(op.results) == 1
            and tensor_type(op.results[0]).get_shape() == shape
            and all(is_tensor(value.type) for value in op.operands)
            and dtype_of(tensor_type(op.results[0]).element_type).is_float
        )


@dataclass(frozen=True)
class TabulatePointwisePass(ModulePass):
    """Look up quantized pointwise functions in tables."""

    name = "tabulate-pointwise"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if edge.IntegerLookupOp.operator.kernel not in find_target(self.target).kernels:
            return
        pattern = Tabulate(Globals(op))
        rewrite(op, [pattern])
        fold_ops(op, pattern.tables, _ENTRIES)
        erase_dead_ops(op)
