"""Malformed programs: each row breaks one rule of a good file and names the error, its code and its place."""

import json

import numpy as np
import pytest
from support.vm_programs import UNBOUND, Build, combine

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.program import (
    BackendDelegateDataReference,
    Chain,
    CompileSpec,
    DataLocation,
    DelegateCall,
    DeviceType,
    EValue,
    ExtraTensorInfo,
    Frame,
    FrameList,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    NamedData,
    NonConstBufferDevice,
    OptionalTensorList,
    SubsegmentOffsets,
    TensorDataLocation,
    TensorList,
)
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType
from et_vm.program import Program, Verification
from et_vm.run.validation import validate

# Registers of the good file.
X, Y, SUM, OUT, WEIGHT, FLAG, ONE, NONE, LIST, INTS, STATE, VIEW = range(12)


class Good(Build):
    """out = (x + y) + weight, and a bit of everything that can be wrong."""

    def __init__(self) -> None:
        super().__init__()
        assert self.tensor(2, 4) == X
        assert self.tensor(2, 4) == Y
        assert self.tensor(2, 4) == SUM
        assert self.tensor(2, 4) == OUT
        assert self.constant(np.ones((2, 4), np.float32)) == WEIGHT
        assert self.scalar(True) == FLAG
        assert self.scalar(1) == ONE
        assert self.scalar(None) == NONE
        assert self.tensors(X, Y) == LIST
        assert self.list_of(ONE) == INTS
        assert self.state(np.zeros(4, np.float32), name="counter") == STATE
        assert self.tensor(8, planned=False) == VIEW
        self.add(X, Y, SUM)
        self.add(SUM, WEIGHT, OUT)
        self.jump_false(FLAG, 4)
        self.call("test::increment_", STATE, STATE)
        self.inputs(X, Y)
        self.outputs(OUT)
        self.delegate("Acme", b"blob", X, OUT, specs=[CompileSpec("key", b"value")])
        self.whole = self.program()
        self.extra_segments: list[list[bytes]] = []

    def instruction(self, index: int):
        return self.chain.instructions[index].instr_args

    def file(self) -> bytes:
        return serialize_pte(self.whole, self.segments() + self.extra_segments)


def load(good: Good) -> Program:
    return Program.load(good.file())


def test_the_good_file_is_good():
    assert load(Good()).method_names == ("forward",)


@pytest.mark.parametrize("also_in_its_table", [False, True])
def test_constants_are_called_what_the_named_data_says(also_in_its_table):
    good = Good()
    (called if also_in_its_table else names)((WEIGHT, "weight"))(good)
    assert good.whole.execution_plan[0].values[X].val.extra_tensor_info is None
    info = load(good).plan("forward").values[WEIGHT].val.extra_tensor_info
    assert info == ExtraTensorInfo(fully_qualified_name="weight")


def test_names_of_inputs():
    good = Good()
    names((Y, "y"), (WEIGHT, "weight"))(good)
    meta = load(good).method_meta("forward")
    assert [meta.input_name(index) for index in range(2)] == ["", "y"]
    assert [meta.input_tensor_meta(index).name() for index in range(2)] == ["", "y"]


PLAN = "execution_plan[0]"


def value(register: int) -> str:
    return f"{PLAN}.values[{register}].val"


def instruction(index: int) -> str:
    return f"{PLAN}.chains[0].instructions[{index}].instr_args"


def set_tensor(register, **fields):
    def mutate(good):
        for name, content in fields.items():
            setattr(good[register], name, content)

    return mutate


def set_allocation(register, **fields):
    def mutate(good):
        for name, content in fields.items():
            setattr(good[register].allocation_info, name, content)

    return mutate


def set_extra(register, **fields):
    def mutate(good):
        good[register].extra_tensor_info = ExtraTensorInfo(**fields)

    return mutate


def set_plan(**fields):
    def mutate(good):
        for name, content in fields.items():
            setattr(good.plan, name, content)

    return mutate


def set_program(**fields):
    def mutate(good):
        for name, content in fields.items():
            setattr(good.whole, name, content)

    return mutate


def guards(*texts, inputs=("x", "y"), method="forward", data=None):
    """Conditions on the sizes of the two inputs, or what the file has in their place."""
    table = {method: {"inputs": list(inputs), "guards": list(texts)}}

    def mutate(good):
        good.extra_segments.append([json.dumps(table).encode() if data is None else data])
        good.whole.named_data = [NamedData("et_ir.guards", 2)]

    return mutate


def names(*pairs, method="forward", data=None):
    """Names of values, or what the file has in their place."""
    table = {method: [list(pair) for pair in pairs]}

    def mutate(good):
        good.extra_segments.append([json.dumps(table).encode() if data is None else data])
        good.whole.named_data = [NamedData("et_ir.names", 2)]

    return mutate


def called(*pairs):
    """Names of a file whose weight has one in its own table."""

    def mutate(good):
        names(*pairs)(good)
        good[WEIGHT].extra_tensor_info = ExtraTensorInfo(fully_qualified_name="weight")

    return mutate


def replace_instruction(index, arguments):
    def mutate(good):
        good.chain.instructions[index] = Instruction(arguments)

    return mutate


def replace_value(register, table):
    def mutate(good):
        good.plan.values[register] = EValue(table)

    return mutate


def set_delegate(**fields):
    def mutate(good):
        for name, content in fields.items():
            setattr(good.plan.delegates[0], name, content)

    return mutate


def bool_constant(good):
    good.extra = good.constant(np.array([2, 1], np.uint8))
    good[good.extra].scalar_type = ScalarType.BOOL


def second_method(good):
    good.whole.execution_plan.append(good.plan)


def unnamed_operator(good):
    good.plan.operators[0].name = ""


def arena_of_nothing(good):
    good.plan.non_const_buffer_sizes = []


def both_kinds_of_constants(good):
    from et_schema.program import Buffer

    good.whole.constant_buffer = [Buffer(b"")]


TOO_BIG = 2**31 - 1
INVALID = Error.InvalidProgram

ROWS = [
    # the program
    ("no_methods", set_program(execution_plan=[]), INVALID, "execution_plan"),
    ("two_methods_of_a_name", second_method, INVALID, "execution_plan[1].name"),
    ("method_without_name", set_plan(name=""), INVALID, f"{PLAN}.name"),
    ("named_data_without_key", set_program(named_data=[NamedData("", 0)]), INVALID, "named_data[0].key"),
    (
        "named_data_key_twice",
        set_program(named_data=[NamedData("a", 0), NamedData("a", 1)]),
        INVALID,
        "named_data[1].key",
    ),
    (
        "named_data_segment_index",
        set_program(named_data=[NamedData("a", 9)]),
        INVALID,
        "named_data[0].segment_index",
    ),
    ("guards_that_are_no_json", guards(data=b"\xff{"), INVALID, "named_data[0]"),
    ("guards_without_end", guards(data=b"[" * 10**5), INVALID, "named_data[0]"),
    ("guards_of_another_form", guards(data=b'{"forward": ["x"]}'), INVALID, "named_data[0]"),
    ("guards_of_no_method", guards(method="backward"), INVALID, "named_data[0]"),
    ("guards_of_fewer_inputs", guards(inputs=("x",)), INVALID, "named_data[0]"),
    ("guard_of_no_input", guards("z.shape[0] == 2"), INVALID, "named_data[0]"),
    ("guard_of_no_dimension", guards("x.shape[2] == 2"), INVALID, "named_data[0]"),
    ("guard_of_a_tensor_as_number", guards("x == 2"), INVALID, "named_data[0]"),
    ("guard_that_is_no_condition", guards("open(x.shape[0])"), INVALID, "named_data[0]"),
    ("guard_nested_without_end", guards("-" * 3000 + "x.shape[0]"), INVALID, "named_data[0]"),
    ("names_that_are_no_json", names(data=b"\xff{"), INVALID, "named_data[0]"),
    ("names_without_end", names(data=b"[" * 10**5), INVALID, "named_data[0]"),
    ("names_of_another_form", names(data=b'["fc.weight"]'), INVALID, "named_data[0]"),
    ("names_by_name", names(data=b'{"forward": {"fc.weight": 4}}'), INVALID, "named_data[0]"),
    ("names_of_no_method", names(method="backward"), INVALID, "named_data[0]"),
    ("name_of_no_value", names((99, "w")), INVALID, "named_data[0]"),
    ("name_of_a_value_from_the_end", names((-8, "w")), INVALID, "named_data[0]"),
    ("name_of_a_truth", names((True, "w")), INVALID, "named_data[0]"),
    ("name_of_a_number", names((ONE, "w")), INVALID, "named_data[0]"),
    ("name_of_an_intermediate", names((SUM, "w")), INVALID, "named_data[0]"),
    ("name_of_state", names((STATE, "w")), INVALID, "named_data[0]"),
    ("name_that_is_empty", names((WEIGHT, "")), INVALID, "named_data[0]"),
    ("name_of_half_a_character", names((WEIGHT, "\ud800")), INVALID, "named_data[0]"),
    ("two_names_of_a_value", names((WEIGHT, "v"), (WEIGHT, "w")), INVALID, "named_data[0]"),
    ("another_name_than_that_of_the_tensor", called((WEIGHT, "w")), INVALID, "named_data[0]"),
    ("constants_in_two_places", both_kinds_of_constants, INVALID, "constant_segment"),
    (
        "constant_offset_outside_of_its_segment",
        set_program(constant_segment=SubsegmentOffsets(0, [0, 10**6])),
        INVALID,
        "constant_segment.offsets[1]",
    ),
    (
        "constant_segment_index",
        set_program(constant_segment=SubsegmentOffsets(7, [0, 16])),
        INVALID,
        "constant_segment.segment_index",
    ),
    (
        "mutable_data_offset",
        set_program(mutable_data_segments=[SubsegmentOffsets(1, [0, 10**6])]),
        INVALID,
        "mutable_data_segments[0].offsets[1]",
    ),
    # arenas
    (
        "negative_arena",
        set_plan(non_const_buffer_sizes=[0, -16]),
        INVALID,
        f"{PLAN}.non_const_buffer_sizes[1]",
    ),
    ("no_arenas", arena_of_nothing, Error.InvalidArgument, f"{value(X)}.allocation_info.memory_id"),
    (
        "device_of_an_arena_that_is_not_there",
        set_plan(non_const_buffer_device=[NonConstBufferDevice(5)]),
        INVALID,
        f"{PLAN}.non_const_buffer_device[0].buffer_idx",
    ),
    (
        "arena_on_another_device",
        set_plan(non_const_buffer_device=[NonConstBufferDevice(1, DeviceType.CUDA)]),
        Error.NotSupported,
        f"{PLAN}.non_const_buffer_device[0].device_type",
    ),
    # tensors
    ("value_without_type", replace_value(X, None), INVALID, value(X)),
    ("negative_size", set_tensor(X, sizes=[2, -4]), INVALID, f"{value(X)}.sizes"),
    (
        "rank_17",
        set_tensor(X, sizes=[1] * 17, dim_order=bytes(range(17))),
        INVALID,
        f"{value(X)}.sizes",
    ),
    (
        "size_overflow",
        set_tensor(X, sizes=[TOO_BIG] * 3, dim_order=bytes(range(3)), allocation_info=None),
        INVALID,
        f"{value(X)}.sizes",
    ),
    (
        "byte_overflow",
        set_tensor(X, sizes=[TOO_BIG, TOO_BIG, 2], dim_order=bytes(range(3)), allocation_info=None),
        INVALID,
        f"{value(X)}.sizes",
    ),
    (
        "stride_overflow",
        set_tensor(X, sizes=[0, TOO_BIG, TOO_BIG, TOO_BIG], dim_order=bytes(range(4)), allocation_info=None),
        INVALID,
        f"{value(X)}.sizes",
    ),
    ("dim_order_repeats", set_tensor(X, dim_order=b"\0\0"), Error.Internal, f"{value(X)}.dim_order"),
    ("dim_order_out_of_range", set_tensor(X, dim_order=b"\0\2"), Error.Internal, f"{value(X)}.dim_order"),
    ("dim_order_too_short", set_tensor(X, dim_order=b"\0"), INVALID, f"{value(X)}.dim_order"),
    ("storage_offset", set_tensor(X, storage_offset=1), Error.NotSupported, f"{value(X)}.storage_offset"),
    (
        "complex_type",
        set_tensor(X, scalar_type=ScalarType.COMPLEXHALF),
        INVALID,
        f"{value(X)}.scalar_type",
    ),
    (
        "tensor_on_another_device",
        set_extra(X, device_type=DeviceType.CUDA),
        Error.NotSupported,
        f"{value(X)}.extra_tensor_info.device_type",
    ),
    (
        "memory_id_0",
        set_allocation(X, memory_id=0),
        Error.InvalidArgument,
        f"{value(X)}.allocation_info.memory_id",
    ),
    (
        "memory_id_that_is_not_there",
        set_allocation(X, memory_id=2),
        Error.InvalidArgument,
        f"{value(X)}.allocation_info.memory_id",
    ),
    (
        "past_the_end_of_the_arena",
        set_allocation(X, memory_offset_low=10**6),
        Error.MemoryAllocationFailed,
        f"{value(X)}.allocation_info",
    ),
    (
        "high_word_of_the_offset",
        set_allocation(X, memory_offset_high=2**32 - 1),
        Error.MemoryAllocationFailed,
        f"{value(X)}.allocation_info",
    ),
    (
        "constant_that_is_not_there",
        set_tensor(WEIGHT, data_buffer_idx=99),
        Error.InvalidArgument,
        f"{value(WEIGHT)}.data_buffer_idx",
    ),
    (
        "constant_longer_than_its_segment",
        set_tensor(WEIGHT, sizes=[200, 4]),
        Error.InvalidArgument,
        f"{value(WEIGHT)}.data_buffer_idx",
    ),
    (
        "initial_state_that_is_not_there",
        set_tensor(STATE, data_buffer_idx=99),
        Error.InvalidArgument,
        f"{value(STATE)}.data_buffer_idx",
    ),
    (
        "initial_state_in_no_table",
        set_extra(STATE, mutable_data_segments_idx=3),
        Error.InvalidArgument,
        f"{value(STATE)}.data_buffer_idx",
    ),
    ("bool_bytes", bool_constant, INVALID, f"{value(12)}.data_buffer_idx"),
    (
        "external_without_name",
        set_extra(VIEW, location=TensorDataLocation.EXTERNAL),
        INVALID,
        f"{value(VIEW)}.extra_tensor_info.fully_qualified_name",
    ),
    # lists
    ("int_list_item", replace_value(INTS, IntList([99])), INVALID, f"{value(INTS)}.items[0]"),
    ("int_list_negative_item", replace_value(INTS, IntList([-1])), INVALID, f"{value(INTS)}.items[0]"),
    ("int_list_of_tensors", replace_value(INTS, IntList([X])), INVALID, f"{value(INTS)}.items[0]"),
    ("tensor_list_item", replace_value(LIST, TensorList([X, 99])), INVALID, f"{value(LIST)}.items[1]"),
    ("tensor_list_negative_item", replace_value(LIST, TensorList([-1])), INVALID, f"{value(LIST)}.items[0]"),
    ("tensor_list_of_none", replace_value(LIST, TensorList([NONE])), INVALID, f"{value(LIST)}.items[0]"),
    (
        "optional_tensor_list_item",
        replace_value(LIST, OptionalTensorList([-2])),
        INVALID,
        f"{value(LIST)}.items[0]",
    ),
    (
        "optional_tensor_list_of_ints",
        replace_value(LIST, OptionalTensorList([-1, ONE])),
        Error.InvalidType,
        f"{value(LIST)}.items[1]",
    ),
    # inputs and outputs
    ("input_index", set_plan(inputs=[X, 99]), INVALID, f"{PLAN}.inputs[1]"),
    ("input_index_negative", set_plan(inputs=[-1]), INVALID, f"{PLAN}.inputs[0]"),
    ("output_index", set_plan(outputs=[99]), INVALID, f"{PLAN}.outputs[0]"),
    ("input_is_a_list", set_plan(inputs=[LIST]), Error.NotSupported, f"{PLAN}.inputs[0]"),
    ("input_is_a_constant", set_plan(inputs=[WEIGHT]), INVALID, f"{PLAN}.inputs[0]"),
    # instructions
    ("no_chain", set_plan(chains=[]), INVALID, f"{PLAN}.chains"),
    ("instruction_without_arguments", replace_instruction(0, None), INVALID, instruction(0)),
    ("op_index", replace_instruction(0, KernelCall(99, [X])), INVALID, f"{instruction(0)}.op_index"),
    ("op_index_negative", replace_instruction(0, KernelCall(-1, [X])), INVALID, f"{instruction(0)}.op_index"),
    ("operator_without_name", unnamed_operator, INVALID, f"{PLAN}.operators[0].name"),
    (
        "kernel_argument_index",
        replace_instruction(0, KernelCall(0, [X, 99, OUT, OUT])),
        INVALID,
        f"{instruction(0)}.args[1]",
    ),
    (
        "kernel_without_arguments",
        replace_instruction(0, KernelCall(0, [])),
        INVALID,
        f"{instruction(0)}.args",
    ),
    (
        "kernel_writes_a_constant",
        replace_instruction(0, KernelCall(0, [X, Y, WEIGHT, WEIGHT])),
        INVALID,
        f"{instruction(0)}.args",
    ),
    (
        "delegate_index",
        replace_instruction(4, DelegateCall(1, [X, OUT])),
        INVALID,
        f"{instruction(4)}.delegate_index",
    ),
    (
        "delegate_argument_index",
        replace_instruction(4, DelegateCall(0, [X, 99])),
        INVALID,
        f"{instruction(4)}.args[1]",
    ),
    ("move_from", replace_instruction(0, MoveCall(99, X)), INVALID, f"{instruction(0)}.move_from"),
    ("move_to", replace_instruction(0, MoveCall(X, -1)), INVALID, f"{instruction(0)}.move_to"),
    ("free_index", replace_instruction(0, FreeCall(99)), INVALID, f"{instruction(0)}.value_index"),
    (
        "free_of_an_int",
        replace_instruction(0, FreeCall(ONE)),
        Error.InvalidType,
        f"{instruction(0)}.value_index",
    ),
    (
        "jump_condition_index",
        replace_instruction(2, JumpFalseCall(99, 0)),
        INVALID,
        f"{instruction(2)}.cond_value_index",
    ),
    (
        "jump_on_an_int",
        replace_instruction(2, JumpFalseCall(ONE, 0)),
        INVALID,
        f"{instruction(2)}.cond_value_index",
    ),
    (
        "jump_on_a_float_tensor",
        replace_instruction(2, JumpFalseCall(X, 0)),
        INVALID,
        f"{instruction(2)}.cond_value_index",
    ),
    (
        "jump_to_minus_5",
        replace_instruction(2, JumpFalseCall(FLAG, -5)),
        INVALID,
        f"{instruction(2)}.destination_instruction",
    ),
    (
        "jump_past_the_end",
        replace_instruction(2, JumpFalseCall(FLAG, 6)),
        INVALID,
        f"{instruction(2)}.destination_instruction",
    ),
    # delegates
    ("delegate_without_id", set_delegate(id=""), INVALID, f"{PLAN}.delegates[0].id"),
    ("delegate_without_data", set_delegate(processed=None), INVALID, f"{PLAN}.delegates[0].processed"),
    (
        "delegate_data_index",
        set_delegate(processed=BackendDelegateDataReference(index=9)),
        INVALID,
        f"{PLAN}.delegates[0].processed.index",
    ),
    (
        "delegate_segment_index",
        set_delegate(processed=BackendDelegateDataReference(DataLocation.SEGMENT, 9)),
        INVALID,
        f"{PLAN}.delegates[0].processed.index",
    ),
    (
        "compile_spec_without_key",
        set_delegate(compile_specs=[CompileSpec("", b"")]),
        INVALID,
        f"{PLAN}.delegates[0].compile_specs[0].key",
    ),
    # what registers hold where they are used
    (
        "tensor_without_data",
        replace_instruction(0, KernelCall(0, [X, VIEW, SUM, SUM])),
        INVALID,
        f"{instruction(0)}.args[1]",
    ),
    (
        "tensor_without_data_to_write",
        replace_instruction(0, KernelCall(0, [X, Y, VIEW, VIEW])),
        INVALID,
        f"{instruction(0)}.args[2]",
    ),
    ("free_then_use", replace_instruction(0, FreeCall(SUM)), INVALID, f"{instruction(1)}.args[0]"),
]


@pytest.mark.parametrize(("mutate", "code", "where"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_malformed(mutate, code, where):
    good = Good()
    mutate(good)
    with pytest.raises(InvalidFile) as caught:
        load(good)
    error = caught.value
    assert (error.code.name, error.where) == (code.name, where)
    assert error.offset is not None
    assert where in str(error)
    assert "byte 0x" in str(error)


@pytest.mark.parametrize("row", [row for row in ROWS if row[3].startswith(PLAN)], ids=lambda row: row[0])
def test_minimal_verification_defers_and_never_skips(row):
    _, mutate, code, _ = row
    good = Good()
    mutate(good)

    def load_method():
        Program.load(good.file(), Verification.Minimal).load_method("forward", kernels="portable")

    with pytest.raises(InvalidFile) as caught:
        load_method()
    assert caught.value.code == code


def test_named_data_without_segments():
    build = Build()
    program = build.program()
    program.constant_segment = None
    program.mutable_data_segments = []
    program.named_data = [NamedData("a", 0)]
    with pytest.raises(InvalidFile) as caught:
        Program.load(serialize_pte(program))
    assert caught.value.code == Error.InvalidArgument


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", Error.InvalidArgument),
        (b"\0" * 63, Error.InvalidArgument),
        (b"\0" * 64, Error.InvalidProgram),
        (Good().file()[:200], Error.InvalidProgram),
    ],
)
def test_containers_that_are_none(data, code):
    with pytest.raises(ExecutorchError) as caught:
        Program.load(data)
    assert caught.value.code == code


def test_every_truncation_is_an_error():
    file = Good().file()
    for length in range(0, len(file) - 64, 37):
        with pytest.raises(InvalidFile):
            Program.load(file[:length])


def test_flipped_bytes_never_crash():
    """Every byte of the flatbuffer in turn: the file loads, or a typed error says why not."""
    file = bytearray(Good().file())
    for at in range(0, min(len(file), 2500)):
        kept = file[at]
        file[at] = kept ^ 0xFF
        try:
            program = Program.load(bytes(file))
            program.method_meta(program.method_names[0])
        except ExecutorchError:
            pass
        file[at] = kept


def test_list_items_may_be_computed():
    """An item that a prim fills need not be an Int in the file."""
    build = Build()
    size = build.scalar(None)
    x, out = build.tensor(4), build.tensor(4)
    sizes = build.list_of(size)
    build.call("aten::sym_numel", x, size)
    build.call("test::reshape.out", x, sizes, out, out)
    build.inputs(x)
    build.outputs(out)
    assert Program.load(build.file()).method_names == ("forward",)


def test_unbound_tensors_get_memory_when_written():
    build = Build()
    x, out = build.tensor(4), build.tensor(4)
    y = build.tensor(4, planned=False, dynamism=UNBOUND)
    build.add(x, x, y)
    build.add(x, y, out)
    build.inputs(x)
    build.outputs(out)
    Program.load(build.file())
    build.plan.chains[0].instructions.insert(0, Instruction(KernelCall(0, [x, y, x, x])))
    with pytest.raises(InvalidFile, match="has no data here"):
        Program.load(build.file())


def test_several_chains_are_flattened():
    build = Build()
    x, flag = build.tensor(4), build.scalar(False)
    build.call("test::increment_", x, x)
    build.plan.chains.append(Chain())
    build.jump_false(flag, 2)
    build.call("test::increment_", x, x)
    build.inputs(x)
    build.outputs(x)
    program = Program.load(build.file())
    flat = program.instructions(0)
    assert [instruction.index for instruction in flat] == [0, 1, 2]
    assert flat[1].target == 3
    assert flat[2].position == 1
    assert flat[1].where == "execution_plan[0].chains[1].instructions[0].instr_args"
    build.chain.instructions[0] = Instruction(JumpFalseCall(flag, 3))
    with pytest.raises(InvalidFile, match="jump to instruction 3 of a chain of 2"):
        Program.load(build.file())


def test_short_stack_traces_are_fine():
    build = Good()
    build.chain.stacktrace = [FrameList([Frame("model.py", 3, "forward", "x + y")])]
    flat = load(build).instructions(0)
    assert flat[0].frames[0].lineno == 3
    assert not flat[1].frames


def test_every_method_is_verified():
    first, second = Build("first"), Build("second")
    second.outputs(5)
    with pytest.raises(InvalidFile) as caught:
        Program.load(combine(first, second))
    assert caught.value.where == "execution_plan[1].outputs[0]"


def test_values_have_kinds():
    build = Good()
    build.plan.values.append(EValue(Int(3)))
    assert load(build).method_meta("forward").num_inputs() == 2


def test_a_prim_that_writes_into_its_argument_makes_nothing_of_its_index():
    build = Build()
    stack, item, index = build.tensor(2, 2), build.tensor(2), build.scalar(1)
    build.tensors(index)
    build.call("executorch_prim::et_copy_index.tensor", stack, item, index)
    with pytest.raises(InvalidFile, match=f"item is value {index}, a Int, not Tensor"):
        Program.load(build.file())


@pytest.mark.parametrize("key", ["et_ir.guards", "et_ir.names"])
@pytest.mark.parametrize("segments", [True, False])
def test_validation_goes_on_after_named_data_of_no_segment(key, segments):
    good = Good()
    good.whole.named_data = [NamedData(key, 9)]
    data = good.file() if segments else serialize_pte(good.whole, [])
    found = validate(memoryview(data)).problems
    assert any((problem.where or "").startswith("named_data") for problem in found)
