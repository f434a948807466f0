"""File tables emitted for each op."""

from __future__ import annotations

import io
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from et_ir.data import MissingData
from et_ir.dialects.backend import Backend
from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch
from et_ir.dialects.program import Program
from et_ir.emit import EmitError, EmitOptions, disassemble, emit, write
from et_schema import names
from et_schema import program as schema
from et_schema.pte import read_pte


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Program, Edge, Backend, Executorch):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def plan_of(text: str, **options: Any) -> schema.ExecutionPlan:
    return emit(parse(text), EmitOptions(**options)).program.execution_plan[0]


def values(plan: schema.ExecutionPlan) -> list[Any]:
    return [value.val for value in plan.values]


def calls(plan: schema.ExecutionPlan) -> list[Any]:
    return [instruction.instr_args for instruction in plan.chains[0].instructions]


TENSOR = "tensor<4xf32>"


def test_registers_come_before_literals_which_are_written_once() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64: 32>} {
          %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
          %one = executorch.value 1 : i64
          executorch.kernel_call "a::b.out"(%x, 1, 1.0, true, 0.0, -0.0, [1, 2], [2, %one], [1, 2], none, "s")
          outs(%x) executorch.kernel_call "a::b.out"(%x, 1, 1.0, true, "s") outs(%x) executorch.return %x,
          %one, 1
        }"""
    )
    assert values(plan)[1:] == [
        schema.Int(1),
        schema.Int(1),
        schema.Double(1.0),
        schema.Bool(True),
        schema.Double(0.0),
        schema.Double(-0.0),
        schema.Int(2),
        schema.IntList([2, 7]),
        schema.IntList([7, 1]),
        schema.Null(),
        schema.String("s"),
    ]
    assert calls(plan) == [
        schema.KernelCall(0, [0, 2, 3, 4, 5, 6, 8, 9, 8, 10, 11, 0, 0]),
        schema.KernelCall(0, [0, 2, 3, 4, 11, 0, 0]),
    ]
    assert plan.operators == [schema.Operator("a::b", "out")]
    assert plan.inputs == [0]
    assert plan.outputs == [0, 1, 2]
    assert plan.non_const_buffer_sizes == [0, 32]


def test_how_a_call_ends() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64: 32>} {
          %a = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
          %b = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
          %n = executorch.value 0 : i64
          executorch.kernel_call "x::one.out"(%a) outs(%b)
          executorch.kernel_call "x::two.out"(%a) outs(%a, %b)
          executorch.kernel_call "x::list.out"(%a) outs([%a, %b])
          executorch.kernel_call "x::prim"(%a) returns(%n)
          executorch.kernel_call "x::none"(%a)
          executorch.return
        }"""
    )
    listed = values(plan).index(schema.TensorList([0, 1]))
    assert [call.args for call in calls(plan)] == [
        [0, 1, 1],
        [0, 0, 1, listed],
        [0, listed, listed],
        [0, 2],
        [0],
    ]
    assert plan.operators[3:] == [schema.Operator("x::prim", ""), schema.Operator("x::none", "")]


def test_lists_of_tensors() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64: 32>} {
          %a = executorch.alloc {memory_id = 1, offset = 0} : tensor<4xf32>
          executorch.kernel_call "x::y"([%a, none], [%a, %a], floats [], [false], optional [])
          executorch.return
        }"""
    )
    assert values(plan)[1:] == [
        schema.OptionalTensorList([0, -1]),
        schema.TensorList([0, 0]),
        schema.DoubleList([]),
        schema.BoolList([False]),
        schema.OptionalTensorList([]),
    ]


def test_jumps_are_absolute_and_conditional() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64>} {
          %c = executorch.value true : i1
          %a = executorch.reference : tensor<4xf32>
          %b = executorch.reference : tensor<4xf32>
          executorch.jump ^start
        ^start:
          executorch.jump_false %c, ^else, ^then
        ^then:
          executorch.move %a to %b
          executorch.jump ^end
        ^else:
          executorch.free %b
          executorch.jump ^start
        ^end:
          executorch.return
        }"""
    )
    always = values(plan).index(schema.Bool(False))
    assert calls(plan) == [
        schema.JumpFalseCall(0, 3),
        schema.MoveCall(1, 2),
        schema.JumpFalseCall(always, 5),
        schema.FreeCall(2),
        schema.JumpFalseCall(always, 0),
    ]


def test_no_jump_over_nothing() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64>} {
          %c = executorch.value true : i1
          %a = executorch.reference : tensor<4xf32>
          %b = executorch.reference : tensor<4xf32>
          executorch.jump_false %c, ^else, ^then
        ^then:
          executorch.move %a to %b
          executorch.jump ^end
        ^else:
          executorch.jump ^after
        ^after:
          executorch.jump ^end
        ^end:
          executorch.free %a
          executorch.return
        }"""
    )
    assert calls(plan) == [schema.JumpFalseCall(0, 2), schema.MoveCall(1, 2), schema.FreeCall(1)]


def test_a_block_that_is_a_jump_to_itself() -> None:
    plan = plan_of(
        """
        executorch.plan @f {arenas = array<i64>} {
          executorch.jump ^loop
        ^loop:
          executorch.jump ^loop
        ^end:
          executorch.return
        }"""
    )
    assert [call.destination_instruction for call in calls(plan)] == [0]


def test_tensors() -> None:
    module = parse(
        """
        program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
        program.parameter @out_there : tensor<4xf32>
        program.buffer mutable @s : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
        executorch.plan @f {arenas = array<i64: 99>} {
          %x = executorch.input bound : tensor<2x3xi64>
          %w = executorch.constant requires_grad @w : tensor<4xf32>
          %v = executorch.constant anonymous @w : tensor<2x2xf32>
          %e = executorch.constant external @out_there : tensor<4xf32>
          %s = executorch.state @s {memory_id = 2, offset = 4294967312} : tensor<4xf32>
          %a = executorch.alloc {memory_id = 1, offset = 64} : tensor<1x2x3x4xi1, #edge.dim_order<0, 2, 3, 1>>
          %p = executorch.view %a from 8 : tensor<16xi1>
          executorch.return
        }"""
    )
    stream = io.BytesIO()
    write(module, stream)
    file = read_pte(stream.getvalue())
    x, w, v, e, s, a, p, contents = values(file.program.execution_plan[0])
    assert (x.sizes, x.scalar_type, x.shape_dynamism) == ([2, 3], 4, schema.TensorShapeDynamism.DYNAMIC_BOUND)
    assert x.allocation_info is None
    # Names of constants are beside the tables: viewers do not open constants with extra_tensor_info.
    assert (w.data_buffer_idx, w.requires_grad, w.extra_tensor_info) == (1, True, None)
    assert (v.data_buffer_idx, v.sizes, v.extra_tensor_info) == (1, [2, 2], None)
    assert {key: names.decode(data) for key, data in file.named_data().items()} == {
        names.KEY: {"f": [(1, "w")]}
    }
    assert e.data_buffer_idx == 0
    assert e.extra_tensor_info.location == schema.TensorDataLocation.EXTERNAL
    # What state starts with is a value of its own that nothing uses.
    assert (s.data_buffer_idx, s.extra_tensor_info.fully_qualified_name) == (0, "s")
    assert s.allocation_info == contents.allocation_info == schema.AllocationDetails(2, 16, 1)
    assert (contents.data_buffer_idx, contents.sizes, contents.extra_tensor_info) == (1, [4], None)
    assert (a.dim_order, a.scalar_type) == (bytes([0, 2, 3, 1]), 11)
    assert a.allocation_info == schema.AllocationDetails(1, 64, 0)
    assert p.allocation_info == schema.AllocationDetails(1, 72, 0)


def test_names_of_inputs_come_back() -> None:
    """Tensors and numbers; an input without a name stays without one, and numbers of registers are no names."""
    text = """executorch.plan @f {arenas = array<i64: 32>} {
      %n = executorch.input 3 as "n" : i64
      %r7 = executorch.input : tensor<4xf32>
      %x = executorch.input as "x_1" {memory_id = 1, offset = 0} : tensor<4xf32>
      executorch.kernel_call "aten::neg.out"(%x) outs(%x)
      executorch.return %x
    }"""
    stream = io.BytesIO()
    write(parse(text), stream)
    file = read_pte(stream.getvalue())
    module = disassemble(file)
    assert file.input_names == {"f": ("n", "", "x_1")}
    assert [line.split(" = ", 1)[1] for line in str(module).splitlines() if "executorch.input" in line] == [
        'executorch.input 3 as "n" : i64',
        "executorch.input : tensor<4xf32>",
        'executorch.input as "x_1" {memory_id = 1, offset = 0} : tensor<4xf32>',
    ]
    again = io.BytesIO()
    write(module, again)
    assert again.getvalue() == stream.getvalue()


STATEFUL = """
program.buffer mutable @s : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.constant @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
executorch.plan @f {arenas = array<i64: 32>} {
  %s = executorch.state @s {memory_id = 1, offset = 0} : tensor<4xf32>
  %w = executorch.constant @w : tensor<4xf32>
  %a = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  executorch.kernel_call "aten::add.out"(%s, %w, 1) outs(%a)
  executorch.return %a
}
executorch.plan @g {arenas = array<i64: 32>} {
  %s = executorch.state @s {memory_id = 1, offset = 0} : tensor<4xf32>
  executorch.kernel_call "aten::neg.out"(%s) outs(%s)
  executorch.return %s
}
"""


def test_names_and_initial_state_come_back() -> None:
    """From the values where files have them; a file that was read before, too."""
    stream = io.BytesIO()
    write(parse(STATEFUL), stream)
    file = read_pte(stream.getvalue())
    for plan in file.program.execution_plan:
        used = {index for call in calls(plan) for index in call.args}
        assert not [
            i
            for i in used
            if getattr(values(plan)[i], "data_buffer_idx", 0) and values(plan)[i].allocation_info
        ]
    for _ in range(2):
        module = disassemble(file)
        assert not [op for op in module.walk() if "anonymous" in op.properties]
        assert len([op for op in module.walk() if op.name == "executorch.state"]) == 2
        again = io.BytesIO()
        write(module, again)
        assert again.getvalue() == stream.getvalue()


WEIGHTS = """
program.constant @a : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.constant @b : tensor<2xf32> = #program.data<f32, [5.0, 6.0]>
program.constant @same : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.constant @unused : tensor<3xf32> = #program.data<f32, [1.0, 2.0, 3.0]>
executorch.plan @g {arenas = array<i64>} {
  %b = executorch.constant @b : tensor<2xf32>
  %s = executorch.constant @same : tensor<4xf32>
  executorch.return %b, %s
}
executorch.plan @f {arenas = array<i64>} {
  %b = executorch.constant @b : tensor<2xf32>
  %a = executorch.constant @a : tensor<4xf32>
  executorch.return %a, %b
}
"""


def test_constants_are_written_once_in_the_order_of_use_and_plans_by_name() -> None:
    emitted = emit(parse(WEIGHTS))
    program = emitted.program
    assert [plan.name for plan in program.execution_plan] == ["f", "g"]
    assert program.constant_segment == schema.SubsegmentOffsets(0, [0, 0, 16])
    indices = [[value.data_buffer_idx for value in values(plan)] for plan in program.execution_plan]
    assert indices == [[1, 2], [1, 2]]
    stream = io.BytesIO()
    write(parse(WEIGHTS), stream)
    file = read_pte(stream.getvalue())
    assert bytes(file.constant(1, 8)) == bytes.fromhex("0000a0400000c040")
    assert len(file.segments[0]) == 32


def test_alignment_comes_from_options_or_the_module_or_the_default() -> None:
    module = parse(WEIGHTS)
    assert emit(module).program.constant_segment == schema.SubsegmentOffsets(0, [0, 0, 16])
    wide = emit(module, EmitOptions(tensor_alignment=64))
    assert wide.program.constant_segment == schema.SubsegmentOffsets(0, [0, 0, 64])
    stream = io.BytesIO()
    write(module, stream, EmitOptions(tensor_alignment=32, segment_alignment=4096))
    again = disassemble(read_pte(stream.getvalue()))
    assert {name: str(attr) for name, attr in again.attributes.items()} == {
        "executorch.tensor_alignment": "32 : i64",
        "executorch.segment_alignment": "4096 : i64",
    }
    second = io.BytesIO()
    write(again, second)
    assert second.getvalue() == stream.getvalue()


def test_no_constants() -> None:
    emitted = emit(parse("executorch.plan @f {arenas = array<i64>} { executorch.return 1 }"))
    assert emitted.program.constant_segment == schema.SubsegmentOffsets(0, [0])
    assert emitted.segments == []
    assert emitted.program.execution_plan[0].non_const_buffer_sizes == [0]


def test_delegates_share_equal_blobs() -> None:
    emitted = emit(
        parse(
            """
            program.constant @w : tensor<1xui8> = #program.data<ui8, [1]>
            backend.lowered @one "demo" specs [#backend.compile_spec<"k", "v">] = #program.data<ui8, [1, 2]>
            backend.lowered @two "demo" = #program.data<ui8, [1, 2]>
            backend.lowered @three "other" align 256 = #program.data<ui8, [3]>
            backend.named_data "name" align 64 = #program.data<ui8, [3]>
            executorch.plan @f {arenas = array<i64>} {
              %w = executorch.constant anonymous @w : tensor<1xui8>
              executorch.delegate_call @two(%w)
              executorch.delegate_call @three(%w)
              executorch.delegate_call @one(%w)
              executorch.delegate_call @two(%w)
              executorch.return
            }"""
        )
    )
    plan = emitted.program.execution_plan[0]
    assert [(d.id, d.processed) for d in plan.delegates] == [
        ("demo", schema.BackendDelegateDataReference(schema.DataLocation.SEGMENT, 1)),
        ("other", schema.BackendDelegateDataReference(schema.DataLocation.SEGMENT, 2)),
        ("demo", schema.BackendDelegateDataReference(schema.DataLocation.SEGMENT, 1)),
    ]
    assert plan.delegates[2].compile_specs == [schema.CompileSpec("k", b"v")]
    assert [call.delegate_index for call in calls(plan)] == [0, 1, 2, 0]
    assert emitted.program.named_data == [schema.NamedData("name", 2)]
    assert [segment.alignment for segment in emitted.segments] == [1, 1, 256]


DELEGATED = """
program.constant @w : tensor<1xui8> = #program.data<ui8, [1]>
backend.lowered @one "demo" = #program.data<ui8, [1, 2]>
backend.lowered @two "demo" align 1024 = #program.data<ui8, [3]>
executorch.plan @f {arenas = array<i64>} {
  %w = executorch.constant anonymous @w : tensor<1xui8>
  executorch.delegate_call @one(%w)
  executorch.delegate_call @two(%w)
  executorch.return
}
"""


@pytest.mark.parametrize(("asked", "written"), [(16, [1, 1, 1024]), (512, [1, 512, 1024])])
def test_alignment_of_delegates(asked: int, written: list[int]) -> None:
    """Their own is kept where it is larger."""
    emitted = emit(parse(DELEGATED), EmitOptions(delegate_alignment=asked))
    assert [segment.alignment for segment in emitted.segments] == written


TRACED = """
executorch.plan @f {arenas = array<i64> %s} {
  executorch.kernel_call "x::a"() handle 7 loc(fused["forward"("model.py":3:0), "y = a(x)"])
  executorch.kernel_call "x::b"() loc(unknown)
  executorch.return
}
"""


def test_stack_traces_are_written_where_the_module_or_the_options_ask_for_them() -> None:
    plain, marked = TRACED % "", TRACED % ", stack_traces"
    frames = [
        schema.FrameList([schema.Frame("model.py", 3, "forward", "y = a(x)")]),
        schema.FrameList([]),
    ]
    assert plan_of(plain).chains[0].stacktrace == []
    assert plan_of(marked).chains[0].stacktrace == frames
    assert plan_of(plain, stacktraces=True).chains[0].stacktrace == frames
    assert plan_of(marked, stacktraces=False).chains[0].stacktrace == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("executorch.plan @f { executorch.return }", "the memory of @f is not planned"),
        ("func.func @f() { func.return }", "the module has no executorch.plan"),
        (
            """executorch.plan @f {arenas = array<i64>} {
                 %x = executorch.input : tensor<4xf32>
                 program.store @s, %x : tensor<4xf32>
                 executorch.return
               }""",
            "not an instruction of the file format",
        ),
    ],
)
def test_modules_that_are_not_ready(text: str, message: str) -> None:
    with pytest.raises(EmitError, match=message):
        emit(parse(text))


def test_weights_that_are_not_loaded() -> None:
    text = f"""
    program.constant @w : tensor<100xf32> = #program.data<f32, 100, "w", "{"0" * 64}">
    executorch.plan @f {{arenas = array<i64>}} {{
      %w = executorch.constant @w : tensor<100xf32>
      executorch.return %w
    }}"""
    with pytest.raises(MissingData, match='"w"'):
        emit(parse(text))
