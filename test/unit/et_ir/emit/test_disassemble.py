"""Disassembly of file tables, register roles, and malformed files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest

from et_ir.dialects.executorch import PlanOp
from et_ir.emit import disassemble, write
from et_ir.text import print_module
from et_schema import program as schema
from et_schema.errors import Error, InvalidFile
from et_schema.pte import read_pte, serialize_pte
from et_schema.scalar_type import ScalarType


def tensor(
    offset: int | None = None,
    *,
    sizes: Sequence[int] = (4,),
    data: int = 0,
    arena: int = 1,
    name: str = "",
    scalar_type: ScalarType = ScalarType.FLOAT,
    **fields: Any,
) -> schema.Tensor:
    """A tensor, planned if it has an offset."""
    return schema.Tensor(
        scalar_type=scalar_type,
        sizes=list(sizes),
        dim_order=bytes(range(len(sizes))),
        data_buffer_idx=data,
        allocation_info=None if offset is None else schema.AllocationDetails(arena, offset, 0),
        extra_tensor_info=schema.ExtraTensorInfo(fully_qualified_name=name) if name else None,
        **fields,
    )


class Builder:
    """A plan from values and calls."""

    def __init__(self, *values: Any, inputs: Sequence[int] = (), outputs: Sequence[int] = ()):
        self.plan = schema.ExecutionPlan(
            name="forward",
            values=[schema.EValue(value) for value in values],
            inputs=list(inputs),
            outputs=list(outputs),
            chains=[schema.Chain()],
            non_const_buffer_sizes=[0, 1024],
        )

    def add(self, *instructions: Any) -> Builder:
        self.plan.chains[0].instructions.extend(schema.Instruction(entry) for entry in instructions)
        return self

    def call(self, operator: str, *args: int) -> Builder:
        name, _, overload = operator.partition(".")
        entry = schema.Operator(name, overload)
        if entry not in self.plan.operators:
            self.plan.operators.append(entry)
        return self.add(schema.KernelCall(self.plan.operators.index(entry), list(args)))

    def file(self, segments: Sequence[Sequence[bytes]] = (), **fields: Any) -> bytes:
        constants = schema.SubsegmentOffsets(
            0, [0, *(16 * i for i in range(len(segments[0])))] if segments else [0]
        )
        program = schema.Program(execution_plan=[self.plan], **{"constant_segment": constants, **fields})
        return serialize_pte(program, [[chunk.ljust(16, b"\0") for chunk in segment] for segment in segments])

    def text(self, segments: Sequence[Sequence[bytes]] = (), **fields: Any) -> list[str]:
        """The lines of the plan's body; what is written again reads back as the same."""
        data = self.file(segments, **fields)
        module = disassemble(read_pte(data))
        module.verify()
        stream = io.BytesIO()
        write(module, stream)
        again = disassemble(read_pte(stream.getvalue()))
        second = io.BytesIO()
        write(again, second)
        assert second.getvalue() == stream.getvalue()
        return body(module)


def body(module: Any) -> list[str]:
    stream = io.StringIO()
    print_module(module, stream)
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("executorch.plan"))
    return [
        line.replace("executorch.", "").removesuffix(" : tensor<4xf32>") for line in lines[start + 1 : -2]
    ]


def test_registers_are_declared_where_they_are_used_in_the_order_of_values() -> None:
    builder = Builder(tensor(0), schema.Int(1), tensor(16), tensor(32), inputs=[0], outputs=[3])
    assert builder.call("aten::add.out", 0, 0, 1, 2, 2).call("aten::relu.out", 2, 3, 3).text() == [
        "%r0 = input {memory_id = 1, offset = 0}",
        "%r2 = alloc {memory_id = 1, offset = 16}",
        'kernel_call "aten::add.out"(%r0, %r0, 1) outs(%r2)',
        "%r3 = alloc {memory_id = 1, offset = 32}",
        'kernel_call "aten::relu.out"(%r2) outs(%r3)',
        "return %r3",
    ]


def test_inputs_stand_in_the_order_of_the_signature() -> None:
    builder = Builder(tensor(), tensor(sizes=(2,)), schema.Int(3), inputs=[2, 1, 0])
    assert builder.text() == ["%r2 = input 3 : i64", "%r1 = input : tensor<2xf32>", "%r0 = input", "return"]


def test_inputs_that_are_written_in_the_memory_of_the_caller() -> None:
    builder = Builder(tensor(), tensor(0), tensor(16), tensor(), inputs=[0, 1, 2, 3])
    lines = builder.call("x::inplace_", 0, 0).call("x::copy.out", 1, 2, 2).call("x::reads", 3, 1, 1).text()
    assert "%r0 = input aliased" in lines
    # The caller does not see what is written to planned inputs.
    assert "%r2 = input {memory_id = 1, offset = 16}" in lines
    assert "%r3 = input" in lines


def test_how_calls_end() -> None:
    values = (tensor(0), tensor(16), schema.TensorList([0, 1]), schema.Int(5), schema.TensorList([0, 1]))
    lines = (
        Builder(*values, inputs=[0])
        .call("x::one.out", 0, 3, 1, 1)
        .call("x::two.out", 3, 0, 1, 2)
        .call("x::list.out", 3, 2, 4)
        .call("x::prim", 0, 3)
        .call("x::inplace_", 0, 0)
        .call("x::takes_a_list", 2)
        .call("executorch_prim::et_copy_index.tensor", 0, 1, 3)
        .text()
    )
    assert [line for line in lines if "call" in line] == [
        'kernel_call "x::one.out"(%r0, %r3) outs(%r1)',
        'kernel_call "x::two.out"(%r3) outs(%r0, %r1)',
        'kernel_call "x::list.out"(%r3) outs([%r0, %r1])',
        # What a call ends with is what it returns: a register, not a literal.
        'kernel_call "x::prim"(%r0) returns(%r3)',
        'kernel_call "x::inplace_"(%r0) returns(%r0)',
        'kernel_call "x::takes_a_list"([%r0, %r1])',
        'kernel_call "executorch_prim::et_copy_index.tensor"(%r0, %r1, %r3)',
    ]


def test_what_is_read_and_never_written_is_a_view_of_what_lies_there() -> None:
    builder = Builder(
        tensor(0), tensor(64), tensor(64, sizes=(2, 2)), tensor(72, sizes=(2,)), tensor(96), inputs=[0]
    )
    lines = builder.call("aten::relu.out", 0, 1, 1).call("aten::cat.out", 2, 3, 4, 4).text()
    assert "%r2 = view %r1 : tensor<2x2xf32>" in lines
    assert "%r3 = view %r1 from 8 : tensor<2xf32>" in lines


def test_what_is_written_in_place_first_is_a_view_too() -> None:
    builder = Builder(tensor(0), tensor(64), tensor(64, sizes=(2, 2)), inputs=[0], outputs=[2])
    lines = builder.call("aten::relu.out", 0, 1, 1).call("aten::neg.out", 2, 2, 2).text()
    assert lines[-3:] == [
        "%r2 = view %r1 : tensor<2x2xf32>",
        'kernel_call "aten::neg.out"(%r2) outs(%r2)',
        "return %r2",
    ]


def test_what_was_written_part_by_part_has_the_parts_as_views() -> None:
    """A concatenation that is computed in its place, one of its parts in two steps."""
    builder = Builder(
        tensor(0),
        tensor(64),
        tensor(80),
        tensor(64, sizes=(8,)),
        tensor(96, sizes=(8,)),
        inputs=[0],
        outputs=[4],
    )
    builder.call("aten::relu.out", 0, 1, 1).call("aten::neg.out", 0, 2, 2).call("aten::exp.out", 2, 2, 2)
    assert builder.call("aten::abs.out", 3, 4, 4).text()[1:8] == [
        "%r3 = alloc {memory_id = 1, offset = 64} : tensor<8xf32>",
        "%r1 = view %r3",
        'kernel_call "aten::relu.out"(%r0) outs(%r1)',
        "%r2 = view %r3 from 16",
        'kernel_call "aten::neg.out"(%r0) outs(%r2)',
        'kernel_call "aten::exp.out"(%r2) outs(%r2)',
        "%r4 = alloc {memory_id = 1, offset = 96} : tensor<8xf32>",
    ]


def test_a_whole_that_no_instruction_names() -> None:
    """Parts of it are written, a view of it is read: it is what all of them are views of, and keeps its place."""
    builder = Builder(
        tensor(64, sizes=(8,)), tensor(0), tensor(64), tensor(80), tensor(64, sizes=(2, 4)), tensor(96, sizes=(2, 4)),
        inputs=[1], outputs=[5],
    )  # fmt: skip
    builder.call("aten::relu.out", 1, 2, 2).call("aten::neg.out", 1, 3, 3)
    lines = builder.call("aten::abs.out", 4, 5, 5).text()
    assert lines[0] == "%r0 = alloc {memory_id = 1, offset = 64} : tensor<8xf32>"
    assert "%r4 = view %r0 : tensor<2x4xf32>" in lines
    assert "%r3 = view %r0 from 16" in lines


def test_what_was_written_in_part_is_state() -> None:
    """So is what something larger was written over."""
    builder = Builder(
        tensor(0), tensor(64), tensor(64, sizes=(8,)), tensor(96, sizes=(8,)), inputs=[0], outputs=[3]
    )
    lines = builder.call("aten::relu.out", 0, 1, 1).call("aten::abs.out", 2, 3, 3).text()
    assert any(line.startswith("%r2 = state") for line in lines)


def test_a_view_stands_behind_what_it_views() -> None:
    """A view that precedes its base in the file."""
    builder = Builder(tensor(64, sizes=(2,)), tensor(64), tensor(0), inputs=[2], outputs=[0])
    lines = builder.call("aten::relu.out", 2, 1, 1).text()
    assert lines[0].startswith("%r1 = alloc")
    assert lines[1].startswith("%r0 = view %r1")


def test_of_two_names_for_one_memory_the_first_stays_first() -> None:
    """Though it is written by the other name: written again, the file is the same."""
    builder = Builder(tensor(64, sizes=(2, 2)), tensor(64), tensor(0), inputs=[2], outputs=[0])
    lines = builder.call("aten::relu.out", 2, 1, 1).text()
    assert lines[0].startswith("%r0 = alloc")
    assert lines[1].startswith("%r1 = view %r0")
    assert lines[3:] == ['kernel_call "aten::relu.out"(%r2) outs(%r1)', "return %r0"]


def test_what_is_read_before_it_is_written_is_state() -> None:
    builder = Builder(tensor(0), tensor(16), schema.Bool(False))
    lines = builder.call("aten::neg.out", 0, 1, 1).call("aten::copy_", 0, 1, 2, 0).text()
    assert lines[0] == "%r0 = state anonymous @state {memory_id = 1, offset = 0}"


def test_named_and_initialised_state() -> None:
    builder = Builder(tensor(0, name="cache"), tensor(16, data=1, name="start"))
    lines = builder.text(
        [[b"abc"]], constant_segment=schema.SubsegmentOffsets(0, [0]),
        mutable_data_segments=[schema.SubsegmentOffsets(0, [0, 0])],
    )  # fmt: skip
    assert lines == [
        "%r0 = state @cache {memory_id = 1, offset = 0}",
        "%r1 = state @start {memory_id = 1, offset = 16}",
        "return",
    ]


def test_constants_by_name_and_without() -> None:
    builder = Builder(
        tensor(data=1, name="w"),
        tensor(data=1),
        tensor(data=2, requires_grad=True),
        tensor(sizes=(2, 2), data=1),
        # Of another element type: equal bytes are written once.
        tensor(data=1, scalar_type=ScalarType.INT),
    )
    assert builder.text([[b"a", b"b"]]) == [
        "%r0 = constant @w",
        "%r1 = constant anonymous @constant_1",
        "%r2 = constant anonymous requires_grad @constant_2",
        "%r3 = constant anonymous @constant_1 : tensor<2x2xf32>",
        "%r4 = constant anonymous @constant_1_1 : tensor<4xi32>",
        "return",
    ]


def test_names_of_symbols_are_unique() -> None:
    builder = Builder(tensor(data=1, name="forward"), tensor(data=2, name="w"), tensor(0, name="w"))
    lines = builder.text([[b"a", b"b"]])
    assert [line.split("@")[1].split(" ")[0] for line in lines[:-1]] == ["forward_1", "w", "w_1"]


def test_views_at_run_time() -> None:
    # Planned where its argument is, or a reference to what is not planned.
    view = "executorch_prim::et_view.default"
    builder = Builder(
        tensor(0), tensor(0, sizes=(2, 2)), schema.Int(2), schema.IntList([2, 2]), tensor(), tensor()
    )
    builder.plan.inputs = [0, 4]
    lines = builder.call(view, 0, 3, 1).call(view, 4, 3, 5).text()
    assert "%r1 = view %r0 : tensor<2x2xf32>" in lines
    assert "%r5 = reference" in lines


def test_views_of_each_other_at_run_time() -> None:
    view = "executorch_prim::et_view.default"
    builder = Builder(tensor(0), tensor(0), schema.IntList([4]), tensor(0), schema.Int(4))
    lines = builder.call(view, 0, 2, 1).call(view, 1, 2, 3).call(view, 3, 2, 0).call(view, 1, 2, 1).text()
    assert [line for line in lines if line.startswith("%r")] == [
        "%r0 = state anonymous @state {memory_id = 1, offset = 0}",
        "%r1 = view %r0",
        "%r3 = view %r0",
    ]


def test_what_is_read_before_its_view_is_written_over() -> None:
    """The second register is written first, and is also a view of the first: no circle comes of it."""
    view = "executorch_prim::et_view.default"
    builder = Builder(tensor(0), tensor(0), schema.IntList([4]), tensor(64), schema.Int(4), inputs=[3])
    lines = builder.call("aten::relu.out", 3, 1, 1).call(view, 0, 2, 1).text()
    assert lines[0] == "%r0 = alloc {memory_id = 1, offset = 0}"
    assert lines[1] == "%r1 = view %r0"


def test_moves_and_jumps() -> None:
    condition, always = schema.Bool(True), schema.Bool(False)
    builder = Builder(condition, always, tensor(0), tensor(), tensor(16), inputs=[0, 2, 4], outputs=[3])
    builder.add(
        schema.JumpFalseCall(0, 3),
        schema.MoveCall(2, 3),
        schema.JumpFalseCall(1, 5),
        schema.MoveCall(4, 3),
        schema.FreeCall(3),
        schema.JumpFalseCall(0, 0),
    )
    lines = builder.text()
    assert lines[:5] == [
        "%r0 = input true : i1",
        "%r2 = input {memory_id = 1, offset = 0}",
        "%r3 = reference",
        "%r4 = input {memory_id = 1, offset = 16}",
        # Nothing jumps to the block that declares the registers.
        "jump ^bb1",
    ]
    assert [line for line in lines if line.startswith("jump")] == [
        "jump ^bb1", "jump_false %r0, ^bb3, ^bb2", "jump ^bb4", "jump ^bb4", "jump_false %r0, ^bb1, ^bb5",
    ]  # fmt: skip


def test_a_condition_that_is_written_is_a_register() -> None:
    builder = Builder(schema.Bool(False), tensor(0), inputs=[1])
    lines = builder.call("x::test", 1, 0).add(schema.JumpFalseCall(0, 2)).text()
    assert "jump_false %r0, ^bb1, ^bb1" in lines


def delegates(*data: bytes) -> dict[str, Any]:
    return {"backend_delegate_data": [schema.BackendDelegateInlineData(blob) for blob in data]}


def test_delegates_write_what_is_new_at_the_end() -> None:
    builder = Builder(tensor(0), tensor(16), tensor(32), tensor(48), tensor(48, sizes=(2, 2)), inputs=[0])
    builder.plan.delegates = [
        schema.BackendDelegate("demo", schema.BackendDelegateDataReference(schema.DataLocation.INLINE, 0))
    ]
    builder.add(schema.DelegateCall(0, [0, 1, 2])).call("aten::relu.out", 1, 3, 3)
    # The second argument lies where the relu wrote: a view of it, not an output.
    lines = builder.add(schema.DelegateCall(0, [3, 4, 2])).text(**delegates(b"x"))
    assert "delegate_call @lowered_0(%r0) outs(%r1, %r2)" in lines
    assert "%r4 = view %r3 : tensor<2x2xf32>" in lines
    assert (
        "delegate_call @lowered_0(%r3, %r4) outs(%r2)" in lines
        or "delegate_call @lowered_0(%r3, %r4, %r2)" in lines
    )


def test_an_output_that_is_no_tensor() -> None:
    builder = Builder(
        schema.Int(3), schema.Null(), schema.String("s"), schema.Double(0.5), outputs=[0, 1, 2, 3, 0]
    )
    assert builder.text() == ['return 3, none, "s", 0.5, 3']


def test_stack_traces() -> None:
    builder = Builder().call("x::a").call("x::b")
    frames = [schema.FrameList([schema.Frame("m.py", 3, "f", "x")]), schema.FrameList([])]
    builder.plan.chains[0].stacktrace = frames
    module = disassemble(read_pte(builder.file()))
    (plan,) = (op for op in module.body.block.ops if isinstance(op, PlanOp))
    assert plan.stack_traces is not None
    stream = io.BytesIO()
    write(module, stream)
    assert read_pte(stream.getvalue()).program.execution_plan[0].chains[0].stacktrace == frames


def test_jumps_count_from_the_start_of_their_chain() -> None:
    builder = Builder(schema.Bool(False)).call("x::a")
    builder.plan.chains.append(
        schema.Chain(
            instructions=[
                schema.Instruction(schema.JumpFalseCall(0, 0)),
                *builder.plan.chains[0].instructions,
            ]
        )
    )
    lines = builder.text()
    assert [line for line in lines if line[0] in "cjk"] == [
        "chain()", 'kernel_call "x::a"()', "jump ^bb1", "chain()", "jump ^bb1", 'kernel_call "x::a"()',
    ]  # fmt: skip
    stream = io.BytesIO()
    write(disassemble(read_pte(builder.file())), stream)
    written = read_pte(stream.getvalue()).program.execution_plan[0].chains
    assert [chain.instructions for chain in written] == [chain.instructions for chain in builder.plan.chains]


BAD_TENSORS = [
    (tensor(sizes=(-1,)), "are negative", "val.sizes"),
    (
        schema.Tensor(ScalarType.FLOAT, sizes=[2, 2], dim_order=b"\0\0"),
        "is not a permutation",
        "val.dim_order",
    ),
    (schema.Tensor(ScalarType.FLOAT, sizes=[2, 2], dim_order=b"\0"), "is not a permutation", "val.dim_order"),
    (tensor(storage_offset=4), "without an offset", "values[0].val"),
    (tensor(0, arena=0), "start at 1", "allocation_info"),
    (tensor(data=7), "no constant 7|no entry 7", ""),
    (tensor(0, data=7), "no entry 0", "mutable_data_segments"),
]


@pytest.mark.parametrize(("value", "message", "where"), BAD_TENSORS)
def test_tensors_that_make_no_sense(value: schema.Tensor, message: str, where: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        disassemble(read_pte(Builder(value).file()))
    assert where in (caught.value.where or "")


BAD_PLANS = [
    (Builder().call("x::a", 3), "no value 3 among 0", "instr_args.args[0]"),
    (Builder().add(schema.KernelCall(2, [])), "no operator 2 among 0", "op_index"),
    (Builder().add(schema.DelegateCall(0, [])), "no delegate 0 among 0", "delegate_index"),
    (Builder().add(schema.MoveCall(0, -1)), "no value 0", "move_from"),
    (Builder().add(schema.FreeCall(-1)), "no value -1", "value_index"),
    (Builder(schema.Bool(True)).add(schema.JumpFalseCall(0, 2)), "jump to instruction 2 of 1", "destination"),
    (Builder(schema.Bool(True)).add(schema.JumpFalseCall(0, -1)), "jump to instruction -1", "destination"),
    (Builder(schema.Bool(True)).add(schema.JumpFalseCall(5, 0)), "no value 5", "cond_value_index"),
    (Builder(inputs=[0]), "no value 0", "inputs[0]"),
    (Builder(outputs=[-1]), "no value -1", "outputs[0]"),
    (Builder(tensor(), inputs=[0, 0]), "two inputs are the same value", "inputs[1]"),
    (Builder(tensor(data=1), inputs=[0]), "an input has data", "inputs[0]"),
    (Builder(schema.IntList([1]), schema.Bool(True)), "a IntList holds a Bool", "values[0].val.items[0]"),
    (Builder(schema.TensorList([9])), "no value 9", "values[0].val.items[0]"),
    (Builder(schema.OptionalTensorList([-2])), "no value -2", "values[0].val.items[0]"),
    (Builder(schema.IntList([]), outputs=[0]), "an output is a IntList", "outputs[0]"),
    (Builder(schema.TensorList([])).add(schema.MoveCall(0, 0)), "a TensorList", ""),
]


def test_a_list_that_a_delegate_takes() -> None:
    builder = Builder(tensor(0), schema.IntList([]), inputs=[0])
    builder.plan.delegates = [
        schema.BackendDelegate("demo", schema.BackendDelegateDataReference(schema.DataLocation.INLINE, 0))
    ]
    with pytest.raises(InvalidFile, match="value 1, a IntList, where a register is needed") as caught:
        builder.add(schema.DelegateCall(0, [0, 1])).text(**delegates(b"x"))
    assert (caught.value.where or "").endswith("instructions[0]")


@pytest.mark.parametrize(("builder", "message", "where"), BAD_PLANS)
def test_plans_that_make_no_sense(builder: Builder, message: str, where: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        disassemble(read_pte(builder.file()))
    assert where in (caught.value.where or "")


def test_stack_traces_of_another_number() -> None:
    builder = Builder().call("x::a")
    builder.plan.chains[0].stacktrace = [schema.FrameList(), schema.FrameList()]
    with pytest.raises(InvalidFile, match="2 stack traces, but 1 instructions") as caught:
        disassemble(read_pte(builder.file()))
    assert caught.value.code == Error.InvalidProgram


def test_a_file_in_the_old_form_has_its_constants_inline() -> None:
    builder = Builder(tensor(data=1))
    buffers = [schema.Buffer(b""), schema.Buffer(b"x" * 16)]
    assert builder.text(constant_segment=None, constant_buffer=buffers) == [
        "%r0 = constant anonymous @constant_1",
        "return",
    ]
