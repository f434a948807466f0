"""Give quantized values the types that their integers are stored in.

```mlir
%w = program.get @w : tensor<4x8x!program.quantized<i8 [-127, 127], tensor, scale = 0.5, zero_point = 0>>   // before
%w = program.get @w : tensor<4x8xi8>                                                                         // after
```

Operations say what integers stand for, so nothing is lost, and passes make integers without a type that would have to
follow. Types that the operations contradict are reported, not dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_ir.diagnostics import PassReport
from et_ir.dialects.program import quantized_type_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.verify.quantization_rules import QuantizedTypes

__all__ = ["EraseQuantizedTypesPass", "erase_quantized_types"]


@dataclass(frozen=True)
class EraseQuantizedTypesPass(ModulePass):
    """Give quantized values the types of their integers."""

    name = "erase-quantized-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_quantized_types(op)


def erase_quantized_types(module: ModuleOp) -> None:
    """As the pass. Raises `PassReport` for types that operations contradict."""
    values = [value for value in _values(module) if quantized_type_of(value) is not None]
    if not values:
        return
    rules = QuantizedTypes(module)
    findings = [finding for op in module.walk() for finding in rules.findings(op)]
    PassReport.raise_if("types of quantized values are not what operations say", findings)
    for value in values:
        type, element = tensor_type(value), quantized_type_of(value)
        assert element is not None
        plain: TensorType[Attribute] = TensorType(element.storage, type.get_shape(), type.encoding)
        Rewriter.replace_value_with_new_type(value, plain)
    for method in module.walk():
        if isinstance(method, FuncOp):
            method.update_function_type()


def _values(module: ModuleOp) -> Iterator[SSAValue]:
    for op in module.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
