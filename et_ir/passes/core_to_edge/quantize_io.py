"""Drop quantization at the inputs and outputs of methods.

```mlir
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {                                        // before
  %1 = edge.quantized_decomposed.quantize_per_tensor %x {scale = 0.5, zero_point = 3, …}
  …
  %9 = edge.quantized_decomposed.dequantize_per_tensor %8 {scale = 0.1, zero_point = -5, …}
  func.return %9 : tensor<4xf32>

func.func @forward(%x: tensor<4xi8>) -> tensor<4xi8> {                                          // after
  …
  func.return %8 : tensor<4xi8>
```

The caller passes and gets integers, as sensors and microcontrollers have them. What they stand for is told by constant
methods under the names that ExecuTorch's `QuantizeInputs` and `QuantizeOutputs` give them: `forward_input0_scale`,
`_zp`, `_quant_min`, `_quant_max`, `_dtype` (the number of the type in files), and so on for outputs.

An input changes if all that reads it quantizes it with one scale that is known at compile time, an output if it is
restored from such integers; others stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_ir.analysis.quantization import (
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
)
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.common.literal_method import literal_method
from et_schema.scalar_type import ScalarType

__all__ = ["QuantizeIoPass"]

_SCALAR_TYPES = {
    "ui8": ScalarType.BYTE,
    "i8": ScalarType.CHAR,
    "i16": ScalarType.SHORT,
    "i32": ScalarType.INT,
    "ui16": ScalarType.UINT16,
}


class _Boundary:
    def __init__(self, module: ModuleOp):
        self.symbols = Globals(module)

    def input_quantization(self, value: BlockArgument) -> Quantization | None:
        """How all that reads an input quantizes it."""
        found: Quantization | None = None
        for use in value.uses:
            how = self._of(use.operation) if isinstance(use.operation, QUANTIZE) and not use.index else None
            if how is None or (found is not None and not how.equals(found)):
                return None
            found = how
        return found

    def _of(self, op: object) -> Quantization | None:
        assert isinstance(op, SchemaOp)
        how = quantization_of(op, self.symbols)
        return how if how.granularity is Granularity.TENSOR and not how.is_dynamic else None

    def apply(self, method: FuncOp) -> list[FuncOp]:
        """Change a method; returns the constant methods about it."""
        block, name = method.body.block, method.sym_name.data
        made: list[FuncOp] = []
        for index, value in enumerate(block.args):
            how = self.input_quantization(value)
            if how is None:
                continue
            for use in list(value.uses):
                Rewriter.replace_op(use.operation, [], [value])
            type = tensor_type(value)
            Rewriter.replace_value_with_new_type(
                value, TensorType(attr_of(how.dtype), type.get_shape(), type.encoding)
            )
            made += _methods(f"{name}_input{index}", how)
        end = block.last_op
        assert isinstance(end, ReturnOp)
        for index, value in enumerate(end.operands):
            restored = dequantized(value)
            how = None if restored is None else self._of(restored)
            if restored is not None and how is not None:
                end.operands[index] = restored.operands[0]
                made += _methods(f"{name}_output{index}", how)
        method.update_function_type()
        return made


def _methods(prefix: str, how: Quantization) -> list[FuncOp]:
    numbers = {
        "scale": how.scale,
        "zp": how.zero_point,
        "quant_min": how.quant_min,
        "quant_max": how.quant_max,
        "dtype": int(_SCALAR_TYPES[how.dtype.name]),
    }
    return [literal_method(f"{prefix}_{key}", number) for key, number in numbers.items()]


@dataclass(frozen=True)
class QuantizeIoPass(ModulePass):
    """Drop quantization at inputs and outputs."""

    name = "quantize-io"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        boundary = _Boundary(op)
        block = op.body.block
        for method in [one for one in block.ops if isinstance(one, FuncOp) and not one.is_declaration]:
            for made in boundary.apply(method):
                block.add_op(made)
        erase_dead_ops(op)
