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
restored from such integers. Views, permutations, slices and other moves in between move integers; an input that is
multiplied by a positive number has another scale. Others stay, and `float_boundary` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.analysis.quantization import (
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
)
from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.common.literal_method import literal_method
from et_ir.passes.to_executorch.propagate_quantization import MOVES, move_of_integers
from et_schema.scalar_type import ScalarType

__all__ = ["QuantizeIoPass", "float_boundary"]

_SCALAR_TYPES = {
    "ui8": ScalarType.BYTE,
    "i8": ScalarType.CHAR,
    "i16": ScalarType.SHORT,
    "i32": ScalarType.INT,
    "ui16": ScalarType.UINT16,
}


_SCALES: Final = (edge.DivScalarOp, edge.MulScalarOp)


class _Boundary:
    def __init__(self, module: ModuleOp):
        self.symbols = Globals(module)

    def input_quantization(self, value: SSAValue) -> Quantization | None:
        """How all that reads an input, or what is moved or scaled of it, quantizes it."""
        found: Quantization | None = None
        for use in value.uses:
            how = self._of_use(use)
            if how is None or (found is not None and not how.equals(found)):
                return None
            found = how
        return found

    def _of_use(self, use: Use) -> Quantization | None:
        op = use.operation
        if use.index:
            return None
        if isinstance(op, QUANTIZE):
            return self._of(op)
        if not isinstance(op, (*MOVES, *_SCALES)) or any(result.uses for result in op.results[1:]):
            return None
        how = self.input_quantization(op.results[0])
        if how is None or isinstance(op, MOVES):
            return None if isinstance(op, edge.ConstantPadNdOp) and _pads_unknown(op) else how
        number = _factor(op)
        return None if number is None or how.scales is None else replace(how, scales=how.scales / number)

    def _of(self, op: SchemaOp) -> Quantization | None:
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
            type = tensor_type(value)
            readers = list(value.uses)
            integers = Rewriter.replace_value_with_new_type(
                value, TensorType(attr_of(how.dtype), type.get_shape(), type.encoding)
            )
            for use in readers:
                self._read_integers(use.operation, integers)
            made += _methods(f"{name}_input{index}", how)
        end = block.last_op
        assert isinstance(end, ReturnOp)
        for index, value in enumerate(end.operands):
            moves, restored = _restored(value)
            how = None if restored is None else self._of(restored)
            if restored is not None and how is not None:
                integers = restored.operands[0]
                for move in moves:
                    again = move_of_integers(move, integers, how)
                    assert again is not None
                    again.location = move.location
                    Rewriter.insert_op(again, InsertPoint.before(end))
                    integers = again.results[0]
                end.operands[index] = integers
                made += _methods(f"{name}_output{index}", how)
        method.update_function_type()
        return made

    def _read_integers(self, op: Operation, integers: SSAValue) -> None:
        """Have what quantizes, moves or scales an input take the integers that the caller gives."""
        if isinstance(op, QUANTIZE):
            Rewriter.replace_op(op, [], [integers])
            return
        assert isinstance(op, EdgeOp)
        readers = [use.operation for use in op.results[0].uses]
        if isinstance(op, MOVES):
            how = self.input_quantization(op.results[0])
            assert how is not None
            move = move_of_integers(op, integers, how)
            assert move is not None
            move.location = op.location
            Rewriter.insert_op(move, InsertPoint.before(op))
            integers = move.results[0]
        for reader in readers:
            self._read_integers(reader, integers)
        Rewriter.erase_op(op)

    def reasons(self, method: FuncOp) -> list[Diagnostic]:
        """Why inputs and outputs of real numbers are not integers, as warnings."""
        name, found = method.sym_name.data, list[Diagnostic]()
        for number, value in enumerate(method.body.block.args):
            if _is_real(value) and value.first_use is not None:
                label = str(number) if value.name_hint is None else f'"{value.name_hint}"'
                found.append(self._reason_of_input(value, f"input {label} of @{name}"))
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        for number, value in enumerate(end.operands):
            owner = value.owner
            if _is_real(value) and isinstance(owner, SchemaOp):
                message = f"stays in floats, in which '{owner.name}' computes it"
                fix = "quantize that operator, or return what it takes and leave it to the caller"
                subject = f"output {number} of @{name}"
                found.append(replace(diagnose(owner, message, fix, subject=subject), severity="warning"))
        return found

    def _reason_of_input(self, value: SSAValue, subject: str) -> Diagnostic:
        todo = [use.operation for use in value.uses]
        reader = todo[0]
        while todo:
            reader = todo.pop(0)
            if isinstance(reader, (*MOVES, *_SCALES)):
                todo += [use.operation for use in reader.results[0].uses]
            elif not isinstance(reader, QUANTIZE):
                break
        if isinstance(reader, QUANTIZE):
            message = "stays in floats, as it is quantized with several scales, or by channel or at run time"
            fix = "give what reads it inputs of their own"
        else:
            message = f"stays in floats, in which '{reader.name}' reads it"
            fix = "leave that operator to the caller, who gives its result, or quantize it"
        return replace(diagnose(reader, message, fix, subject=subject), severity="warning")


def _is_real(value: SSAValue) -> bool:
    return is_tensor(value.type) and dtype_of(value.type.element_type).is_float


def _pads_unknown(op: edge.ConstantPadNdOp) -> bool:
    return isinstance(op.arg("value"), SSAValue)


def _factor(op: Operation) -> float | None:
    """The positive number that an op multiplies with."""
    assert isinstance(op, EdgeOp)
    number = op.arg("other")
    if not isinstance(number, int | float) or not 0 < number < inf:
        return None
    return 1 / number if isinstance(op, edge.DivScalarOp) else float(number)


def _restored(value: SSAValue) -> tuple[list[EdgeOp], SchemaOp | None]:
    """Moves that an output is the result of, the first one first, and what restores the numbers that they move."""
    moves: list[EdgeOp] = []
    while isinstance(value.owner, MOVES) and not isinstance(value.owner, edge.ConstantPadNdOp):
        moves.insert(0, value.owner)
        value = value.owner.operands[0]
    return moves, dequantized(value)


def _methods(prefix: str, how: Quantization) -> list[FuncOp]:
    numbers = {
        "scale": how.scale,
        "zp": how.zero_point,
        "quant_min": how.quant_min,
        "quant_max": how.quant_max,
        "dtype": int(_SCALAR_TYPES[how.dtype.name]),
    }
    return [literal_method(f"{prefix}_{key}", number) for key, number in numbers.items()]


def float_boundary(module: ModuleOp) -> list[Diagnostic]:
    """Warnings about the inputs and outputs of a module at the edge level that this pass leaves in floats, each with
    the op that is the reason.
    """
    boundary = _Boundary(module)
    methods = [one for one in module.body.block.ops if isinstance(one, FuncOp) and not one.is_declaration]
    return [reason for method in methods for reason in boundary.reasons(method)]


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
