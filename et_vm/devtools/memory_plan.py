"""Memory plans of methods as drawings in notebooks: instructions from left to right, offsets from the bottom up.

`et-vm info --plan --svg` draws the same with labels, axes and a legend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from et_schema.program import Tensor
from et_vm.devtools.certificate import certificates
from et_vm.devtools.xml_text import xml_text
from et_vm.load.instructions import written_registers
from et_vm.verify.tensors import tensor_bytes

if TYPE_CHECKING:
    from et_vm.program import Program

__all__ = ["MemoryPlan", "PlannedArena", "PlannedTensor"]

WIDTH: Final = 800
HEIGHT: Final = 240
HEAD: Final = 26


class PlannedTensor(NamedTuple):
    """A tensor in an arena."""

    register: int
    """The register that holds it."""
    offset: int
    """Bytes from the start of the arena."""
    nbytes: int
    """Bytes of the tensor at its largest."""
    first: int
    """The instruction from which on it is needed; -1 if from the caller."""
    last: int
    """The instruction that needs it last; the number of instructions if the caller does."""
    writer: str
    """The operator that writes it first; empty for inputs and state."""


class PlannedArena(NamedTuple):
    """An arena of a method."""

    number: int
    """The memory id."""
    nbytes: int
    """Bytes of the arena."""
    bound: int
    """Lower bound of the arena size; see `et_vm.devtools.certificate`."""
    tensors: tuple[PlannedTensor, ...]
    """Those that an instruction uses, by offset."""


class MemoryPlan:
    """The arenas of a method. Notebooks show it as a drawing."""

    def __init__(self, program: Program, method: str) -> None:
        """Raises ExecutorchError: InvalidArgument for an unknown method, OutOfResources for lifetimes that take too
        long to find.
        """
        plan = program.plan(method)
        self.method = method
        self.instructions = program.method_meta(method).num_instructions()
        writers: dict[int, str] = {}
        for instruction in program.instructions(program.plan_index(method)):
            for register in written_registers(instruction, plan):
                writers.setdefault(register, instruction.name or instruction.opcode.mnemonic)
        spans = program.liveness(method).spans()
        held: dict[int, list[PlannedTensor]] = {}
        for register, value in enumerate(plan.values):
            table = value.val
            if isinstance(table, Tensor) and table.allocation_info is not None and register in spans:
                place = table.allocation_info
                offset = place.memory_offset_high << 32 | place.memory_offset_low
                writer = "" if register in plan.inputs else writers.get(register, "")
                one = PlannedTensor(register, offset, tensor_bytes(table), *spans[register], writer)
                held.setdefault(place.memory_id, []).append(one)
        self.arenas = tuple(
            PlannedArena(
                number,
                found.nbytes,
                found.bound,
                tuple(sorted(held.get(number, ()), key=lambda one: one[1:4])),
            )
            for number, found in certificates(program, method).items()
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"arena {arena.number} {arena.nbytes:,} bytes" for arena in self.arenas)
        return f"MemoryPlan({self.method}: {sizes or 'no arenas'})"

    def _repr_svg_(self) -> str:
        """A rectangle for each tensor; names, sizes and lifetimes show under the pointer."""
        drawn = [arena for arena in self.arenas if arena.nbytes]
        height = max(len(drawn), 1) * (HEIGHT + HEAD)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        ]
        for at, arena in enumerate(drawn):
            lines += self._drawn(arena, at * (HEIGHT + HEAD) + HEAD)
        if not drawn:
            lines.append(f'<text x="4" y="17">{xml_text(repr(self))}</text>')
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _drawn(self, arena: PlannedArena, top: int) -> Iterator[str]:
        times = self.instructions + 2
        optimal = "optimal" if arena.nbytes == arena.bound else f"at least {arena.bound:,}"
        title = f"{self.method}, arena {arena.number}: {arena.nbytes:,} bytes, {optimal}"
        yield f'<text x="4" y="{top - 8}">{xml_text(title)}</text>'
        yield f'<rect y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="#f4f4f4"/>'
        for one in arena.tensors:
            left, right = ((time + 1) * WIDTH / times for time in (one.first, one.last + 1))
            low, high = (
                (arena.nbytes - end) * HEIGHT / arena.nbytes for end in (one.offset, one.offset + one.nbytes)
            )
            start = "the start" if one.first < 0 else f"instruction {one.first}"
            end = "the end" if one.last >= self.instructions else f"instruction {one.last}"
            hover = f"%{one.register} {one.writer}\n{one.nbytes:,} bytes at {one.offset:,}\n{start} to {end}"
            yield (
                f'<rect x="{left:.2f}" y="{top + high:.2f}" width="{right - left:.2f}" height="{low - high:.2f}" '
                f'fill="{_color(one.writer)}" stroke="#ffffff" stroke-width="0.5">'
                f"<title>{xml_text(hover)}</title></rect>"
            )
        line = top + HEIGHT - arena.bound * HEIGHT / arena.nbytes
        yield f'<path d="M0 {line:.2f}h{WIDTH}" stroke="#cc0000" stroke-dasharray="6 4"/>'


def _color(writer: str) -> str:
    """A color of the operator's name; gray for what the caller writes."""
    if not writer:
        return "#c8c8c8"
    number = crc32(writer.encode("utf-8", "surrogatepass"))
    return "#" + "".join(f"{110 + (number >> 8 * part & 255) * 110 // 255:02x}" for part in range(3))
