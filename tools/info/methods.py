"""The methods: what goes in and out, how many instructions, how much memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from et_schema.wording import count
from et_tools.info.tensors import describe, tensor_facts
from et_vm.verify.guard_checks import guards_of

if TYPE_CHECKING:
    from et_vm.meta import MethodMeta
    from et_vm.program import Program


def facts(program: Program, kernels: Container[str]) -> list[dict[str, Any]]:
    """One object for each method. `kernels` are the operators there are kernels for."""
    return [_method(program, name, kernels) for name in program.method_names]


def _method(program: Program, name: str, kernels: Container[str]) -> dict[str, Any]:
    meta = program.method_meta(name)
    operators: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for instruction in program.instructions(program.plan_index(name)):
        if instruction.opcode.mnemonic == "call":
            operators[instruction.name] += 1
        else:
            others[instruction.opcode.mnemonic] += 1
    guards = guards_of(program.pte, program.plan(name))
    names = program.pte.input_names.get(name, ())
    return {
        "name": name,
        "inputs": named([_slot(meta, "input", index) for index in range(meta.num_inputs())], names),
        "outputs": [_slot(meta, "output", index) for index in range(meta.num_outputs())],
        "guards": [] if guards is None else [condition.text for condition in guards.conditions],
        "buffers": [tensor_facts(meta.attribute_tensor_meta(at)) for at in range(meta.num_attributes())],
        "instructions": meta.num_instructions(),
        "operators": [
            {"name": operator, "calls": calls, "kernel": operator in kernels}
            for operator, calls in sorted(operators.items(), key=lambda item: (-item[1], item[0]))
        ],
        "other_instructions": dict(others),
        "delegates": dict(Counter(delegate.id for delegate in program.plan(name).delegates)),
        "arenas": {str(memory_id): size for memory_id, size in meta.memory_planned_buffer_sizes().items()},
    }


def _slot(meta: MethodMeta, which: str, index: int) -> dict[str, Any]:
    tag = meta.input_tag(index) if which == "input" else meta.output_tag(index)
    if tag == "Tensor":
        tensor = meta.input_tensor_meta(index) if which == "input" else meta.output_tensor_meta(index)
        return tensor_facts(tensor)
    return {"type": tag, "value": meta.input_value(index)} if which == "input" else {"type": tag}


def named(slots: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Inputs with names, if these are known."""
    if len(names) != len(slots):
        return slots
    return [slot | ({"name": name} if name else {}) for slot, name in zip(slots, names, strict=True)]


def lines(methods: list[dict[str, Any]], library: str) -> Iterator[str]:
    """A paragraph for each method. `library` names the kernels that operators were looked up in."""
    for method in methods:
        yield ""
        yield f"method {method['name']}: {count(method['instructions'], 'instruction')}"
        for which in ("inputs", "outputs", "buffers"):
            for index, slot in enumerate(method[which]):
                yield f"  {which[:-1]} {index:<4}{describe(slot)}"
        for guard in method["guards"]:
            yield f"  guard     {guard}"
        for memory_id, size in method["arenas"].items():
            yield f"  arena {memory_id:<5} {size:>15,} bytes"
        for name, calls in method["delegates"].items():
            yield f"  delegate {name}: {count(calls, 'subgraph')}"
        for operator in method["operators"]:
            missing = "" if operator["kernel"] else f"  no {library} kernel"
            yield f"  {operator['calls']:>6}  {operator['name']}{missing}"
        for mnemonic, calls in method["other_instructions"].items():
            yield f"  {calls:>6}  {mnemonic}"
