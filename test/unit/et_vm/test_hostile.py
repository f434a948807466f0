"""The classes of malformed input that runtimes of this format had to learn of, each with the faults that are in it.

Upstream's list comes first, then what its 1.4.1 does not find. A fault is a row of `test_verify.py` by name, which is
found when a program is loaded, or a row here: a file, when it is refused (`program`: when it is loaded, `method`:
when the method is, `execute`: at the instruction that does it) and with which error.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.hostile_files import (
    arena_without_end,
    argument_of_a_prim,
    argument_of_the_wrong_type,
    bad_operator_before_a_good_one,
    built,
    bundle_of,
    condition_without_data,
    constant_written_by_a_prim,
    constant_written_on_some_paths,
    constant_written_through_a_view,
    constant_written_under_another_name,
    data_file,
    data_words,
    endless_on_a_constant,
    endless_on_data,
    endless_on_two_constants,
    external_data_that_is_missing,
    external_data_that_is_short,
    freed_on_the_path_that_is_taken,
    input_without_end,
    layout,
    list_item_of_another_kind,
    list_moved_into_itself,
    list_with_itself,
    lists_in_a_circle,
    mentions_without_end,
    mutate_good,
    no_arguments_at_all,
    none_over_an_input,
    none_over_an_output,
    number_that_is_no_element_type,
    output_that_is_not_the_one_repeated,
    outputs_that_are_not_repeated,
    overlapping_data,
    overlapping_live_tensors,
    overlapping_states,
    padding_without_measure,
    padding_without_measure_in_a_delegate,
    shapes_of_a_call_in_a_branch,
    shapes_that_do_not_fit,
    too_few_arguments,
    with_byte,
    with_segment,
    with_words,
)
from support.hostile_rows import INVALID, Row, bundled, data, execute, method, program
from support.vm_programs import Build, f32, kernels
from unit.et_vm.test_verify import PLAN, ROWS, Good

from et_schema.errors import Error, ExecutorchError, InputError, InvalidFile, Trap
from et_schema.program import (
    Chain,
    CompileSpec,
    EValue,
    Instruction,
    IntList,
    MoveCall,
    TensorList,
)
from et_schema.ptd import read_ptd
from et_schema.scalar_type import ScalarType
from et_vm.devtools.bundled import BundledProgram
from et_vm.kernels.libraries import load_library
from et_vm.program import Program, Verification
from et_vm.run.validation import validate

CLASSES: dict[str, tuple[str | Row, ...]] = {
    "missing arrays and names": (
        "no_methods",
        "two_methods_of_a_name",
        "method_without_name",
        "named_data_without_key",
        "named_data_key_twice",
        "operator_without_name",
        "delegate_without_id",
        "external_without_name",
        "no_chain",
        "no_arenas",
        "instruction_without_arguments",
        "kernel_without_arguments",
        program("no_arguments_at_all", mutate_good(no_arguments_at_all), "without arguments"),
    ),
    "index of an argument, operator, list or delegate out of bounds": (
        "op_index_negative",
        "kernel_argument_index",
        "delegate_index",
        "delegate_argument_index",
        "delegate_data_index",
        "delegate_segment_index",
        "int_list_item",
        "int_list_negative_item",
        "tensor_list_item",
        "tensor_list_negative_item",
        "optional_tensor_list_item",
        "output_index",
        "device_of_an_arena_that_is_not_there",
    ),
    "guards": (
        "guards_that_are_no_json",
        "guards_without_end",
        "guards_of_another_form",
        "guards_of_no_method",
        "guards_of_fewer_inputs",
        "guard_of_no_input",
        "guard_of_no_dimension",
        "guard_of_a_tensor_as_number",
        "guard_that_is_no_condition",
        "guard_nested_without_end",
    ),
    "names of constants": (
        "names_that_are_no_json",
        "names_without_end",
        "names_of_another_form",
        "names_by_name",
        "names_of_no_method",
        "name_of_no_value",
        "name_of_a_value_from_the_end",
        "name_of_a_truth",
        "name_of_a_number",
        "name_of_an_intermediate",
        "name_of_state",
        "name_that_is_empty",
        "name_of_half_a_character",
        "two_names_of_a_value",
        "another_name_than_that_of_the_tensor",
    ),
    "operands of move, free and jump": (
        "move_from",
        "move_to",
        "free_index",
        "free_of_an_int",
        "jump_condition_index",
        "jump_on_an_int",
        "jump_on_a_float_tensor",
        "jump_past_the_end",
    ),
    "condition without data": (
        program("condition_without_data", built(condition_without_data), "the condition is value 0"),
    ),
    "infinite jump": (
        program("endless_on_a_constant", built(endless_on_a_constant), "the method cannot end"),
        program("endless_on_two_constants", built(endless_on_two_constants), "the method cannot end"),
        execute("endless_on_data", built(endless_on_data), "more than 1,000 instructions", INVALID),
    ),
    "root offset and header": (
        program("root_outside", with_words((0, "I", 10**6)), "is out of bounds or misaligned"),
        program("root_misaligned", with_words((0, "I", 7)), "misaligned"),
        program("header_too_short", with_words((12, "I", 16)), "extended header claims 16 bytes"),
        program("program_past_the_end", with_words((16, "Q", 10**9)), "a program of 1000000000 bytes"),
        program("segments_in_the_program", with_words((24, "Q", 8)), "overlap"),
        program("segments_past_the_end", with_words((32, "Q", 10**9)), "segments end at byte"),
        program("base_overflow", with_words((24, "Q", 2**64 - 1)), "segments end at byte"),
    ),
    "segment and offset overflow": (
        "named_data_segment_index",
        "constant_segment_index",
        "constant_offset_outside_of_its_segment",
        "mutable_data_offset",
        program("segment_past_the_end", with_segment(1, size=10**9), "runs past"),
        program("segment_offset_overflow", with_segment(1, offset=2**64 - 64), "runs past"),
        program("segment_size_overflow", with_segment(0, size=2**64 - 1), "runs past"),
        program("overlapping_segments", with_segment(1, offset=16), "overlaps segment 0"),
    ),
    "constant bounds": (
        "constants_in_two_places",
        "constant_that_is_not_there",
        "constant_longer_than_its_segment",
        "initial_state_that_is_not_there",
        "initial_state_in_no_table",
    ),
    "overflow of elements and bytes": ("rank_17", "size_overflow", "byte_overflow", "stride_overflow"),
    "negative sizes": ("negative_size",),
    "dim order that is no permutation": (
        "dim_order_repeats",
        "dim_order_out_of_range",
        "dim_order_too_short",
    ),
    "arena offset and size overflow": (
        "memory_id_0",
        "memory_id_that_is_not_there",
        "past_the_end_of_the_arena",
        "high_word_of_the_offset",
        method(
            "arena_without_end",
            built(arena_without_end),
            "cannot allocate",
            Error.MemoryAllocationFailed,
            ExecutorchError,
        ),
        method(
            "input_without_end",
            built(input_without_end),
            "cannot allocate",
            Error.MemoryAllocationFailed,
            ExecutorchError,
        ),
    ),
    "data files": (
        data("magic", data_words((8, "I", 0)), "header starts with"),
        data("header_too_short", data_words((12, "I", 8)), "header claims 8 bytes"),
        data("tables_past_the_end", data_words((24, "Q", 10**9)), "a flatbuffer of"),
        data("segments_past_the_end", data_words((40, "Q", 10**9)), "segments at bytes"),
        data("nothing", lambda: b"", "too short"),
        data("sizes_of_more_than_the_data", lambda: data_file(layout(5)), "20 bytes"),
        data("negative_size", lambda: data_file(layout(-1)), "negative size"),
        data("size_overflow", lambda: data_file(layout(*[2**31 - 1] * 8)), "bytes in a segment of 16"),
        data("dim_order", lambda: data_file(layout(2, 2, dim_order=b"\1\1")), "not a permutation"),
        data("overlapping_segments", overlapping_data, "overlaps segment 0"),
        method(
            "short",
            built(external_data_that_is_short),
            "has 4 bytes, the tensor needs 16",
            Error.InvalidExternalData,
        ),
        method(
            "missing",
            built(external_data_that_is_missing),
            "is neither in the file nor in",
            Error.InvalidExternalData,
        ),
    ),
    "bundled data that is too short": (
        bundled(
            "data",
            lambda: bundle_of([2], bytes(4)),
            "4 bytes for 2",
        ),
        bundled("rank", lambda: bundle_of([1] * 65, bytes(4)), "rank 65"),
        bundled(
            "file",
            lambda: bundle_of([2], bytes(8), 100),
            "past the end",
        ),
    ),
    "unknown value types and numbers": (
        "value_without_type",
        "complex_type",
        "storage_offset",
        "tensor_on_another_device",
        "arena_on_another_device",
        "input_is_a_list",
        program("union_type", with_byte(f"{PLAN}.values[6]", b"\2", b"\x63"), "unknown KernelTypes 99"),
        program("enum", with_byte(f"{PLAN}.values[0].val", b"\6", b"\x63"), "unknown ScalarType 99"),
    ),
    "compile specs without key": ("compile_spec_without_key",),
    "shapes that a kernel cannot take": (
        method("shapes", built(shapes_that_do_not_fit), "argument 'other'", Error.InvalidArgument, Trap),
        execute("shapes_in_a_branch", built(shapes_of_a_call_in_a_branch), "argument 'other'"),
        method(
            "type",
            built(number_that_is_no_element_type),
            "255 is not an element type",
            Error.InvalidArgument,
            Trap,
        ),
    ),
    # What 1.4.1 does not find.
    "kernel argument of the wrong value type": (
        "int_list_of_tensors",
        "tensor_list_of_none",
        "optional_tensor_list_of_ints",
        method(
            "int_for_a_tensor",
            built(argument_of_the_wrong_type),
            "expected Tensor, got Int",
            Error.InvalidType,
        ),
        method("too_few", built(too_few_arguments), "takes 3 arguments and its outputs again, got 2"),
        method(
            "another_output_repeated",
            built(output_that_is_not_the_one_repeated),
            "does not repeat its outputs",
        ),
        method("outputs_not_repeated", built(outputs_that_are_not_repeated), "does not repeat its outputs"),
        program("prim", built(argument_of_a_prim), "argument 'a': expected Int or Double", Error.InvalidType),
        program("list_item", built(list_item_of_another_kind), "expected Int, got Double", Error.InvalidType),
    ),
    "index of an input out of bounds": ("input_index", "input_index_negative"),
    "negative arena size": ("negative_arena",),
    "none moved over a tensor": (
        method(
            "none_over_an_input", built(none_over_an_input), "expected Tensor, got Null", Error.InvalidType
        ),
        program("none_over_an_output", built(none_over_an_output), "a Tensor, holds Null at the end"),
    ),
    "operator index out of bounds before a good instruction": (
        "op_index",
        program(
            "op_index_of_a_million",
            mutate_good(bad_operator_before_a_good_one),
            "operator 1000000 is out of range",
        ),
    ),
    "use of a tensor without data": (
        "tensor_without_data",
        "tensor_without_data_to_write",
        "free_then_use",
        execute("freed_on_some_path", built(freed_on_the_path_that_is_taken), "no data", Error.InvalidState),
    ),
    "jump to a negative instruction": ("jump_to_minus_5",),
    # Also unchecked there.
    "delegate without data": ("delegate_without_data",),
    "overlapping live allocations": (
        Row(
            "overlapping_live_tensors",
            built(overlapping_live_tensors),
            "lifetimes",
            InvalidFile,
            INVALID,
            "over live bytes",
        ),
        program("overlapping_states", built(overlapping_states), "initial state overlaps that of value 0"),
    ),
    "writes to constants": (
        "input_is_a_constant",
        "kernel_writes_a_constant",
        program("by_a_prim", built(constant_written_by_a_prim), "writes to value 0, a constant"),
        program("through_a_view", built(constant_written_through_a_view), "aliases a constant here"),
        program(
            "under_another_name",
            built(constant_written_under_another_name),
            "aliases a constant here",
        ),
        execute("on_some_paths", built(constant_written_on_some_paths), "aliases a constant"),
    ),
    "bool bytes other than 0 and 1": (
        "bool_bytes",
        program("scalar", with_byte(f"{PLAN}.values[5].val", b"\1", b"\2"), "bool is 2, neither 0 nor 1"),
    ),
    "cyclic lists": (
        program("tensors", built(list_with_itself(TensorList)), "item is value 1, a TensorList, not Tensor"),
        program("ints", built(list_with_itself(IntList)), "item is value 1, a IntList, not Int"),
        program("in_a_circle", built(lists_in_a_circle), "not Tensor"),
        Row(
            "moved_into_itself",
            built(list_moved_into_itself),
            "execute",
            ExecutorchError,
            Error.InvalidType,
            "nested list",
        ),
    ),
    "sizes that nothing declares": (
        method(
            "padding_of_an_image",
            built(padding_without_measure),
            "an image of at most .* elements with its padding",
            Error.InvalidArgument,
            Trap,
        ),
        method(
            "padding_in_a_delegate",
            built(padding_without_measure_in_a_delegate),
            r"value 1 is declared as \[1, 2, 2, 4\]",
            Error.DelegateInvalidCompatibility,
        ),
    ),
    "what shared parts expand to": (
        program("mentions", built(mentions_without_end), "too many for a file of this size"),
    ),
}

ALL = [(title, fault) for title, faults in CLASSES.items() for fault in faults]
HERE = [(title, fault) for title, fault in ALL if isinstance(fault, Row)]


def test_each_fault_has_its_class():
    """Once."""
    assert sorted(fault for _, fault in ALL if isinstance(fault, str)) == sorted(row[0] for row in ROWS)


@pytest.mark.parametrize(("title", "row"), HERE, ids=[f"{title}-{row.name}" for title, row in HERE])
def test_fault(title: str, row: Row):
    del title
    file = row.make()
    stages: list[str] = []
    with pytest.raises(row.kind, match=row.match) as caught:
        run(file, row.stage, stages)
    assert (stages[-1], caught.value.code) == (row.stage, row.code)
    if row.stage == "program":
        assert caught.value.offset is not None
        assert str(caught.value) in {str(problem) for problem in validate(memoryview(file)).problems}


def run(file: bytes, last: str, stages: list[str]) -> None:
    """Go through the stages up to the last, each noted when it begins."""
    if last == "data":
        stages.append("data")
        read_ptd(file)
        return
    if last == "bundle":
        stages.append("bundle")
        BundledProgram(file).inputs("forward", 0)
        return
    if last == "lifetimes":
        Program.load(file)
        assert validate(memoryview(file)).clashes
        stages.append("lifetimes")
        Program.load(file, Verification.Lifetimes)
        return
    stages.append("program")
    loaded = Program.load(file)
    stages.append("method")
    external = {"short": memoryview(bytes(4))}
    library = kernels(load_library("portable"))
    method = loaded.load_method("forward", kernels=library, external=external, instruction_limit=1000)
    stages.append("execute")
    method.execute([f32(1, 2, 3, 4)] * len(loaded.plan("forward").inputs))


def test_what_is_absent_reads_as_empty():
    """A value of a compile spec, an overload, a list: nothing to refuse."""
    good = Good()
    good.plan.delegates[0].compile_specs = [CompileSpec("key")]
    good.plan.values.append(EValue(IntList()))
    assert Program.load(good.file()).method_names == ("forward",)


def test_moves_that_may_come_to_nothing_are_checked_where_they_are_used():
    """None, or a tensor: as the path was. The method goes on working with other inputs."""
    build = Build()
    flag, x, out = build.tensor(1, dtype=ScalarType.BOOL), build.tensor(4), build.tensor(4)
    build.jump_false(flag, 2)
    build.jump_false(build.scalar(False), 3)
    build.move(build.scalar(None), x)
    build.add(x, x, out)
    build.inputs(flag, x)
    build.outputs(out)
    method = Program.load(build.file()).load_method("forward", kernels=kernels())
    for _ in range(2):
        assert method.execute([np.array([True]), f32(1, 2, 3, 4)])[0].tolist() == [2, 4, 6, 8]
        with pytest.raises(Trap, match="expected Tensor, got Null") as caught:
            method.execute([np.array([False]), f32(1, 2, 3, 4)])
        assert caught.value.code == Error.InvalidType
    with pytest.raises(InputError):
        method.execute([np.array([True]), None])


def test_moves_do_not_hide_the_place():
    """The path of an instruction is that of the file, whatever chain it is in."""
    build = Good()
    build.plan.chains.append(Chain(instructions=[Instruction(MoveCall(0, 99))]))
    with pytest.raises(InvalidFile) as caught:
        Program.load(build.file())
    assert caught.value.where == f"{PLAN}.chains[1].instructions[0].instr_args.move_to"


@pytest.mark.parametrize(
    "name", ["aten::embedding.out", "aten::index_select.out", "aten::gather.out", "aten::index.Tensor_out"]
)
def test_indices_that_the_result_is_written_over(name: str):
    """They are what they were when they were checked: numpy takes 2**60 steps to bring a float's bits into range."""
    build = Build()
    weight = build.constant(np.full((5, 4), 2.5, np.float32))
    flat = build.constant(np.full(5, 2.5, np.float64))
    index, rows = build.tensor(3, dtype=ScalarType.LONG, offset=0), build.tensor(3, 4, offset=0)
    line = build.tensor(3, dtype=ScalarType.DOUBLE, offset=0)
    zero, no, minus = build.scalar(0), build.scalar(False), build.scalar(-1)
    arguments = {
        "aten::embedding.out": (weight, index, minus, no, no, rows, rows),
        "aten::index_select.out": (weight, zero, index, rows, rows),
        "aten::gather.out": (flat, zero, index, no, line, line),
        "aten::index.Tensor_out": (weight, build.tensors(index, optional=True), rows, rows),
    }
    build.call(name, *arguments[name])
    build.inputs(index)
    build.outputs(arguments[name][-1])
    (found,) = Program.load(build.file()).load_method("forward").execute([np.array([4, 0, 3])])
    assert np.all(found == 2.5)
