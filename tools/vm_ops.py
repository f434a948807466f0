"""`et-vm ops`: the operators of programs as the selective build of stock runtimes reads them.

The file is what ExecuTorch's build calls `selected_operators.yaml`: the operators that a runtime for these programs
has to have, each with the kernel keys it is called with. A key has, for each tensor argument (lists by their first
tensor, outputs twice as in the call), the number of the element type and the dim order: `v1/6;0,1|6;0,1`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from et_tools.output import check_output, write_stdout
from et_tools.vm_files import open_programs

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.program import Program


def print_operators(args: argparse.Namespace) -> None:
    """Write the operators of the files. Raises BadFile, UsageError."""
    if args.output != "-":
        check_output(args.output)
    selected = selection(list(zip(args.files, open_programs(args.files), strict=True)))
    text = json.dumps(selected, indent=2) + "\n" if args.json else "".join(_yaml(selected))
    if args.output == "-":
        write_stdout(text)
        return
    from et_schema.files import atomic_writer

    with atomic_writer(args.output) as stream:
        stream.write(text.encode())


def selection(programs: Sequence[tuple[str, Program]]) -> dict[str, Any]:
    """The contents of the file for some programs and their names."""
    users: dict[str, list[str]] = {}
    keys: dict[str, set[str]] = {}
    for file, program in programs:
        for index, plan in enumerate(program.pte.program.execution_plan):
            for instruction in program.instructions(index):
                if instruction.opcode.mnemonic == "call":
                    files = users.setdefault(instruction.name, [])
                    if file not in files:
                        files.append(file)
                    keys.setdefault(instruction.name, set()).add(_kernel_key(plan, instruction.args))
    return {
        "build_features": [],
        "custom_classes": [],
        "et_kernel_metadata": {name: sorted(keys[name]) for name in sorted(keys)},
        "include_all_non_op_selectives": False,
        "include_all_operators": False,
        "kernel_metadata": {},
        "operators": {
            name: {
                "debug_info": users[name],
                "include_all_overloads": False,
                "is_root_operator": True,
                "is_used_for_training": True,
            }
            for name in sorted(users)
        },
    }


def _kernel_key(plan: ExecutionPlan, args: Sequence[int]) -> str:
    from et_schema.program import OptionalTensorList, Tensor, TensorList

    parts: list[str] = []
    for register in args:
        table = plan.values[register].val
        if isinstance(table, TensorList | OptionalTensorList):
            tensors = (plan.values[item].val for item in table.items if item >= 0)
            table = next((tensor for tensor in tensors if isinstance(tensor, Tensor)), None)
        if isinstance(table, Tensor):
            parts.append(f"{int(table.scalar_type)};{','.join(map(str, table.dim_order))}")
    # As the stock tool writes it: without any tensor the slash is cut off.
    return f"v1/{'|'.join(parts)}" if parts else "v1"


def _yaml(value: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Nested objects and lists of plain values as YAML; strings are quoted as JSON, which YAML reads."""
    for key, item in value.items():
        name = key if key.replace("_", "").isalnum() else json.dumps(key)
        if isinstance(item, dict) and item:
            yield f"{indent}{name}:\n"
            yield from _yaml(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{name}:\n"
            for entry in item:
                yield f"{indent}- {json.dumps(entry)}\n"
        else:
            yield f"{indent}{name}: {json.dumps(item)}\n"
