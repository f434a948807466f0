"""Selections of dequantized numbers as selections of the stored ones.

A maximum, a view and a permutation choose among the numbers they are given, and quantization keeps their order: where
the result is quantized as the input was, bytes are chosen, and no float is stored between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_backends.codegen.forms import VIEWS
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["NarrowSelectionsPass"]

_QUANTIZE: Final = "quantized_decomposed.quantize_per_tensor"
_DEQUANTIZE: Final = "quantized_decomposed.dequantize_per_tensor"
_SELECTIONS: Final = VIEWS | {"max_pool2d_with_indices"}


@dataclass(frozen=True)
class NarrowSelectionsPass(ModulePass):
    """Select among stored numbers, not restored ones.

    Before:

    ```mlir
    %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = 3, …} : … -> tensor<1x4xf32>
    %2 = edge.view_copy %1 {size = [4]} : (tensor<1x4xf32>) -> tensor<4xf32>
    %3 = edge.quantized_decomposed.quantize_per_tensor %2 {scale = 0.5, zero_point = 3, …} : … -> tensor<4xi8>
    ```

    After:

    ```mlir
    %3 = edge.view_copy %0 {size = [4]} : (tensor<1x4xi8>) -> tensor<4xi8>
    ```
    """

    name = "narrow-selections"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_Narrow()])


class _Narrow(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SchemaOp, rewriter: PatternRewriter) -> None:
        if operator_name(op) != _QUANTIZE:
            return
        chain: list[SchemaOp] = []
        value: SSAValue = op.operands[0]
        while isinstance(owner := value.owner, SchemaOp) and operator_name(owner) in _SELECTIONS:
            if not value.has_one_use() or any(result.uses for result in owner.results if result is not value):
                return
            chain.insert(0, owner)
            value = owner.operands[0]
        before = value.owner
        if not isinstance(before, SchemaOp) or operator_name(before) != _DEQUANTIZE:
            return
        if any(
            op.arg(name) != before.arg(name) for name in ("scale", "zero_point", "quant_min", "quant_max")
        ):
            return
        stored = before.operands[0]
        element = tensor_type(op.results[0]).element_type
        if tensor_type(stored).element_type != element:
            return
        for one in chain:
            types = [one.results[0].type, *(result.type for result in one.results[1:])]
            first = tensor_type(one.results[0])
            types[0] = TensorType(element, first.get_shape(), first.encoding)
            made = one.create(
                operands=[stored, *one.operands[1:]],
                result_types=types,
                properties=one.properties.copy(),
                attributes=one.attributes.copy(),
                location=one.location,
            )
            rewriter.insert(made, InsertPoint.before(op))
            stored = made.results[0]
        rewriter.replace(op, [], [stored])
