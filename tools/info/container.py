"""The file around the program: header, segments and what each of them is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from et_tools.vm_files import show_bytes

if TYPE_CHECKING:
    from et_schema.pte import PteFile
    from et_vm.program import Program


def facts(program: Program) -> dict[str, Any]:
    """Schema, version, header and segments."""
    pte = program.pte
    header = pte.header
    uses = _uses(pte)
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
        "segments": [
            {"offset": described.offset, "nbytes": described.size, "holds": uses[index]}
            for index, described in enumerate(pte.program.segments)
        ],
    }


def _uses(pte: PteFile) -> list[list[str]]:
    """For each segment what refers to it."""
    from et_schema.program import DataLocation

    program = pte.program
    uses: list[list[str]] = [[] for _ in program.segments]
    constants = program.constant_segment
    # Entry 0 stands for no constant: where it is the only one there need not be a segment.
    if constants is not None and len(constants.offsets) > 1:
        uses[constants.segment_index].append("constants")
    for index, entry in enumerate(program.mutable_data_segments):
        uses[entry.segment_index].append(f"initial state {index}")
    for entry in program.named_data:
        uses[entry.segment_index].append(f"data {entry.key}")
    for plan in program.execution_plan:
        for index, delegate in enumerate(plan.delegates):
            reference = delegate.processed
            if reference is not None and reference.location == DataLocation.SEGMENT:
                uses[reference.index].append(f"delegate {index} of {plan.name} ({delegate.id})")
    return uses


def lines(container: dict[str, Any], file: str, size: int) -> Iterator[str]:
    """The head of every report."""
    header = container["header"]
    yield f"{file}: {container['schema']}, {show_bytes(size)}"
    if header is None:
        yield "  no extended header"
    else:
        base = header["segment_base_offset"]
        yield f"  extended header: program {header['program_size']:,} bytes, segments from {base:,}"
    for index, segment in enumerate(container["segments"]):
        holds = ", ".join(segment["holds"]) or "unreferenced"
        yield f"  segment {index:<4} {segment['nbytes']:>15,} bytes  {holds}"
