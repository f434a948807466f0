"""Give quantized values types that say what their integers stand for.

| value | type |
|---|---|
| result of an operation that quantizes | that of the operation |
| operand of one that dequantizes, such as a weight or an input | that of the operation |
| what views and copies make of such a value, or one becomes such a value by | the same, if it is one scale |

```mlir
%w = program.get @"fc.weight" : tensor<4x8xi8>                                                   // before
%0 = edge.quantized_decomposed.dequantize_per_channel %w, %scales, none {axis = 0, …} : …

%w = program.get @"fc.weight" : tensor<4x8x!program.quantized<i8 [-127, 127], channel 0,         // after
       scale = [0.5, 0.25, 0.5, 1], zero_point = 0>>
```

`verify-core-aten` and `verify-edge` hold types to the operations. Values that operations disagree on, those of control
flow, and those whose scales or zero points no type has, stay integers. Passes other than verification work on integers:
`erase-quantized-types` runs before them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from et_ir.analysis.quantized_values import operand_quantization, quantized_type, quantized_values
from et_ir.dialects.program import GetOp, Globals, QuantizedType
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.common.erase_quantized_types import erase_quantized_types

__all__ = ["InferQuantizedTypesPass", "infer_quantized_types"]


@dataclass(frozen=True)
class InferQuantizedTypesPass(ModulePass):
    """Say in types what quantized values stand for."""

    name = "infer-quantized-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_quantized_types(op)


def infer_quantized_types(module: ModuleOp) -> None:
    """As the pass. Raises `PassReport` for types that are there and that operations contradict."""
    erase_quantized_types(module)
    symbols = Globals(module)
    methods: set[FuncOp] = set()
    for value, quantization in quantized_values(module, symbols).items():
        if not _may_have_type(value):
            continue
        said = [operand_quantization(use, symbols) for use in value.uses]
        try:
            element, *others = (quantized_type(one) for one in (quantization, *said) if one is not None)
        except VerifyException:  # verification reports numbers that no type has, at the operations
            continue
        type = tensor_type(value)
        if any(other != element for other in others):
            continue
        if element.shape_fault(type.get_shape()) is not None:
            continue
        changed: TensorType[QuantizedType] = TensorType(element, type.get_shape(), type.encoding)
        methods.update(_methods_of(value))
        Rewriter.replace_value_with_new_type(value, changed)
    for method in methods:
        method.update_function_type()


def _may_have_type(value: SSAValue) -> bool:
    """Whether only operators make and read a value, and the ends of a method."""
    if isinstance(value.owner, Block):
        if not isinstance(value.owner.parent_op(), FuncOp):
            return False
    elif not isinstance(value.owner, SchemaOp | GetOp):
        return False
    return all(isinstance(use.operation, SchemaOp | ReturnOp) for use in value.uses)


def _methods_of(value: SSAValue) -> list[FuncOp]:
    """Methods whose type has that of a value."""
    ends = [use.operation.parent_op() for use in value.uses if isinstance(use.operation, ReturnOp)]
    if not isinstance(value, OpResult):
        ends.append(value.owner.parent_op() if isinstance(value.owner, Block) else None)
    return [one for one in ends if isinstance(one, FuncOp)]
