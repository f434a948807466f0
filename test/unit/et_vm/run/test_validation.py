"""Every problem of a file at once: each with its path and byte, and none that only follows from another."""

import itertools
from dataclasses import fields
from random import Random

import pytest
from support.vm_programs import Build
from unit.et_vm.test_verify import ROWS, Good

from et_schema.errors import Error
from et_schema.program import EValue, FrameList, Instruction, KernelCall, MoveCall
from et_schema.program import Program as Tables
from et_schema.pte import read_pte
from et_vm.program import Program
from et_vm.run.validation import validate


def places(file: bytes) -> list[tuple[str, str]]:
    found = validate(memoryview(file))
    problems = (*found.problems, *found.clashes)
    assert all(problem.offset is not None and problem.where for problem in problems)
    return [(problem.code.name, problem.where) for problem in problems]


def test_nothing_is_wrong_with_the_good_file():
    found = validate(memoryview(Good().file()))
    assert (found.problems, found.clashes, found.methods) == ([], [], ["forward"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_stops_loading_is_found(row):
    _, mutate, code, where = row
    good = Good()
    mutate(good)
    assert places(good.file())[0] == (code.name, where)


# Rows that touch different parts, so that two of them in one file are two problems.
INDEPENDENT = (
    "named_data_segment_index",
    "device_of_an_arena_that_is_not_there",
    "dim_order_repeats",
    "bool_bytes",
    "tensor_list_of_none",
    "output_index",
    "op_index",
    "move_from",
    "jump_to_minus_5",
    "delegate_segment_index",
    "compile_spec_without_key",
)


@pytest.mark.parametrize("names", list(itertools.combinations(INDEPENDENT, 2)), ids=" ".join)
def test_both_problems_of_a_file_are_found(names):
    good = Good()
    rows = [row for row in ROWS if row[0] in names]
    for _, mutate, _, _ in rows:
        mutate(good)
    found = places(good.file())
    if set(names) == {"op_index", "move_from"}:
        # The same instruction, replaced twice.
        rows = rows[1:]
    assert set(found) == {(code.name, where) for _, _, code, where in rows}


def test_all_operands_of_all_instructions():
    build = Good()
    build.chain.instructions[0] = Instruction(KernelCall(7, [-1, 0, 99]))
    build.chain.instructions[1] = Instruction(MoveCall(-1, 99))
    path = "execution_plan[0].chains[0].instructions"
    assert [where for _, where in places(build.file())] == [
        f"{path}[0].instr_args.op_index",
        f"{path}[0].instr_args.args[0]",
        f"{path}[0].instr_args.args[2]",
        f"{path}[1].instr_args.move_from",
        f"{path}[1].instr_args.move_to",
    ]


def test_all_faults_of_a_tensor():
    build = Good()
    build[0].storage_offset = 4
    build[0].dim_order = b"\0\0"
    build[0].allocation_info.memory_id = 9
    value = "execution_plan[0].values[0].val"
    assert places(build.file()) == [
        ("NotSupported", f"{value}.storage_offset"),
        ("Internal", f"{value}.dim_order"),
        ("InvalidArgument", f"{value}.allocation_info.memory_id"),
    ]


def test_all_uses_that_fail():
    build = Build()
    x, missing, other, flag = (
        build.tensor(4),
        build.tensor(4, planned=False),
        build.tensor(4),
        build.scalar(1),
    )
    build.free(other)
    build.add(x, missing, x)
    build.add(missing, missing, x)
    build.add(other, x, x)
    build.free(flag)
    path = "execution_plan[0].chains[0].instructions"
    assert places(build.file()) == [
        ("InvalidProgram", f"{path}[1].instr_args.args[1]"),
        ("InvalidProgram", f"{path}[3].instr_args.args[0]"),
        ("InvalidType", f"{path}[4].instr_args.value_index"),
    ]


def damage(file: bytes, *paths: str) -> bytes:
    """`file` with the vtable offsets of the tables at `paths` destroyed."""
    locations = read_pte(file, locate=True).locations
    assert locations is not None
    by_path = dict(locations.values())
    damaged = bytearray(file)
    for path in paths:
        damaged[by_path[path] : by_path[path] + 4] = b"\xff\xff\xff\x7f"
    return bytes(damaged)


def test_tables_that_cannot_be_read():
    """Readable parts are checked nevertheless, and unknown values cause no errors elsewhere."""
    good = Good()
    good.plan.outputs = [99]
    plan = "execution_plan[0]"
    paths = (f"{plan}.values[3].val", f"{plan}.operators[1]", f"{plan}.chains[0].instructions[3].instr_args")
    found = validate(memoryview(damage(good.file(), *paths)))
    assert {problem.where for problem in found.problems} == {*paths, f"{plan}.outputs[0]"}
    assert all(problem.offset for problem in found.problems)


def test_a_table_inside_of_a_table_that_cannot_be_read():
    """The method is lost as a whole; the path leads to it and the byte to what is in it."""
    good = Good()
    file = damage(good.file(), "execution_plan[0].values[3].val", "execution_plan[0].container_meta_type")
    # The container is read before the values, so these are not reached.
    assert [problem.where for problem in validate(memoryview(file)).problems] == [
        "execution_plan[0].container_meta_type"
    ]
    good.plan.non_const_buffer_sizes = [0, 2**40]
    file = bytearray(damage(good.file(), "execution_plan[0].values[3].val"))
    at = file.index((2).to_bytes(4, "little") + bytes(8) + (2**40).to_bytes(8, "little"))
    file[at : at + 4] = b"\xff\xff\xff\x7f"
    value, plan = validate(memoryview(bytes(file))).problems
    assert (value.where, plan.where) == (
        "execution_plan[0].values[3].val",
        "execution_plan[0].non_const_buffer_sizes",
    )
    assert value.offset != plan.offset


def test_a_header_that_leaves_nothing_to_read():
    file = bytearray(Good().file())
    file[4:8] = b"ET99"
    (problem,) = validate(memoryview(bytes(file))).problems
    assert (problem.code, problem.where, problem.offset) == (Error.InvalidProgram, "file identifier", 4)


def cut_off(damaged: bytes, file: bytes, path: str, field: str) -> bytes:
    """`damaged`, which was `file`, with the vector `field` of the table at `path` outside of it."""
    pte = read_pte(file, locate=True)
    tables = {"execution_plan[0]": pte.program.execution_plan[0]}
    tables["execution_plan[0].chains[0]"] = tables["execution_plan[0]"].chains[0]
    names = [item.name for item in fields(tables[path])]
    assert pte.locations is not None
    at = pte.locations[id(tables[path])].offset
    vtable = at - int.from_bytes(file[at : at + 4], "little", signed=True)
    slot = vtable + 4 + 2 * names.index(field)
    at += int.from_bytes(file[slot : slot + 2], "little")
    return damaged[:at] + b"\xf0\xff\xff\x7f" + damaged[at + 4 :]


@pytest.mark.parametrize(
    ("lost", "field"),
    [("execution_plan[0].chains[0]", "stacktrace"), ("execution_plan[0]", "non_const_buffer_sizes")],
)
def test_what_is_lost_with_what_it_is_part_of_has_its_whole_path(lost, field):
    """Instructions that cannot be read are found before the chain, or the method with the chain, is given up."""
    good = Good()
    good.chain.stacktrace = [FrameList() for _ in good.chain.instructions]
    file = good.file()
    broken = [f"execution_plan[0].chains[0].instructions[{at}].instr_args" for at in (1, 3)]
    found = validate(memoryview(cut_off(damage(file, *broken), file, lost, field))).problems
    assert [problem.where for problem in found[:3]] == [*broken, f"{lost}.{field}"]
    assert all(problem.offset for problem in found)


def test_every_problem_of_damaged_files_has_a_whole_path_and_a_byte():
    first = {field.name for field in fields(Tables)}
    first |= {"extended header", "file identifier", "root table"}
    for seed in range(400):
        random = Random(seed)
        file = bytearray(Good().file())
        for _ in range(random.randint(1, 4)):
            file[random.randrange(len(file))] = random.choice((0, 1, 127, 255, random.randrange(256)))
        for problem in validate(memoryview(bytes(file))).problems:
            assert problem.offset is not None
            assert (problem.where or "").partition(".")[0].partition("[")[0] in first


@pytest.mark.parametrize("length", [0, 7, 63])
def test_too_short(length):
    (problem,) = validate(memoryview(bytes(length))).problems
    assert (problem.code, problem.where, problem.offset) == (Error.InvalidArgument, "file", length)


def test_a_segment_outside_of_the_file():
    """The tensors whose data is in it are not reported as well."""
    file = bytearray(Good().file())
    pte = read_pte(bytes(file), locate=True)
    assert pte.locations is not None
    _, second = pte.program.segments
    at = file.index(second.offset.to_bytes(8, "little"), pte.locations[id(second)].offset)
    file[at : at + 8] = (10**9).to_bytes(8, "little")
    assert places(bytes(file)) == [("InvalidProgram", "segments[1]")]


def test_clashes_are_problems_with_a_place():
    build = Build()
    x, y = build.tensor(2), build.tensor(2)
    clash, out = build.tensor(2, offset=16), build.tensor(2)
    build.add(x, x, y)
    build.add(x, x, clash)
    build.add(y, clash, out)
    build.inputs(x)
    build.outputs(out)
    assert places(build.file()) == [
        ("InvalidProgram", f"execution_plan[0].values[{clash}].val.allocation_info")
    ]
    assert Program.load(build.file()).clashes("forward")


def test_each_method_is_looked_at():
    good = Good()
    second = Good()
    second.plan.name = "second"
    second.plan.values.append(EValue(None))
    good.plan.values.append(EValue(None))
    good.whole.execution_plan.append(second.plan)
    second.plan.delegates, second.chain.instructions = [], second.chain.instructions[:4]
    assert [where for _, where in places(good.file())] == [
        "execution_plan[0].values[12].val",
        "execution_plan[1].values[12].val",
    ]
