"""Loading takes work and memory in proportion to the file: counted in lines of Python that run, for files that are made
to cost more, at one size and at four times that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.cost import lines_of, memory_of
from support.vm_programs import Build, chain_of_adds

from et_schema.errors import ExecutorchError
from et_schema.program import (
    FILE_IDENTIFIER,
    EValue,
    Instruction,
    IntList,
    JumpFalseCall,
    KernelCall,
    Null,
    SubsegmentOffsets,
    Tensor,
)
from et_schema.pte import read_pte, serialize_pte
from et_schema.scalar_type import ScalarType
from et_schema.writer import Writer
from et_vm.program import Program
from et_vm.run.validation import validate
from et_vm.verify.flow import WORK_FACTOR

# Of lines, for each byte of a file, and of bytes of memory: what the worst of the files below take, and some more.
LINES_PER_BYTE = 24
MEMORY_PER_BYTE = 160
# Of what does not depend on the file.
LINES, MEMORY = 20_000, 100_000


def file_of(fill: Callable[[Build, int], None]) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        build = Build()
        fill(build, size)
        return build.file()

    return make


def straight(size: int) -> bytes:
    return chain_of_adds(size).file()


def moves_in_a_row(build: Build, size: int) -> None:
    """Each from the next register, so that what a register holds goes one step a pass."""
    registers = [build.tensor(1, planned=False) for _ in range(size)]
    for target, source in pairwise(registers):
        build.move(source, target)


def jumps_to_the_end(build: Build, size: int) -> None:
    flag, x = build.tensor(1, dtype=ScalarType.BOOL), build.tensor(1)
    for _ in range(size):
        build.move(x, build.tensor(1, planned=False))
        build.jump_false(flag, 2 * size)


def jumps_back(build: Build, size: int) -> None:
    """Loops in loops, each of which changes registers of the others."""
    flag, x = build.tensor(1, dtype=ScalarType.BOOL), build.tensor(1)
    targets = [build.tensor(1, planned=False) for _ in range(size)]
    for target in targets:
        build.move(x, target)
    for at in range(size):
        build.move(targets[(at * 7) % size], targets[(at * 3 + 1) % size])
        build.jump_false(flag, size - at - 1)


def calls_that_share_a_list(build: Build, size: int) -> None:
    x = build.tensor(1)
    pieces = build.tensors(*[x] * size)
    for _ in range(size):
        build.call("test::split.out", x, pieces, pieces)


def long_lists(build: Build, size: int) -> None:
    one = build.scalar(1)
    for _ in range(16):
        build.value(IntList([one] * size))


def large_outputs(build: Build, size: int) -> None:
    x = build.tensor(1)
    build.outputs(*[build.tensors(*[x] * size)] * size)


def overlapping_bools(build: Build, size: int) -> None:
    """Constants of many lengths, all from the same byte."""
    build.constant(np.ones(16 * size, np.bool_))
    for at in range(size):
        build.tensor(15 * size + at, dtype=ScalarType.BOOL, planned=False, data=1)


def overlapping_states(build: Build, size: int) -> None:
    build.state(np.ones(16 * size, np.uint8))
    for at in range(size):
        build.tensor(15 * size, dtype=ScalarType.BYTE, data=1, offset=at)


def many_methods(size: int) -> bytes:
    """Each small, with a loop."""
    plans: list[Any] = []
    for at in range(size):
        build = Build(f"m{at}")
        jumps_back(build, 4)
        plans.append(build.plan)
    program = build.program()
    program.execution_plan = plans
    return serialize_pte(program, build.segments())


def table_of_one(writer: Writer, slot: int, tables: list[int]) -> int:
    """A table with nothing but a vector of tables that are there already."""
    vector = writer.tables(tables)
    writer.builder.StartObject(slot + 1)
    writer.builder.PrependUOffsetTRelativeSlot(slot, vector, 0)
    return writer.builder.EndObject()


def written(tables: Callable[[Writer, int], int]) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        writer = Writer()
        plan = tables(writer, size)
        return bytes(writer.finish(table_of_one(writer, 1, [plan]), FILE_IDENTIFIER))

    return make


def shared_values(writer: Writer, size: int) -> int:
    value = writer.table(EValue(Tensor(sizes=[1] * 15, dim_order=bytes(range(15)))))
    return table_of_one(writer, 2, [value] * size)


def shared_small_values(writer: Writer, size: int) -> int:
    """As many tables as the bytes of the file could be."""
    value = writer.table(EValue(Null()))
    writer.elements(bytes(4 * size), 1)
    return table_of_one(writer, 2, [value] * size)


def shared_instructions(writer: Writer, size: int) -> int:
    call = writer.table(Instruction(KernelCall(0, [0] * 14)))
    jump = writer.table(Instruction(JumpFalseCall(0, 0)))
    writer.elements(bytes(4 * size), 1)
    chain = table_of_one(writer, 2, [call, jump] * (size // 2))
    return table_of_one(writer, 5, [chain])


def many_segment_offsets(size: int) -> bytes:
    build = Build()
    program = build.program()
    program.constant_segment = SubsegmentOffsets(0, [0] * size)
    return serialize_pte(program, build.segments())


FILES: dict[str, tuple[Callable[[int], bytes], int]] = {
    "straight": (straight, 200),
    "moves in a row": (file_of(moves_in_a_row), 150),
    "jumps to the end": (file_of(jumps_to_the_end), 100),
    "jumps back": (file_of(jumps_back), 100),
    "calls that share a list": (file_of(calls_that_share_a_list), 200),
    "long lists": (file_of(long_lists), 100),
    "large outputs": (file_of(large_outputs), 400),
    "overlapping bools": (file_of(overlapping_bools), 100),
    "overlapping states": (file_of(overlapping_states), 100),
    "many methods": (many_methods, 20),
    "shared values": (written(shared_values), 1000),
    "shared small values": (written(shared_small_values), 1000),
    "shared instructions": (written(shared_instructions), 1000),
    "many segment offsets": (many_segment_offsets, 1000),
}


def load(file: bytes) -> None:
    try:
        Program.load(file)
    except ExecutorchError:
        # Whatever is wrong with it is found in as little time.
        return


def check(file: bytes) -> None:
    validate(memoryview(file))


@pytest.mark.parametrize("name", FILES)
def test_work_and_memory(name: str):
    make, size = FILES[name]
    small, large = make(size), make(4 * size)
    load(small)  # what is made once
    few, many = lines_of(lambda: load(small)), lines_of(lambda: load(large))
    assert many < LINES + LINES_PER_BYTE * len(large), many / len(large)
    assert many / len(large) < LINES / len(large) + 1.2 * few / len(small)
    assert memory_of(lambda: load(large)) < MEMORY + MEMORY_PER_BYTE * len(large)


@pytest.mark.parametrize("size", [50, 200])
def test_the_analysis_gives_up_in_time(size):
    """After a number of steps for each register and instruction; it then knows less, and nothing that is wrong."""
    program = Program.load(file_of(jumps_back)(size))
    flow = program.flow(0)
    registers = len(program.plan("forward").values)
    assert flow.work <= WORK_FACTOR * (registers + len(flow.instructions) + 1) + 2 * (registers + size)


def test_the_bytes_of_a_position_are_looked_up_once():
    """A report of many problems is no product of their number and the file's tables."""
    build = Build()
    for _ in range(100):
        build.tensor(-1)
    build.plan.non_const_buffer_sizes = [0, 2**20]
    file = build.file()
    assert len(validate(memoryview(file)).problems) == 100
    for _ in range(300):
        build.tensor(-1)
    build.plan.non_const_buffer_sizes = [0, 2**20]
    larger = build.file()
    assert lines_of(lambda: check(larger)) < 4.8 * lines_of(lambda: check(file))
    assert read_pte(file).header is not None
