"""`et-vm ops`: the operators of programs as the selective build of stock runtimes reads them.

The file is what ExecuTorch's build calls `selected_operators.yaml`: the operators that a runtime for these programs
has to have, each with the kernel keys it is called with. A key has, for each tensor argument (lists by their first
tensor, outputs twice as in the call), the number of the element type and the dim order: `v1/6;0,1|6;0,1`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from et_tools.output import check_output, write_stdout
from et_tools.vm_files import open_programs

if TYPE_CHECKING:
    from et_vm.micro.keys import KernelKey
    from et_vm.program import Program


def print_operators(args: argparse.Namespace) -> None:
    """Write the operators of the files. Raises BadFile, UsageError."""
    if args.output != "-":
        check_output(args.output, args.files)
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
    from et_vm.micro.keys import kernel_key

    users: dict[str, list[str]] = {}
    keys: dict[str, set[KernelKey]] = {}
    for file, program in programs:
        for index, plan in enumerate(program.pte.program.execution_plan):
            for instruction in program.instructions(index):
                if instruction.opcode.mnemonic == "call":
                    files = users.setdefault(instruction.name, [])
                    if file not in files:
                        files.append(file)
                    keys.setdefault(instruction.name, set()).add(kernel_key(plan, instruction.args))
    return _contents(keys, users)


def operators_text(keys: Mapping[str, Collection[KernelKey] | None], users: Mapping[str, list[str]]) -> str:
    """The file for operators with their kernel keys (None: all) and the files that they are of."""
    return "".join(_yaml(_contents(keys, users)))


def _contents(
    keys: Mapping[str, Collection[KernelKey] | None], users: Mapping[str, list[str]]
) -> dict[str, Any]:
    from et_vm.micro.keys import key_text

    texts = {
        name: ["default"] if chosen is None else sorted(map(key_text, chosen))
        for name, chosen in keys.items()
    }
    return {
        "build_features": [],
        "custom_classes": [],
        "et_kernel_metadata": {name: texts[name] for name in sorted(texts)},
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
