"""Legalize a program of the edge level to TOSA, whole.

```mlir
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.relu %x : tensor<2x3xf32>                               // before
  %0 = "tosa.clamp"(%x) <{max_val = …, min_val = …, …}> : …         // after
```

Every op is replaced by the rule of its operator (`et_backends.tosa.compiler.rules`); one that has none, or that its
rule does not take, is an error. Images are between transposes, which `fold-tosa-transposes` removes. Arguments and
results have the shape that they have in memory: one whose dimensions are in another order there is transposed where it
enters and where it leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.tosa.compiler.integers import Integers
from et_backends.tosa.compiler.legalizer import Legalizer, is_tosa, memory_order
from et_backends.tosa.compiler.rules import RULES
from et_ir.analysis.dim_orders import straight
from et_ir.analysis.quantization import QUANTIZE, dequantized, quantization_of
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.driver.stages import run_pipeline

__all__ = ["LegalizeToTosaPass", "legalized"]


@dataclass(frozen=True)
class LegalizeToTosaPass(ModulePass):
    """Legalize a program of the edge level to TOSA."""

    name = "legalize-to-tosa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)
        found: list[Diagnostic] = []
        for method in op.body.block.ops:
            if isinstance(method, FuncOp):
                found += legalized(method, symbols)
        if found:
            raise PassReport("the program cannot be legalized to TOSA", found)
        run_pipeline(op, "dce")


def legalized(method: FuncOp, symbols: Globals) -> list[Diagnostic]:
    """Legalize a method in place; what is said against ops of it, which then stay."""
    block = method.body.block
    t = Legalizer(symbols)
    first = block.first_op
    assert first is not None
    t.before(first)
    for argument in list(block.args):
        _enter(t, argument)
    _cancel(method, symbols)
    integers = Integers.of(method, symbols)
    found: list[Diagnostic] = []
    for op in list(block.ops):
        if isinstance(op, GetOp) or is_tosa(op):
            continue
        t.before(op)
        if isinstance(op, ReturnOp):
            _leave(t, op)
            continue
        try:
            if integers.reads(op):
                assert isinstance(op, SchemaOp)
                integers.lower(t, op)
                continue
            if isinstance(op, QUANTIZE) and op.operands[0] in integers.made:
                made = [integers.made[op.operands[0]]]
            elif integers.is_border(op):
                continue
            else:
                made = results_of(t, op)
        except ValueError as error:
            found.append(
                diagnose(op, f"{op.name} has no counterpart in TOSA: {error}", "leave it to another backend")
            )
            continue
        for old, new in zip(op.results, made, strict=True):
            if new is not None:
                new.name_hint = new.name_hint or old.name_hint
                old.replace_uses_with_if(new, lambda use: not integers.reads(use.operation))
    end = block.last_op
    assert isinstance(end, ReturnOp)
    method.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in end.arguments]
    )
    for op in reversed(list(block.ops)):
        if op is not end and not any(result.uses for result in op.results):
            block.erase_op(op)
    return found


def _cancel(method: FuncOp, symbols: Globals) -> None:
    """Take the integers that a value was restored from, where it is quantized just so again."""
    for op in method.body.block.ops:
        if isinstance(op, QUANTIZE):
            restored = dequantized(op.operands[0])
            if restored is not None and quantization_of(restored, symbols).equals(
                quantization_of(op, symbols)
            ):
                op.results[0].replace_all_uses_with(restored.operands[0])


def results_of(t: Legalizer, op: Operation) -> Sequence[SSAValue | None]:
    """The results of an op, computed by TOSA ops. Raises `ValueError` for one that they do not compute."""
    rule = RULES.get(op.name.removeprefix("edge.")) if isinstance(op, SchemaOp) else None
    if rule is None or not isinstance(op, SchemaOp):
        raise ValueError("there is no rule for the operator")
    made = rule(t, op)
    results = [made] if isinstance(made, SSAValue) else list(made)
    for old, new in zip(op.results, results, strict=True):
        if new is None and old.uses:
            raise ValueError("a result that TOSA does not compute is used")
        if new is not None and (t.shape_of(new), t.dtype(new)) != (t.shape_of(old), t.dtype(old)):
            raise ValueError(f"it computes {new.type}, not {old.type}")
    return results


def _plain(type: Attribute, order: Sequence[int]) -> TensorType[Attribute]:
    assert is_tensor(type)
    sizes = type.get_shape()
    return TensorType(type.element_type, [sizes[dim] for dim in order])


def _enter(t: Legalizer, argument: SSAValue) -> None:
    """Give an argument the shape that it has in memory."""
    if not is_tensor(argument.type):
        return
    order = memory_order(argument.type)
    argument = Rewriter.replace_value_with_new_type(argument, _plain(argument.type, order))
    if order != straight(len(order)):
        uses = list(argument.uses)
        logical = t.transpose(argument, [order.index(dim) for dim in range(len(order))])
        for use in uses:
            use.operation.operands[use.index] = logical


def _leave(t: Legalizer, end: ReturnOp) -> None:
    """Return results in the shape that they have in memory."""
    method = end.parent_op()
    assert isinstance(method, FuncOp)
    for number, (value, type) in enumerate(
        zip(list(end.arguments), method.function_type.outputs.data, strict=True)
    ):
        if is_tensor(type):
            end.operands[number] = t.transpose(t.operand(value), memory_order(type))
