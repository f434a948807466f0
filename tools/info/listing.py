"""Values (`--values`) and instructions (`--instructions`) of methods, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from et_tools.info.tensors import describe, tensor_facts, tensor_name
from et_tools.info.values import literal, plain_value

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.load.instructions import Instruction
    from et_vm.program import Program


def value_facts(program: Program) -> list[dict[str, Any]]:
    """One object for each method, with `values` in the order of registers."""
    methods: list[dict[str, Any]] = []
    for index, plan in enumerate(program.pte.program.execution_plan):
        rebound = program.flow(index).rebound
        values = [_value(plan, register) for register in range(len(plan.values))]
        for register in rebound:
            values[register]["assigned"] = True
        for which, registers in (("input", plan.inputs), ("output", plan.outputs)):
            for at, register in enumerate(registers):
                values[register].setdefault(which, []).append(at)
        methods.append({"method": plan.name, "values": values})
    return methods


def _value(plan: ExecutionPlan, register: int) -> dict[str, Any]:
    from et_schema.program import Tensor
    from et_vm.meta import TensorInfo

    table = plan.values[register].val
    kind = type(table).__name__
    facts: dict[str, Any] = {"register": register, "type": kind}
    if isinstance(table, Tensor):
        facts["tensor"] = tensor_facts(TensorInfo(table, tensor_name(table)))
        del facts["tensor"]["planned"]
        allocation = table.allocation_info
        if allocation is not None:
            facts["arena"] = allocation.memory_id
            facts["offset"] = allocation.memory_offset_high << 32 | allocation.memory_offset_low
        if table.data_buffer_idx:
            facts["constant" if allocation is None else "initial_state"] = table.data_buffer_idx
        if table.extra_tensor_info is not None and table.extra_tensor_info.location:
            facts["external"] = True
    else:
        facts |= plain_value(table)
    return facts


def value_lines(methods: list[dict[str, Any]]) -> Iterator[str]:
    """A table for each method."""
    for method in methods:
        yield ""
        yield f"values of {method['method']}"
        for value in method["values"]:
            yield f"  %{value['register']:<5} {_describe_value(value)}"


def _describe_value(value: dict[str, Any]) -> str:
    notes: list[str] = []
    if "tensor" in value:
        text = describe(value["tensor"])
        if "arena" in value:
            notes.append(f"arena {value['arena']} at {value['offset']:,}")
        if "constant" in value:
            notes.append(f"constant {value['constant']}")
        if "initial_state" in value:
            notes.append(f"initially {value['initial_state']}")
        if "external" in value:
            notes.append("in a data file")
    elif "items" in value:
        items = value["items"]
        if value["registers"]:
            items = ["none" if item < 0 else f"%{item}" for item in items]
        text = f"{value['type']} [{', '.join(map(str, items))}]"
    else:
        text = value["type"] + (f" {value['value']!r}" if "value" in value else "")
    for which in ("input", "output"):
        notes += [f"{which} {at}" for at in value.get(which, ())]
    if "assigned" in value:
        notes.append("assigned")
    return ", ".join([text, *notes])


def instruction_facts(program: Program) -> list[dict[str, Any]]:
    """One object for each method, with `instructions`; `text` is what the listing shows of one."""
    methods: list[dict[str, Any]] = []
    for index, plan in enumerate(program.pte.program.execution_plan):
        listed: list[dict[str, Any]] = []
        instructions = program.instructions(index)
        for instruction, text in zip(instructions, instruction_texts(plan, instructions), strict=True):
            entry: dict[str, Any] = {
                "index": instruction.index,
                "opcode": instruction.opcode.mnemonic,
                "name": instruction.name,
                "args": list(instruction.args),
                "text": text,
            }
            if instruction.target >= 0:
                entry["target"] = instruction.target
            if instruction.frames:
                entry["frames"] = [
                    {"file": frame.filename, "line": frame.lineno, "name": frame.name, "text": frame.context}
                    for frame in instruction.frames
                ]
            listed.append(entry)
        methods.append({"method": plan.name, "instructions": listed})
    return methods


def instruction_texts(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> list[str]:
    """The text of each instruction of a method, as the listing shows it: literals as such, other registers by index."""
    rebound = {instruction.assigned for instruction in instructions if instruction.assigned is not None}
    shown = [literal(plan, at, rebound, "%{}".format) for at in range(len(plan.values))]
    return [_text(instruction, plan, shown) for instruction in instructions]


def _text(instruction: Instruction, plan: ExecutionPlan, shown: list[str]) -> str:
    from et_vm.load.instructions import call_inputs, call_outputs

    args = instruction.args
    match instruction.opcode.mnemonic:
        case "move":
            return f"%{args[1]} = {shown[args[0]]}"
        case "jump_false":
            return f"unless %{args[0]} go to {instruction.target}"
        case "free":
            return f"free %{args[0]}"
        case "delegate":
            listed = ", ".join(shown[register] for register in args)
            return f"delegate {instruction.callee}: {instruction.name}({listed})"
        case _:
            pass
    outputs = call_outputs(instruction, plan)
    inputs = call_inputs(instruction, plan)
    result = ", ".join(f"%{register}" for register in outputs)
    return f"{instruction.name}({', '.join(shown[register] for register in inputs)}) -> {result}"


def instruction_lines(methods: list[dict[str, Any]]) -> Iterator[str]:
    """A listing for each method, with the source line above the instructions that come from it."""
    for method in methods:
        yield ""
        yield f"instructions of {method['method']}"
        source = ""
        for instruction in method["instructions"]:
            frames = instruction.get("frames")
            if frames:
                frame = frames[-1]
                here = f"{frame['file']}:{frame['line']} in {frame['name']}: {frame['text'].strip()}"
                if here != source:
                    yield f"        {here}"
                source = here
            yield f"  {instruction['index']:>5}  {instruction['text']}"
