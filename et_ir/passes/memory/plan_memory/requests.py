"""User constraints on memory planning, given as attributes of registers.

Only memory planning reads them.

```mlir
%a = executorch.alloc attributes {executorch.bank = "sram"} : tensor<4xf32>
%b = executorch.alloc attributes {executorch.alignment = 64 : i64} : tensor<4xf32>
%x = executorch.input attributes {executorch.caller} : tensor<4xf32>
```

- `executorch.bank`: the bank that a register has to be in, of those that `plan-memory` is given.
- `executorch.alignment`: what its offset is a multiple of, a power of two; at least that of the pass.
- `executorch.caller`: an input, or what the method returns, has no memory of its own: the caller gives it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr

from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.executorch import InputOp, MemoryRegisterOp, PlanOp, RegisterOp, StateOp, ViewOp
from et_ir.dialects.executorch.attributes import ALIGNMENT, BANK, CALLER

__all__ = ["alignment_of", "bank_of", "given_by_caller", "request_problems"]


def bank_of(op: RegisterOp) -> str | None:
    """The name of the bank that a register has to be in."""
    bank = op.attributes.get(BANK)
    return bank.data if isinstance(bank, StringAttr) else None


def alignment_of(op: RegisterOp, least: int) -> int:
    """The alignment in bytes of a register, `least` or what it asks for if that is more."""
    alignment = op.attributes.get(ALIGNMENT)
    return max(least, alignment.value.data) if isinstance(alignment, IntegerAttr) else least


def given_by_caller(op: RegisterOp) -> bool:
    """Whether the caller gives the memory of a register."""
    return CALLER in op.attributes


def request_problems(
    plan: PlanOp, banks: Collection[str], unplanned: Collection[RegisterOp] = ()
) -> Iterator[Diagnostic]:
    """Unsatisfiable requests of registers; `banks` are the names of the existing banks, `unplanned` the registers
    that get no memory in any.
    """
    outputs = set(plan.return_op.outputs)
    for op in plan.registers:
        asked = [name for name in (BANK, ALIGNMENT, CALLER) if name in op.attributes]
        if not asked:
            continue
        if isinstance(op, ViewOp):
            yield diagnose(
                op,
                f"{asked[0]}: a view shares the memory of its register",
                "request it of the viewed register",
            )
            continue
        bank, alignment = op.attributes.get(BANK), op.attributes.get(ALIGNMENT)
        if bank is not None and (not isinstance(bank, StringAttr) or bank.data not in banks):
            known = ", ".join(banks) or "none"
            yield diagnose(op, f"{BANK}: no bank named {bank}", f"the banks of plan-memory are: {known}")
        elif bank is not None and op in unplanned:
            yield diagnose(
                op, f"{BANK}: its memory is not planned", "it is owned by the caller or allocated at run time"
            )
        elif bank is not None and not isinstance(op, MemoryRegisterOp):
            yield diagnose(
                op, f"{BANK}: banks hold inputs, state and computed values only", "pin a copy of it"
            )
        if alignment is not None and (
            not isinstance(alignment, IntegerAttr)
            or alignment.value.data < 1
            or alignment.value.data & (alignment.value.data - 1)
        ):
            yield diagnose(op, f"{ALIGNMENT}: {alignment} is not a power of two")
        caller = op.attributes.get(CALLER)
        if caller is not None and (
            not isinstance(caller, UnitAttr)
            or isinstance(op, StateOp)
            or not (isinstance(op, InputOp) or op.result in outputs)
        ):
            yield diagnose(op, f"{CALLER}: only inputs and outputs can be caller-owned")
