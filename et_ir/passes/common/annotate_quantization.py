"""Annotate quantized values with what their integers stand for.

| value | quantization |
|---|---|
| result of an operation that quantizes | that of the operation |
| operand of one that dequantizes, such as a weight | that of the operation |
| what views and copies make of such a value, or one becomes such a value by | the same, if it is one scale |

```mlir
%w = program.get @"fc.weight" : tensor<4x8xi8>                                                   // before
%0 = edge.quantized_decomposed.dequantize_per_channel %w, %scales, none {axis = 0, …} : …

%w = program.get @"fc.weight" {program.quantized = #program.quantized<i8 [-127, 127], channel 0,  // after
       scale = [0.5, 0.25, 0.5, 1], zero_point = 0>} : tensor<4x8xi8>
```

For readers: passes ask `et_ir.analysis.quantization`. The annotation is on the op that makes the value, so that it is
verified, printed and parsed with it; `verify-core-aten` and `verify-edge` refuse one that the program contradicts.
Inputs of methods have none. Annotations of values that are quantized no more are taken away.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass

from et_ir.analysis.quantized_values import quantized_attr, quantized_values
from et_ir.dialects.program import QUANTIZED, Globals

__all__ = ["AnnotateQuantizationPass"]


@dataclass(frozen=True)
class AnnotateQuantizationPass(ModulePass):
    """Say in the text what quantized values stand for."""

    name = "annotate-quantization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = quantized_values(op, Globals(op))
        for inner in op.walk():
            inner.attributes.pop(QUANTIZED, None)
        for value, quantization in found.items():
            if isinstance(value, OpResult) and len(value.op.results) == 1:
                value.op.attributes[QUANTIZED] = quantized_attr(quantization)
