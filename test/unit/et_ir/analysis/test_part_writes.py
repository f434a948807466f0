"""Memory that is written part by part is needed from the first part on, if all that is read has been written."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from et_ir.analysis.liveness import LiveInterval, Liveness
from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import AllocOp, Executorch, PlanOp
from et_ir.dialects.program import Program


def whole_of(body: str) -> tuple[Liveness, LiveInterval]:
    """The liveness of a plan that has a register `%c` of 32 bytes, and when that is needed."""
    text = f"""executorch.plan @forward {{
      %x = executorch.input : tensor<4xf32>
      %c = executorch.alloc : tensor<8xf32>
      %a = executorch.view %c : tensor<4xf32>
      %b = executorch.view %c from 16 : tensor<4xf32>
      %r = executorch.alloc : tensor<8xf32>
      {body}
      executorch.return %r
    }}"""
    context = Context()
    for dialect in (Builtin, Program, Edge, Executorch):
        context.load_dialect(dialect)
    (plan,) = Parser(context, text).parse_module().body.block.ops
    assert isinstance(plan, PlanOp)
    liveness = Liveness(plan)
    register = next(op for op in plan.registers if isinstance(op, AllocOp) and op.result.name_hint == "c")
    interval = liveness.interval(register.result)
    assert interval is not None
    return liveness, interval


EXP = 'executorch.kernel_call "aten::exp.out"'
BEFORE = f"{EXP}(%x) outs(%r)\n"


def test_from_the_first_part_to_the_last_read() -> None:
    liveness, interval = whole_of(f"{BEFORE}{EXP}(%x) outs(%b)\n{EXP}(%x) outs(%a)\n{EXP}(%c) outs(%r)")
    assert interval == LiveInterval(2, 4)
    assert [value.name_hint for value in liveness.live_at_entry] == ["x"]


def test_a_part_may_be_read_before_the_others_are_written() -> None:
    _, interval = whole_of(f"{BEFORE}{EXP}(%x) outs(%b)\n{EXP}(%b) outs(%a)\n{EXP}(%c) outs(%r)")
    assert interval == LiveInterval(2, 4)


def test_written_in_place() -> None:
    _, interval = whole_of(
        f"{BEFORE}{EXP}(%x) outs(%b)\n{EXP}(%b) outs(%b)\n{EXP}(%x) outs(%a)\n{EXP}(%c) outs(%r)"
    )
    assert interval == LiveInterval(2, 5)


def test_what_no_part_has_written_was_there_before() -> None:
    liveness, interval = whole_of(f"{BEFORE}{EXP}(%x) outs(%b)\n{EXP}(%c) outs(%r)")
    assert interval == LiveInterval(0, 3)
    assert [value.name_hint for value in liveness.live_at_entry] == ["x", "c"]


def test_a_part_that_is_read_before_it_is_written_was_there_before() -> None:
    _, interval = whole_of(f"{BEFORE}{EXP}(%x) outs(%a)\n{EXP}(%b) outs(%b)\n{EXP}(%c) outs(%r)")
    assert interval == LiveInterval(0, 4)


def test_in_a_loop_what_one_round_writes_the_next_may_read() -> None:
    _, interval = whole_of(
        f"""%k = executorch.value true : i1
      {BEFORE}executorch.jump ^body
    ^body:
      {EXP}(%a) outs(%b)
      {EXP}(%x) outs(%a)
      executorch.jump_false %k, ^body, ^end
    ^end:
      {EXP}(%c) outs(%r)"""
    )
    assert interval.first == 0
