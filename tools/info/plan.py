"""The memory plan (`--plan`): which tensor lies where in an arena, from which instruction to which, and how much
smaller the arena could be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_tools.info.plan_picture import marks, picture
from et_tools.info.tensors import describe, tensor_facts, tensor_name

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction
    from et_vm.program import Program


def facts(program: Program, method: str | None = None) -> list[dict[str, Any]]:
    """One object for each arena of each method, or of one.

    `in_use` is the most bytes of it that are needed at one time; `usage` are those when inputs are given, of each
    instruction, and of outputs. `bound` is what no arena is smaller than if
    tensors lie at multiples of `alignment`: what `needed_by` needs at once. `gap` is by how much this one is
    larger, and `optimal` whether it is not. `tensors` are ordered by offset; `op` is what writes one first,
    `source` its line in Python. A tensor is needed from instruction `first` (-1: from the caller, or from the
    execution before) to instruction `last` (the number of instructions: until the caller has read it, or by the next
    execution); neither is there for one that no instruction uses.
    """
    from et_schema.program import Tensor
    from et_vm.devtools.certificate import certificates
    from et_vm.meta import TensorInfo

    arenas: list[dict[str, Any]] = []
    for name in program.method_names if method is None else (method,):
        plan = program.plan(name)
        liveness = program.liveness(name)
        spans = liveness.spans()
        usage = liveness.usage()
        certificate = certificates(program, name)
        writers = _writers(program, plan)
        tensors: dict[int, list[dict[str, Any]]] = {}
        for register, value in enumerate(plan.values):
            table = value.val
            if not isinstance(table, Tensor) or table.allocation_info is None:
                continue
            allocation = table.allocation_info
            entry = tensor_facts(TensorInfo(table, tensor_name(table)))
            del entry["planned"]
            entry["register"] = register
            entry["offset"] = allocation.memory_offset_high << 32 | allocation.memory_offset_low
            if register in spans:
                entry["first"], entry["last"] = spans[register]
            entry |= writers.get(register, {})
            tensors.setdefault(allocation.memory_id, []).append(entry)
        for memory_id, size in program.method_meta(name).memory_planned_buffer_sizes().items():
            in_use = [each.get(memory_id, 0) for each in usage]
            arenas.append(
                {
                    "method": name,
                    "instructions": program.method_meta(name).num_instructions(),
                    "arena": memory_id,
                    "nbytes": size,
                    "in_use": max(in_use),
                    "usage": in_use,
                    "alignment": certificate[memory_id].alignment,
                    "bound": certificate[memory_id].bound,
                    "needed_by": _moment(program, name, certificate[memory_id].moment),
                    "gap": certificate[memory_id].gap,
                    "optimal": certificate[memory_id].optimal,
                    "tensors": sorted(
                        tensors.get(memory_id, []),
                        key=lambda entry: (entry["offset"], entry.get("first", -2), entry["register"]),
                    ),
                }
            )
    return arenas


def _writers(program: Program, plan: ExecutionPlan) -> dict[int, dict[str, str]]:
    """The first writer of each register: an operator, with its source line if the file has it; the caller; or state."""
    from et_schema.program import Tensor
    from et_vm.load.instructions import written_registers

    writers: dict[int, dict[str, str]] = {}
    for register, value in enumerate(plan.values):
        extra = value.val.extra_tensor_info if isinstance(value.val, Tensor) else None
        if extra is not None and extra.fully_qualified_name:
            writers[register] = {"op": "state"}
    writers |= {register: {"op": "input"} for register in plan.inputs}
    for instruction in program.instructions(program.plan_index(plan.name)):
        for register in written_registers(instruction, plan):
            if register not in writers:
                writers[register] = {"op": instruction.name or instruction.opcode.mnemonic}
                if instruction.frames:
                    writers[register]["source"] = _source(instruction)
    return writers


def _source(instruction: Instruction) -> str:
    frame = instruction.frames[-1]
    return f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.context.strip()}"


def lines(arenas: list[dict[str, Any]]) -> Iterator[str]:
    """For each arena how good it is, a picture and a table."""
    for arena in arenas:
        yield ""
        yield heading(arena)
        yield f"  {certainty(arena)}"
        yield from picture(arena)
        yield f"  {'offset':>13} {'bytes':>13}  {'from':>5} {'to':>5}    tensor"
        letters = marks(arena)
        for at, tensor in enumerate(arena["tensors"]):
            first, last = tensor.get("first"), tensor.get("last")
            start = "-" if first is None else "start" if first < 0 else first
            end = "-" if last is None else "end" if last >= arena["instructions"] else last
            writer = f"  {tensor['op']}" if "op" in tensor else ""
            yield (
                f"  {tensor['offset']:>13,} {tensor['nbytes']:>13,}  {start:>5} {end:>5}  "
                f"{letters.get(at, ' ')} %{tensor['register']} {describe(tensor)}{writer}"
            )


def heading(arena: dict[str, Any]) -> str:
    """An arena's name, size, and use: of its bank where banks are given, and by tensors at one time."""
    name, size = f"{arena['method']}, arena {arena['arena']}", f"{arena['nbytes']:,} bytes"
    bank = arena.get("bank")
    if bank is not None:
        name += f" ({bank['name']})"
        if bank["size"]:
            size += f" of {bank['size']:,} ({100 * arena['nbytes'] / bank['size']:.1f} %)"
    share = 100 * arena["in_use"] / arena["nbytes"] if arena["nbytes"] else 100.0
    return f"{name}: {size}, at most {arena['in_use']:,} in use ({share:.1f} %)"


def certainty(arena: dict[str, Any]) -> str:
    """The knowledge of an arena's size, in words. A file states no proof beyond the live bytes."""
    need = (
        f"{arena['bound']:,} bytes are needed at {arena['needed_by']}, "
        f"with tensors at multiples of {arena['alignment']}"
    )
    if arena["optimal"]:
        return f"optimal: {need}"
    return f"{need}, {arena['gap']:,} fewer than the arena has: whether a smaller plan exists takes a search (et-plan)"


def _moment(program: Program, method: str, moment: int | None) -> str:
    """The instructions that need as much as the bound."""
    if moment is None:
        return "the state of all methods"
    if moment < 0:
        return "the inputs"
    instructions = program.instructions(program.plan_index(method))
    if moment >= len(instructions):
        return "the outputs"
    instruction = instructions[moment]
    return f"instruction {moment} ({instruction.name or instruction.opcode.mnemonic})"
