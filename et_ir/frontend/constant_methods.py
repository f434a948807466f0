"""Methods without inputs that give what is known before anything runs: a vocabulary's size, a table, a flag."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._pytree import treespec_dumps
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from et_ir.dialects.program import GetOp, LiteralOp
from et_ir.dialects.program.trees import tree_attribute
from et_ir.frontend.state import SymbolTable
from et_ir.frontend.unsupported import Reasons

__all__ = ["constant_method"]


def constant_method(name: str, value: Any, state: SymbolTable, reasons: Reasons) -> FuncOp:
    """The method `name()` that returns `value`: tensors, numbers, strings and None, in tuples, lists and dicts.

    Adds to `reasons` what `value` holds beside these.
    """
    leaves, spec = pytree.tree_flatten(value)
    ops: list[Operation] = []
    results: list[SSAValue] = []
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            label = name if len(leaves) == 1 else f"{name}.{index}"
            symbol = state.declare(name, label, "constant", leaf, mutated=False)
            if symbol is None:
                continue
            op = GetOp(symbol.name, symbol.type)
        elif isinstance(leaf, int | float | str | None):
            op = LiteralOp(leaf)
        else:
            reasons.add(
                f"constant method {name}",
                f"it returns a {type(leaf).__name__}",
                "return tensors, numbers, strings and None, in tuples, lists and dicts",
            )
            continue
        ops.append(op)
        results.append(op.result)
    block = Block([*ops, ReturnOp(*results)])
    function = FuncOp(name, FunctionType.from_lists([], [result.type for result in results]), Region(block))
    _, nothing = pytree.tree_flatten(((), {}))
    for key, tree in (("program.in_spec", nothing), ("program.out_spec", spec)):
        function.attributes[key] = tree_attribute(treespec_dumps(tree))
    return function
