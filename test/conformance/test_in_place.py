"""Kernels that `in-place` lets write over an argument give the result that they give beside it, in every runtime."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region

from et_ir.dialects.executorch import AllocOp, InputOp, KernelCallOp, PlanOp, ReturnOp
from et_ir.dialects.executorch.signatures import schema_of
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.emit import write
from et_ir.passes.in_place import POINTWISE
from et_ir.passes.pipelines import run_pipeline
from et_vm.runtime import Runtime

SHAPE = (3, 5)
BROADCAST = (5,)
LITERALS = {
    "min": 0.2,
    "max": 0.7,
    "value": 0.5,
    "alpha": 2,
    "other": 3,
    "self": 3,
    "exponent": 2,
    "eps": None,
}


def dtype_of(operator: str, argument: str) -> str:
    """A dtype that the operator takes for an argument."""
    name = operator.removeprefix("aten::").partition(".")[0]
    if argument in ("condition", "mask") or name.startswith("logical"):
        return "i1"
    return "i64" if name.startswith("bitwise") else "f32"


def cases(operator: str) -> Iterator[PlanOp]:
    """Plans that call an operator twice, beside each of its tensor arguments and over it; the others are broadcast."""
    schema = schema_of(operator)
    assert schema is not None
    arguments = [arg for arg in schema.args if arg not in schema.out_args]
    tensors = [arg for arg in arguments if arg.type.is_tensor]
    out = {"masked_fill": "f32", "where": "f32"}.get(operator.removeprefix("aten::").partition(".")[0])
    for over in tensors:
        result = out or dtype_of(operator, over.name)
        if dtype_of(operator, over.name) != result:
            continue
        block = Block()
        given: list[Any] = []
        written = None
        for arg in arguments:
            if not arg.type.is_tensor:
                default = arg.default
                literal = (
                    LITERALS.get(arg.name) if not isinstance(default, bool | int | float | str) else default
                )
                # Torch's meta kernels of operators with a scalar reject another factor than 1.
                given.append(2 if arg.name == "alpha" and len(tensors) > 1 else literal)
                continue
            type: TensorType[Attribute] = TensorType(
                ELEMENT_TYPES[dtype_of(operator, arg.name)], SHAPE if arg is over else BROADCAST
            )
            source = InputOp(type)
            block.add_op(source)
            given.append(source.result)
            if arg is over:
                # An input may not be written over; what is read from it may.
                written = AllocOp(type)
                block.add_ops(
                    [written, KernelCallOp("aten::clone.out", [source.result, None], outs=[written.result])]
                )
        assert written is not None
        beside = AllocOp(written.type)
        block.add_ops([beside, KernelCallOp(operator, given, outs=[beside.result])])
        given[arguments.index(over)] = written.result
        block.add_op(KernelCallOp(operator, given, outs=[written.result]))
        block.add_op(ReturnOp([beside.result, written.result]))
        yield PlanOp("forward", Region(block))


def runs(operator: str, tmp_path: Path) -> Iterator[tuple[Path, list[torch.Tensor]]]:
    torch.manual_seed(0)
    for number, plan in enumerate(cases(operator)):
        inputs: list[torch.Tensor] = []
        for register in plan.inputs:
            value = torch.rand(register.type.get_shape()) * 0.8 + 0.1
            name = str(register.type.element_type)
            inputs.append({"i1": value > 0.5, "i64": (value * 10).to(torch.int64)}.get(name, value))
        module = ModuleOp([plan])
        run_pipeline(module, "plan-memory{check=true},link-check,verify-executorch")
        stream = io.BytesIO()
        write(module, stream)
        path = tmp_path / f"{number}.pte"
        path.write_bytes(stream.getvalue())
        yield path, inputs


@pytest.mark.parametrize("runtime", ["portable", "aten", "stock"])
def test_results_are_the_same(runtime: str, stock: StockRuntime, tmp_path: Path) -> None:
    different: list[str] = []
    for operator in sorted(POINTWISE):
        for path, inputs in runs(operator, tmp_path):
            if runtime == "stock":
                beside, over = stock.run(path, inputs)
            else:
                method = Runtime.get().load_program(path, kernels=runtime).load_method("forward")
                beside, over = method.execute(inputs)
            if not torch.equal(torch.nan_to_num(beside.double()), torch.nan_to_num(over.double())):
                different.append(operator)
    assert different == []
