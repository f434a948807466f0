"""Modules for tests of passes: from text, from one torch call, and through pipelines with verification in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import Func, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_ir.data.tensors import blob_of_tensor
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.driver.pipelines import parse_passes
from et_ir.text import parse_module
from et_ir.universe import dialect_factories
from et_ir.verification import verify_module
from support.aten_interpreter import DTYPES

NAMES = {dtype: name for name, dtype in DTYPES.items()}


def context() -> Context:
    """A context with all dialects."""
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    for name, factory in dialect_factories().items():
        ctx.register_dialect(name, factory)
    return ctx


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = parse_module(context(), text)
    verify_module(module)
    return module


def run(module: ModuleOp, pipeline: str) -> ModuleOp:
    """The module after passes, verified after each."""
    for one in parse_passes(pipeline):
        one.apply(context(), module)
        verify_module(module)
    return module


def type_of(tensor: torch.Tensor) -> TensorType[Attribute]:
    """The IR type of a tensor."""
    return TensorType(ELEMENT_TYPES[NAMES[tensor.dtype]], tensor.shape)


def call(name: str, args: Sequence[Any], result: Any, **literals: Any) -> tuple[ModuleOp, list[torch.Tensor]]:
    """A module with one op of `aten`, and its inputs.

    Arguments that are tensors, or lists of them, become inputs; numbers in tensor slots become `program.literal`;
    others are literals. `result` is what torch gives, for the types.
    """
    block = Block()
    inputs: list[torch.Tensor] = []
    schema = OP_BY_NAME[name].schema()

    def operand(value: Any, is_slot: bool) -> Any:
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            return block.insert_arg(type_of(value), len(block.args))
        if isinstance(value, list | tuple) and any(isinstance(item, torch.Tensor) for item in value):
            return [operand(item, True) for item in value]
        if is_slot and value is not None:
            literal = LiteralOp(value)
            block.add_op(literal)
            return literal.result
        return value

    operands = [operand(v, a.type.is_tensor) for v, a in zip(args, schema.args, strict=False)]
    results = list(result) if isinstance(result, list | tuple) else [result]
    op = OP_BY_NAME[name].make(*operands, **literals, result_types=[type_of(r) for r in results])
    block.add_op(op)
    block.add_op(ReturnOp(*op.results))
    types: list[SSAValue] = list(block.args)
    function = FuncOp("forward", ([v.type for v in types], [r.type for r in op.results]), Region(block))
    module = ModuleOp([function])
    verify_module(module)
    return module, inputs


def with_constants(module: ModuleOp, inputs: Sequence[torch.Tensor]) -> ModuleOp:
    """The module with its inputs as constants of the program."""
    (method,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    block = method.body.block
    symbols = Globals(module)
    for index, (arg, value) in enumerate(zip(list(block.args), inputs, strict=True)):
        symbol = symbols.add_constant(f"c{index}", type_of(value), blob_of_tensor(f"c{index}", value))
        get = GetOp(symbol.key, arg.type)
        first = block.first_op
        assert first is not None
        block.insert_op_before(get, first)
        arg.replace_all_uses_with(get.result)
        block.erase_arg(arg)
    method.function_type = FunctionType.from_lists([], method.function_type.outputs.data)
    verify_module(module)
    return module
