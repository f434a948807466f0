"""``et-vm info``: what is in a file, as text of 80 columns or as JSON."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from et_tools.vm_files import WIDTH, count, fit, open_program, show_bytes

if TYPE_CHECKING:
    from et_vm.meta import MethodMeta, TensorInfo
    from et_vm.program import Program

SHOWN_WEIGHTS = 10


def print_info(args: argparse.Namespace) -> None:
    """Print the contents of the file. Raises what loading it raises."""
    from et_vm.kernels.libraries import load_library

    program = open_program(args.file)
    kernels = set(load_library(args.kernels).names())
    facts = {
        "file": args.file,
        "size": program.file.nbytes,
        **_container(program),
        "methods": [_method(program, name, kernels) for name in program.method_names],
        "weights": _weights(program),
    }
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        _print(facts, args.kernels)


def _container(program: Program) -> dict[str, Any]:
    pte = program.pte
    header = pte.header
    return {
        "schema": "ET12",
        "version": pte.program.version,
        "header": None
        if header is None
        else {
            "length": header.length,
            "program_size": header.program_size,
            "segment_base_offset": header.segment_base_offset,
            "segment_data_size": header.segment_data_size,
        },
        "segments": [segment.nbytes for segment in pte.segments],
        "named_data": {key: view.nbytes for key, view in pte.named_data().items()},
    }


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "dtype": tensor.dtype().torch_name,
        "shape": list(tensor.sizes()),
        "nbytes": tensor.nbytes(),
        "planned": tensor.is_memory_planned(),
    }
    if tensor.name():
        facts["name"] = tensor.name()
    if tensor.dim_order() != tuple(range(len(tensor.sizes()))):
        facts["dim_order"] = list(tensor.dim_order())
    if tensor.is_dynamic():
        facts["dynamic"] = True
    return facts


def _method(program: Program, name: str, kernels: set[str]) -> dict[str, Any]:
    from et_vm.prims import PRIMS

    meta = program.method_meta(name)
    operators: dict[str, int] = {}
    opcodes: dict[str, int] = {}
    for instruction in program.instructions(program.plan_index(name)):
        mnemonic = instruction.opcode.mnemonic
        if mnemonic == "call":
            operators[instruction.name] = operators.get(instruction.name, 0) + 1
        else:
            opcodes[mnemonic] = opcodes.get(mnemonic, 0) + 1
    ordered = sorted(operators.items(), key=lambda item: (-item[1], item[0]))
    delegates: dict[str, int] = {}
    for delegate in program.plan(name).delegates:
        delegates[delegate.id] = delegates.get(delegate.id, 0) + 1
    return {
        "name": name,
        "inputs": [_slot(meta, "input", index) for index in range(meta.num_inputs())],
        "outputs": [_slot(meta, "output", index) for index in range(meta.num_outputs())],
        "buffers": [_tensor(meta.attribute_tensor_meta(index)) for index in range(meta.num_attributes())],
        "instructions": meta.num_instructions(),
        "operators": [
            {"name": operator, "calls": calls, "kernel": operator in kernels or operator in PRIMS}
            for operator, calls in ordered
        ],
        "other_instructions": opcodes,
        "delegates": delegates,
        "arenas": {str(memory_id): size for memory_id, size in meta.memory_planned_buffer_sizes().items()},
    }


def _slot(meta: MethodMeta, which: str, index: int) -> dict[str, Any]:
    tag = meta.input_tag(index) if which == "input" else meta.output_tag(index)
    if tag == "Tensor":
        return _tensor(meta.input_tensor_meta(index) if which == "input" else meta.output_tensor_meta(index))
    return {"type": tag, "value": meta.input_value(index)} if which == "input" else {"type": tag}


def _weights(program: Program) -> list[dict[str, Any]]:
    """The constants of all methods, largest first; one that several values share is listed once."""
    from et_schema.generated.program import Tensor
    from et_vm.instructions import is_constant
    from et_vm.meta import TensorInfo

    found: dict[Any, dict[str, Any]] = {}
    for plan in program.pte.program.execution_plan:
        for value in plan.values:
            table = value.val
            if isinstance(table, Tensor) and is_constant(table):
                extra = table.extra_tensor_info
                name = "" if extra is None else extra.fully_qualified_name
                external = extra is not None and extra.location != 0
                key = name if external else table.data_buffer_idx
                if key not in found:
                    found[key] = _tensor(TensorInfo(table, name)) | {"external": external, "uses": 0}
                    del found[key]["planned"]
                found[key]["uses"] += 1
    return sorted(found.values(), key=lambda weight: -weight["nbytes"])


def _print(facts: dict[str, Any], library: str) -> None:
    header = facts["header"]
    print(f"{fit(facts['file'], WIDTH - 24)}: {facts['schema']}, {show_bytes(facts['size'])}")
    if header is None:
        print("  no extended header")
    else:
        base = header["segment_base_offset"]
        print(f"  extended header: program {header['program_size']:,} bytes, segments from {base:,}")
    for index, size in enumerate(facts["segments"]):
        print(f"  segment {index:<8} {size:>15,} bytes")
    for key, size in facts["named_data"].items():
        print(f"  data {fit(key, 40):40} {size:>15,} bytes")
    for method in facts["methods"]:
        _print_method(method, library)
    _print_weights(facts["weights"])


def _print_method(method: dict[str, Any], library: str) -> None:
    print(f"\nmethod {method['name']}: {count(method['instructions'], 'instruction')}")
    for which in ("inputs", "outputs", "buffers"):
        for index, slot in enumerate(method[which]):
            print(fit(f"  {which[:-1]} {index:<4}{_describe(slot)}", WIDTH))
    for memory_id, size in method["arenas"].items():
        print(f"  arena {memory_id:<5} {size:>15,} bytes")
    for name, calls in method["delegates"].items():
        print(f"  delegate {name}: {count(calls, 'subgraph')}")
    for operator in method["operators"]:
        missing = "" if operator["kernel"] else f"  no {library} kernel"
        print(f"  {operator['calls']:>6}  {operator['name']}{missing}")
    for mnemonic, calls in method["other_instructions"].items():
        print(f"  {calls:>6}  {mnemonic}")


def _describe(slot: dict[str, Any]) -> str:
    if "type" in slot:
        return slot["type"] + (f" {slot['value']!r}" if "value" in slot else "")
    text = f"{slot['dtype']} {slot['shape']}"
    if "dim_order" in slot:
        text += f" dim order {slot['dim_order']}"
    if slot.get("dynamic"):
        text += " at most"
    if "name" in slot:
        text += f" {slot['name']}"
    return text + ("" if slot.get("planned", True) else " unplanned")


def _print_weights(weights: list[dict[str, Any]]) -> None:
    total = sum(weight["nbytes"] for weight in weights)
    print(f"\n{count(len(weights), 'weight')}: {total:,} bytes")
    for weight in weights[:SHOWN_WEIGHTS]:
        print(fit(f"  {weight['nbytes']:>15,}  {_describe(weight)}", WIDTH))
    rest = weights[SHOWN_WEIGHTS:]
    if rest:
        nbytes = sum(weight["nbytes"] for weight in rest)
        print(f"  {nbytes:>15,}  in {len(rest)} more (--json lists them)")
