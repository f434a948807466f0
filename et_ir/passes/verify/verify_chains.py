"""Check that concurrent chains share no memory.

| label | rule |
|---|---|
| `chains_c1` | what a chain waits for is there when the plan starts, or an earlier chain has it among its outs |
| `chains_c2` | two chains of which neither waits for the other share no byte, state or handle, unless both read it |

A plan that follows both computes in each order of its chains what it computes in that of the text: what is wrong in
some order is a race, and shows here. Instructions touch registers, the bytes of arenas that these are planned in,
states, handles of delegates, and the random generator. What a register refers to at run time is taken for all that it
may refer to.

```mlir
executorch.chain() outs(%a)
executorch.kernel_call "aten::neg.out"(%x) outs(%a)
executorch.chain() outs(%b)
executorch.kernel_call "aten::relu.out"(%a) outs(%b)   // [chains_c2] reads %a, which ... writes at the same time
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import root_of
from et_ir.analysis.chains import Chains, Race, Touches, races
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.executorch import InputOp, SymbolRegisterOp
from et_ir.passes.plans import plans_of

__all__ = ["VerifyChainsPass", "chain_findings"]


@dataclass(frozen=True)
class VerifyChainsPass(ModulePass):
    """Check that concurrent chains share no memory."""

    name = "verify-chains"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        findings: list[Diagnostic] = []
        for plan in plans_of(op, self):
            findings += chain_findings(Chains(plan))
        PassReport.raise_if("the program breaks the contract of chains", findings)


def chain_findings(chains: Chains) -> Iterator[Diagnostic]:
    """What is wrong with the chains of a plan."""
    made: dict[SSAValue, list[int]] = {}
    for number, op in enumerate(chains.ops):
        for register in op.outs:
            made.setdefault(register, []).append(number)
    for number, op in enumerate(chains.ops):
        for register in dict.fromkeys(op.inputs):
            makers = made.get(register, ())
            given = isinstance(root_of(register).owner, InputOp | SymbolRegisterOp)
            if given or any(maker < number for maker in makers):
                continue
            if not makers:
                fault, fix = "which no chain has among its outs", "name it in the chain that writes it"
            elif number in makers:
                fault, fix = "which it has among its outs itself", "wait for what earlier chains make only"
            else:
                fault = "which a chain behind it makes"
                fix = (
                    "put that chain before it; if it waits for this one too, they wait for each other forever"
                )
            yield diagnose(op, f"[chains_c1] waits for {_name(register)}, {fault}", fix)
    if chains.concurrent:
        yield from map(_race, races(chains, Touches(chains.plan, planned=True)))


def _race(race: Race) -> Diagnostic:
    one, other = _touched(race, 0), _touched(race, 1)
    message = f"[chains_c2] {other}, while a chain that may run at the same time {one}"
    return diagnose(race.other, message, "let one of the chains wait for an out of the other")


def _touched(race: Race, which: int) -> str:
    touch = (race.first, race.second)[which]
    verb = "writes" if touch.writes else "reads"
    if touch.register is None:
        return f"uses {touch.resource}"
    where = (
        f" (bytes {touch.first} to {touch.end} of arena {touch.resource})"
        if isinstance(touch.resource, int)
        else ""
    )
    return f"{verb} {_name(touch.register)}{where}"


def _name(register: SSAValue) -> str:
    return f"%{register.name_hint}" if register.name_hint else "a register"
