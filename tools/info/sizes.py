"""File size breakdown (`--size`).

It lists the parts of the file, and constants by the operator that reads them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_tools.info import container
from et_tools.info import weights as weights_section

if TYPE_CHECKING:
    from et_vm.program import Program


def facts(program: Program) -> dict[str, Any]:
    """`parts`, which add up to the size of the file; `operators`, bytes of the constants that each reads, counting
    a constant for each operator that does; `weights`.
    """
    return {
        "parts": parts(program),
        "operators": _by_operator(program),
        "weights": weights_section.facts(program),
    }


def parts(program: Program) -> list[dict[str, Any]]:
    """The parts of the file with their bytes, which add up to its size."""
    pte = program.pte
    size = program.file.nbytes
    flatbuffer = size if pte.header is None else pte.header.program_size
    inline = {
        "inline constants": sum(len(buffer.storage) for buffer in pte.program.constant_buffer),
        "inline delegates": sum(len(data.data) for data in pte.program.backend_delegate_data),
    }
    found: list[dict[str, Any]] = [{"name": "program", "nbytes": flatbuffer - sum(inline.values())}]
    found += [{"name": name, "nbytes": nbytes} for name, nbytes in inline.items() if nbytes]
    segments = container.facts(program)["segments"]
    found += [
        {"name": f"segment {index}", "nbytes": segment["nbytes"], "holds": segment["holds"]}
        for index, segment in enumerate(segments)
    ]
    # Segments of a hostile file may overlap: then there is no rest.
    rest = size - sum(part["nbytes"] for part in found)
    found.append({"name": "alignment", "nbytes": max(rest, 0)})
    return found


def _by_operator(program: Program) -> list[dict[str, Any]]:
    from et_schema.program import OptionalTensorList, Tensor, TensorList
    from et_vm.load.instructions import is_constant
    from et_vm.verify.tensors import tensor_bytes

    read: defaultdict[str, dict[Any, int]] = defaultdict(dict)
    for index, plan in enumerate(program.pte.program.execution_plan):
        constants: dict[int, tuple[Any, int]] = {}
        for register, value in enumerate(plan.values):
            table = value.val
            if isinstance(table, Tensor) and is_constant(table):
                extra = table.extra_tensor_info
                outside = extra is not None and extra.location != 0
                key = extra.fully_qualified_name if extra is not None and outside else table.data_buffer_idx
                constants[register] = (key, tensor_bytes(table))
        for instruction in program.instructions(index):
            registers = set(instruction.args)
            for register in instruction.args:
                table = plan.values[register].val
                if isinstance(table, TensorList | OptionalTensorList):
                    registers.update(table.items)
            for register in registers & constants.keys():
                key, nbytes = constants[register]
                read[instruction.name][key] = nbytes
    sums = ((name, sum(by_key.values())) for name, by_key in read.items())
    return [
        {"name": name, "nbytes": nbytes}
        for name, nbytes in sorted(sums, key=lambda item: (-item[1], item[0]))
    ]


def lines(sizes: dict[str, Any]) -> Iterator[str]:
    """Three tables: parts of the file, operators, all weights."""
    total = sum(part["nbytes"] for part in sizes["parts"]) or 1
    yield ""
    yield "bytes of the file"
    for part in sizes["parts"]:
        holds = ", ".join(part.get("holds", ()))
        share = 100 * part["nbytes"] / total
        yield f"  {part['nbytes']:>15,}  {share:5.1f} %  {part['name']}{': ' if holds else ''}{holds}"
    if sizes["operators"]:
        yield ""
        yield "bytes of constants read by operators"
        for operator in sizes["operators"]:
            yield f"  {operator['nbytes']:>15,}  {operator['name']}"
    yield from weights_section.lines(sizes["weights"], shown=None)
