"""Turn stores to buffers and writes to inputs into copies. They go to the registers of the state or the input.

A value that is read after its register has been overwritten (an output that is the old state, two buffers that
swap) is copied aside first. An input that is written becomes `aliased`, the caller's own tensor.

```mlir
%s = executorch.state @"count" : tensor<i64>
executorch.kernel_call "aten::add.out"(%s, %one, 1) outs(%r)
program.store @"count", %r : tensor<i64>
executorch.return %s
// becomes
%s = executorch.state @"count" : tensor<i64>
executorch.kernel_call "aten::add.out"(%s, %one, 1) outs(%r)
%old = executorch.alloc : tensor<i64>
executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%s, false, ints []) outs(%old)
executorch.kernel_call "aten::copy_"(%s, %r, false) returns(%s)
executorch.return %old
```

```mlir
%x = executorch.input : tensor<4xf32>
executorch.kernel_call "aten::add.out"(%x, %one, 1) outs(%r)
program.overwrite %x, %r : tensor<4xf32>
// becomes
%x = executorch.input aliased : tensor<4xf32>
executorch.kernel_call "aten::add.out"(%x, %one, 1) outs(%r)
executorch.kernel_call "aten::copy_"(%x, %r, false) returns(%x)
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import root_of, uses_of
from et_ir.analysis.byte_copies import CLONE
from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.executorch import (
    AllocOp,
    InputOp,
    KernelCallOp,
    ListKind,
    ListValue,
    PlanOp,
    StateOp,
    TensorRegisterOp,
)
from et_ir.dialects.executorch.layout import Tensor, dim_order
from et_ir.dialects.program import Globals, OverwriteOp, StoreOp
from et_ir.passes.memory.coalescing import erase, insert_before
from et_ir.passes.plans import plans_in_one_chain
from et_ops.conventions import COPY

__all__ = ["WriteBackPass", "clone_call"]


@dataclass(frozen=True)
class WriteBackPass(ModulePass):
    """Make stores and writes to inputs copies."""

    name = "write-back"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Globals(op)
        plans = plans_in_one_chain(op, self)
        findings = [
            diagnose(
                store,
                f"[write_back_c1] no buffer is named @{store.symbol.string_value()}",
                "declare it as 'program.buffer mutable'",
            )
            for plan in plans
            for store in plan.body.walk()
            if isinstance(store, StoreOp) and store.symbol.string_value() not in symbols.by_name
        ]
        PassReport.raise_if("stores to undeclared buffers", findings)
        for plan in plans:
            _write_back(plan, symbols)


def _write_back(plan: PlanOp, symbols: Globals) -> None:
    order = {op: position for position, op in enumerate(plan.body.walk())}
    states: dict[str, SSAValue] = {op.key: op.result for op in plan.registers if isinstance(op, StateOp)}
    for block in plan.blocks:
        for op in list(block.ops):
            match op:
                case StoreOp():
                    name = op.symbol.string_value()
                    written = states.get(name)
                    if written is None:
                        written = states[name] = _declare(plan, name, symbols, op)
                case OverwriteOp():
                    written = op.target
                case _:
                    continue
            if root_of(op.value) is not written:
                if isinstance(written.owner, InputOp):
                    written.owner.aliased = UnitAttr()
                _save_old(plan, order, op, written)
                call = KernelCallOp(COPY, [written, op.value, False], returns=[written], location=op.location)
                block.insert_op_before(call, op)
            erase(op)


def _declare(plan: PlanOp, name: str, symbols: Globals, store: StoreOp) -> SSAValue:
    """The register of a state that the method only writes."""
    first = plan.blocks[0].first_op
    op = StateOp(name, symbols[name].type)
    plan.declare(op, store if first is None else first)
    op.location = store.location
    return op.result


def _save_old(
    plan: PlanOp, order: Mapping[Operation, int], store: StoreOp | OverwriteOp, state: SSAValue
) -> None:
    """Copy what a state or input holds before it is overwritten, for those behind that that read it."""
    now = order[store]
    later = [use for use in uses_of(state) if order.get(use.operation, now) > now]
    copies: dict[SSAValue, SSAValue] = {}
    for use in sorted(later, key=lambda use: (order[use.operation], use.index)):
        value = use.operation.operands[use.index]
        if value not in copies:
            register = value.owner
            dynamism = register.dynamism if isinstance(register, TensorRegisterOp | InputOp) else None
            alloc = AllocOp(value.type, dynamism=dynamism)
            alloc.result.name_hint = value.name_hint
            copies[value] = plan.declare(alloc, store)
            insert_before(clone_call(value, alloc.result, store.location), store)
        use.operation.operands[use.index] = copies[value]


def clone_call(source: SSAValue, target: SSAValue, location: LocationAttr) -> KernelCallOp:
    """A call that copies a tensor to a register of the same type."""
    order = ListValue(ListKind.INTS, dim_order(cast(Tensor, target.type)))
    return KernelCallOp(CLONE, [source, False, order], outs=[target], location=location)
