"""Check the contract of the `executorch` level: what a runtime takes for granted when it loads and runs a plan.

| label | rule |
|---|---|
| `executorch_c1` | the module holds symbols, what backends compiled, plans, and data under names of their own |
| `executorch_c2` | a constant or state names a symbol of as many bytes; a constant has data or is external |
| `executorch_c3` | a delegate call names a `backend.lowered` |
| `executorch_c4` | arguments and outs of a call are those of its operator's schema, where that is known |
| `executorch_c5` | no instruction writes to a constant |
| `executorch_c6` | a tensor that is read is written before: by the caller, the file, or an instruction |
| `executorch_c7` | memory is planned: a plan knows its arenas, registers and what views view have places |
| `executorch_c8` | a place is inside of its arena, and is aligned to its elements |
| `executorch_c9` | two registers that are needed at one time do not share memory |
| `executorch_c10` | no `program.store` is left |

A plan may leave inputs and outputs to the caller, and unbounded tensors to run time: those need no place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.aliasing import root_of
from et_ir.analysis.liveness import Liveness
from et_ir.dialects.backend import LoweredOp, NamedDataOp
from et_ir.dialects.executorch import (
    AllocOp,
    ConstantOp,
    DelegateCallOp,
    InputOp,
    KernelCallOp,
    MemoryRegisterOp,
    PlanOp,
    RegisterOp,
    StateOp,
    SymbolRegisterOp,
    TensorRegisterOp,
    ViewOp,
)
from et_ir.dialects.executorch.layout import Tensor, nbytes, scalar_type
from et_ir.dialects.executorch.signatures import call_problems, declared_schemas
from et_ir.dialects.program import DeclareOperatorOp, GlobalOp, OverwriteOp, StoreOp
from et_ir.planning import Buffer, conflicts
from et_ir.report import Finding, PassReport
from et_ops import Schema
from et_schema.program import TensorShapeDynamism

__all__ = ["VerifyExecutorchPass"]


@dataclass(frozen=True)
class VerifyExecutorchPass(ModulePass):
    """Check the contract of the executorch level."""

    name = "verify-executorch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        findings = list(_module_findings(op))
        symbols = {symbol.key: symbol for symbol in op.body.block.ops if isinstance(symbol, GlobalOp)}
        lowered = {symbol.key for symbol in op.body.block.ops if isinstance(symbol, LoweredOp)}
        declared = declared_schemas(op)
        for plan in op.body.block.ops:
            if isinstance(plan, PlanOp):
                findings.extend(_PlanRules(plan, symbols, lowered, declared).findings())
        PassReport.raise_if("the program breaks the contract of the executorch level", findings)


def _module_findings(module: ModuleOp) -> Iterator[Finding]:
    named: set[str] = set()
    for op in module.body.block.ops:
        match op:
            case GlobalOp() | PlanOp() | LoweredOp() | DeclareOperatorOp():
                pass
            case NamedDataOp():
                if op.key in named:
                    message = f"[executorch_c1] data named '{op.key}' exists already"
                    yield Finding.at(op, message, "rename one of them")
                named.add(op.key)
            case _:
                fix = "lower methods with to-out-variant" if op.name == "func.func" else "drop it"
                yield Finding.at(op, "[executorch_c1] is neither a symbol nor a plan", fix)


class _PlanRules:
    """The rules of one plan."""

    def __init__(
        self, plan: PlanOp, symbols: dict[str, GlobalOp], lowered: set[str], declared: Mapping[str, Schema]
    ):
        self.plan = plan
        self.declared = declared
        self.symbols = symbols
        self.lowered = lowered
        self.registers = plan.registers
        self.instructions = plan.instructions
        self.writes = {op: op.writes for op in self.instructions}
        self.written = {root_of(register) for writes in self.writes.values() for register in writes}
        self.arenas = plan.arena_sizes

    def findings(self) -> Iterator[Finding]:
        for op in self.registers:
            if isinstance(op, SymbolRegisterOp):
                yield from self._symbol(op)
        for op in (op for block in self.plan.blocks for op in block.ops):
            match op:
                case RegisterOp():
                    pass
                case DelegateCallOp():
                    if op.callee.string_value() not in self.lowered:
                        yield Finding.at(
                            op,
                            f"[executorch_c3] no backend.lowered is named {op.callee}",
                            "declare it in the module",
                        )
                case KernelCallOp():
                    for problem in call_problems(op, self.declared):
                        yield Finding(op.key, op.location, f"[executorch_c4] {problem}", "match its schema")
                case StoreOp() | OverwriteOp():
                    what = "stores to a buffer" if isinstance(op, StoreOp) else "writes to an input"
                    yield Finding.at(op, f"[executorch_c10] {what}", "run the pass write-back")
                case _:
                    pass
        yield from self._writes()
        yield from self._reads()
        if self.arenas is None:
            message = f"[executorch_c7] the memory of @{self.plan.key} is not planned"
            yield Finding.at(self.plan, message, "run plan-memory")
            return
        liveness = Liveness(self.plan)
        yield from self._places(self.arenas, liveness)
        yield from self._overlaps(liveness)

    def _symbol(self, op: SymbolRegisterOp) -> Iterator[Finding]:
        symbol = self.symbols.get(op.key)
        if symbol is None:
            yield Finding.at(
                op,
                f"[executorch_c2] no parameter, buffer or constant is named @{op.key}",
                "declare it in the module",
            )
            return
        mine, whole = nbytes(op.type), nbytes(symbol.type)
        if mine != whole:
            yield Finding.at(
                op,
                f"[executorch_c2] {op.type} has {mine} bytes, @{op.key} has {whole}",
                f"use the type {symbol.type}",
            )
        if isinstance(op, ConstantOp) and symbol.value is None and op.external is None:
            yield Finding.at(
                op, f"[executorch_c2] @{op.key} has no data", "give it data, or mark the register 'external'"
            )

    def _writes(self) -> Iterator[Finding]:
        for op, writes in self.writes.items():
            for register in writes:
                if isinstance(root_of(register).owner, ConstantOp):
                    yield Finding.at(
                        op,
                        f"[executorch_c5] writes to the constant {_name(register)}",
                        "write to a separate register, or make it state",
                    )

    def _reads(self) -> Iterator[Finding]:
        reported: set[SSAValue] = set()
        for op in self.instructions:
            for register in op.reads:
                root = root_of(register)
                if root in self.written or root in reported:
                    continue
                if isinstance(root.owner, AllocOp):
                    reported.add(root)
                    yield Finding.at(
                        op,
                        f"[executorch_c6] reads {_name(register)}, which is never written",
                        "write it first, or declare it as executorch.state",
                    )

    def _places(self, arenas: Sequence[int], liveness: Liveness) -> Iterator[Finding]:
        outputs = {root_of(register) for register in self.plan.return_op.outputs}
        for op in self.registers:
            if isinstance(op, MemoryRegisterOp):
                place = op.place
                if place is None:
                    if _needs_place(op, outputs) and liveness.interval(op.result) is not None:
                        yield Finding.at(
                            op,
                            f"[executorch_c7] {_name(op.result)} has no storage",
                            "run plan-memory",
                        )
                    continue
                yield from self._place(op, place, arenas)
            elif isinstance(op, ViewOp):
                root = root_of(op.result).owner
                if not isinstance(root, MemoryRegisterOp) or root.place is None:
                    yield Finding.at(
                        op,
                        f"[executorch_c7] {_name(op.result)} is a view of a register without planned memory",
                        "use executorch_prim::et_view.default instead",
                    )

    def _place(
        self, op: MemoryRegisterOp, place: tuple[int, int], arenas: Sequence[int]
    ) -> Iterator[Finding]:
        memory_id, offset = place
        size = nbytes(_type(op))
        if memory_id > len(arenas):
            message = (
                f"[executorch_c8] {_name(op.result)} is in arena {memory_id}, but the plan has {len(arenas)}"
            )
            yield Finding.at(op, message, "run plan-memory")
        elif offset + size > arenas[memory_id - 1]:
            message = (
                f"[executorch_c8] {_name(op.result)} ends at byte {offset + size} of arena {memory_id}, "
                f"which has {arenas[memory_id - 1]}"
            )
            yield Finding.at(op, message, "run plan-memory")
        item = scalar_type(_type(op).element_type).itemsize
        if offset % item:
            message = f"[executorch_c8] offset {offset} is not a multiple of the element size of {item} bytes"
            yield Finding.at(op, message, "run plan-memory")

    def _overlaps(self, liveness: Liveness) -> Iterator[Finding]:
        arenas: dict[int, list[tuple[MemoryRegisterOp, Buffer, int]]] = {}
        for op in liveness.roots():
            if isinstance(op, MemoryRegisterOp) and op.place is not None:
                memory_id, offset = op.place
                interval = liveness.interval(op.result)
                if interval is not None:
                    buffer = Buffer(nbytes(_type(op)), interval.first, interval.last, 1)
                    arenas.setdefault(memory_id, []).append((op, buffer, offset))
        for entries in arenas.values():
            buffers = [buffer for _, buffer, _ in entries]
            offsets = [offset for _, _, offset in entries]
            # With jumps, or gaps in what an interval covers, what matters is what is written meanwhile.
            straight = len(self.plan.blocks) == 1 and all(
                liveness.is_gapless(op.result) for op, _, _ in entries
            )
            pairs = conflicts(buffers, offsets) if straight else _sharing(buffers, offsets)
            for first, second in pairs:
                one, other = sorted((first, second))
                a, b = entries[one][0], entries[other][0]
                if not liveness.interfere(a.result, b.result):
                    continue
                yield Finding.at(
                    b,
                    f"[executorch_c9] {_name(b.result)} overlaps {_name(a.result)} while both are live",
                    "run plan-memory",
                )


def _sharing(buffers: Sequence[Buffer], offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of buffers with bytes in common, whenever they are needed."""
    order = sorted(range(len(buffers)), key=lambda index: offsets[index])
    for position, one in enumerate(order):
        end = offsets[one] + buffers[one].size
        for other in order[position + 1 :]:
            if offsets[other] >= end:
                break
            if buffers[other].size:
                yield one, other


def _needs_place(op: MemoryRegisterOp, outputs: set[SSAValue]) -> bool:
    match op:
        case InputOp():
            return False
        case StateOp():
            return True
        case AllocOp():
            return op.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND and op.result not in outputs
        case _:
            return False


def _type(op: MemoryRegisterOp) -> Tensor:
    assert isinstance(op, TensorRegisterOp | InputOp)
    return op.type


def _name(register: SSAValue) -> str:
    owner = register.owner
    hint = f"%{register.name_hint}" if register.name_hint else "a register"
    return f"{hint} ({owner.name})" if isinstance(owner, RegisterOp) and not register.name_hint else hint
