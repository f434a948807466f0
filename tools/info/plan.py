"""The memory plan (``--plan``): which tensor lies where in an arena, from which instruction to which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_tools.info.tensors import cut, describe, tensor_facts, tensor_name

if TYPE_CHECKING:
    from et_vm.program import Program


def facts(program: Program) -> list[dict[str, Any]]:
    """One object for each arena of each method.

    ``in_use`` is the most bytes of it that are needed at one time; ``tensors`` are ordered by offset. A tensor is
    needed from instruction ``first`` (-1: from the caller, or from the execution before) to instruction ``last`` (the
    number of instructions: until the caller has read it, or by the next execution); neither is there for one that no
    instruction uses.
    """
    from et_schema.generated.program import Tensor
    from et_vm.meta import TensorInfo

    arenas: list[dict[str, Any]] = []
    for name in program.method_names:
        plan = program.plan(name)
        liveness = program.liveness(name)
        spans = liveness.spans()
        in_use = liveness.peaks()
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
            tensors.setdefault(allocation.memory_id, []).append(entry)
        for memory_id, size in program.method_meta(name).memory_planned_buffer_sizes().items():
            arenas.append(
                {
                    "method": name,
                    "instructions": program.method_meta(name).num_instructions(),
                    "arena": memory_id,
                    "nbytes": size,
                    "in_use": in_use.get(memory_id, 0),
                    "tensors": sorted(
                        tensors.get(memory_id, []),
                        key=lambda entry: (entry["offset"], entry.get("first", -2), entry["register"]),
                    ),
                }
            )
    return arenas


def lines(arenas: list[dict[str, Any]]) -> Iterator[str]:
    """A table for each arena."""
    for arena in arenas:
        yield ""
        share = 100 * arena["in_use"] / arena["nbytes"] if arena["nbytes"] else 100.0
        yield cut(
            f"{arena['method']}, arena {arena['arena']}: {arena['nbytes']:,} bytes, "
            f"at most {arena['in_use']:,} in use ({share:.1f} %)"
        )
        yield f"  {'offset':>13} {'bytes':>13}  {'from':>5} {'to':>5}  tensor"
        for tensor in arena["tensors"]:
            first, last = tensor.get("first"), tensor.get("last")
            start = "-" if first is None else "start" if first < 0 else first
            end = "-" if last is None else "end" if last >= arena["instructions"] else last
            yield cut(
                f"  {tensor['offset']:>13,} {tensor['nbytes']:>13,}  {start:>5} {end:>5}  "
                f"%{tensor['register']} {describe(tensor)}"
            )
