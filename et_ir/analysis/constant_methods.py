"""Methods that compute nothing: they have no inputs, and return what is known when the program is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from et_ir.dialects import executorch
from et_ir.dialects.executorch import PlanOp
from et_ir.dialects.program import GetOp, LiteralOp

__all__ = ["Method", "is_constant_method", "methods_of"]

Method = FuncOp | PlanOp
"""A method, at the executorch level a plan."""


def methods_of(module: ModuleOp) -> Sequence[Method]:
    """The methods of a program, in its order."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp | PlanOp)]


def is_constant_method(method: Method) -> bool:
    """Whether a method returns constants and has no inputs."""
    if isinstance(method, PlanOp):
        instructions = method.instructions
        return (
            not method.inputs and len(instructions) == 1 and isinstance(instructions[0], executorch.ReturnOp)
        )
    block = method.body.block
    return not block.args and all(isinstance(op, GetOp | LiteralOp | ReturnOp) for op in block.ops)
