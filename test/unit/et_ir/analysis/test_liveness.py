"""Live ranges of register memory, on small plans."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from et_ir.analysis.liveness import Liveness
from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch, PlanOp
from et_ir.dialects.program import Program


def liveness(body: str) -> tuple[Liveness, dict[str, SSAValue]]:
    context = Context()
    for dialect in (Builtin, Program, Edge, Executorch):
        context.load_dialect(dialect)
    module = Parser(context, f"executorch.plan @forward {{\n{body}\n}}").parse_module()
    module.verify()
    plan = module.body.block.first_op
    assert isinstance(plan, PlanOp)
    return Liveness(plan), {str(op.result.name_hint): op.result for op in plan.registers}


def intervals(body: str) -> dict[str, tuple[int, int] | None]:
    found, registers = liveness(body)
    result: dict[str, tuple[int, int] | None] = {}
    for name, register in registers.items():
        if any(op.result is register for op in found.roots()):
            interval = found.interval(register)
            result[name] = None if interval is None else (interval.first, interval.last)
    return result


def declare(*names: str) -> str:
    return "".join(f"%{name} = executorch.alloc : tensor<4xf32>\n" for name in names)


def call(source: str, target: str) -> str:
    return f'executorch.kernel_call "aten::relu.out"({source}) outs({target})\n'


INPUT = "%x = executorch.input : tensor<4xf32>\n"


def test_straight_line() -> None:
    # Inputs are there before the first instruction, at 0; the return is the last instruction, at 4.
    body = INPUT + "%y = executorch.input : tensor<4xf32>\n" + declare("a", "b", "c", "unused")
    body += call("%x", "%a") + call("%a", "%b") + call("%b", "%c") + "executorch.return %c"
    assert intervals(body) == {
        "x": (0, 1), "y": (0, 0), "a": (1, 2), "b": (2, 3), "c": (3, 4), "unused": None,
    }  # fmt: skip


def test_what_is_written_and_never_read_is_needed_while_it_is_written() -> None:
    body = INPUT + declare("a") + call("%x", "%a") + "executorch.return"
    assert intervals(body)["a"] == (1, 1)


def test_views_belong_to_what_they_view() -> None:
    body = INPUT + declare("a", "b") + call("%x", "%a") + "%v = executorch.view %a : tensor<2x2xf32>\n"
    body += call("%x", "%b") + "executorch.return %v"
    assert intervals(body)["a"] == (1, 3)


def test_state_is_always_needed() -> None:
    body = (
        "%s = executorch.state @s : tensor<4xf32>\n"
        + INPUT
        + declare("a")
        + call("%x", "%a")
        + call("%a", "%a")
    )
    assert intervals(body + "executorch.return %a")["s"] == (0, 3)


def test_in_place_writes_need_what_was_there() -> None:
    body = INPUT + declare("a", "b") + call("%x", "%a") + call("%x", "%b")
    body += 'executorch.kernel_call "aten::add_.Tensor"(%a, %b, 1) returns(%a)\nexecutorch.return %a'
    assert intervals(body)["a"] == (1, 4)


def test_a_register_that_is_written_twice_is_covered_by_one_interval() -> None:
    body = INPUT + declare("a", "b", "gap") + call("%x", "%a") + call("%a", "%b") + call("%x", "%gap")
    body += call("%b", "%a") + "executorch.return %a"
    found, registers = liveness(body)
    assert intervals(body)["a"] == (1, 5)
    assert not found.is_gapless(registers["a"])
    assert found.is_gapless(registers["b"])
    # What is needed only while the other's content is not, does not interfere.
    assert not found.interfere(registers["a"], registers["gap"])
    assert found.interfere(registers["a"], registers["b"])


def test_a_loop_keeps_what_it_carries() -> None:
    body = INPUT + declare("carried", "inner") + "%c = executorch.value true : i1\n"
    body += call("%x", "%carried") + "executorch.jump ^body\n^body:\n" + call("%carried", "%inner")
    body += call("%inner", "%x") + "executorch.jump_false %c, ^body, ^end\n^end:\nexecutorch.return %x"
    found = intervals(body)
    assert found["carried"] == (1, 5)
    assert found["inner"] == (3, 4)


BRANCHES = (
    INPUT
    + declare("target", "then", "else", "out")
    + """
  %c = executorch.value true : i1
  executorch.jump_false %c, ^else, ^then
^then:
  executorch.kernel_call "aten::relu.out"(%x) outs(%then)
  executorch.move %then to %target
  executorch.jump ^join
^else:
  executorch.kernel_call "aten::relu.out"(%x) outs(%else)
  executorch.move %else to %target
  executorch.jump ^join
^join:
  executorch.kernel_call "aten::relu.out"(%target) outs(%out)
  executorch.return %out
"""
)


def test_what_a_move_refers_to_is_needed_as_long_as_the_target() -> None:
    found, registers = liveness(BRANCHES)
    assert found.interval(registers["target"]) is None
    then, other = found.interval(registers["then"]), found.interval(registers["else"])
    assert then is not None
    assert other is not None
    assert then.last == other.last == 8
    # Its content is, in the branch that writes it and after the join.
    for name, times in (("then", [2, 3, 4]), ("else", [5, 6, 7])):
        assert [time for time in range(10) if found.is_needed_after(registers[name], time)] == times


def test_branches_do_not_interfere() -> None:
    found, registers = liveness(BRANCHES)
    assert not found.interfere(registers["then"], registers["else"])
    assert found.interfere(registers["out"], registers["else"])


def test_content_from_before_the_plan() -> None:
    body = declare("a", "b") + call("%a", "%b") + "executorch.return %b"
    found, registers = liveness(body)
    assert found.live_at_entry == [registers["a"]]


@pytest.mark.parametrize("operator", ["executorch_prim::et_view.default"])
def test_a_view_at_run_time_refers_to_its_argument(operator: str) -> None:
    body = INPUT + declare("a", "b") + "%e = executorch.reference : tensor<2x2xf32>\n" + call("%x", "%a")
    body += f'executorch.kernel_call "{operator}"(%a, [2, 2]) returns(%e)\n' + call("%x", "%b")
    assert intervals(body + "executorch.return %e")["a"] == (1, 4)


def test_what_a_register_holds_is_needed_until_it_is_read_last() -> None:
    body = INPUT + declare("a", "b") + call("%x", "%a") + call("%a", "%b") + call("%x", "%a")
    found, registers = liveness(body + call("%a", "%b") + "executorch.return %b")
    assert [found.is_needed_after(registers["a"], time) for time in range(1, 5)] == [True, False, True, False]
    assert [found.is_needed_after(registers["b"], time) for time in range(1, 5)] == [
        False,
        False,
        False,
        True,
    ]


def test_state_and_what_the_caller_gave_are_needed_at_the_end_unless_they_are_written_as_a_whole() -> None:
    body = "%x = executorch.input aliased : tensor<4xf32>\n%s = executorch.state @s : tensor<4xf32>\n"
    body += declare("a") + call("%s", "%a")
    found, registers = liveness(body + "executorch.return")
    assert found.is_needed_after(registers["s"], 1)
    assert found.is_needed_after(registers["x"], 1)
    written = 'executorch.kernel_call "aten::copy_"(%s, %a, false) returns(%s)\n'
    found, registers = liveness(body + written + "executorch.return")
    assert not found.is_needed_after(registers["s"], 1)
    assert found.is_needed_after(registers["s"], 2)
