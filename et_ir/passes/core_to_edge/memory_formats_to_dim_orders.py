"""Say memory layout by dim order: of operators that take a `memory_format`, and of a method's inputs.

| before | after |
|---|---|
| `_to_copy` | `dim_order_ops._to_dim_order_copy` |
| `clone` | `dim_order_ops._clone_dim_order` |
| `empty.memory_format` | `dim_order_ops._empty_dim_order` |
| any other with a `memory_format` | without it, and a `_clone_dim_order` after it where it said channels-last |
| input with the attribute `program.dim_order` | input whose type says its layout |

An op without a format, or with `preserve_format`, keeps its operand's layout. A result or input that is not
contiguous is copied to a contiguous one for its users; `propagate-dim-order` then moves these copies down, as
far as layout can flow. What is written to such an input gets its layout.

```mlir
%1 = edge.clone %x {memory_format = "channels_last"} : tensor<1x2x3x4xf32>              // before

%0 = edge.dim_order_ops._clone_dim_order %x {dim_order = [0, 2, 3, 1]}                  // after
  : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>
%1 = edge.dim_order_ops._clone_dim_order %0 {dim_order = [0, 1, 2, 3]}
  : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import CHANNELS_LAST, contiguous, dim_order_of, with_dim_order
from et_ir.dialects.program import OverwriteOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.report import Finding, PassReport
from et_ir.rewriting import rewrite

__all__ = ["MemoryFormatsToDimOrdersPass", "laid_out"]

_REPLACED: dict[type[Operation], type[EdgeOp]] = {
    edge.UnderscoreToCopyOp: edge.DimOrderOpsUnderscoreToDimOrderCopyOp,
    edge.CloneOp: edge.DimOrderOpsUnderscoreCloneDimOrderOp,
    edge.EmptyMemoryFormatOp: edge.DimOrderOpsUnderscoreEmptyDimOrderOp,
}
INPUT_DIM_ORDER = "program.dim_order"


def laid_out(value: SSAValue, order: tuple[int, ...]) -> EdgeOp:
    """A copy of a tensor in another memory layout."""
    type = with_dim_order(tensor_type(value), order)
    return edge.DimOrderOpsUnderscoreCloneDimOrderOp.make(value, dim_order=order, result_types=[type])


def _order(format_: str | None, type: TensorType[Attribute]) -> tuple[int, ...] | None:
    """The dim order that a memory format means for a tensor type, `None` for the operand's own.

    Raises `ValueError` for a rank that the format does not have.
    """
    rank = type.get_num_dims()
    if format_ is None or format_ == "preserve_format":
        return None
    if format_ == "contiguous_format":
        return contiguous(rank)
    expected = {"channels_last": 4, "channels_last_3d": 5}[format_]
    if rank != expected:
        raise ValueError(f"memory_format = {format_} needs a tensor of rank {expected}, got {type}")
    return CHANNELS_LAST[rank]


class ReplaceMemoryFormat(RewritePattern):
    """Replaces one op; collects formats that do not fit."""

    roots = (EdgeOp,)

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if "memory_format" not in op.schema().by_name:
            return
        cls = _REPLACED.get(type(op))
        if cls is None and "memory_format" not in op.properties:
            return
        result = tensor_type(op.result)
        try:
            order = _order(op.arg("memory_format"), result)
        except ValueError as error:
            self.findings.append(Finding.at(op, str(error), "use contiguous_format"))
            return
        arguments: dict[str, Any] = {k: v for k, v in op.args().items() if k != "memory_format"}
        given = dim_order_of(result) if order is None else order
        made: list[EdgeOp] = []
        if cls is None:
            made.append(type(op).make(**arguments, result_types=[result]))
            if given != dim_order_of(result):
                made.append(laid_out(made[0].result, given))
        else:
            types = [with_dim_order(result, given)]
            made.append(cls.make(**arguments, dim_order=order, result_types=types))
        if given != dim_order_of(result):
            made.append(laid_out(made[-1].result, dim_order_of(result)))
        rewriter.replace(op, made)


def _lay_out_inputs(method: FuncOp, findings: list[Finding]) -> None:
    """Give the inputs of a method the types that their attributes say."""
    if method.arg_attrs is None or not method.body.blocks:
        return
    block = method.body.blocks[0]
    attributes: list[DictionaryAttr] = []
    for index, entry in enumerate(method.arg_attrs):
        order = entry.data.get(INPUT_DIM_ORDER)
        attributes.append(DictionaryAttr({k: v for k, v in entry.data.items() if k != INPUT_DIM_ORDER}))
        value = block.args[index]
        type = value.type
        if not isinstance(order, DenseArrayBase) or not is_tensor(type):
            continue
        try:
            wanted = with_dim_order(type, order.get_values())
        except ValueError as error:
            fix = "export with an example input in that layout"
            findings.append(Finding.at(method, f"input {index}: {error}", fix))
            continue
        if wanted == type:
            continue
        value = Rewriter.replace_value_with_new_type(value, wanted)
        back = laid_out(value, contiguous(type.get_num_dims()))
        back.location = method.location
        overwrites = [use.operation for use in value.uses if isinstance(use.operation, OverwriteOp)]
        value.replace_uses_with_if(back.result, lambda use, back=back: use.operation is not back)
        Rewriter.insert_op(back, InsertPoint.at_start(block))
        for overwrite in overwrites:
            _lay_out_overwrite(overwrite, value, back.result)
    method.arg_attrs = ArrayAttr(attributes)
    method.function_type = FunctionType.from_lists(block.arg_types, method.function_type.outputs.data)


def _lay_out_overwrite(overwrite: OverwriteOp, target: SSAValue, contiguous_target: SSAValue) -> None:
    """Write to an input of another layout: the new value has to have it too."""
    if overwrite.target is not contiguous_target:
        return
    overwrite.operands[0] = target
    value = laid_out(overwrite.value, dim_order_of(tensor_type(target)))
    value.location = overwrite.location
    overwrite.operands[1] = value.result
    Rewriter.insert_op(value, InsertPoint.before(overwrite))


@dataclass(frozen=True)
class MemoryFormatsToDimOrdersPass(ModulePass):
    """Say memory layout by dim order."""

    name = "memory-formats-to-dim-orders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = ReplaceMemoryFormat()
        rewrite(op, [pattern])
        for method in op.body.block.ops:
            if isinstance(method, FuncOp):
                _lay_out_inputs(method, pattern.findings)
        PassReport.raise_if("invalid memory formats", pattern.findings)
